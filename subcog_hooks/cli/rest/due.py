"""Looks at whether jobs at rest have anything to do: a millisecond or two, without what the jobs themselves load."""

import os

from subcog_hooks.errors import StoreError
from subcog_hooks.memory.model import now_ms
from subcog_hooks.memory.store import Store
from subcog_hooks.paths import Home
from subcog_hooks.state import llm_calls, suggestions
from subcog_hooks.state.connection import State

LOOK_WAIT_MS = 50.0


def has_lessons(home: Home) -> bool:
    """Return whether second looks, or what was learned from prompts, are to be gone through again."""
    if not os.path.exists(home.state_db):
        return False
    try:
        state = State.open(home, LOOK_WAIT_MS)
    except StoreError:
        return False
    try:
        return _has_lessons(home, state)
    except StoreError:
        return False
    finally:
        state.close()


def _has_lessons(home: Home, state: State) -> bool:
    if suggestions.is_teaching_due(state, now_ms()):
        return True
    if suggestions.has_taught(state) or _has_learned(home):
        return not suggestions.has_taught(state)
    suggestions.take_teaching(state, now_ms())  # all memories were looked through, once for this state
    return False


def _has_learned(home: Home) -> bool:
    """Return whether memories have questions out of records, which may be gone with the state that had them."""
    if not os.path.exists(home.memories_db):
        return False
    with Store.reader(home) as store:
        return bool(store.with_recorded_questions())


def has_unasked(home: Home) -> bool:
    """Return whether the store has changed since a model was asked about all that it holds."""
    if not os.path.exists(home.memories_db):
        return False
    try:
        with Store.reader(home) as store:
            revision = store.revision()
        state = State.open(home, LOOK_WAIT_MS)
    except StoreError:
        return False
    try:
        return llm_calls.find_asked_revision(state) != revision
    finally:
        state.close()
