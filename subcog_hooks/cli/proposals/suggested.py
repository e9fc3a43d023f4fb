"""Shows suggested changes of memories in `review`, and applies or drops them."""

from collections.abc import Sequence
from typing import NamedTuple

from subcog_hooks.cli.proposals.enrichment_questions import YES, pair_digest, pair_key
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.amendment import amend, apply_changes, merge_changes
from subcog_hooks.cli.support.output import redact_line, safe
from subcog_hooks.core.errors import UsageError
from subcog_hooks.store import state_values, suggestions
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.suggestions import CONFLICT, GLOB, KEYWORD, STANDING, Suggestion

PREFIX = "s-"  # of the ids of suggestions
MAX_MEMORY_CHARS = 80  # characters of a memory
_LISTS = {KEYWORD: "keywords", GLOB: "paths"}  # fields of a memory that a suggestion adds an entry to


class OpenSuggestion(NamedTuple):
    """A suggestion that waits. other: the memory that contradicts its memory."""

    suggestion: Suggestion
    memory: Memory
    other: Memory | None = None

    @property
    def asked_text(self) -> tuple[str, str]:
        """The key of the text that a model was asked about, and the present hash of that text."""
        if self.other is None:
            return self.memory.id, self.memory.content_hash
        pair = by_age(self.memory, self.other)
        return pair_key(*pair), pair_digest(*pair)

    @property
    def sentence(self) -> str:
        """Return the effect of accepting it, in a line."""
        memory, effect = self.memory, self.suggestion.value
        if self.other is not None:
            memory, newer = by_age(self.memory, self.other)
            is_narrower = memory.scope != "project" and newer.scope == "project"
            owner = f" of {newer.project} alone, so that no other project has it any more" if is_narrower else ""
            effect = f"is superseded by {newer.id}{owner}, which says otherwise ({newer.content[:MAX_MEMORY_CHARS]})"
        elif self.suggestion.field == STANDING:
            effect = "holds in every session" if effect == YES else "does not hold in every session"
        else:
            effect = f"gets the {self.suggestion.field} {effect!r}"
        line = f"{memory.id} {effect}, as {self.suggestion.by} suggests; it says: {memory.content[:MAX_MEMORY_CHARS]}"
        return redact_line(line)


def by_age(first: Memory, other: Memory) -> tuple[Memory, Memory]:
    """Return the older of two memories, then the newer."""
    older, newer = sorted((first, other), key=lambda memory: (memory.created_at, memory.id))
    return older, newer


def find_open(state: State | None, store: Store) -> list[OpenSuggestion]:
    """Return the open suggestions. Suggestions for a memory that is gone or has another text are removed. Raises StoreError."""
    open_suggestions: list[OpenSuggestion] = []
    for suggestion in suggestions.find_open_suggestions(state) if state else ():
        assert state is not None
        usable = _open_suggestion(suggestion, store)
        if usable is None or state_values.is_changed_since_tried(state, *usable.asked_text):
            suggestions.remove_suggestion(state, suggestion.id)
        else:
            open_suggestions.append(usable)
    return open_suggestions


def _open_suggestion(suggestion: Suggestion, store: Store) -> OpenSuggestion | None:
    memories = store.by_ids([suggestion.memory, *([suggestion.value] if suggestion.field == CONFLICT else [])])
    memory, other = memories.get(suggestion.memory), memories.get(suggestion.value) if suggestion.field == CONFLICT else None
    if memory is None or not memory.is_live(now_ms()):
        return None
    if suggestion.field == CONFLICT and (other is None or not other.is_live(now_ms())):
        return None
    if suggestion.field == STANDING and memory.standing is not None:
        return None
    if suggestion.field in _LISTS and suggestion.value in getattr(memory, _LISTS[suggestion.field]):
        return None
    return OpenSuggestion(suggestion, memory, other)


def find_named(ids: Sequence[str], waiting: Sequence[OpenSuggestion]) -> dict[str, OpenSuggestion]:
    """Return the suggestions that these ids or prefixes name. Raises UsageError."""
    named: dict[str, OpenSuggestion] = {}
    for id_ in ids:
        of_suggestion = waiting if id_.startswith(PREFIX) else ()
        matches = [open_suggestion for open_suggestion in of_suggestion if open_suggestion.suggestion.id.startswith(id_)]
        if len(matches) > 1:
            raise UsageError(f"{safe(id_)} begins the ids of {len(matches)} suggestions", "give more of it")
        if matches:
            named[id_] = matches[0]
    return named


def accept(accepted: OpenSuggestion, state: State) -> str:
    """Apply a suggested change, and return a message. Raises StoreError, InvalidMemory, UsageError."""
    with context.writing() as store:
        _apply(accepted, store)
        context.update_index_and_vectors(store)
    suggestions.remove_suggestion(state, accepted.suggestion.id)
    return f"done: {accepted.sentence}"


def _apply(accepted: OpenSuggestion, store: Store) -> None:
    suggestion, memory = accepted.suggestion, accepted.memory
    if accepted.other is not None:
        older, newer = by_age(store.get(memory.id), store.get(accepted.other.id))
        if not newer.is_live(now_ms()):
            raise UsageError(f"{newer.id} is {newer.status} by now", "drop the suggestion")
        amend(older, lambda stored: apply_changes(stored, {"status": "superseded", "superseded_by": newer.id}), store, [])
        return

    def apply_to(stored: Memory) -> Memory:
        if suggestion.field == STANDING:
            return apply_changes(stored, {"standing": suggestion.value == YES})
        return apply_changes(stored, merge_changes(stored, {_LISTS[suggestion.field]: (suggestion.value,)}))

    amend(store.get(memory.id), apply_to, store, [])


def drop(dropped: OpenSuggestion, state: State) -> str:
    """Record that a suggestion is not wanted, so that it is not made again. Return a message."""
    suggestions.drop_suggestion(state, dropped.suggestion.id)
    return f"dropped: {dropped.sentence}"


def suggestion_fields(open_suggestion: OpenSuggestion) -> dict[str, object]:
    """Return a suggestion as an object for scripts."""
    return {
        "id": open_suggestion.suggestion.id,
        "memory": open_suggestion.memory.id,
        "suggests": open_suggestion.suggestion.field,
        "value": open_suggestion.suggestion.value,
        "by": open_suggestion.suggestion.by,
    }
