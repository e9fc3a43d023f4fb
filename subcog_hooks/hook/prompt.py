"""UserPromptSubmit: decide on a prompt, answer it, record it, and perhaps look again. `prompt_search` does the search."""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.hook.call import open_call
from subcog_hooks.hook.choose import Verdict
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.hook.prompt_reading import SETTLE_MS, PromptReading, borrow_topics, match_cues
from subcog_hooks.intent import detector
from subcog_hooks.intent.keywords import EARLY_PROMPTS, RECENT
from subcog_hooks.settings.defaults import BACKGROUND_LLM, NEVER, NO_LLM, SECOND_LOOK, SESSION_LINES
from subcog_hooks.store.state import is_paused
from subcog_hooks.store.verdicts import EXACT, FAILED, INTENT, INTENT_READ, NOMEM, NOT_TYPED, OFF, OUT_OF_TIME, PAUSED, REPEATED
from subcog_hooks.text import GOVERNED, typed_prompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.paths import Home
    from subcog_hooks.settings.defaults import Settings

SILENCE_MARK = "[nomem]"  # A prompt with it gets no memories.
MIN_ORDER_TOPICS = 3  # An order with these, or with a name such as `moment.js`, is searched although it asks for nothing.
MAX_REASON = 200  # stored characters of an error


def respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    """Answer one prompt: call `write` once with the output, or not at all. Raises StoreError."""
    call = open_call(payload, home, deadline)
    if call is None:
        return
    reading = PromptReading(call)
    verdict = decide_prompt(reading)
    if verdict.offer is not None:
        from subcog_hooks.hook.deliver import deliver  # Most prompts have ended before.

        try:
            deliver(call, PROMPT_EVENT, verdict, write)
        except Exception as error:  # noqa: BLE001 - it is raised again behind the record
            verdict.outcome, verdict.reason = outcome_of_error(error)
            verdict.error, verdict.judgements = error, verdict.offer.judge(call.eligible.given)
    from subcog_hooks.hook import record  # The answer does not wait for this import.

    record.record_prompt(reading, verdict)
    for remark in verdict.remarks:
        call.log(remark)
    if verdict.error is not None:
        raise verdict.error
    _look_again(reading, verdict)


def _look_again(reading: PromptReading, verdict: Verdict) -> None:
    """Start a second look at a prompt after a search without memories, if a model may be asked."""
    settings = reading.call.settings
    may_ask = settings[BACKGROUND_LLM] != NO_LLM and settings[SECOND_LOOK] != NEVER and settings["surfacing.tools"]
    if not may_ask or verdict.offer is None or verdict.ids:
        return
    from subcog_hooks.hook import second_look  # Only with an LLM, and for a search that brought nothing.

    try:
        second_look.start_if_unanswered(reading, verdict)
    except StoreBusy:
        pass  # Nobody waits for another writer to look again.


def decide_prompt(reading: PromptReading) -> Verdict:
    """Decide on a prompt. Nothing is written; an LLM may be asked. Raises StoreError where the intent cannot be read."""
    if silence := _silence_reason(reading):
        return Verdict(silence)
    call = reading.call
    settings = call.settings
    limit_ms = min(float(settings["search_intent.llm_timeout_ms"]), call.deadline.left_ms() - SETTLE_MS)
    keep_late = None
    if settings["llm.provider"] != NO_LLM and not call.is_trial and reading.keeps_texts:
        from subcog_hooks.hook import detached  # Only with an LLM.

        keep_late = detached.make_keeper(call.home)
    detected = reading.detected = detector.begin_detection(
        reading.prompt, settings, call.home, call.state, max(0.0, limit_ms) / 1000.0, keep_late
    )
    try:
        verdict = _decide_by_words(reading)
        if _may_point_at_sessions(reading, verdict):
            from subcog_hooks.hook import past_sessions  # Few prompts ask about the past.

            past_sessions.add_lines_for_prompt(reading, verdict)
    except Exception as error:  # noqa: BLE001 - the record keeps the error with the prompt's intent
        examined = detected.abandon(reading.own_topics(), settings)
        verdict = Verdict(*outcome_of_error(error), detected=detected, examined=examined, error=error)
    if detected.fault is not None:
        verdict.remarks = (f"no LLM is asked: {detected.fault}", *verdict.remarks)
    return verdict


def _silence_reason(reading: PromptReading) -> str:
    """Return the reason for which the prompt is not even read, "" when it is."""
    settings = reading.call.settings
    if SILENCE_MARK in reading.prompt:
        return NOMEM
    if not settings["surfacing.enabled"] or not settings["search_intent.enabled"]:
        return OFF
    if is_paused(reading.call.state, reading.call.now_ms):
        return PAUSED
    return "" if typed_prompt.is_typed(reading.prompt) else NOT_TYPED  # Last, since only this outcome allows a stored text.


def _decide_by_words(reading: PromptReading) -> Verdict:
    """Decide on a prompt by its words and cues; search where they ask for it. Raises StoreError."""
    call, detected = reading.call, reading.detected
    settings = call.settings
    borrow_topics(reading)
    topics = reading.topics()
    if any(signal.family == RECENT for signal in detected.reading.fired):
        detected.reading.is_late = reading.position() > EARLY_PROMPTS
    call.stages.end(INTENT_READ)
    matches = reading.cue_matches = match_cues(reading.prompt, call)
    has_news = matches is not None and any(memory.id not in call.eligible.given for memory in matches.memories.values())
    call.stages.end(EXACT)
    is_asked = detected.may_change or bool(topics and _is_worth_a_search(detected, settings, topics))
    is_asked = is_asked or not GOVERNED.isdisjoint(map(str.lower, detected.reading.words()))
    if not is_asked and not has_news:
        examined = detected.settle(topics, settings, 0.0)
        remarks = [matches.note] if matches is not None and matches.note else []
        outcome = REPEATED if matches else INTENT
        return Verdict(outcome, detected=detected, examined=examined, borrowed=reading.borrowed, remarks=remarks)
    from subcog_hooks.hook import prompt_search  # 10 ms, and most prompts have ended above.

    return prompt_search.decide_by_recall(reading) if is_asked else prompt_search.decide_by_cues(reading)


def _may_point_at_sessions(reading: PromptReading, verdict: Verdict) -> bool:
    """Return whether a prompt asks about the past, past sessions can be searched, and lines are wanted."""
    settings, examined = reading.call.settings, verdict.examined
    return (
        examined is not None
        and reading.detected.reading.is_about_past
        and not examined.is_vetoed
        and bool(settings[SESSION_LINES] and settings["surfacing.maybe_relevance"])
        and os.path.exists(reading.call.home.sessions.memories_db)
    )


def _is_worth_a_search(detected: detector.Detection, settings: Settings, topics: Sequence[str]) -> bool:
    words = detected.reading
    if words.intent.is_enough(settings) or words.is_unclear:
        return True
    is_about_something = len(topics) >= MIN_ORDER_TOPICS or not all(topic.isalpha() and topic.islower() for topic in topics)
    return is_about_something and bool(settings["surfacing.maybe_relevance"])


def outcome_of_error(error: Exception) -> tuple[str, str]:
    """Map an exception to a verdict outcome and the reason in its record."""
    return OUT_OF_TIME if isinstance(error, TimeoutError) else FAILED, f"{type(error).__name__}: {error}"[:MAX_REASON]
