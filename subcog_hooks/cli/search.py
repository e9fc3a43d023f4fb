"""`subcog search`: the engine of the hook for people and for scripts."""

import json
import sys
import time
from enum import StrEnum
from typing import Annotated

import typer
from rich.text import Text

from subcog_hooks.capture.jsonl import read_time, written_time
from subcog_hooks.cli import session
from subcog_hooks.cli.output import ACCENT, day, memory_table, safe, terminal
from subcog_hooks.errors import EXIT_NOTHING_FOUND, UsageError
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import STATUSES
from subcog_hooks.memory.store import Filter, Store, audiences_of
from subcog_hooks.recall import pipeline

_PREVIEW = 600  # characters of a memory in the table; `show` has all of it


class Mode(StrEnum):
    """Which strategies search: words are the only one so far, so both names give the same."""

    hybrid = "hybrid"
    lexical = "lexical"


def register(app: typer.Typer) -> None:
    app.command()(search)


def search(
    query: Annotated[list[str] | None, typer.Argument(help="What to look for.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object with everything known about the answer.")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="One JSON object a result.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Only the ids, one a line.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, max=1000, help="How many results (search.limit).")
    ] = None,
    page: Annotated[int, typer.Option("--page", min=1, help="Which page of them.")] = 1,
    namespace: Annotated[
        list[str] | None, typer.Option("--namespace", "-s", help="Only this namespace; several are allowed.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="Only with this tag; several must all be there.")] = None,
    path: Annotated[list[str] | None, typer.Option("--path", help="Only memories about this file.")] = None,
    project: Annotated[str | None, typer.Option("--project", help="Another project than the one at hand.")] = None,
    all_projects: Annotated[bool, typer.Option("--all-projects", help="The memories of every project.")] = False,
    since: Annotated[str | None, typer.Option("--since", help="Only created on or after this date.")] = None,
    status: Annotated[
        list[str] | None, typer.Option("--status", help="Other than active: " + ", ".join(STATUSES[1:]) + ", all.")
    ] = None,
    mode: Annotated[Mode, typer.Option("--mode", help="Which strategies search.")] = Mode.hybrid,  # noqa: ARG001 - one strategy yet
    fast: Annotated[bool, typer.Option("--fast", help="The hook's recall: no neural query.")] = False,  # noqa: ARG001 - there is none yet
    batch: Annotated[
        str | None, typer.Option("--batch", help="Read queries from a JSONL file, or - for standard input.")
    ] = None,
) -> None:
    """Search memories by words. Exit code 1 when nothing is found.

    Example: subcog search token refresh -n 5
    """
    count = limit or int(session.settings()["search.limit"])
    wanted = session.wanted(
        namespaces=namespace,
        tags=tag,
        paths=path,
        project_name=project,
        all_projects=all_projects,
        since=_since(since),
        statuses=statuses(status),
    )
    text = " ".join(query or ())
    if not batch and not text.strip():
        raise UsageError("no query was given", "for instance: subcog search token refresh")
    if batch and query:
        raise UsageError("a query and --batch exclude each other", "give one of them")
    if sum((as_json, jsonl, ids)) > 1:
        raise UsageError("--json, --jsonl and --ids exclude each other", "give one of them")
    started = time.perf_counter()
    with session.reading() as store:
        index = session.index_of(store) if store else None
        if batch:
            _batch(batch, index, store, wanted, count)
            return
        offset = (page - 1) * count
        hits = pipeline.search(text, index, store, wanted, count, offset) if index and store else []
        elapsed = (time.perf_counter() - started) * 1000
        _print(text, hits, as_json=as_json, jsonl=jsonl, ids=ids, elapsed=elapsed, offset=offset)
    if not hits:
        raise typer.Exit(EXIT_NOTHING_FOUND)


def statuses(given: list[str] | None) -> tuple[str, ...]:
    """The statuses that `--status` names, () for all of them."""
    if not given:
        return ("active",)
    for name in given:
        if name not in (*STATUSES, "all"):
            raise UsageError(f"--status is {name!r}", "expected one of " + ", ".join((*STATUSES, "all")))
    return () if "all" in given else tuple(given)


def _since(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return read_time(text)
    except ValueError as error:
        raise UsageError(f"--since is {text!r}", "expected a date such as 2026-03-02") from error


def _print(text: str, hits: list[pipeline.Hit], *, as_json: bool, jsonl: bool, ids: bool, elapsed: float, offset: int) -> None:
    if as_json:
        terminal.raw(json.dumps(_answer(text, hits, elapsed), ensure_ascii=False, indent=1) + "\n")
    elif jsonl:
        terminal.raw("".join(json.dumps(_result(hit), ensure_ascii=False) + "\n" for hit in hits))
    elif ids:
        terminal.raw("".join(hit.memory.id + "\n" for hit in hits))
    elif not hits:
        terminal.say("nothing found")
    elif terminal.out.is_terminal:
        _table(hits)
    else:
        for hit in hits:
            memory = hit.memory
            terminal.result(f"{memory.id}  {memory.namespace}  {day(memory.created_at)}  {safe(memory.content)}")
    if hits and offset and terminal.out.is_terminal:
        terminal.say(f"from result {offset + 1}")


def _table(hits: list[pipeline.Hit]) -> None:
    table = memory_table()
    table.add_column("memory", ratio=1)
    for hit in hits:
        memory = hit.memory
        content = Text(safe(memory.content)[:_PREVIEW], overflow="ellipsis")
        if memory.tags:
            content.append("  " + " ".join(f"#{safe(tag)}" for tag in memory.tags), style=ACCENT)
        table.add_row(memory.id, memory.namespace, day(memory.created_at), content)
    terminal.out.print(table)


def _answer(text: str, hits: list[pipeline.Hit], elapsed: float) -> dict[str, object]:
    """The object of DESIGN section 4. query_type comes with query analysis; until then it is null."""
    return {
        "query": text,
        "query_type": None,
        "confidence": hits[0].confidence if hits else "no_results",
        "degraded": False,
        "note": None,
        "suggestions": [],
        "strategies_matched": [pipeline.LEXICAL] if hits else [],
        "agreement_scores": {},
        "elapsed_ms": round(elapsed, 1),
        "results": [_result(hit) for hit in hits],
    }


def _result(hit: pipeline.Hit) -> dict[str, object]:
    memory = hit.memory
    return {
        "id": memory.id,
        "urn": memory.urn,
        "namespace": memory.namespace,
        "content": memory.content,
        "tags": list(memory.tags),
        "project": memory.project,
        "created_at": written_time(memory.created_at),
        "score": hit.score,
        "relevance": hit.relevance,
        "confidence": hit.confidence,
        "found_by": [pipeline.LEXICAL],
        "ranks": {pipeline.LEXICAL: hit.rank},
        "scores": {pipeline.LEXICAL: hit.score},
    }


def _batch(source: str, index: LexicalIndex | None, store: Store | None, wanted: Filter, count: int) -> None:
    """Answer each query of a JSONL source in one process: `{"id", "query", "project"?}` in, `{"id", "results"}` out."""
    for number, line in enumerate(_lines(source), 1):
        if not line.strip():
            continue
        name = "standard input" if source == "-" else source
        try:
            row = json.loads(line)
            key, text, owner = row["id"], row["query"], row.get("project")
            if not isinstance(text, str) or not isinstance(owner, str | None):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f'{name} line {number}: expected {{"id", "query", "project"?}}', "correct the line") from error
        asked = Filter(
            audiences=audiences_of(owner) if owner else None,
            statuses=wanted.statuses,
            namespaces=wanted.namespaces,
            tags=wanted.tags,
            paths=wanted.paths,
            since=wanted.since,
            include_expired=wanted.include_expired,
        )
        hits = pipeline.search(text, index, store, asked, count) if index and store else []
        terminal.raw(json.dumps({"id": key, "results": [_result(hit) for hit in hits]}, ensure_ascii=False) + "\n")


def _lines(source: str) -> list[str]:
    try:
        if source == "-":
            return sys.stdin.buffer.read().decode("utf-8-sig").splitlines()
        with open(source, encoding="utf-8-sig") as file:
            return file.read().splitlines()
    except OSError as error:
        raise UsageError(f"{source} can not be read: {error.strerror}", "give a JSONL file, or -") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is not UTF-8 at byte {error.start}", "convert it") from error
