"""`subcog search`: the engine of the hook for people and for scripts."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Annotated

import typer

from subcog_hooks.capture.jsonl import read_time, written_time
from subcog_hooks.cli import session, sources
from subcog_hooks.cli.output import day, safe, show_memories, terminal
from subcog_hooks.config import Settings
from subcog_hooks.errors import EXIT_NOTHING_FOUND, UsageError
from subcog_hooks.memory.model import STATUSES
from subcog_hooks.memory.store import Filter, Store, audiences_of
from subcog_hooks.recall.candidates import HYBRID, MODES
from subcog_hooks.recall.hits import Answer, Hit

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
    mode: Annotated[str, typer.Option("--mode", help="hybrid (words and meaning), lexical or semantic.")] = HYBRID,
    fast: Annotated[
        bool, typer.Option("--fast", help="The hook's recall: without loading the neural model for the query.")
    ] = False,
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch",
            help='Answer queries from a JSONL file (- for standard input): {"id", "query", "project"?}; no project: all.',
        ),
    ] = None,
) -> None:
    """Search memories by words and meaning. Exit code 1 when nothing is found.

    Example: subcog search token refresh -n 5
    """
    settings = session.settings()
    count = limit or int(settings["search.limit"])
    wanted = session.wanted(
        namespaces=namespace,
        tags=tag,
        paths=path,
        project_name=project,
        all_projects=all_projects,
        since=_since(since),
        statuses=statuses(status),
    )
    text = _readable(" ".join(query or ()))
    if not batch and not text.strip():
        raise UsageError("no query was given", "for instance: subcog search token refresh")
    if batch and (query or ids or as_json or page > 1 or project):
        raise UsageError("--batch takes no query, --page, --project or form of output", "its lines have what they need")
    if sum((as_json, jsonl, ids)) > 1:
        raise UsageError("--json, --jsonl and --ids exclude each other", "give one of them")
    if mode not in MODES:
        raise UsageError(f"--mode is {mode!r}", "expected one of " + ", ".join(MODES))
    started = time.perf_counter()
    with session.reading() as store:
        if batch:
            _batch(batch, store, settings, wanted, count, mode, fast=fast)
            return
        offset = (page - 1) * count
        answer = Answer([], ())
        if store:
            with sources.opened(store, settings, mode, fast=fast) as opened:
                answer = sources.search(text, opened, wanted, count, offset, mode)
        elapsed = (time.perf_counter() - started) * 1000
        _print(answer, _described(text, answer, elapsed), as_json=as_json, jsonl=jsonl, ids=ids, offset=offset)
        if store and not answer.hits:
            session.note_unknown_project(store, project)
    if not answer.hits:
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


def _print(answer: Answer, described: dict[str, object], *, as_json: bool, jsonl: bool, ids: bool, offset: int) -> None:
    hits = answer.hits
    if answer.note and not as_json:
        terminal.say(answer.note)
    if as_json:
        terminal.raw(json.dumps(described, ensure_ascii=False, indent=1) + "\n")
    elif jsonl:
        terminal.raw("".join(json.dumps(_result(answer, hit), ensure_ascii=False) + "\n" for hit in hits))
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


def _described(text: str, answer: Answer, elapsed: float) -> dict[str, object]:
    """The object of DESIGN section 4. query_type comes with query analysis; until then it is null."""
    hits = answer.hits
    return {
        "query": text,
        "query_type": None,
        "confidence": answer.confidence(hits[0]) if hits else "no_results",
        "degraded": answer.note is not None,
        "note": answer.note,
        "suggestions": [],
        "strategies_matched": sorted({name for hit in hits for name in hit.found_by}),
        "agreement_scores": {},
        "elapsed_ms": round(elapsed, 1),
        "results": [_result(answer, hit) for hit in hits],
    }


def _result(answer: Answer, hit: Hit) -> dict[str, object]:
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
        "confidence": answer.confidence(hit),
        "found_by": list(hit.found_by),
        "ranks": hit.ranks,
        "scores": hit.scores,
    }


def _batch(source: str, store: Store | None, settings: Settings, wanted: Filter, count: int, mode: str, *, fast: bool) -> None:
    """Answer each query of a JSONL source in one process: `{"id", "query", "project"?}` in, `{"id", "results"}` out."""
    rows = list(_asked(source))
    notes: dict[str, None] = {}
    with sources.opened(store, settings, mode, fast=fast) if store else nullcontext() as opened:
        for key, text, owner in rows:
            asked = Filter(
                audiences=audiences_of(owner) if owner else None,
                statuses=wanted.statuses,
                namespaces=wanted.namespaces,
                tags=wanted.tags,
                paths=wanted.paths,
                since=wanted.since,
                include_expired=wanted.include_expired,
            )
            answer = sources.search(text, opened, asked, count, 0, mode) if opened else Answer([], ())
            if answer.note:
                notes[answer.note] = None
            results = [_result(answer, hit) for hit in answer.hits]
            terminal.raw(json.dumps({"id": key, "results": results}, ensure_ascii=False) + "\n")
    for note in notes:
        terminal.say(note)


def _asked(source: str) -> Iterator[tuple[object, str, str | None]]:
    """(id, query, project) of each line. Raises UsageError naming the first that does not hold."""
    name = "standard input" if source == "-" else source
    for number, line in enumerate(_lines(source), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            key, text, owner = row["id"], row["query"], row.get("project")
            if not isinstance(text, str) or not isinstance(owner, str | None):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f'{name} line {number}: expected {{"id", "query", "project"?}}', "correct the line") from error
        yield key, _readable(text), owner


def _readable(text: str) -> str:
    """`text` with `?` for what UTF-8 can not hold: half a surrogate pair, a byte of another encoding."""
    return text.encode("utf-8", "replace").decode("utf-8")


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
