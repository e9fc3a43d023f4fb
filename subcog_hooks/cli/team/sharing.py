"""The common ground of the commands that share: the server and projects that are set, one synchronisation, that at rest."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import terminal
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
from subcog_hooks.embed import spaces
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.settings.defaults import SHARE_URL
from subcog_hooks.settings.loading import Settings
from subcog_hooks.share import server_connection, server_documents, server_schema, server_vectors
from subcog_hooks.share.sync import SYNC_LOCK_WAIT_MS, Sync, SyncOutcome, locked
from subcog_hooks.share.synced import ShareState
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.project import identity_of
from subcog_hooks.store.vector_file import ExtensionMissing

PROJECTS, CUES_FROM = "share.projects", "share.cues_from"
FAILURE = "failure"  # the note of why the last synchronisation ended early, or what of it was refused
SYNCED = "synced"  # of when the last one ended well
LEFT = "left"  # and of how many memories of which colleague were left out so far
CHOOSE_IT = "if it is meant, choose it with `subcog share init URL`"


class _CalledOff(Exception):
    """A synchronisation at rest makes room."""


def url_of(settings: Settings) -> str:
    """Return the address of the team's server, and say which variables do not count. Raises ConfigError where none is set."""
    say_ignored_variables()
    if url := str(settings[SHARE_URL]):
        return url
    raise ConfigError("no team's server is set", "`subcog share init postgresql://USER@HOST/DATABASE` sets it")


def say_ignored_variables() -> None:
    """Remove the variables of libpq that the repository at hand sets, and name them."""
    for line in server_connection.drop_project_variables():
        terminal.say(line)


def names_in(settings: Settings, key: str) -> tuple[str, ...]:
    """Return the names that a setting lists, each once."""
    return tuple(dict.fromkeys(name for part in str(settings[key]).split(",") if (name := part.strip())))


def projects_of(settings: Settings) -> tuple[str, ...]:
    """Return the identities of the projects that are shared. A folder's path is none: it would leave as the project's name."""
    named = dict.fromkeys(map(identity_of, names_in(settings, PROJECTS)))
    return tuple(name for name in named if not os.path.isabs(name))


@contextmanager
def reached(
    url: str, wait_s: int = server_connection.CONNECT_WAIT_S
) -> Iterator[tuple[server_connection.Connection, server_schema.TeamTables]]:
    """Yield the connection to a server that has the tables, and what is there. Raises ConfigError, ServerError."""
    with server_connection.opened(url, wait_s) as opened, server_connection.translated(url):
        yield opened, server_schema.require(opened)


def synchronise(
    home: Home,
    settings: Settings,
    projects: tuple[str, ...],
    *,
    wait_s: int = server_connection.CONNECT_WAIT_S,
    lock_wait_ms: int = SYNC_LOCK_WAIT_MS,
    advance: Callable[[int], None] = lambda _: None,
) -> SyncOutcome:
    """Bring projects and the server to one state, with their vectors. Raises ServerError, StoreError, ConfigError.

    What was stored before a failure stays, and is followed by index and vectors. Raises NotAgreedTo, with nothing sent or
    fetched, where the database at the address is another one than the person has agreed to.
    """
    url = url_of(settings)
    with (
        locked(home, lock_wait_ms),
        context.writing() as store,
        ShareState.open(home) as state,
        reached(url, wait_s) as (server, found),
    ):
        _require_agreed(state, found, url, projects)
        work = Sync(store, state, server, found, projects, frozenset(names_in(settings, CUES_FROM)), advance)
        try:
            outcome = work.run()
        finally:
            if work.outcome.has_changed_here:
                context.follow(store)
        if found.has_vectors:
            _exchange_vectors(work, state, server, found, projects, advance)
    return outcome


def _exchange_vectors(
    work: Sync,
    state: ShareState,
    server: server_connection.Connection,
    found: server_schema.TeamTables,
    projects: tuple[str, ...],
    advance: Callable[[int], None],
) -> None:
    """Bring vectors both ways. Without them memories are found by words, and vectors are made here."""
    is_waiting = found.may_write and any(state.without_vectors(project, "", 1) for project in projects)
    if not work.arrived and not is_waiting:
        return
    try:
        with spaces.open_vectors(context.home(), work.store, PACKAGED) as own:
            for project in projects:
                if arrived := [memory for memory in work.arrived if memory.project == project]:
                    server_vectors.take(server, found.vector_schema, project, arrived, own, advance)
                if found.may_write and project not in work.outcome.refused:
                    server_vectors.send(server, found.vector_type, state, work.store, own, project, advance)
    except ExtensionMissing:
        pass  # `doctor` says so
    except (StoreError, ModelError) as error:
        log.write(context.home(), f"vectors were not exchanged with the team: {error}")


