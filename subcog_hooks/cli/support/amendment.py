"""Amendments of a stored memory, and the remark about similar ones."""

from collections.abc import Callable, Mapping

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.compose import Removed, cleaned
from subcog_hooks.capture.duplicates import Near, near_duplicates
from subcog_hooks.capture.import_changes import adds_to_section
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.core.errors import InvalidMemory, StoreError
from subcog_hooks.store import questions
from subcog_hooks.store.memory import MAX_UNPINNED_PRIORITY, Memory, move_date
from subcog_hooks.store.store import Store


def amend(before: Memory, change: Callable[[Memory], Memory], store: Store, removed: list[Removed]) -> Memory | None:
    """Return the memory after the change, which is stored; None when it changes nothing. Raises InvalidMemory.

    removed: what is taken out of the new texts is added to it.
    """

    def dated(stored: Memory) -> Memory:
        after, gone = cleaned(change(stored), stored)
        removed.append(gone)
        if adds_to_section(stored, after):
            return after
        return after.replaced(updated_at=move_date(stored.updated_at))

    wanted, as_it_is = change(before), jsonl.dump(before)
    if jsonl.dump(wanted) == as_it_is or jsonl.dump(cleaned(wanted, before)[0]) == as_it_is:
        return None
    return store.modify([before.id], dated)[0]


def changed(memory: Memory, changes: Mapping[str, object]) -> Memory:
    """Return a memory with these changes; one that is no longer superseded forgets by what. Raises InvalidMemory."""
    if changes.get("status", "superseded") != "superseded":
        changes = {**changes, "superseded_by": None}
    after = memory.replaced(**changes)
    if "priority" in changes and after.priority > MAX_UNPINNED_PRIORITY and not after.is_pinnable:
        raise InvalidMemory(
            f"priority is {after.priority} and trust is {after.trust}, which may have {MAX_UNPINNED_PRIORITY} at most",
            f"`subcog edit {memory.id} --priority {after.priority} --trust user` vouches for it",
        )
    return after


def joined(memory: Memory, given: Mapping[str, object]) -> dict[str, object]:
    """Return the changes that give a memory these fields beside what it has.

    Entries are added, a condition takes the place of one on the same fact. What it has already is no change.

    >>> joined(Memory(id="a", content="x", tags=("auth",), priority=95), {"tags": ("auth", "spa"), "priority": 95})
    {'tags': ('auth', 'spa')}
    """
    changes: dict[str, object] = {}
    for field, value in given.items():
        has = getattr(memory, field)
        if isinstance(value, tuple):
            both: object = questions.distinct((*has, *value)) if field == "questions" else tuple(dict.fromkeys((*has, *value)))
        else:
            both = {**has, **value} if isinstance(value, dict) else value
        if both != has:
            changes[field] = both
    return changes


MOST_SIMILAR = 3  # memories that a person is shown


def similar_to(memory: Memory, store: Store) -> list[Near]:
    """Return the likest active memories of the same audience; none where the index fails, which is said."""
    try:
        return near_duplicates(memory, context.index_of(store), store)[:MOST_SIMILAR]
    except StoreError as error:
        terminal.say(f"similar memories were not looked for ({error.message})")
        return []
