"""`subcog search`: the engine of the hook for people and for scripts."""

import json
import sys
import time
from typing import Annotated

import typer

from subcog_hooks.capture.jsonl import read_time, written_time
from subcog_hooks.cli import session
from subcog_hooks.cli.output import day, safe, show_memories, terminal
from subcog_hooks.errors import EXIT_NOTHING_FOUND, UsageError
from subcog_hooks.memory import sync
from subcog_hooks.memory.index import IndexUnusable, LexicalIndex
from subcog_hooks.memory.model import STATUSES
from subcog_hooks.memory.store import Filter, Store, audiences_of
from subcog_hooks.recall import pipeline

_PREVIEW = 600  # characters of a memory in the table; `show` has all of it


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
    page: Annotated[int, typer.Option("--page", min=1, max=1_000_000, help="Which page of them.")] = 1,
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
    fast: Annotated[bool, typer.Option("--fast", help="The hook's recall: so far, always.")] = False,  # noqa: ARG001 - there is no other yet
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch",
            help='Answer queries from a JSONL file (- for standard input): {"id", "query", "project"?}; no project: all.',
        ),
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
    if batch and (query or ids or as_json or page > 1 or project):
        raise UsageError("--batch takes no query, --page, --project or form of output", "its lines have what they need")
    if sum((as_json, jsonl, ids)) > 1:
        raise UsageError("--json, --jsonl and --ids exclude each other", "give one of them")
    started = time.perf_counter()
    with session.reading() as store:
        index = session.index_of(store) if store else None
        if batch:
            _batch(batch, index, store, wanted, count)
            return
        offset = (page - 1) * count
        hits: list[pipeline.Hit] = []
        note = None
        if index and store:
            try:
                hits = pipeline.search(text, index, store, wanted, count, offset)
            except IndexUnusable:
                index = sync.rebuild(session.home(), store)
                hits = pipeline.search(text, index, store, wanted, count, offset)
            if index.watermark() < store.revision():
                note = "the index is being written by another process; the newest memories may be missing"
        elapsed = (time.perf_counter() - started) * 1000
        _print(_answer(text, hits, elapsed, note), hits, as_json=as_json, jsonl=jsonl, ids=ids, offset=offset)
        if store and not hits:
            session.note_unknown_project(store, project)
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


def _print(answer: dict[str, object], hits: list[pipeline.Hit], *, as_json: bool, jsonl: bool, ids: bool, offset: int) -> None:
    if answer["note"] and not as_json:
        terminal.say(str(answer["note"]))
    if as_json:
        terminal.raw(json.dumps(answer, ensure_ascii=False, indent=1) + "\n")
    elif jsonl:
        terminal.raw("".join(json.dumps(_result(hit), ensure_ascii=False) + "\n" for hit in hits))
    elif ids:
        terminal.raw("".join(hit.memory.id + "\n" for hit in hits))
    elif not hits:
        terminal.say("nothing found; try fewer or other words, --all-projects, or --status all")
    elif terminal.out.is_terminal:
        show_memories([hit.memory for hit in hits], _PREVIEW)
    else:
        for hit in hits:
            memory = hit.memory
            terminal.result(f"{memory.id}  {memory.namespace}  {day(memory.created_at)}  {safe(memory.content)}")
    if hits and offset and terminal.out.is_terminal:
        terminal.say(f"from result {offset + 1}")


def _answer(text: str, hits: list[pipeline.Hit], elapsed: float, note: str | None) -> dict[str, object]:
    """The object of DESIGN section 4. query_type comes with query analysis; until then it is null."""
    return {
        "query": text,
        "query_type": None,
        "confidence": hits[0].confidence if hits else "no_results",
        "degraded": note is not None,
        "note": note,
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
            return sys.stdin.buffer.read().decode("utf-8-sig").split("\n")
        with open(source, encoding="utf-8-sig", newline="\n") as file:
            return file.read().split("\n")
    except OSError as error:
        raise UsageError(f"{source} can not be read: {error.strerror}", "give a JSONL file, or -") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is not UTF-8 at byte {error.start}", "convert it") from error
