"""The team's server at the terminal: its address and projects, a synchronisation, an erasure, `subcog search --team`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress

from subcog_hooks.cli import results
from subcog_hooks.cli.search_sources import SearchOptions
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import day, safe, terminal
from subcog_hooks.core import log
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import (
    EXIT_NOTHING_FOUND,
    ConfigError,
    ModelError,
    NotAgreedTo,
    ServerError,
    StoreBusy,
    StoreError,
    UsageError,
)
from subcog_hooks.core.log import to_json
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.embed.static_encoder import StaticEncoder, encode_by_language
from subcog_hooks.intent.query_type import classify_query
from subcog_hooks.recall import fusion
from subcog_hooks.recall.fusion import adaptive_alpha
from subcog_hooks.recall.hits import LEXICAL, NO_RESULTS, SEMANTIC
from subcog_hooks.settings.defaults import SHARE_URL, Settings
from subcog_hooks.share import server_connection, server_documents, server_schema, team_search
from subcog_hooks.share.sending import SyncOutcome, send_vectors
from subcog_hooks.share.sync import SYNC_LOCK_WAIT_MS, Sync, sync_lock
from subcog_hooks.share.synced import ShareState
from subcog_hooks.share.team_search import TeamHit, TeamRequest
from subcog_hooks.store.home_files import read_rules
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.project import resolve_identity
from subcog_hooks.store.vector_reader import ExtensionMissing

PROJECTS, CUES_FROM = "share.projects", "share.cues_from"
FAILURE = "failure"  # note: reason why the last synchronisation ended early
SYNCED = "synced"  # note: time of the last complete synchronisation


class _CalledOff(Exception):
    """A background synchronisation stops to make room for hooks."""


def url_of(settings: Settings) -> str:
    """Return the address of the team's server, after removing a repository's variables. Raises ConfigError for none."""
    drop_ignored_variables()
    if url := str(settings[SHARE_URL]):
        return url
    raise ConfigError("no team's server is set", "`subcog share init postgresql://USER@HOST/DATABASE` sets it")


def drop_ignored_variables() -> None:
    """Remove the libpq variables that the current repository sets, and name them in messages."""
    for line in server_connection.drop_project_variables():
        terminal.say(line)


def names_in(settings: Settings, key: str) -> tuple[str, ...]:
    """Return the distinct names in a setting."""
    return tuple(dict.fromkeys(name for part in str(settings[key]).split(",") if (name := part.strip())))


def projects_of(settings: Settings) -> tuple[str, ...]:
    """Return the identities of the shared projects. A folder's path is ignored: it would be sent as the project's name."""
    names = dict.fromkeys(map(resolve_identity, names_in(settings, PROJECTS)))
    return tuple(name for name in names if not os.path.isabs(name))


@contextmanager
def connect(url: str) -> Iterator[tuple[server_connection.Connection, server_schema.TeamTables]]:
    """Yield the connection to a server with our tables, and the description of the tables. Raises ConfigError, ServerError."""
    with server_connection.open_connection(url) as connection, server_connection.raise_server_errors(url):
        yield connection, server_schema.require_tables(connection)


def synchronise(
    home: Home,
    settings: Settings,
    projects: tuple[str, ...],
    *,
    lock_wait_ms: int = SYNC_LOCK_WAIT_MS,
    advance: Callable[[int], None] = lambda _: None,
) -> SyncOutcome:
    """Synchronise projects, and send their vectors. Raises ServerError, StoreError, ConfigError.

    Changes stored before a failure stay, and index and vectors are updated. Raises NotAgreedTo before anything is sent or
    fetched, where the database is not the one that the person agreed to.
    """
    url = url_of(settings)
    try:
        with (
            sync_lock(home, lock_wait_ms),
            context.writing() as store,
            ShareState.open(home) as state,
            connect(url) as (server, tables),
        ):
            _require_agreed(state, tables, url, projects)
            cues_from, owners = frozenset(names_in(settings, CUES_FROM)), frozenset(rule.memory for rule in read_rules(home))
            work = Sync(store, state, server, tables, projects, cues_from, advance, owners)
            since = store.revision()
            try:
                outcome = work.run()
            finally:
                if store.revision() != since:
                    context.update_index_and_vectors(store)
            _send_vectors(home, work)
    except ServerError as error:
        _record_end(home, error.message)
        raise
    _record_end(home, "")
    return outcome


def _send_vectors(home: Home, work: Sync) -> None:
    """Send the final vectors of the memories sent from here. Without them the server is searched by words."""
    may_send = work.tables.has_vectors and work.tables.may_write
    if not may_send or not any(work.state.without_vectors(project, "", 1) for project in work.projects):
        return
    try:
        with models.open_vectors(home, work.store, PACKAGED) as vectors:
            for project in work.projects:
                send_vectors(work, vectors, project)
    except ExtensionMissing:
        pass  # `doctor` reports it.
    except (StoreError, ModelError) as error:
        log.write_line(home, f"vectors were not sent to the team: {error}")


def _record_end(home: Home, failure: str) -> None:
    """Record for `share status` that a synchronisation ended. failure: why it ended early, "" for a complete one."""
    with ShareState.open(home) as state:
        state.write_note(FAILURE, failure)
        if not failure:
            state.write_note(SYNCED, str(now_ms()))


def agreed_projects(state: ShareState, settings: Settings) -> tuple[str, ...]:
    """Return the shared projects that may go to the current server. Raises ConfigError, ServerError without psycopg."""
    agreed = state.agreed_projects(server_connection.server_identity(url_of(settings)))
    return tuple(name for name in projects_of(settings) if name in agreed)


def not_agreed(url: str) -> NotAgreedTo:
    """Return the error for a database where the person agreed to another one."""
    fact = f"the database at {server_connection.server_address(url)} is not the one that you agreed to share with"
    return NotAgreedTo(fact, "if it is meant, choose it with `subcog share init URL`")


def require_shared(memories: Sequence[Memory]) -> None:
    """Raise UsageError for a memory in no shared project, ConfigError where no server is set."""
    settings = context.settings()
    url_of(settings)
    projects = projects_of(settings)
    for memory in memories:
        if memory.project not in projects:
            raise UsageError(f"{memory.id} is in no project that you share", "`subcog forget --purge` erases it here")


def erase_on_server(memories: Sequence[Memory]) -> None:
    """Erase memories on the server for good, in every shared project, or none. Raises StoreBusy, ServerError, NotAgreedTo."""
    settings = context.settings()
    url, projects = url_of(settings), projects_of(settings)
    with (
        sync_lock(context.home()),  # A synchronisation under way could send them again.
        ShareState.open(context.home()) as state,
        connect(url) as (server, tables),
    ):
        _require_agreed(state, tables, url, [memory.project for memory in memories if memory.project])
        if not tables.may_write:
            hint = "nothing was erased; a role that may write erases it everywhere, `subcog forget --purge` erases it here"
            raise ServerError(f"your role may only read at {server_connection.server_address(url)}", hint)
        server_documents.erase_memories(server, projects, [memory.id for memory in memories], has_vectors=tables.has_vectors)


def _require_agreed(state: ShareState, tables: server_schema.TeamTables, url: str, projects: Sequence[str]) -> None:
    if not state.is_agreed_to(tables.server, server_connection.server_identity(url), projects):
        raise not_agreed(url)


def synchronise_in_background(home: Home, pace: Pace = FULL_PACE) -> str:
    """Synchronise the agreed projects without a message, while `pace` goes on. `share status` shows the result."""
    settings = context.settings()

    def advance(_: int) -> None:
        if not pace.goes_on():
            raise _CalledOff

    # The server's failure is recorded. Another process, or the next run, sends and fetches the remaining changes.
    with suppress(ServerError, StoreBusy, _CalledOff):
        with ShareState.open(home) as state:
            projects = agreed_projects(state, settings)
        if projects:
            synchronise(home, settings, projects, lock_wait_ms=0, advance=advance)
    return ""


PREVIEW_OF_TEAM = 600  # characters of a memory in the table


def require_supported(options: SearchOptions) -> None:
    """Raise UsageError for options that the server does not support."""
    for name in ("batch", "progressive", "state", "status", "tag", "path", "since"):
        if getattr(options, name):
            hint = "the server is asked by words, meaning, project and namespace"
            raise UsageError(f"--team does not go with --{name}", hint)
    if options.explain and options.shape == results.TABLE:
        raise UsageError("--team explains its scores in JSON alone", "give --json or --jsonl")


def run_team_search(options: SearchOptions) -> int:
    """Search on the server and print its answer. Return the exit code. Raises ServerError, ConfigError, UsageError."""
    settings = context.settings()
    url = url_of(settings)
    text = inputs.text_of(options.query)
    if not text.strip():
        raise UsageError("no query was given", "for instance: subcog search --team token refresh")
    count = options.limit or int(settings["search.limit"])
    numbers = fusion.tuning_from_settings(settings)
    vector, note = _vector(text, options.mode, is_fast=options.fast)
    request = TeamRequest(
        "" if options.mode == SEMANTIC else text,
        _projects(options, settings),
        vector,
        namespaces=options.namespace,
        limit=count,
        offset=(options.page - 1) * count,
    )
    query_type = classify_query(text)
    with connect(url) as (server, tables):
        alpha = numbers.alpha
        if alpha is None:
            by_type = float(getattr(numbers, query_type))
            alpha, _ = adaptive_alpha(query_type, by_type, numbers.large, numbers.small, numbers.large)
        started = time.perf_counter()
        hits = team_search.search_server(server, tables, request, numbers, alpha, now_ms())
        elapsed = (time.perf_counter() - started) * 1_000
    if note:
        terminal.say(note)
    if options.shape == results.TABLE:
        _print_hits(hits)
        if not hits:
            terminal.say("the team's server has found nothing; try fewer or other words, or --all-projects")
    elif options.shape == results.JSON:
        confidence = hits[0].label if hits else NO_RESULTS
        head = {"query": text, "query_type": query_type, "confidence": confidence, "note": note or None}
        rows = [_result_row(hit, explain=True) for hit in hits]
        terminal.json({**head, "elapsed_ms": round(elapsed, 1), "page": options.page, "results": rows}, indent=1)
    else:
        is_ids = options.shape == results.IDS
        lines = (hit.memory.id if is_ids else to_json(_result_row(hit, explain=options.explain)) for hit in hits)
        terminal.raw("".join(f"{line}\n" for line in lines))
    return 0 if hits else EXIT_NOTHING_FOUND


def _projects(options: SearchOptions, settings: Settings) -> list[str]:
    shared = projects_of(settings)
    if options.all_projects:
        return list(shared)
    if options.project:
        return [resolve_identity(options.project)]
    current = context.here()
    if current is None:
        raise UsageError("this folder is in no project", "give --project NAME or --all-projects")
    return [current.identity]


def _vector(text: str, mode: str, *, is_fast: bool) -> tuple[bytes | None, str]:
    """Return the vector of the query, None for a search by words, and a remark on the model."""
    if mode == LEXICAL:
        return None, ""
    note = ""
    with closing(StaticEncoder.open()) as encoder:
        encode = encode_by_language(encoder.encode)
        if not is_fast:
            try:
                from subcog_hooks.embed.neural_encoder import DocumentEmbedder  # 0.3 s with its libraries

                encode = encode_by_language(models.encode_between(DocumentEmbedder(PACKAGED).query, encoder.encode))
            except ModelError as error:
                note = error.message
        return encode(text), note


def _result_row(hit: TeamHit, *, explain: bool) -> dict[str, object]:
    row: dict[str, object] = {
        **results.memory_fields(hit.memory),
        "author": hit.author,
        "score": hit.score,
        "relevance": None,
        "confidence": hit.label,
        "found_by": sorted(hit.ranks),
        "ranks": hit.ranks,
        "scores": hit.scores,
    }
    if explain:
        row["explain"] = {
            "agreement": hit.agreement,
            "contributions": hit.contributions,
            "factors": {"agreement": hit.lift, "recency": hit.age},
        }
    return row


def _print_hits(hits: list[TeamHit]) -> None:
    if hits and terminal.is_drawn:
        from subcog_hooks.cli.results import memories_view  # rich, needed on a terminal only

        labels = [hit.label.replace("_", " ") for hit in hits]
        terminal.draw(memories_view([hit.memory for hit in hits], PREVIEW_OF_TEAM, labels))
        return
    for hit in hits:
        memory = hit.memory
        terminal.result(f"{memory.id}  {memory.namespace}  {day(memory.created_at)}  {safe(memory.content)}  ({memory.noted})")
