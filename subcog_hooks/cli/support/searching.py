"""Runs `subcog search`, for a person or a script, without typer and rich."""

from __future__ import annotations

import time
from contextlib import nullcontext

from subcog_hooks.capture.jsonl import parse_time
from subcog_hooks.cli.support import context, inputs, results, sources
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, UsageError
from subcog_hooks.intent.query_type import classify_query
from subcog_hooks.recall.candidates import MODES, Request
from subcog_hooks.recall.hits import LEXICAL, Answer
from subcog_hooks.store.project import resolve_identity
from subcog_hooks.store.store import Filter, Store, audiences_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from subcog_hooks.cli.support.model_rank import ModelRanking
    from subcog_hooks.cli.support.search_options import SearchOptions
    from subcog_hooks.settings.loading import Settings

    Meanwhile = Callable[["StoreSearch"], AbstractContextManager[None]]


class StoreSearch:
    """The search of one request in an opened store. count, offset: the requested page of hits."""

    __slots__ = ("_settings", "_store", "count", "offset", "request")

    def __init__(self, request: Request, store: Store, settings: Settings, count: int, offset: int) -> None:
        self.request = request
        self.count = count
        self.offset = offset
        self._store = store
        self._settings = settings

    def answer(self, *, fast: bool) -> Answer:
        """Return the page. fast: without the neural model; the time to load it counts. Raises StoreError."""
        loading = sources.ModelLoading(_search_ms(self._settings))
        with sources.open_sources(self._store, self._settings, self.request.mode, fast=fast, loading=loading) as recall_sources:
            deadline = Deadline(_search_ms(self._settings) - loading.taken_ms)
            return sources.search_sources(self.request, recall_sources, deadline, self.count, self.offset)

    def by_words(self) -> Answer:
        """Return the same page from the words alone, in a few milliseconds. Raises StoreError."""
        original = self.request
        request = Request(
            original.text,
            original.scope,
            mode=LEXICAL,
            is_typed=True,
            by_labels=original.by_labels,
            is_explained=original.is_explained,
            facts=original.facts,
        )
        return StoreSearch(request, self._store, self._settings, self.count, self.offset).answer(fast=True)


def run_search(options: SearchOptions, show: Callable[[results.ResultPage], None], meanwhile: Meanwhile | None = None) -> int:
    """Run the search that the options describe and print the answer; return the exit code.

    show: prints an answer, except in a batch; meanwhile: a context for the time of the search, such as a preview by words.
    Raises UsageError, StoreError, ConfigError, ProviderError, and the errors of printing.
    """
    settings = context.settings()
    count = options.limit or int(settings["search.limit"])
    scope = context.filter_of_options(
        namespaces=options.namespace,
        tags=options.tag,
        paths=inputs.files_of(options.path, context.root_of(options.project)),
        project_name=options.project,
        all_projects=options.all_projects,
        since=_parse_since(options.since),
        statuses=inputs.statuses(options.status),
    )
    text = inputs.readable(" ".join(options.query))
    _require_consistent(options, text)
    ranking = _ranking_of(options)
    facts = inputs.stated_facts(map(inputs.readable, options.state)) if options.state else None
    is_explained = options.explain or options.shape == results.JSON
    request = Request(
        text, scope, mode=options.mode, is_typed=True, by_labels=not options.no_tags, is_explained=is_explained, facts=facts
    )
    started = time.perf_counter()
    with context.reading() as store:
        if options.batch:
            _run_batch(options.batch, request, store, settings, count, fast=options.fast)
            return 0
        offset = (options.page - 1) * count
        answer = Answer([], ())
        answer.query_type = classify_query(text)
        if store:
            search = StoreSearch(request, store, settings, max(count, ranking.depth) if ranking else count, offset)
            if options.progressive:
                results.print_stage(results.PRELIMINARY, search.by_words(), is_explained=is_explained)
            with meanwhile(search) if meanwhile else nullcontext():
                answer = search.answer(fast=options.fast)
        if ranking:
            ranking.order(text, answer, count)
        elapsed = (time.perf_counter() - started) * 1000
        is_empty = store is None or not any(store.counts().values())
        hidden = []
        if store and not options.status and not offset:
            hidden = results.find_hidden(text, scope, store, context.index_of(store))
        page = results.ResultPage(text, answer, elapsed, options.page, offset, is_empty, hidden, ranking)
        if options.progressive:
            results.print_remarks(page)
            results.print_stage(results.FINAL, answer, is_explained=is_explained)
        else:
            show(page)
        if store and not answer.hits:
            context.note_unknown_project(store, options.project)
            context.note_unknown_namespaces(store, options.namespace)
    return 0 if answer.hits else EXIT_NOTHING_FOUND


def _require_consistent(options: SearchOptions, text: str) -> None:
    if not options.batch and not text.strip():
        raise UsageError("no query was given", "for instance: subcog search token refresh")
    if options.batch and (options.query or options.shape in (results.IDS, results.JSON) or options.page > 1 or options.project):
        raise UsageError("--batch takes no query, --page, --project or form of output", "its lines have what they need")
    if options.progressive and (options.batch or options.shape != results.JSONL):
        raise UsageError("--progressive is for --jsonl and one query", "its first line is what words find, its last the answer")
    if options.rank and (options.batch or options.progressive or options.page > 1):
        raise UsageError("--rank is for one query and its first page", "leave --batch, --progressive and --page out")
    if "deleted" in (options.status or ()):
        raise UsageError("forgotten memories are not searched", "`subcog list --status deleted` shows them")
    if options.mode not in MODES:
        raise UsageError(f"--mode is {options.mode!r}", "expected one of " + ", ".join(MODES))


def _ranking_of(options: SearchOptions) -> ModelRanking | None:
    """Return the ranking by a model, None where nobody asked for it. Raises ProviderError, ConfigError."""
    if not options.rank:
        return None
    from subcog_hooks.cli.support import model_rank  # loads the LLM providers

    return model_rank.open_ranking()


def _search_ms(settings: Settings) -> float:
    return float(settings["search.timeout_ms"])


def _parse_since(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise UsageError(f"--since is {text!r}", "expected a date such as 2026-03-02") from error


def _run_batch(source: str, template: Request, store: Store | None, settings: Settings, count: int, *, fast: bool) -> None:
    """Answer each query of a JSONL source: `{"id", "query", "project"?}` in, `{"id", "results"}` out.

    template: the request that each query shares, except text and project.
    """
    wanted = template.scope
    rows = list(inputs.read_rows(source, "query", "project"))
    notes: dict[str, None] = {}
    with sources.open_sources(store, settings, template.mode, fast=fast) if store else nullcontext() as recall_sources:
        for key, text, owner in rows:
            scope = Filter(
                audiences=audiences_of(resolve_identity(owner)) if owner else None,
                statuses=wanted.statuses,
                namespaces=wanted.namespaces,
                tags=wanted.tags,
                paths=wanted.paths,
                since=wanted.since,
                include_expired=wanted.include_expired,
            )
            request = template.about(text, scope)
            answer = (
                sources.search_sources(request, recall_sources, Deadline(_search_ms(settings)), count)
                if recall_sources
                else Answer([], ())
            )
            if answer.is_degraded and answer.note:
                notes[answer.note] = None
            rows_out = [results.result_row(answer, hit, explain=template.is_explained) for hit in answer.hits]
            terminal.json({"id": key, "results": rows_out})
    for note in notes:
        terminal.say(note)
