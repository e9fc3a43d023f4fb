"""The facts by which conditions are judged in a terminal: the user's flags, what this folder tells, what a command states."""

import os
from collections.abc import Iterable

from subcog_hooks.cli.support import session
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.cues import condition_texts
from subcog_hooks.cues.conditions import KNOWN
from subcog_hooks.errors import UsageError
from subcog_hooks.hooks import facts
from subcog_hooks.state import flags as user_flags
from subcog_hooks.state.connection import State

WAIT_MS = 2_000  # for a state that another process holds

Value = bool | int | float | str


def stated(texts: Iterable[str]) -> dict[str, Value]:
    """Return the facts that these texts state, as `branch=main`, beside those known here. Raises UsageError, StoreError."""
    given: dict[str, Value] = {}
    for text in texts:
        name, value = condition_texts.fact_from_text(text)
        if name in given:
            raise UsageError(f"{safe(name)} is stated twice", "a fact has one value")
        given[name] = value
    return {**flags(), **of_place(), **given}


def flags() -> dict[str, Value]:
    """Return the flags that the user has set. Raises StoreError."""
    if not os.path.exists(session.home().state_db):
        return {}
    state = State.open(session.home(), WAIT_MS, terminal.say)
    try:
        return {name: value for name, value in user_flags.find_all(state).items() if name not in KNOWN}
    finally:
        state.close()


def of_place() -> dict[str, Value]:
    """Return the facts that can be known without a session: of this folder and this machine."""
    try:
        folder = os.getcwd()
    except FileNotFoundError:  # it has been removed
        folder = ""
    return facts.place_facts(folder, session.here())
