"""UserPromptSubmit: from the payload to an intent; what is worth a search goes on to `surfacing`. Every run is recorded."""

from subcog_hooks.hooks import occasion
from subcog_hooks.hooks.turn import SETTLE_MS, Stages, Turn
from subcog_hooks.intent import detection
from subcog_hooks.state import pause
from subcog_hooks.state.decision import EXACT, INTENT, INTENT_READ, NOMEM, NOT_TYPED, OFF, OPEN, PAUSED, REPEATED, START
from subcog_hooks.text import typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.deadline import Deadline
    from subcog_hooks.paths import Home
    from subcog_hooks.settings.loading import Settings

SILENCE = "[nomem]"  # in a prompt: not this time


def respond(payload: dict[str, object], home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    """Answer one prompt: `write` is called once with the output, or not at all. Raises StoreError."""
    occasion.with_sound_state(home, lambda: _respond(payload, home, write, deadline))


def _respond(payload: dict[str, object], home: "Home", write: "Callable[[bytes], None]", deadline: "Deadline") -> None:
    stages = Stages(deadline)
    stages.done(START)
    happened = occasion.opened(payload, home, deadline)
    if happened is None:
        return
    turn = Turn(happened, stages)
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
    if pause.is_on(turn.state, turn.at):
        return PAUSED
    return "" if typed.is_typed(turn.prompt) else NOT_TYPED  # last: of what is only silenced no text is kept


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
    has_exact = turn.find_exact()
    turn.stages.done(EXACT)
    is_asked = detected.may_change or bool(words and _is_worth_a_look(detected, settings))
    if not is_asked and not has_exact:
        turn.settle(detected, words)
        turn.keep_if_free(REPEATED if turn.exact else INTENT)
        if turn.exact is not None and turn.exact.note:
            turn.log(turn.exact.note)
        return
    from subcog_hooks.hooks import surfacing  # most prompts have ended above, without loading recall (10 ms)

    if is_asked:
        surfacing.surface(turn, detected, write)
    else:
        surfacing.surface_exact(turn, detected, write)


def _is_worth_a_look(detected: "detection.Detection", settings: "Settings") -> bool:
    reading = detected.reading
    return detection.is_enough(reading.intent, settings) or detection.is_unclear(reading)


def _shown(prompt: str) -> str | None:
    from subcog_hooks.llm import disclosure  # only for what leaves the machine

    return disclosure.shown(prompt)
