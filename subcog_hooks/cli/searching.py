"""A search for the terminal or a script: its query and filters, and the sources it reads: store, index and vectors."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Sequence
from functools import partial

from subcog_hooks.cli import past_sessions, results
from subcog_hooks.cli.search_sources import END, QUIET, SearchOptions, answer_page, parse_command_line, run_batch
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import prefer_utf8, terminal
from subcog_hooks.core import records
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, ProviderError, UsageError
from subcog_hooks.intent.query_type import classify_query
from subcog_hooks.recall.candidates import MODES, Request
from subcog_hooks.recall.hits import LEXICAL, Answer
from subcog_hooks.recall.search import correct_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.llm.providers import Provider

RANK_S = 60.0  # timeout of the ranking by a model
RANK_DEPTH = 15  # hits that the model sees (S3)


def run_search(options: SearchOptions) -> int:
    """Run the search that the options describe and print the answer; return the exit code.

    Raises UsageError, StoreError, ConfigError, ProviderError, and the errors of printing.
    """
    if options.sessions:
        return past_sessions.run_search(options)
    settings = context.settings(obeys_variables=True)
    count = options.limit or int(settings["search.limit"])
    scope = context.filter_of_options(
        namespaces=options.namespace,
        tags=options.tag,
        paths=inputs.files_of(options.path, context.root_of(options.project)),
        project_name=options.project,
        all_projects=options.all_projects,
        since=inputs.parse_since(options.since),
        statuses=inputs.statuses(options.status),
    )
    text = inputs.text_of(options.query)
    _require_consistent(options, text)
    ranking_provider = _find_ranking_provider() if options.rank else None
    facts = inputs.stated_facts(map(inputs.readable, options.state)) if options.state else None
    is_explained = options.explain or options.shape == results.JSON
    request = Request(text, scope, mode=options.mode, correct=correct_words, is_explained=is_explained, facts=facts)
    started = time.perf_counter()
    with context.reading() as store:
        if options.batch:
            fields = partial(results.batch_fields, is_explained=is_explained)
            return run_batch(options.batch, request, store, settings, count, fields, fast=options.fast)
        offset = (options.page - 1) * count
        answer = Answer([], ())
        answer.query_type = classify_query(text)
        search = partial(answer_page, store, settings, max(count, RANK_DEPTH * options.rank), offset) if store else None
        if options.progressive:  # The words alone take a few milliseconds.
            by_words = search(records.replace(request, mode=LEXICAL), fast=True) if search else answer
            results.print_stage(results.PRELIMINARY, by_words, is_explained=is_explained)
        if search:
            answer = search(request, fast=options.fast)
        ranked = _rank_by_model(text, answer, count, ranking_provider) if ranking_provider else None
        elapsed = (time.perf_counter() - started) * 1000
        is_empty = store is None or not any(store.counts().values())
        page = results.ResultPage(text, answer, elapsed, options.page, offset, is_empty, ranked)
        if options.progressive:
            results.print_remarks(page)
            results.print_stage(results.FINAL, answer, is_explained=is_explained)
        else:
            results.print_results(page, options.shape, is_explained=options.explain)
    return 0 if answer.hits else EXIT_NOTHING_FOUND


def _require_consistent(options: SearchOptions, text: str) -> None:
    if not options.batch and not text.strip():
        raise UsageError("no query was given", "for instance: subcog search token refresh")
    if options.batch and (options.query or options.shape in (results.IDS, results.JSON) or options.page > 1 or options.project):
        raise UsageError("--batch takes no query, --page, --project or form of output", "its lines have what they need")
    if options.progressive and (options.batch or options.shape != results.JSONL):
        raise UsageError(
            "--progressive is for --jsonl and one query", "its first line has the results of words alone, its last the answer"
        )
    if options.rank and (options.batch or options.progressive or options.page > 1):
        raise UsageError("--rank is for one query and its first page", "leave --batch, --progressive and --page out")
    if "deleted" in (options.status or ()):
        raise UsageError("forgotten memories are not searched", "`subcog list --status deleted` shows them")
    if options.mode not in MODES:
        raise UsageError(f"--mode is {options.mode!r}", "expected one of " + ", ".join(MODES))


def _find_ranking_provider() -> Provider:
    """Return the provider of `llm.at_rest`. Raises UsageError for an agent, ProviderError where none is chosen, ConfigError."""
    from subcog_hooks.cli.terminal import author
    from subcog_hooks.llm import providers  # Few searches are ranked by a model.

    if author.is_agent():
        raise UsageError("--rank sends memories to a language model, and this command is run by an agent", "leave it out")
    provider = providers.background_provider(context.settings(), context.home())
    if provider is None:
        raise ProviderError("llm.at_rest is none, so no model can rank", "choose one: `subcog config set llm.at_rest claude`")
    return provider


def _rank_by_model(query: str, answer: Answer, count: int, provider: Provider) -> results.ModelRanking:
    """Put the hits that a model names first, and truncate the answer to `count` hits.

    The order stays where no ranking is possible. Raises StoreError.
    """
    from subcog_hooks.llm import ask

    ranked = results.ModelRanking("", {})
    if notes := [hit.memory for hit in answer.hits[:RANK_DEPTH]]:
        try:
            with context.open_state() as state:
                ids = ask.rank_notes(ask.RANKING_JOB, query, notes, provider, state, context.settings(), RANK_S)
            ranked = results.ModelRanking(f"{provider.name} ({provider.model})", {id_: rank for rank, id_ in enumerate(ids, 1)})
        except ProviderError as error:
            ranked = results.ModelRanking("", {}, f"not ranked: {error.message}")
    answer.hits = sorted(answer.hits, key=lambda hit: ranked.places.get(hit.memory.id, len(answer.hits)))[:count]
    answer.end = min(answer.end, count)
    return ranked


def answer_and_exit(words: Sequence[str]) -> None:
    """Answer a script's search and end the process.

    Return without an answer if the words ask for a terminal's search. words: the command's name first.
    """
    end = words.index(END) if END in words else len(words)
    options = parse_command_line([*(word for word in words[:end] if word != QUIET), *words[end:]])
    if options is not None:
        if options.batch:
            gc.enable()  # a batch runs long enough to need it
        prefer_utf8()
        terminal.begin_run(quiet=QUIET in words[:end])
        code = context.guard(lambda: run_search(options), is_debugged=False)
        os._exit(code)  # the streams have been flushed, or nobody reads them
