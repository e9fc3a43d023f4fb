"""Suggestions for memories as the person sees and settles them in `review`: what is suggested, by whom, and what a yes does."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from subcog_hooks.cli.decisions import lookup
from subcog_hooks.cli.proposals import teaching
from subcog_hooks.cli.proposals.enriching import YES
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.amendment import amend, changed, joined
from subcog_hooks.cli.support.output import redact_line, safe
from subcog_hooks.core.errors import UsageError
from subcog_hooks.store import suggestions
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.suggestions import CONFLICT, GLOB, KEYWORD, QUESTION, STANDING, Suggestion

PREFIX = "s-"  # of their ids
SHOWN_OF_MEMORY = 80  # characters of a memory
_LISTS = {KEYWORD: "keywords", GLOB: "paths"}  # fields of a memory that take another entry


class Open(NamedTuple):
    """A suggestion that waits. text: what is suggested, as the person reads it; other: the memory that contradicts it."""

    suggestion: Suggestion
    memory: Memory
    text: str
    other: Memory | None = None

    @property
    def sentence(self) -> str:
        """Return what a yes would do, in a line."""
        memory, what = self.memory, self.text
        if self.other is not None:
            memory, newer = by_age(self.memory, self.other)
            is_narrower = memory.scope != "project" and newer.scope == "project"
            whose = f" of {newer.project} alone, so that no other project has it any more" if is_narrower else ""
            what = f"is superseded by {newer.id}{whose}, which says otherwise ({newer.content[:SHOWN_OF_MEMORY]})"
        elif self.suggestion.field == QUESTION:
            what = f"answers the question {self.text!r}"
        elif self.suggestion.field == STANDING:
            what = "holds in every session" if self.text == YES else "does not hold in every session"
        else:
            what = f"gets the {self.suggestion.field} {self.text!r}"
        line = f"{memory.id} {what}, as a {self.suggestion.by} suggests; it says: {memory.content[:SHOWN_OF_MEMORY]}"
        return redact_line(line)


def by_age(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    """Return the older of two memories, and the newer."""
    older, newer = sorted((one, other), key=lambda memory: (memory.created_at, memory.id))
    return older, newer


def find_open(state: State | None, store: Store) -> list[Open]:
    """Return what waits. What means nothing any more, its memory or its prompt being gone, is taken away. Raises StoreError."""
    found: list[Open] = []
    for one in suggestions.find_open(state) if state else ():
        assert state is not None
        if (shown := _opened(one, state, store)) is None:
            suggestions.remove(state, one.id)
        else:
            found.append(shown)
    return found


def _opened(one: Suggestion, state: State, store: Store) -> Open | None:
    memories = store.by_ids([one.memory, *([one.value] if one.field == CONFLICT else [])])
    memory, other = memories.get(one.memory), memories.get(one.value) if one.field == CONFLICT else None
    if memory is None or not memory.is_live(now_ms()):
        return None
    if one.field == CONFLICT and (other is None or not other.is_live(now_ms())):
        return None
    text = teaching.text_of(one, state) if one.field == QUESTION else one.value
    if text is None or (one.field == STANDING and memory.standing is not None):
        return None
    if one.field in _LISTS and text in getattr(memory, _LISTS[one.field]):
        return None
    return Open(one, memory, text, other)


def find_named(ids: Sequence[str], waiting: Sequence[Open]) -> dict[str, Open]:
    """Return those of the ids, or beginnings of them, that name a suggestion, with it. Raises UsageError."""
    named: dict[str, Open] = {}
    for id_ in ids:
        found = [one for one in waiting if one.suggestion.id.startswith(id_)] if id_.startswith(PREFIX) else []
        if len(found) > 1:
            raise UsageError(f"{safe(id_)} begins the ids of {len(found)} suggestions", "give more of it")
        if found:
            named[id_] = found[0]
    return named


def accept(one: Open, state: State) -> str:
    """Make the change that is suggested, and return what was done. Raises StoreError, InvalidMemory, UsageError."""
    suggestion, memory = one.suggestion, one.memory
    if suggestion.field == QUESTION:
        if teaching.learn(memory.id, one.text, suggestion.decision, state, for_good=True) is None:
            raise UsageError(f"{memory.id} has no place for another question", f"`subcog edit {memory.id}` takes one away")
    else:
        with context.writing() as store:
            _amend(one, store)
            context.follow(store)
    suggestions.remove(state, suggestion.id)
    return f"done: {one.sentence}"


def _amend(one: Open, store: Store) -> None:
    suggestion, memory = one.suggestion, one.memory
    if one.other is not None:
        older, newer = by_age(store.get(memory.id), store.get(one.other.id))
        if not newer.is_live(now_ms()):
            raise UsageError(f"{newer.id} is {newer.status} by now", "drop the suggestion")
        amend(older, lambda stored: changed(stored, {"status": "superseded", "superseded_by": newer.id}), store, [])
        return

    def richer(stored: Memory) -> Memory:
        if suggestion.field == STANDING:
            return changed(stored, {"standing": one.text == YES})
        return changed(stored, joined(stored, {_LISTS[suggestion.field]: (one.text,)}))

    amend(store.get(memory.id), richer, store, [])


def drop(one: Open, state: State) -> str:
    """Note that it is not wanted; it is not suggested again. Return what was done."""
    suggestions.drop(state, one.suggestion.id)
    return f"dropped: {one.sentence}"


def described(one: Open) -> dict[str, object]:
    """Return it for scripts."""
    return {
        "id": one.suggestion.id,
        "memory": one.memory.id,
        "suggests": one.suggestion.field,
        "value": one.text,
        "by": one.suggestion.by,
    }


@contextmanager
def opened() -> Iterator[State | None]:
    """Yield the state in which they wait, None where there is none yet. Raises StoreError."""
    if not os.path.exists(context.home().state_db):
        yield None
        return
    with lookup.opened() as state:
        yield state
