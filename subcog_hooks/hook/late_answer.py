"""Keep an LLM's answer that came after the hook had answered: the same prompt and the second look find it in the cache."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json, log
from subcog_hooks.core.errors import SubcogError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import detached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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
    """Keep the answer on standard input. Never raises; other input is ignored."""
    from subcog_hooks.intent.detector import ANSWER_KEPT_MS
    from subcog_hooks.llm import breaker
    from subcog_hooks.store.memory import now_ms
    from subcog_hooks.store.state import State

    try:
        fields = light_json.loads(os.read(0, detached.MAX_INPUT_BYTES + 1).decode("utf-8", "replace"))
    except ValueError:
        return
    if not isinstance(fields, dict) or not isinstance(fields.get("key"), str) or not isinstance(fields.get("answer"), str):
        return
    home = Home.find()
    try:
        state = State.open(home, WRITE_WAIT_MS)
        breaker.cache_answer(state, fields["key"], fields["answer"], now_ms(), ANSWER_KEPT_MS)
        state.close()
    except SubcogError as error:
        log.write_line(home, f"a late answer of an LLM was not kept: {error}")
