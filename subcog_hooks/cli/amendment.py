"""Changes of stored memories: amendments with a remark about similar ones, and erasure for good."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.compose import Removed, redact_memory
from subcog_hooks.capture.duplicates import NearDuplicate, find_near_duplicates
from subcog_hooks.capture.import_changes import keeps_file_fields
from subcog_hooks.cli import editor
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import terminal
from subcog_hooks.core import log
from subcog_hooks.core.errors import InvalidMemory, StoreError, UsageError
from subcog_hooks.store import index_writer, memory_checks, sessions
from subcog_hooks.store.memory import MAX_UNPINNED_PRIORITY, Memory, now_ms
from subcog_hooks.store.memory_checks import next_change_date
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore


def erase(store: Store, memories: Sequence[Memory]) -> None:
    """Erase memories from the store, its log, the index, the vectors and edited texts. Raises StoreError."""
    home = context.home()
    store.purge([memory.id for memory in memories])
    with ExitStack() as cleanup:  # Each step runs even if another fails, the last one first.
        cleanup.callback(editor.remove_edits, home, [memory.id for memory in memories])
        cleanup.callback(store.overwrite_log)
        cleanup.callback(VectorStore.purge, home, [memory.seq for memory in memories])
        cleanup.callback(context.update_index_and_vectors, store)
        index_writer.rebuild_index(home, store, keep_predecessor=False)  # The old index still has the words.


def mark_forgotten(store: Store, memories: Sequence[Memory]) -> None:
    """Forget memories; their texts stay in the store. Raises StoreError."""
    store.modify([memory.id for memory in memories], lambda memory: memory.with_changes(status="deleted", updated_at=now_ms()))
    context.update_index_and_vectors(store)


def _check_current(old: Memory, successor: str) -> None:
    """Raise UsageError where a memory is forgotten, or replaced by another one than its new successor."""
    if old.status == "deleted":
        raise UsageError(f"{old.id} is forgotten, and stays so", f"to replace it: subcog edit {old.id} --status active")
    if old.status == "superseded" and old.superseded_by not in (None, successor):
        raise UsageError(f"{old.id} is superseded by {old.superseded_by} already", "replace that one")


def mark_superseded(store: Store, old: Memory, new: Memory) -> None:
    """Replace a memory by another, which is stored with it if it is new. Raises UsageError as `_check_current` does."""
    added = [] if store.by_ids([new.id]) else [new]
    is_written = False
    while not is_written:
        since = store.revision()
        _check_current(store.get(old.id), new.id)
        after = store.get(old.id).with_changes(status="superseded", superseded_by=new.id, updated_at=now_ms())
        is_written = store.write_unless_changed(since, new=added, changed=[after])
    terminal.say(f"{old.id} is superseded by {new.id}")


def amend(before: Memory, change: Callable[[Memory], Memory], store: Store, removed: list[Removed]) -> Memory | None:
    """Store a changed memory and return it; return None when the change has no effect. Raises InvalidMemory.

    removed: receives a note of the secrets and invisible characters that were taken out of the new texts.
    """
    return next((after for _, after in amend_all([before], change, store, removed)), None)


def amend_all(
    memories: Sequence[Memory], change: Callable[[Memory], Memory], store: Store, removed: list[Removed]
) -> list[tuple[Memory, Memory]]:
    """Change all of these memories or, after an error, none. Return each that the change affects, before and after."""

    def amend_stored(stored: Memory) -> Memory:
        amended, removal = redact_memory(change(stored), stored)
        removed.append(removal)
        if keeps_file_fields(stored, amended):
            return amended
        return amended.with_changes(updated_at=next_change_date(stored.updated_at))

    def has_effect(memory: Memory) -> bool:
        after, unchanged = change(memory), jsonl.dump(memory)
        return jsonl.dump(after) != unchanged and jsonl.dump(redact_memory(after, memory)[0]) != unchanged

    affected = list(filter(has_effect, memories))
    amended = store.modify([memory.id for memory in affected], amend_stored) if affected else []
    pairs = list(zip(affected, amended, strict=True))
    if reworded := [after.id for before, after in pairs if after.content_hash != before.content_hash]:
        _let_come_again(reworded)
    return pairs


def _let_come_again(reworded: Sequence[str]) -> None:
    """Let sessions that have had an old text get the new one."""
    try:
        with context.existing_state(context.home()) as state:
            if state is not None:
                sessions.forget_given(state, reworded)
    except StoreError as error:
        log.write_line(context.home(), f"sessions keep the old text of {', '.join(reworded)}: {error}")


def apply_edits(before: Memory, stored: Memory, edits: Mapping[str, object]) -> Memory:
    """Return a stored memory with the edits of a text that showed it as it was before.

    Raises InvalidMemory, and UsageError where a field among them was changed meanwhile.
    """
    if any(getattr(stored, field) != getattr(before, field) for field in edits):
        raise UsageError(f"{stored.id} was changed since then, elsewhere", "edit it again")
    return apply_changes(stored, edits)


def apply_changes(memory: Memory, changes: Mapping[str, object]) -> Memory:
    """Return a memory with these changes. A memory that is no longer superseded loses its successor. Raises InvalidMemory."""
    if changes.get("status", "superseded") != "superseded":
        changes = {**changes, "superseded_by": None}
    after = memory.with_changes(**changes)
    if "priority" in changes and after.priority > MAX_UNPINNED_PRIORITY and not after.is_pinnable:
        raise InvalidMemory(
            f"priority is {after.priority} and trust is {after.trust}, which may have {MAX_UNPINNED_PRIORITY} at most",
            f"`subcog edit {memory.id} --priority {after.priority} --trust user` vouches for it",
        )
    return after


def merge_changes(memory: Memory, given: Mapping[str, object]) -> dict[str, object]:
    """Return the changes that add these fields to a memory.

    Entries are appended. A condition replaces a condition on the same fact. An equal value is no change.

    >>> merge_changes(Memory(id="a", content="x", tags=("auth",), priority=95), {"tags": ("auth", "spa"), "priority": 95})
    {'tags': ('auth', 'spa')}
    """
    changes: dict[str, object] = {}
    for field, value in given.items():
        has = getattr(memory, field)
        if isinstance(value, tuple):
            both: object = (
                memory_checks.distinct_questions((*has, *value))
                if field == "questions"
                else tuple(dict.fromkeys((*has, *value)))
            )
        else:
            both = {**has, **value} if isinstance(value, dict) else value
        if both != has:
            changes[field] = both
    return changes


MAX_SIMILAR = 3  # memories in the remark to a person


def similar_to(memory: Memory, store: Store) -> list[NearDuplicate]:
    """Return the nearest active memories of the same audience; none where the index fails, which is printed."""
    try:
        return find_near_duplicates(memory, context.index_of(store), store)[:MAX_SIMILAR]
    except StoreError as error:
        terminal.say(f"similar memories were not checked ({error.message})")
        return []