def agreed_projects(state: ShareState, settings: Settings) -> tuple[str, ...]:
    """Return the shared projects of which the person has seen what leaves for the server that is set.

    Raises ConfigError for an address that says nothing, ServerError without psycopg.
    """
    agreed = state.agreed(server_connection.identity_of(url_of(settings)))
    return tuple(name for name in projects_of(settings) if name in agreed)


def change_of_server(state: ShareState, settings: Settings) -> NotAgreedTo | None:
    """Return what to tell where projects went to another address until now than the one that is set."""
    url = url_of(settings)
    agreed = agreed_projects(state, settings)
    new = [name for name in projects_of(settings) if name not in agreed]
    before = state.agreed_elsewhere(new, server_connection.identity_of(url))
    if not before:
        return None
    places = " and ".join(before)
    fact = f"{server_connection.place_of(url)} is not the server that you agreed to share with, which was at {places}"
    return NotAgreedTo(fact, CHOOSE_IT)


def require_shared(memories: Sequence[Memory]) -> None:
    """Raise UsageError for a memory that is in no shared project, ConfigError where no server is set."""
    settings = context.settings()
    url_of(settings)
    projects = projects_of(settings)
    for memory in memories:
        if memory.project not in projects:
            raise UsageError(f"{memory.id} is in no project that you share", "`subcog forget --purge` erases it here")


def erase(memories: Sequence[Memory]) -> None:
    """Erase memories on the server for good, in whatever shared project it has them. Raises StoreBusy, ServerError.

    Raises NotAgreedTo where the database is not the one that has them. After an error nothing is erased.
    """
    settings = context.settings()
    url, projects = url_of(settings), projects_of(settings)
    with (
        locked(context.home()),  # what is being sent would get there behind it
        ShareState.open(context.home()) as state,
        reached(url) as (server, found),
    ):
        _require_agreed(state, found, url, [memory.project for memory in memories if memory.project])
        if not found.may_write:
            hint = "nothing was erased; one who may write erases it everywhere, `subcog forget --purge` erases it here"
            raise ServerError(f"your role may only read at {server_connection.place_of(url)}", hint)
        server_documents.erase(server, projects, [memory.id for memory in memories], has_vectors=found.has_vectors)


def _require_agreed(state: ShareState, found: server_schema.TeamTables, url: str, projects: Sequence[str]) -> None:
    """Raise NotAgreedTo where the database is another one than the person has agreed to share these projects with."""
    if not state.is_agreed_to(found.server, server_connection.identity_of(url), projects):
        fact = f"the database at {server_connection.place_of(url)} is not the one that you agreed to share with"
        raise NotAgreedTo(fact, CHOOSE_IT)


def share_quietly(home: Home, settings: Settings, pace: Pace = FULL_PACE) -> None:
    """Run a synchronisation of what the person has agreed to, and say nothing: that the server is away is normal.

    pace: asked after each batch whether it goes on; the next run does the rest.
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
                home, settings, projects, wait_s=server_connection.RESTING_WAIT_S, lock_wait_ms=0, advance=advance
            )
        except ServerError as error:
            note_failure(home, error.message)
        else:
            note_outcome(home, outcome)
    except (StoreBusy, _CalledOff):
        return  # another process is at it, or will be
    except Exception as error:  # noqa: BLE001 - nobody sees this process: the log has it
        why = str(error) if isinstance(error, SubcogError) else f"an internal error: {type(error).__name__}"
        log.write(home, f"the team's memories were not synchronised: {why}")


def note_outcome(home: Home, outcome: SyncOutcome) -> str:
    """Note a synchronisation that went to its end, for `share status`. Return in words what was refused, "" for nothing."""
    refusal = f"your role may write nothing of {', '.join(outcome.refused)} there" if outcome.refused else ""
    with ShareState.open(home) as state:
        state.note(FAILURE, refusal)
        if not refusal:
            state.note(SYNCED, str(now_ms()))
        if outcome.left:
            counts = left_of(state)
            counts |= {name: counts.get(name, 0) + count for name, count in outcome.left.items()}
            state.note(LEFT, json.dumps(counts))
    return refusal


def note_failure(home: Home, failure: str) -> None:
    """Note why a synchronisation ended early, for `share status`."""
    with ShareState.open(home) as state:
        state.note(FAILURE, failure)


def left_of(state: ShareState) -> dict[str, int]:
    """Return how many memories of a colleague were left out so far, by the colleague's role."""
    counts: dict[str, int] = json.loads(state.noted(LEFT) or "{}")
    return counts
