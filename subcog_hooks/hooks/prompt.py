"""UserPromptSubmit: from the payload to an intent; what is worth a search goes on to `surfacing`. Every run is recorded."""

import os

from subcog_hooks import config
from subcog_hooks.decision import INTENT, INTENT_READ, NOMEM, NOT_TYPED, OFF, OPEN, PAUSED, START
from subcog_hooks.errors import StoreCorrupt
from subcog_hooks.hooks.payload import session_of, text_of
from subcog_hooks.hooks.turn import PRINT_MS, SETTLE_MS, Stages, Turn
from subcog_hooks.intent import detection, text
from subcog_hooks.memory import project
from subcog_hooks.state import State, put_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.deadline import Deadline
    from subcog_hooks.paths import Home

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
    if not os.path.exists(home.memories_db):
        return
    stages = Stages(deadline)
    stages.done(START)
    folder = text_of(payload, "cwd")
    here = project.find(folder) if os.path.isabs(folder) else None
    state = State.open(home, max(1.0, deadline.left_ms() - PRINT_MS))
    _left_open.append(state)
    settings = config.load(home, here.root if here else None, state)
    for problem in settings.problems:
        _log(home, problem)
    turn = Turn(text_of(payload, "prompt"), session_of(payload), here, settings, state, home, deadline, stages)
    stages.done(OPEN)
    try:
        decide(turn, write)
    except Exception as error:
        turn.give_up(error)
        raise


def decide(turn: Turn, write: "Callable[[bytes], None]") -> None:
    """Speak or be silent, and keep what was decided in the turn's state. Raises StoreError."""
    if silence := _silence(turn):
        turn.keep_if_free(silence)
    else:
        _answer(turn, write)


def _silence(turn: Turn) -> str:
    """Why the prompt is not even read, "" when it is."""
    if SILENCE in turn.prompt:
        return NOMEM
    if not turn.settings["surfacing.enabled"] or not turn.settings["search_intent.enabled"]:
        return OFF
    if turn.state.paused(turn.at):
        return PAUSED
    return "" if text.is_typed(turn.prompt) else NOT_TYPED  # last: of what is only silenced no text is kept


def _answer(turn: Turn, write: "Callable[[bytes], None]") -> None:
    settings = turn.settings
    limit_ms = min(float(settings["search_intent.llm_timeout_ms"]), turn.deadline.left_ms() - SETTLE_MS)
    detected = detection.begin(turn.prompt, settings, turn.home, turn.state, _shown, max(0.0, limit_ms) / 1000.0)
    turn.detected = detected
    if detected.fault is not None:
        turn.log(f"no LLM is asked: {detected.fault}")
    turn.borrow(detected)
    words = turn.topics(detected)
    turn.stages.done(INTENT_READ)
    if not detected.may_change and not (words and _is_worth_a_look(detected, settings)):
        turn.settle(detected, words)
        turn.keep_if_free(INTENT)
        return
    from subcog_hooks.hooks import surfacing  # most prompts have ended above, without loading recall (10 ms)

    surfacing.surface(turn, detected, write)


def _is_worth_a_look(detected: "detection.Detection", settings: "config.Settings") -> bool:
    reading = detected.reading
    return detection.is_enough(reading.intent, settings) or detection.is_unclear(reading)


def _shown(prompt: str) -> str | None:
    from subcog_hooks.capture import disclosure  # only for what leaves the machine

    return disclosure.shown(prompt)


def _log(home: "Home", message: str) -> None:
    from subcog_hooks import log  # only when there is something to say

    log.write(home, message)
