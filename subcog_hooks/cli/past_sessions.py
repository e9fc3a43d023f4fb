"""Search and show past sessions: `subcog search --sessions`, and `subcog show` of an episode."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from subcog_hooks.cli import results
from subcog_hooks.cli.search_sources import SearchOptions, answer_page, run_batch
from subcog_hooks.cli.terminal import author, context, inputs
from subcog_hooks.cli.terminal.output import terminal
from subcog_hooks.core import records
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, NoMemory, UsageError
from subcog_hooks.core.files import working_folder
from subcog_hooks.core.paths import find_agent
from subcog_hooks.episodes import episode_store
from subcog_hooks.episodes.episode_store import SAID, EpisodeStore, Exchange, frame, make_exchange, open_exchange
from subcog_hooks.recall.candidates import Request
from subcog_hooks.recall.hits import Answer
from subcog_hooks.recall.search import correct_words
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store_reader import audience_of, audiences_of
from subcog_hooks.text.sanitise import cut

SHOWN = 5  # episodes, without `-n`
MAX_LINE = 150  # characters of each text in a line
READ_THEM = "`subcog import --from sessions` reads those of your agents; nothing is sent"
OF_NOTES = ("namespace", "tag", "status", "state", "rank", "progressive", "explain")  # options


def reading_sessions() -> AbstractContextManager[EpisodeStore | None]:
    """Open sessions.db for reading; a `with` gets None when there is none. Raises StoreError."""
    home = context.home()
    return EpisodeStore.reader(home) if episode_store.exists(home) else nullcontext()


def run_search(options: SearchOptions) -> int:
    """Run a search in past sessions and print the answer; return the exit code. Raises UsageError, StoreError, ConfigError."""
    _require_fitting(options)
    settings = context.settings(obeys_variables=True)
    text = inputs.text_of(options.query)
    scope = context.filter_of_options(
        namespaces=(),
        tags=(),
        paths=inputs.files_of(options.path, context.root_of(options.project)),
        project_name=options.project,
        all_projects=options.all_projects,
        since=inputs.parse_since(options.since),
    )
    if scope.audiences and not options.project:
        scope = records.replace(scope, audiences=(*scope.audiences, *folder_audience()))
    count = options.limit or SHOWN
    request = Request(text, scope, mode=options.mode, correct=correct_words)
    started = time.perf_counter()
    with reading_sessions() as store:
        if options.batch:

            def fields_of(answer: Answer) -> dict[str, object]:
                found = _exchanges_of([hit.memory for hit in answer.hits], store) if store else []
                rows = [exchange.fields() for exchange in found]
                return {"degraded": answer.is_degraded, "note": answer.note, "results": rows}

            return run_batch(options.batch, request, store, settings, count, fields_of, fast=options.fast)
        answer, exchanges = Answer([], ()), []
        if store and text.strip():
            answer = answer_page(store, settings, count, (options.page - 1) * count, request, fast=options.fast)
            exchanges = _exchanges_of([hit.memory for hit in answer.hits], store)
        elif store:
            exchanges = _exchanges_of(store.select(scope, count), store)
    note = answer.note or ("" if store else f"no past session is searchable yet; {READ_THEM}")
    _print_found(options, text, answer, exchanges, note, (time.perf_counter() - started) * 1000)
    return 0 if exchanges else EXIT_NOTHING_FOUND


def _require_fitting(options: SearchOptions) -> None:
    given = [name for name in OF_NOTES if getattr(options, name)]
    if given:
        raise UsageError(f"--sessions takes no --{given[0].replace('_', '-')}", "that is for notes")
    if (options.all_projects or options.project or options.batch) and author.is_agent():
        raise UsageError("an agent searches the past sessions of its own project alone", "leave the option out")
    if not options.query and not options.batch and not options.path:
        raise UsageError("no query was given", "for instance: subcog search --sessions how did we fix the login")


def folder_audience() -> tuple[str, ...]:
    """Return the audience of the sessions in this folder, where it is in no project."""
    folder = "" if context.here() else working_folder()
    return (audience_of("project", folder),) if folder else ()


def _exchanges_of(memories: Sequence[Memory], store: EpisodeStore) -> list[Exchange]:
    details = store.details_of([memory.id for memory in memories])
    return [make_exchange(memory, details.get(memory.id)) for memory in memories]


def _print_found(
    options: SearchOptions, text: str, answer: Answer, exchanges: list[Exchange], note: str, elapsed_ms: float
) -> None:
    if options.shape == results.JSON:
        fields = {
            "query": text,
            "source": SAID,
            "degraded": answer.is_degraded,
            "note": note or None,
            "elapsed_ms": round(elapsed_ms, 1),
            "results": [exchange.fields() for exchange in exchanges],
        }
        terminal.json(fields, indent=1)
        return
    if note:
        terminal.say(note)
    elif not exchanges:
        terminal.say("nothing found in past sessions; try other words, or --all-projects")
    lines = []
    for exchange in exchanges:
        if options.shape == results.JSONL:
            terminal.json(exchange.fields())
        elif options.shape == results.IDS:
            terminal.result(exchange.id)
        else:
            head = f"{exchange.id}  {exchange.day}  {exchange.client}"
            lines.append(f"{head}  {cut(exchange.asked, MAX_LINE)} → {cut(exchange.outcome, MAX_LINE)}")
    if lines and find_agent():
        terminal.raw(frame("\n".join(lines)) + "\n")
    else:
        for line in lines:
            terminal.pieces((line, ""), indent=2)
    if exchanges and options.shape == results.TABLE:
        terminal.say("`subcog show ID` shows an exchange")


def show_episode(id_or_prefix: str, *, as_json: bool) -> None:
    """Print an episode with its neighbours. Raises NoMemory, StoreError."""
    with reading_sessions() as store:
        if store is None:
            raise NoMemory(f"no episode has the id {id_or_prefix[:80]}", READ_THEM)
        memory = context.find_memory(store, id_or_prefix)
        here = context.here()
        own = (*audiences_of(*(here.names if here else ())), *folder_audience())
        if context.audience(memory) not in own and author.is_agent():
            raise NoMemory(f"{memory.id} is of another project", "the person can show it")
        exchange = open_exchange(store, memory)
    if not as_json:
        terminal.result(episode_store.render_exchange(exchange))
        return
    around = [other for other in (exchange.before, exchange.after) if other]
    rows = [row for shown in (exchange, *around) for row in shown.rows]
    failures = [{"error": key, "gone_after": fix or None} for key, fix in exchange.failures]
    terminal.json({**exchange.fields(), "rows": rows, "failures": failures, "around": [other.fields() for other in around]})
