"""Finds, accepts and refuses the memories that wait for review."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.duplicates import Difference, NearDuplicate
from subcog_hooks.capture.import_changes import keeps_file_fields
from subcog_hooks.capture.sources import catalogue
from subcog_hooks.capture.sources.source_reading import IN_REPOSITORY
from subcog_hooks.cli.amendment import apply_changes, mark_forgotten, similar_to
from subcog_hooks.cli.proposals import learning_runs
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import pluralize
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import brief
from subcog_hooks.learn import proposals
from subcog_hooks.store import learned
from subcog_hooks.store.learned import ProposalRecord
from subcog_hooks.store.memory import AUTHOR_PHRASES, PENDING, WRITTEN_BY_MODEL, Memory, now_ms
from subcog_hooks.store.memory_checks import next_change_date
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter

REPLACES = "it has changed since"  # how a memory contradicts one that a model says it replaces
ARCHIVED_DAYS = 120  # without a use
_ADD_NEWS = "INSERT OR IGNORE INTO news VALUES (?)"  # The next session's start shows the line.


class Settlement(NamedTuple):
    """A change made by the person. message: a summary; before, after: the changed memories."""

    message: str
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


def find_waiting(store: Store, since_ms: int) -> list[Memory]:
    """Return the waiting memories: the surest first, then the oldest.

    since_ms: their earliest date, milliseconds since the epoch; with one, active memories from sessions come, too.
    """
    pending = store.select(Filter(statuses=(PENDING,), include_expired=True))[::-1]
    records = learning_runs.load_proposal_records()
    if since_ms:
        noted = [memory for memory in store.by_ids(list(records)).values() if memory.is_live(now_ms())]
        pending = [memory for memory in (*pending, *noted) if memory.created_at >= since_ms]
    return sorted(pending, key=lambda memory: -certainty_of(records.get(memory.id)))


def certainty_of(record: ProposalRecord | None) -> float:
    """Return the certainty that a memory is worth keeping, 0 where no session has shown it."""
    return record.certainty if record else 0.0


def find_pending(store: Store, id_: str) -> Memory:
    """Return the waiting memory with this id or prefix. Raises NoMemory, UsageError."""
    memory = context.find_memory(store, id_)
    if memory.status != PENDING:
        raise UsageError(
            f"{memory.id} does not wait, it is {memory.status}", "`subcog review --list` shows the waiting memories"
        )
    return memory


def source_of(memory: Memory) -> str:
    """Describe the source of a memory in a few words.

    >>> source_of(Memory(id="a", content="x", trust="agent")), source_of(Memory(id="a", content="x", source="adr/0001.md"))
    ('noted by an agent', 'adr/0001.md')
    """
    if proposals.is_written_by_model(memory):
        return f"{WRITTEN_BY_MODEL}, from session {proposals.session_id(memory)}"
    if proposals.is_from_session(memory):
        return f"said in session {proposals.session_id(memory)}"
    return memory.source or AUTHOR_PHRASES.get(memory.trust, "noted by you")


def store_of(memory: Memory) -> str:
    """Return the program that a memory was imported from, with the repository's name; "" for none.

    >>> store_of(Memory(id="a", content="x", source="mempalace@github.com/acme/shop:b-1:1"))
    'mempalace@github.com/acme/shop'
    """
    name = memory.source.partition(":")[0]
    return name if name.partition(IN_REPOSITORY)[0] in catalogue.SOURCE_NAMES else ""


def is_of_same_source(memory: Memory, other: Memory) -> bool:
    """Return whether two memories come from the same session, program, file or person."""
    first, second = (
        proposals.session_id(origin) if proposals.is_from_session(origin) else store_of(origin) or source_of(origin)
        for origin in (memory, other)
    )
    return first == second


def accept(store: Store, memories: Sequence[Memory], copies: Sequence[Memory] = ()) -> Settlement:
    """Activate waiting memories, supersede the memories that they replace, and forget copies. Raises StoreError, UsageError."""
    _require_waiting(store, [*memories, *copies])
    replaced: dict[str, Mapping[str, object]] = {
        old.id: {"status": "superseded", "superseded_by": memory.id}
        for memory in memories
        if (old := find_replaced(memory, store))
    }
    return settle(store, _with_status("active", memories) | replaced | _with_status("deleted", copies), "kept")


def find_replaced(memory: Memory, store: Store) -> Memory | None:
    """Return the active memory that a waiting one replaces, as the model said. Raises StoreError."""
    with context.existing_state(context.home()) as state:
        rows = state.run("SELECT replaced FROM replacements WHERE memory = ?", (memory.id,)) if state else []
    return next((old for old in store.by_ids([id_ for (id_,) in rows]).values() if old.is_live(now_ms())), None)


def find_near(memory: Memory, store: Store) -> list[NearDuplicate]:
    """Return the active memories that a waiting one replaces, resembles or contradicts. Raises StoreError."""
    near = [similar for similar in similar_to(memory, store) if similar.memory.id != memory.id]
    old = find_replaced(memory, store)
    if old is None:
        return near
    difference = Difference(REPLACES, is_contradiction=True)
    return [NearDuplicate(old, 1.0, difference), *(similar for similar in near if similar.memory.id != old.id)]


def reject(store: Store, memories: Sequence[Memory]) -> Settlement:
    """Forget waiting memories, as `forget` does. Raises StoreError, UsageError."""
    _require_waiting(store, memories)
    return settle(store, _with_status("deleted", memories), "dropped")


def _with_status(status: str, memories: Sequence[Memory]) -> dict[str, Mapping[str, object]]:
    return {memory.id: {"status": status} for memory in memories}


def undo(store: Store, change: Settlement) -> None:
    """Restore the memories of a change. Raises StoreError, UsageError where one has changed since."""
    for after in change.after:
        if jsonl.dump(store.get(after.id)) != jsonl.dump(after):
            raise UsageError(f"{after.id} was changed since then, elsewhere", "it stays as it is")
    originals = {before.id: before for before in change.before}

    def restore(stored: Memory) -> Memory:
        original = originals[stored.id]
        if keeps_file_fields(original, stored):
            return original
        return original.with_changes(updated_at=next_change_date(stored.updated_at))

    store.modify(list(originals), restore)
    context.update_index_and_vectors(store)


def _require_waiting(store: Store, memories: Sequence[Memory]) -> None:
    for memory in memories:
        if (stored := store.get(memory.id)).status != memory.status:
            raise UsageError(f"{memory.id} is {stored.status} by now", "another process was quicker")


def settle(store: Store, changes: Mapping[str, Mapping[str, object]], message: str) -> Settlement:
    """Make changes by memory id, all or none. Raises StoreError, InvalidMemory."""
    before = tuple(store.get(id_) for id_ in changes)

    def change(old: Memory) -> Memory:
        new = apply_changes(old, changes[old.id])
        return new if keeps_file_fields(old, new) else new.with_changes(updated_at=next_change_date(old.updated_at))

    after = store.modify(list(changes), change)
    context.update_index_and_vectors(store)
    return Settlement(message, before, tuple(after))


def end_unwanted(home: Home, _: Pace) -> str:
    """Forget proposals that nobody has answered in 30 days, and archive a model's notes that nothing has used in 120.

    The next session's start says so. Return a summary, "" for none. Raises StoreError.
    """
    with context.existing_state(home) as state, context.reading() as readable:
        if not state or not readable:
            return ""
        old = readable.by_ids(learned.find_old_proposals(state, now_ms())).values()
        waiting = [memory for memory in old if memory.status == PENDING]
        unused = _find_unused(readable, state)
    if not waiting and not unused:
        return ""
    with context.writing() as store, context.open_state() as state:
        if waiting:
            mark_forgotten(store, waiting)
            dropped = f"{pluralize(len(waiting), 'proposal')} dropped, which nobody has answered in 30 days"
            state.run(_ADD_NEWS, (dropped,))
        if unused:
            settle(store, _with_status("archived", unused), "archived")
            ids = " ".join(memory.id for memory in unused)
            line = f"{pluralize(len(unused), 'note')} archived, which nothing has used in {ARCHIVED_DAYS} days; "
            state.run(_ADD_NEWS, (f"{line}`subcog edit --status active {ids}` brings back",))
    return f"{len(waiting)} dropped, {len(unused)} archived"


def _find_unused(store: Store, state: State) -> list[Memory]:
    """Return the active notes of models that no prompt, call, person or agent has used for ARCHIVED_DAYS."""
    unused_ms = ARCHIVED_DAYS * learning_runs.DAY_MS
    notes = [memory for memory in store.select(Filter()) if proposals.is_written_by_model(memory)]
    projects = {memory.project for memory in notes if memory.project}
    unused = {id_ for project in projects for id_ in brief.find_unused(state, project, now_ms(), unused_ms)}
    return [memory for memory in notes if memory.id in unused and memory.updated_at < now_ms() - unused_ms]
