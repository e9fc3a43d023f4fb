"""`subcog search`: the engine of the hook for people and for scripts."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Annotated

import typer
from rich.live import Live

from subcog_hooks.capture.jsonl import read_time
from subcog_hooks.cli.support import answers, completion, hidden, inputs, session, situation, sources
from subcog_hooks.cli.support.output import first_screen, terminal
from subcog_hooks.deadline import Deadline
from subcog_hooks.errors import EXIT_NOTHING_FOUND, UsageError
from subcog_hooks.intent.query_type import classify
from subcog_hooks.memory.model import STATUSES
from subcog_hooks.memory.project import identity_of
from subcog_hooks.memory.store import Filter, Store, audiences_of
from subcog_hooks.recall.candidates import HYBRID, MODES, Request
from subcog_hooks.recall.hits import LEXICAL, VERY_HIGH, Answer
from subcog_hooks.settings.loading import Settings


def register(app: typer.Typer) -> None:
    app.command()(search)


def search(
    query: Annotated[list[str] | None, typer.Argument(metavar="QUERY", help="The words or the question to look for.")] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON object with the results and all that is known about them. `total` counts the results of all "
            "pages, as far as the search has looked. A score is the sum of its `contributions` times its `factors`.",
        ),
    ] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one JSON object per line, one for each result.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Print only the ids, one per line.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", metavar="NUMBER", min=1, max=1000, help="How many results; the setting search.limit without it."
        ),
    ] = None,
    page: Annotated[int, typer.Option("--page", metavar="NUMBER", min=1, max=1_000_000, help="Which page of results.")] = 1,
    namespace: Annotated[
        list[str] | None,
        typer.Option(
            "--namespace",
            "-s",
            metavar="NAME",
            help="Only memories of this namespace; give it several times for several.",
            autocompletion=completion.namespaces,
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            "--tag",
            "-t",
            metavar="TAG",
            help="Only memories with this tag; several tags must all be there.",
            autocompletion=completion.tags,
        ),
    ] = None,
    path: Annotated[
        list[str] | None, typer.Option("--path", metavar="FILE", help="Only memories whose globs match this file.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            "--project",
            metavar="NAME",
            help="Search another project than that of this folder.",
            autocompletion=completion.projects,
        ),
    ] = None,
    all_projects: Annotated[bool, typer.Option("--all-projects", help="Search the memories of all projects.")] = False,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="Only memories created on this date or later.")
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(
            "--status",
            metavar="STATUS",
            help="Memories of another status than active: " + ", ".join(STATUSES[1:]) + ", all.",
            autocompletion=completion.statuses,
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="How to search: hybrid (words and meaning), lexical (words) or semantic (meaning).",
            autocompletion=completion.modes,
        ),
    ] = HYBRID,
    fast: Annotated[
        bool, typer.Option("--fast", help="Search as fast as the hook does: without loading the neural model.")
    ] = False,
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="NAME=VALUE",
            help="Judge the conditions of memories by this fact or flag, and by those of `subcog state get`: those that hold "
            "bring their memories, the others hold theirs back. Without it conditions do not count.",
        ),
    ] = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Give no bonus for tags that the query names.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say for each result how it got its place.")] = False,
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch",
            metavar="FILE",
            help='Answer many queries from a JSONL file, or - for standard input. A line is {"id", "query", "project"?}; '
            "without a project all are searched.",
        ),
    ] = None,
) -> None:
    """Search memories by words and meaning. The exit code is 1 when nothing is found.

    Example: subcog search token refresh -n 5
    """
    settings = session.settings()
    count = limit or int(settings["search.limit"])
    wanted = session.wanted(
        namespaces=namespace,
        tags=tag,
        paths=inputs.files_of(path, session.root_of(project)),
        project_name=project,
        all_projects=all_projects,
        since=_since(since),
        statuses=inputs.statuses(status),
    )
    text = inputs.readable(" ".join(query or ()))
    if not batch and not text.strip():
        raise UsageError("no query was given", "for instance: subcog search token refresh")
    if batch and (query or ids or as_json or page > 1 or project):
        raise UsageError("--batch takes no query, --page, --project or form of output", "its lines have what they need")
    facts = situation.stated(map(inputs.readable, state)) if state else None
    shape = answers.form(as_json=as_json, jsonl=jsonl, ids=ids)
    if mode not in MODES:
        raise UsageError(f"--mode is {mode!r}", "expected one of " + ", ".join(MODES))
    started = time.perf_counter()
    with session.reading() as store:
        if batch:
            asked = Request("", wanted, mode=mode, is_typed=True, by_labels=not no_tags, is_explained=explain, facts=facts)
            _batch(batch, asked, store, settings, count, fast=fast)
            return
        offset = (page - 1) * count
        is_explained = explain or shape == answers.JSON
        request = Request(text, wanted, mode=mode, is_typed=True, by_labels=not no_tags, is_explained=is_explained, facts=facts)
        answer = Answer([], ())
        answer.query_type = classify(text)
        if store:
            is_seen = shape == answers.TABLE and terminal.out.is_terminal and mode == HYBRID and not fast and not explain
            with _words_first(request, store, settings, count, offset) if is_seen else nullcontext():
                answer = _answer(request, store, settings, count, offset, fast=fast)
        elapsed = (time.perf_counter() - started) * 1000
        is_empty = store is None or not any(store.counts().values())
        lost = hidden.matching(text, wanted, store, session.index_of(store)) if store and not status and not offset else []
        answers.show(text, answer, elapsed, shape, offset=offset, page=page, explain=explain, is_empty=is_empty, hidden=lost)
        if store and not answer.hits:
            session.note_unknown_project(store, project)
            session.note_unknown_namespaces(store, namespace or ())
    if not answer.hits:
        raise typer.Exit(EXIT_NOTHING_FOUND)


def _answer(request: Request, store: Store, settings: Settings, count: int, offset: int, *, fast: bool) -> Answer:
    with sources.opened(store, settings, request.mode, fast=fast) as opened:
        return sources.search(request, opened, _deadline(settings), count, offset)


def _deadline(settings: Settings) -> Deadline:
    """Return the deadline of a search. The time to make an index or to load a model is not part of it."""
    return Deadline(float(settings["search.timeout_ms"]))


@contextmanager
def _words_first(request: Request, store: Store, settings: Settings, count: int, offset: int) -> Iterator[None]:
    """Show what words find while the neural model is loaded; it gives way to the answer (S1's progressive results)."""
    by_words = Request(
        request.text, request.scope, mode=LEXICAL, is_typed=True, by_labels=request.by_labels, facts=request.facts
    )
    first = _answer(by_words, store, settings, count, offset, fast=True)
    if not first.hits or first.stage != VERY_HIGH:
        yield
        return
    with Live(first_screen(answers.view(first)), console=terminal.out, transient=True, auto_refresh=False):
        yield


def _since(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return read_time(text)
    except ValueError as error:
        raise UsageError(f"--since is {text!r}", "expected a date such as 2026-03-02") from error


def _batch(source: str, asked: Request, store: Store | None, settings: Settings, count: int, *, fast: bool) -> None:
    """Answer each query of a JSONL source in one process: `{"id", "query", "project"?}` in, `{"id", "results"}` out.

    asked: what is asked of each, but for its text and its project.
    """
    wanted = asked.scope
    rows = list(inputs.rows(source, "query", "project"))
    notes: dict[str, None] = {}
    with sources.opened(store, settings, asked.mode, fast=fast) if store else nullcontext() as opened:
        for key, text, owner in rows:
            scope = Filter(
                audiences=audiences_of(identity_of(owner)) if owner else None,
                statuses=wanted.statuses,
                namespaces=wanted.namespaces,
                tags=wanted.tags,
                paths=wanted.paths,
                since=wanted.since,
                include_expired=wanted.include_expired,
            )
            request = asked.about(text, scope)
            answer = sources.search(request, opened, _deadline(settings), count) if opened else Answer([], ())
            if answer.is_degraded and answer.note:
                notes[answer.note] = None
            results = [answers.result(answer, hit, explain=asked.is_explained) for hit in answer.hits]
            terminal.json({"id": key, "results": results})
    for note in notes:
        terminal.say(note)
