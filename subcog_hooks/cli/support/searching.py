"""The search of `subcog search`, for a person or a script: what is asked, over what, and the answer. No typer, no rich."""

from __future__ import annotations

import time
from contextlib import nullcontext

from subcog_hooks.capture.jsonl import read_time
from subcog_hooks.cli.support import context, inputs, results, sources
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, UsageError
from subcog_hooks.intent.query_type import classify_query
from subcog_hooks.recall.candidates import MODES, Request
from subcog_hooks.recall.hits import LEXICAL, Answer
from subcog_hooks.store.project import identity_of
from subcog_hooks.store.store import Filter, Store, audiences_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from subcog_hooks.cli.support.model_rank import ModelRanking
    from subcog_hooks.cli.support.search_options import SearchOptions
    from subcog_hooks.settings.loading import Settings

    Meanwhile = Callable[["Look"], AbstractContextManager[None]]


class Look:
    """One look into an opened store: a request, and which page of its hits is wanted."""

    __slots__ = ("_settings", "_store", "count", "offset", "request")

    def __init__(self, request: Request, store: Store, settings: Settings, count: int, offset: int) -> None:
        self.request = request
        self.count = count
        self.offset = offset
        self._store = store
        self._settings = settings

    def answer(self, *, fast: bool) -> Answer:
        """Return the page. fast: without the neural model, whose loading is part of the time. Raises StoreError."""
        loading = sources.Loading(_search_ms(self._settings))
        with sources.opened(self._store, self._settings, self.request.mode, fast=fast, loading=loading) as opened:
            deadline = Deadline(_search_ms(self._settings) - loading.taken_ms)
            return sources.search(self.request, opened, deadline, self.count, self.offset)

    def by_words(self) -> Answer:
        """Return the same page by words alone, which takes a few milliseconds. Raises StoreError."""
        asked = self.request
        request = Request(
            asked.text,
            asked.scope,
            mode=LEXICAL,
            is_typed=True,
            by_labels=asked.by_labels,
            is_explained=asked.is_explained,
            facts=asked.facts,
        )
        return Look(request, self._store, self._settings, self.count, self.offset).answer(fast=True)


def run(asked: SearchOptions, show: Callable[[results.ResultPage], None], meanwhile: Meanwhile | None = None) -> int:
    """Answer what is asked and print it; return the exit code.

    show: prints an answer, but for those of a batch; meanwhile: what is done while it is looked for, as to show what words
    find. Raises UsageError, StoreError, ConfigError, ProviderError, and what printing raises.
    """
    settings = context.settings()
    count = asked.limit or int(settings["search.limit"])
    wanted = context.wanted(
        namespaces=asked.namespace,
        tags=asked.tag,
        paths=inputs.files_of(asked.path, context.root_of(asked.project)),
        project_name=asked.project,
        all_projects=asked.all_projects,
        since=_since(asked.since),
        statuses=inputs.statuses(asked.status),
    )
    text = inputs.readable(" ".join(asked.query))
    _refuse_contradictory(asked, text)
    ranking = _ranking_of(asked)
    facts = inputs.stated_facts(map(inputs.readable, asked.state)) if asked.state else None
    is_explained = asked.explain or asked.shape == results.JSON
    request = Request(
        text, wanted, mode=asked.mode, is_typed=True, by_labels=not asked.no_tags, is_explained=is_explained, facts=facts
    )
    started = time.perf_counter()
    with context.reading() as store:
        if asked.batch:
            _batch(asked.batch, request, store, settings, count, fast=asked.fast)
            return 0
        offset = (asked.page - 1) * count
        answer = Answer([], ())
        answer.query_type = classify_query(text)
        if store:
            look = Look(request, store, settings, max(count, ranking.depth) if ranking else count, offset)
            if asked.progressive:
                results.show_stage(results.PRELIMINARY, look.by_words(), is_explained=is_explained)
            with meanwhile(look) if meanwhile else nullcontext():
                answer = look.answer(fast=asked.fast)
        if ranking:
            ranking.order(text, answer, count)
        elapsed = (time.perf_counter() - started) * 1000
        is_empty = store is None or not any(store.counts().values())
        lost = []
        if store and not asked.status and not offset:
            lost = results.find_hidden(text, wanted, store, context.index_of(store))
        page = results.ResultPage(text, answer, elapsed, asked.page, offset, is_empty, lost, ranking)
        if asked.progressive:
            results.say_remarks(page)
            results.show_stage(results.FINAL, answer, is_explained=is_explained)
        else:
            show(page)
        if store and not answer.hits:
            context.note_unknown_project(store, asked.project)
            context.note_unknown_namespaces(store, asked.namespace)
    return 0 if answer.hits else EXIT_NOTHING_FOUND


def _refuse_contradictory(asked: SearchOptions, text: str) -> None:
    """Raise UsageError where options exclude each other, or nothing is asked."""
    if not asked.batch and not text.strip():
        raise UsageError("no query was given", "for instance: subcog search token refresh")
    if asked.batch and (asked.query or asked.shape in (results.IDS, results.JSON) or asked.page > 1 or asked.project):
        raise UsageError("--batch takes no query, --page, --project or form of output", "its lines have what they need")
    if asked.progressive and (asked.batch or asked.shape != results.JSONL):
        raise UsageError("--progressive is for --jsonl and one query", "its first line is what words find, its last the answer")
    if asked.rank and (asked.batch or asked.progressive or asked.page > 1):
        raise UsageError("--rank is for one query and its first page", "leave --batch, --progressive and --page out")
    if "deleted" in (asked.status or ()):
        raise UsageError("forgotten memories are not searched", "`subcog list --status deleted` shows them")
    if asked.mode not in MODES:
        raise UsageError(f"--mode is {asked.mode!r}", "expected one of " + ", ".join(MODES))


def _ranking_of(asked: SearchOptions) -> ModelRanking | None:
    """Return by whom the answer is to be ordered, None where nobody asked for that. Raises ProviderError, ConfigError."""
    if not asked.rank:
        return None
    from subcog_hooks.cli.support import model_rank  # with all that asks a model

    return model_rank.ranking()


def _search_ms(settings: Settings) -> float:
    """Return how many milliseconds a search may take. The time to make an index is not part of it."""
    return float(settings["search.timeout_ms"])


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
            answer = sources.search(request, opened, Deadline(_search_ms(settings)), count) if opened else Answer([], ())
            if answer.is_degraded and answer.note:
                notes[answer.note] = None
            found = [results.result(answer, hit, explain=asked.is_explained) for hit in answer.hits]
            terminal.json({"id": key, "results": found})
    for note in notes:
        terminal.say(note)
