"""UserPromptSubmit: from the payload to an intent; what is worth a search goes on to `surfacing`."""

import os

from subcog_hooks import config
from subcog_hooks.errors import StoreCorrupt
from subcog_hooks.hooks.turn import PRINT_MS, SETTLE_MS, Turn
from subcog_hooks.intent import detection, text
from subcog_hooks.memory import project
from subcog_hooks.memory.model import now_ms
from subcog_hooks.state import State, put_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.deadline import Deadline
    from subcog_hooks.paths import Home

MAX_SESSION = 200  # characters of a session id that are kept
SILENCE = "[nomem]"  # in a prompt: not this time

_left_open: list[State] = []  # closing the last connection checkpoints and deletes the WAL: 2 ms at every prompt


def respond(payload: dict[str, object], home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    """Answer one prompt: `write` is called once with the output, or not at all. Raises StoreError."""
    try:
        _respond(payload, home, write, deadline)
    except StoreCorrupt as error:
        if home.state_db not in error.message:
            raise
        _log(home, f"{error.message}; it is put aside and made anew, without the ledger and a pause")
        put_aside(home)
        _respond(payload, home, write, deadline)


def _respond(payload: dict[str, object], home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    prompt = _text(payload, "prompt")
    if SILENCE in prompt or not text.is_typed(prompt) or not os.path.exists(home.memories_db):
        return
    folder = _text(payload, "cwd")
    here = project.find(folder) if os.path.isabs(folder) else None
    state = State.open(home, max(1.0, deadline.left_ms() - PRINT_MS))
    _left_open.append(state)
    settings = config.load(home, here.root if here else None, state)
    for problem in settings.problems:
        _log(home, problem)
    if not settings["surfacing.enabled"] or not settings["search_intent.enabled"] or state.paused(now_ms()):
        return
    limit_ms = min(float(settings["search_intent.llm_timeout_ms"]), deadline.left_ms() - SETTLE_MS)
    detected = detection.begin(prompt, settings, home, state, _shown, max(0.0, limit_ms) / 1000.0)
    if detected.fault is not None:
        _log(home, f"no LLM is asked: {detected.fault}")
    turn = Turn(prompt, _text(payload, "session_id")[:MAX_SESSION], here, settings, state, home, deadline, detected)
    if not detected.may_change and not detection.is_enough(detected.reading.intent, settings):
        turn.keep_if_free(turn.settle(()))
        return
    from subcog_hooks.hooks import surfacing  # most prompts have ended above, without loading recall (10 ms)

    surfacing.surface(turn, write)


def _text(payload: dict[str, object], name: str) -> str:
    """A field of the payload, "" when it is no text; half a surrogate pair, as a cut in JavaScript leaves it, becomes `?`."""
    value = payload.get(name)
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _shown(prompt: str) -> str | None:
    from subcog_hooks.capture import disclosure  # only for what leaves the machine

    return disclosure.shown(prompt)


def _log(home: "Home", message: str) -> None:
    from subcog_hooks import log  # only when there is something to say

    log.write(home, message)
