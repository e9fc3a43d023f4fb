"""Keep an LLM's answer that came after the hook had answered: the same prompt finds it in the cache."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import detached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any  # of JSON

WORDS = ("hook", "--late-answer")  # arguments of the command line
WRITE_WAIT_MS = 1_000.0  # for another writing process


def make_keeper(home: Home) -> Callable[[str, str], None] | None:
    """Return the function that keeps a late answer under its key; None where no process may outlive the hook.

    It is called in a copy of the hook's process, where SQLite must not be used, and starts a new process.
    """
    if not hasattr(os, "fork") or not detached.may_start():
        return None
    return lambda key, answer: detached.start_process(home, WORDS, light_json.dumps({"key": key, "answer": answer}).encode())


def main() -> None:
    """Keep the answer on standard input. Raises ValueError, KeyError, StoreError."""
    from subcog_hooks.intent.detector import ANSWER_KEPT_MS
    from subcog_hooks.llm import ask
    from subcog_hooks.store.memory import now_ms
    from subcog_hooks.store.state import State

    fields: Any = light_json.loads(os.read(0, detached.MAX_INPUT_BYTES).decode())
    state = State.open(Home.find(), WRITE_WAIT_MS)
    ask.cache_answer(state, fields["key"], fields["answer"], now_ms(), ANSWER_KEPT_MS)
    state.close()
