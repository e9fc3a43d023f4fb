"""Takes back memories that `capture.sessions = auto` noted: those of a day, of a session, or a single one."""

from collections.abc import Mapping, Sequence

from subcog_hooks.cli.proposals import waiting
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import day, nothing_found, redact_line, safe, terminal
from subcog_hooks.core.errors import UsageError
from subcog_hooks.learn.proposals import session_id
from subcog_hooks.settings.defaults import AT_ONCE, LEARNED_IN_BACKGROUND, SESSIONS_SETTING
from subcog_hooks.store import learned, state_values
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store

LAST_NOTED, MAX_UNDONE = 10, 3  # the latest noted memories; from that many undone on, later proposals wait

OUTCOMES = {"deleted": "forgotten", "active": "restored", "superseded": "superseded"}  # by the new status


def undo_noted(name: str) -> None:
    """Forget the noted memories that a day, a session or an id names; memories that they superseded come back.

    Their rows stay read, and forgotten memories are not proposed again. Raises StoreError, UsageError, ConfigError.
    """
    with context.open_state() as state:
        ids = state_values.find_noted(state)
        stored_ms = {id_: at_ms for id_, at_ms in learned.find_stored_times(state).items() if id_ in ids}
        with context.reading() as readable:
            stored = readable.by_ids(ids).values() if readable else ()
        undone = find_named([memory for memory in stored if memory.status != "deleted"], stored_ms, name)
        if not undone:
            raise nothing_found(f"nothing noted automatically is of {safe(name)}; `subcog forget ID` forgets any memory")
        with context.writing() as store:
            settlement = waiting.settle(store, undo_changes(undone, [*store.all(("superseded",))]), "taken back")
            for memory in settlement.after:
                terminal.result(f"{OUTCOMES[memory.status]}  {memory.id}  {redact_line(memory.content)}")
            _stop_if_often_undone(sorted(ids, key=lambda id_: stored_ms.get(id_, 0))[-LAST_NOTED:], store, state)


def find_named(noted: Sequence[Memory], stored_ms: Mapping[str, int], name: str) -> list[Memory]:
    """Return the memories stored on a day, learned from a session, or with an id; beginnings of ids will do.

    stored_ms: when each was stored. Raises UsageError.
    """
    date = day(now_ms()) if name == "today" else name
    if of_day := [memory for memory in noted if day(stored_ms.get(memory.id, 0)) == date]:
        return of_day
    ids = {id_ for memory in noted for id_ in (memory.id, session_id(memory)) if name and id_.startswith(name)}
    if len(ids) > 1 and name not in ids:
        raise UsageError(f"{safe(name)} begins {len(ids)} ids", "give more of it")
    chosen = {name} if name in ids else ids
    return [memory for memory in noted if chosen & {memory.id, session_id(memory)}]


def undo_changes(undone: Sequence[Memory], superseded: Sequence[Memory]) -> dict[str, dict[str, object]]:
    """Return the changes by id that forget memories and give their predecessors back their place.

    A predecessor whose successor's successor stays is superseded by that.
    """
    successors = {memory.id: memory.superseded_by for memory in undone}
    changes: dict[str, dict[str, object]] = {}
    for memory in superseded:
        successor = memory.superseded_by
        while successor in successors:
            successor = successors[successor]
        if successor != memory.superseded_by:
            changes[memory.id] = {"status": "superseded" if successor else "active", "superseded_by": successor}
    return changes | {memory.id: {"status": "deleted"} for memory in undone}


def _stop_if_often_undone(latest: Sequence[str], store: Store, state: State) -> None:
    """Let later proposals wait where the person has undone several of the latest noted memories."""
    left = {id_ for id_, memory in store.by_ids(latest).items() if memory.status != "deleted"}
    undone = [id_ for id_ in latest if id_ not in left]
    if len(undone) < MAX_UNDONE or context.settings()[SESSIONS_SETTING] != AT_ONCE:
        return
    from subcog_hooks.cli.config import write_setting  # It loads tomlkit.

    write_setting(SESSIONS_SETTING, LEARNED_IN_BACKGROUND)
    state_values.forget_noted(state, undone)
    line = (
        f"{len(undone)} of the last {len(latest)} noted things were taken back, so later ones wait for `subcog review` "
        f"(`subcog config set {SESSIONS_SETTING} {AT_ONCE}` lets them come at once again)"
    )
    state_values.note_news(state, line)
    terminal.say(line)
