"""UserPromptSubmit: a prompt is read, decided on, answered or not, and recorded. What is worth a search goes to `surfacing`."""

from __future__ import annotations

from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.hook import call as occasions
from subcog_hooks.hook import reading as turns
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.hook.reading import SETTLE_MS, Turn
from subcog_hooks.hook.verdict import Verdict
from subcog_hooks.intent import detector
from subcog_hooks.store import ledger, state_values
from subcog_hooks.store.decision import EXACT, FAILED, INTENT, INTENT_READ, NOMEM, NOT_TYPED, OFF, OUT_OF_TIME, PAUSED, REPEATED
from subcog_hooks.text import typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.paths import Home
    from subcog_hooks.hook.deliver import Delivery
    from subcog_hooks.hook.second_look_answer import LateAnswer
    from subcog_hooks.settings.loading import Settings

SILENCE = "[nomem]"  # in a prompt: not this time
MIN_ORDER_TOPICS = 3  # an order that names its object is looked up, also where the words ask for nothing
MAX_REASON = 200  # characters of an error that are kept


def respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    """Answer one prompt: `write` is called once with the output, or not at all. Raises StoreError."""
    occasions.with_sound_state(home, lambda: _respond(payload, home, write, deadline))


def _respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    occasion = occasions.open_occasion(payload, home, deadline)
    if occasion is None:
        return
    turn = Turn(occasion)
    verdict = decide(turn)
    late: LateAnswer | None = None
    if ledger.has_second_look(occasion.state, occasion.session):
        from subcog_hooks.hook import second_look_answer  # few prompts follow one

        late = second_look_answer.join_prompt(turn, verdict)
    delivery: Delivery | None = None
    if verdict.offer is not None:
        from subcog_hooks.hook.deliver import deliver  # most prompts have ended before

        try:
            delivery = deliver(occasion, PROMPT_EVENT, verdict.offer, write)
        except Exception as error:  # noqa: BLE001 - recorded, then raised again
            verdict.fail(*_told(error), error, occasion.eligible.given)
    if late is not None and delivery is not None:
        late.drop_after(delivery)
    from subcog_hooks.hook import record  # the answer, if there is one, has been written

    record.keep_prompt(turn, verdict, delivery)
    for remark in verdict.remarks:
        occasion.log(remark)
    if verdict.error is not None:
        raise verdict.error
    if verdict.offer is not None and not (delivery and delivery.ids):
        from subcog_hooks.hook import second_look_start  # where something was looked for, and nothing handed over

        try:
            second_look_start.start_if_unsure(turn, verdict, delivery)
        except StoreBusy:
            pass  # somebody writes: nobody waits to look again


def decide(turn: Turn) -> Verdict:
    """Decide on a prompt. Nothing is written; an LLM may be asked. Raises StoreError where not even that could be begun."""
    if silence := _silence(turn):
        return Verdict(silence)
    occasion = turn.occasion
    settings = occasion.settings
    limit_ms = min(float(settings["search_intent.llm_timeout_ms"]), occasion.deadline.left_ms() - SETTLE_MS)
    detected = detector.begin(turn.prompt, settings, occasion.home, occasion.state, _shown, max(0.0, limit_ms) / 1000.0)
    try:
        verdict = _decide(turn, detected)
    except Exception as error:  # noqa: BLE001 - what is known of the prompt is recorded with it
        examined = detected.abandon(turns.Read(turn, detected).topics(), settings)
        verdict = Verdict(*_told(error), detected=detected, examined=examined, error=error)
    if detected.fault is not None:
        verdict.remarks = (f"no LLM is asked: {detected.fault}", *verdict.remarks)
    return verdict


def _silence(turn: Turn) -> str:
    """Return why the prompt is not even read, "" when it is."""
    settings = turn.occasion.settings
    if SILENCE in turn.prompt:
        return NOMEM
    if not settings["surfacing.enabled"] or not settings["search_intent.enabled"]:
        return OFF
    if state_values.is_paused(turn.occasion.state, turn.occasion.at):
        return PAUSED
    return "" if typed.is_typed(turn.prompt) else NOT_TYPED  # last: of what is only silenced no text is kept


def _decide(turn: Turn, detected: detector.Detection) -> Verdict:
    occasion, settings = turn.occasion, turn.occasion.settings
    read = turns.read(turn, detected)
    words = read.topics()
    occasion.stages.done(INTENT_READ)
    read.exact = turns.match_cues(turn)
    has_news = read.exact is not None and read.exact.is_news(occasion.eligible.given)
    occasion.stages.done(EXACT)
    is_asked = detected.may_change or bool(words and _is_worth_a_look(detected, settings, len(words)))
    if not is_asked and not has_news:
        examined = detected.settle(words, settings, 0.0)
        remarks = [read.exact.note] if read.exact is not None and read.exact.note else []
        outcome = REPEATED if read.exact else INTENT
        return Verdict(outcome, detected=detected, examined=examined, borrowed=read.borrowed, remarks=remarks)
    from subcog_hooks.hook import recalled  # most prompts have ended above, without loading recall (10 ms)

    return recalled.surface(read) if is_asked else recalled.surface_exact(read)


def _is_worth_a_look(detected: detector.Detection, settings: Settings, topics: int) -> bool:
    reading = detected.reading
    if detector.is_enough(reading.intent, settings) or detector.is_unclear(reading):
        return True
    return topics >= MIN_ORDER_TOPICS and bool(settings["surfacing.maybe_relevance"])


def _told(error: Exception) -> tuple[str, str]:
    """Return the outcome that an error is, and how it is told."""
    return OUT_OF_TIME if isinstance(error, TimeoutError) else FAILED, f"{type(error).__name__}: {error}"[:MAX_REASON]


def _shown(prompt: str) -> str | None:
    from subcog_hooks.llm import disclosure  # only for what leaves the machine

    return disclosure.shown(prompt)
