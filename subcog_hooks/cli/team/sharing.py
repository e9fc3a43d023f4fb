"""Shared code of the team commands: the configured server and projects, and one synchronisation."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import terminal
from subcog_hooks.core import log
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import (
    ConfigError,
    ModelError,
    NotAgreedTo,
    ServerError,
    StoreBusy,
    StoreError,
    SubcogError,
    UsageError,
)
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.settings.defaults import SHARE_URL, Settings
from subcog_hooks.share import server_connection, server_documents, server_schema, server_vectors
from subcog_hooks.share.batch import SyncOutcome
from subcog_hooks.share.sync import SYNC_LOCK_WAIT_MS, Sync, sync_lock
from subcog_hooks.share.synced import ShareState
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.owned_rules import read_rules
from subcog_hooks.store.project import resolve_identity
from subcog_hooks.store.vector_file import ExtensionMissing

PROJECTS, CUES_FROM = "share.projects", "share.cues_from"
FAILURE = "failure"  # note: reason why the last synchronisation ended early
SYNCED = "synced"  # note: time of the last complete synchronisation
LEFT = "left"  # note: number of memories left out so far, by colleague
CHOOSE_IT = "if it is meant, choose it with `subcog share init URL`"


class _CalledOff(Exception):
    """A background synchronisation stops to make room for hooks."""


def url_of(settings: Settings) -> str:
    """Return the address of the team's server, after removing variables set by a repository.

    Raises ConfigError where no address is set.
    """
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
def connect(
    url: str, wait_s: int = server_connection.CONNECT_WAIT_S
) -> Iterator[tuple[server_connection.Connection, server_schema.TeamTables]]:
    """Yield the connection to a server with our tables, and the description of the tables. Raises ConfigError, ServerError."""
    with server_connection.open_connection(url, wait_s) as connection, server_connection.raise_server_errors(url):
        yield connection, server_schema.require_tables(connection)


def synchronise(
    home: Home,
    settings: Settings,
    projects: tuple[str, ...],
    *,
    wait_s: int = server_connection.CONNECT_WAIT_S,
    lock_wait_ms: int = SYNC_LOCK_WAIT_MS,
    advance: Callable[[int], None] = lambda _: None,
) -> SyncOutcome:
    """Synchronise projects and their vectors with the server. Raises ServerError, StoreError, ConfigError.

    Changes stored before a failure stay, and index and vectors are updated. Raises NotAgreedTo before anything is sent or
    fetched, where the database is not the one that the person agreed to.
    """
    url = url_of(settings)
    with (
        sync_lock(home, lock_wait_ms),
        context.writing() as store,
        ShareState.open(home) as state,
        connect(url, wait_s) as (server, tables),
    ):
        _require_agreed(state, tables, url, projects)
        cues_from, owners = frozenset(names_in(settings, CUES_FROM)), frozenset(rule.memory for rule in read_rules(home))
        work = Sync(store, state, server, tables, projects, cues_from, advance, owners)
        try:
            outcome = work.run()
        finally:
            if work.outcome.has_changed_here:
                context.update_index_and_vectors(store)
        if tables.has_vectors:
            _exchange_vectors(work, state, server, tables, projects, advance)
    return outcome


def _exchange_vectors(
    work: Sync,
    state: ShareState,
    server: server_connection.Connection,
    tables: server_schema.TeamTables,
    projects: tuple[str, ...],
    advance: Callable[[int], None],
) -> None:
    """Send and fetch vectors. On a failure, memories are found by words and vectors are computed here."""
    is_waiting = tables.may_write and any(state.without_vectors(project, "", 1) for project in projects)
    if not work.arrived and not is_waiting:
        return
    try:
        with models.open_vectors(context.home(), work.store, PACKAGED) as own:
            for project in projects:
                if arrived := [memory for memory in work.arrived if memory.project == project]:
                    server_vectors.receive_vectors(server, tables.vector_schema, project, arrived, own, advance)
                if tables.may_write:
                    server_vectors.send_vectors(server, tables.vector_type, state, work.store, own, project, advance)
    except ExtensionMissing:
        pass  # `doctor` reports it.
    except (StoreError, ModelError) as error:
        log.write_line(context.home(), f"vectors were not exchanged with the team: {error}")


def agreed_projects(state: ShareState, settings: Settings) -> tuple[str, ...]:
    """Return the shared projects that the person has agreed to send to the current server.

    Raises ConfigError for an incomplete address, ServerError without psycopg.
    """
    agreed = state.agreed_projects(server_connection.server_identity(url_of(settings)))
    return tuple(name for name in projects_of(settings) if name in agreed)


def find_changed_server(state: ShareState, settings: Settings) -> NotAgreedTo | None:
    """Return an error to print where projects were shared with another server before, None otherwise."""
    url = url_of(settings)
    agreed = agreed_projects(state, settings)
    new = [name for name in projects_of(settings) if name not in agreed]
    before = state.agreed_elsewhere(new, server_connection.server_identity(url))
    if not before:
        return None
    places = " and ".join(before)
    fact = f"{server_connection.server_address(url)} is not the server that you agreed to share with, which was at {places}"
    return NotAgreedTo(fact, CHOOSE_IT)


def require_shared(memories: Sequence[Memory]) -> None:
    """Raise UsageError for a memory in no shared project, ConfigError where no server is set."""
    settings = context.settings()
    url_of(settings)
    projects = projects_of(settings)
    for memory in memories:
        if memory.project not in projects:
            raise UsageError(f"{memory.id} is in no project that you share", "`subcog forget --purge` erases it here")


def erase_on_server(memories: Sequence[Memory]) -> None:
    """Erase memories on the server for good, in every shared project. Raises StoreBusy, ServerError.

    Raises NotAgreedTo where the database is not the one that has them. After an error nothing is erased.
    """
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
        fact = f"the database at {server_connection.server_address(url)} is not the one that you agreed to share with"
        raise NotAgreedTo(fact, CHOOSE_IT)


def synchronise_in_background(home: Home, settings: Settings, pace: Pace = FULL_PACE) -> None:
    """Synchronise the agreed projects without messages, as an unreachable server is normal.

    pace: asked after each batch whether to go on; the next run does the rest.
    """

    def advance(_: int) -> None:
        if not pace.goes_on():
            raise _CalledOff

    if not settings[SHARE_URL]:
        return
    try:
        with ShareState.open(home) as state:
            projects = agreed_projects(state, settings)
        if not projects:
            return
        try:
            outcome = synchronise(
                home, settings, projects, wait_s=server_connection.BACKGROUND_WAIT_S, lock_wait_ms=0, advance=advance
            )
        except ServerError as error:
            record_failure(home, error.message)
        else:
            record_outcome(home, outcome)
    except (StoreBusy, _CalledOff):
        return  # Another process does it, or the next run will.
    except Exception as error:  # noqa: BLE001 - nobody sees this process, so the log has the error
        why = str(error) if isinstance(error, SubcogError) else f"an internal error: {type(error).__name__}"
        log.write_line(home, f"the team's memories were not synchronised: {why}")


def record_outcome(home: Home, outcome: SyncOutcome) -> None:
    """Record a complete synchronisation for `share status`."""
    with ShareState.open(home) as state:
        state.write_note(FAILURE, "")
        state.write_note(SYNCED, str(now_ms()))
        if outcome.left:
            counts = load_left_counts(state)
            counts |= {name: counts.get(name, 0) + count for name, count in outcome.left.items()}
            state.write_note(LEFT, json.dumps(counts))


def record_failure(home: Home, failure: str) -> None:
    """Record why a synchronisation ended early, for `share status`."""
    with ShareState.open(home) as state:
        state.write_note(FAILURE, failure)


def load_left_counts(state: ShareState) -> dict[str, int]:
    """Return the number of memories left out so far, by the colleague's role."""
    counts: dict[str, int] = json.loads(state.read_note(LEFT) or "{}")
    return counts
