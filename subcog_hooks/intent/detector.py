"""From a prompt to its intent: the keywords as the floor, an LLM as the ceiling, one deadline (S0).

`begin_detection` reads the words and starts the call, if one is needed. The caller can work meanwhile. `settle` waits within
the deadline and merges. The modules for an LLM are imported only before asking it.
"""

from __future__ import annotations

import time

from subcog_hooks.core.errors import ConfigError, StoreBusy
from subcog_hooks.intent import keywords
from subcog_hooks.intent.kinds import CACHED, COMPARISON, EXPLANATION, LOCATION, NONE, OFF, RESTING, SEEKING, SKIPPED, Intent
from subcog_hooks.intent.topics import extract_topics
from subcog_hooks.settings.defaults import NO_LLM
from subcog_hooks.store.memory import now_ms
from subcog_hooks.text.typed_prompt import ends_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.paths import Home
    from subcog_hooks.intent.classifier import Classification
    from subcog_hooks.llm.providers import Provider
    from subcog_hooks.llm.race import Outcome, Race
    from subcog_hooks.settings.defaults import Settings
    from subcog_hooks.store.state import State

    KeepLate = Callable[[str, str], None]

HOUR_MS = 3_600_000
# An answer is kept for a day: a prompt mostly comes again in the same piece of work.
ANSWER_KEPT_MS = 24 * HOUR_MS
MAX_PROMPT_SHOWN = 100_000  # characters of a prompt for an LLM: searching more for secrets takes too long
COPYING_S = 0.005  # The call ends this much before the wait for it, so that a copy of the process can wait on.
FAIR_S = 0.1  # A call with less time before the deadline has not failed: the hook was late, on a busy machine.
ABOUT_CODE = (EXPLANATION, LOCATION, COMPARISON)
NOTHING_SURELY = 0.1  # below it the words are sure that memories cannot help: "ok" needs no LLM

# The metrics have S0's names.
STARTED = "search_intent_llm_started"
COMPLETED = "search_intent_llm_completed"
TIMEOUTS = "search_intent_llm_timeout_total"
DURATION = "search_intent_detection_duration_seconds"

BY_DEADLINE, BY_SETTING = "deadline", "llm_timeout_ms"  # the limit that a call exceeded


class Examined:
    """An intent and its origin.

    reading: the detector's reading of the prompt. answer: of the LLM, None without one; llm_seconds: the wait for it, None when
    no LLM was asked; llm_reason: the reason for a missing answer, else ""; timed_out_by: the exceeded limit, else "". row,
    certainty, is_vetoed: of the merge. seconds: from the prompt to the intent.
    """

    __slots__ = (
        "answer",
        "certainty",
        "intent",
        "is_vetoed",
        "llm_reason",
        "llm_seconds",
        "reading",
        "row",
        "seconds",
        "timed_out_by",
    )

    def __init__(self, intent: Intent, reading: keywords.Reading, row: str, seconds: float) -> None:
        self.intent = intent
        self.reading = reading
        self.row = row
        self.seconds = seconds
        self.certainty = intent.confidence
        self.is_vetoed = False
        self.answer: Classification | None = None
        self.llm_seconds: float | None = None
        self.llm_reason = ""
        self.timed_out_by = ""

    def is_enough(self, settings: Settings) -> bool:
        """Return whether the confidence says that memories could help."""
        return is_enough(self.intent, settings)

    def may_speak(self, settings: Settings) -> bool:
        """Return whether the hook searches for memories. A low confidence needs stronger evidence; a veto silences it."""
        if self.is_vetoed or not self.intent.topics:
            return False
        return self.is_enough(settings) or is_unclear(self.reading)

    @property
    def is_about_code(self) -> bool:
        """True for a question that reading the code answers: a definition or a location, not a reason."""
        return self.intent.type in ABOUT_CODE and "why" not in map(str.lower, self.reading.words())

    @property
    def is_seeking(self) -> bool:
        """True for a prompt that asks for a memory: "what did we decide", "last time"."""
        return any(signal.family == SEEKING for signal in self.reading.fired)


def is_enough(intent: Intent, settings: Settings) -> bool:
    """Return whether the confidence says that memories could help, even if it is too low to name a type.

    The type does not matter, because relevance decides anyway.
    """
    return intent.confidence >= float(settings["search_intent.min_confidence"])


def is_unclear(reading: keywords.Reading) -> bool:
    """Return whether a prompt's words leave open if memories help: a title, an error code, an order.

    There a memory's own evidence decides, if it is strong. A surer question stays under a higher min_confidence.
    """
    return NOTHING_SURELY <= reading.intent.confidence < keywords.UNREAD_CONFIDENCE


class Detection:
    """The detection for one prompt: the reading of its words, and the call of an LLM, if any.

    status: of the LLM so far. fault: the reason why the configured provider cannot be asked. is_follow_up: the prompt has
    borrowed topics of an earlier one, which the LLM is not shown.
    """

    __slots__ = (
        "_is_abandoned",
        "_is_our_delay",
        "_key",
        "_outcome",
        "_provider",
        "_race",
        "_seconds",
        "_started",
        "answer",
        "fault",
        "is_follow_up",
        "reading",
        "reason",
        "status",
    )

    def __init__(self, prompt: str) -> None:
        self._started = time.perf_counter()
        self.reading = keywords.read_prompt(prompt)
        self._seconds = self._seconds_since_start()
        self.status = OFF
        self.reason = ""
        self.answer: Classification | None = None
        self.fault: ConfigError | None = None
        self._provider: Provider | None = None
        self._race: Race | None = None
        self._outcome: Outcome | None = None
        self.is_follow_up = False
        self._is_abandoned = False
        self._is_our_delay = False
        self._key = ""

    @property
    def may_change(self) -> bool:
        """True while an LLM may still change the intent."""
        return self._race is not None or self.answer is not None

    def ask(
        self, provider: Provider, prompt: str, state: State | None, seconds: float, keep_late: KeepLate | None = None
    ) -> None:
        """Start the call, unless the answer is cached or the provider rests. Raises StoreError."""
        from subcog_hooks.intent import classifier
        from subcog_hooks.llm import breaker, race

        now = now_ms()
        question = classifier.build_question(prompt)
        self._provider = provider
        self._key = breaker.answer_key(provider, question)
        kept = breaker.find_cached_answer(state, self._key, now) if state else None
        self.answer = classifier.parse_answer(kept) if kept else None
        if self.answer is not None:
            self.status = CACHED
            return
        if seconds <= 0.0:
            self.status = SKIPPED
            self.reason = "no time was left"
            return
        try:
            may_ask = state is None or breaker.may_call(state, provider.circuit, now)
        except StoreBusy:  # the try after a rest could not be recorded
            may_ask = False
        if may_ask:

            def keep_answer(answer: Classification) -> None:
                if keep_late is not None:
                    keep_late(self._key, classifier.answer_to_text(answer))

            keep = None
            if keep_late is not None:
                keep = keep_answer
                seconds -= self._seconds_since_start() + COPYING_S
            self._race = race.start_race(provider, question, classifier.parse_answer, seconds, keep)
        else:
            self.status = RESTING
            self.reason = "it failed too often lately"

    def settle(self, words: tuple[str, ...], settings: Settings, left_ms: float) -> Examined:
        """Return the intent, after at most `left_ms` of waiting. words: the topics of the prompt's words."""
        plain = self.reading.intent
        plain.topics = words
        if not self.may_change:
            if not words:
                plain = Intent(NONE, 0.0, (), plain.keywords)
            plain.llm_status = self.status
            examined = Examined(plain, self.reading, "no LLM was asked" if words else "no topics", self._seconds)
            examined.llm_reason = self.reason
            return examined
        from subcog_hooks.intent.classifier import Classification, merge_intents

        timed_out_by = ""
        if self._race is not None:
            from subcog_hooks.llm.race import TIMEOUT  # loaded by `ask`

            allowed_ms = float(settings["search_intent.llm_timeout_ms"]) - self._race.elapsed_seconds() * 1000.0
            self._outcome = self._race.join(min(allowed_ms, left_ms) / 1000.0)
            self.status, self.answer, self.reason = self._outcome.status, self._outcome.answer, self._outcome.reason
            if self.status == TIMEOUT:
                timed_out_by = BY_SETTING if allowed_ms <= left_ms else BY_DEADLINE
                self._is_our_delay = timed_out_by == BY_DEADLINE and self._outcome.seconds < FAIR_S
        min_confidence = float(settings["search_intent.min_confidence"])
        answer = self.answer
        if answer is not None and answer.type == NONE and self.is_follow_up:
            answer = Classification(NONE, 0.0, answer.topics)  # A no about a prompt whose subject it was not shown.
        is_alone = answer is not None and answer.confidence >= min_confidence and not self._has_keyword_result()
        whole = merge_intents(
            None if is_alone else plain,
            answer,
            attempted=self._outcome is not None,
            min_confidence=min_confidence,
            llm_status=self.status,
            words=words,
        )
        examined = Examined(whole.intent, self.reading, whole.row, self._seconds_since_start())
        examined.answer = self.answer
        examined.certainty = whole.certainty
        examined.is_vetoed = whole.is_vetoed
        examined.llm_reason = self.reason
        examined.timed_out_by = timed_out_by
        examined.llm_seconds = self._outcome.seconds if self._outcome else None
        return examined

    def abandon(self, words: tuple[str, ...], settings: Settings) -> Examined:
        """Return the intent known so far. The breaker does not count the abandoned call as a failure."""
        self._is_abandoned = True
        return self.settle(words, settings, 0.0)

    def _has_keyword_result(self) -> bool:
        """Return whether a signal of a type or of a request for a memory fired.

        Without either, an LLM's sure answer stands alone (S0).
        """
        return any(signal.family != NONE for signal in self.reading.fired)

    def record_metrics(self, examined: Examined, state: State) -> None:
        """Add the outcome of the prompt to the metrics. Raises StoreError."""
        state.observe_duration(DURATION, f'source="{examined.intent.source}"', examined.seconds)
        if self._outcome is None:
            return
        state.increase_counter(STARTED)
        state.increase_counter(COMPLETED, f'status="{self._outcome.status}"')
        if examined.timed_out_by:
            state.increase_counter(TIMEOUTS, f'reason="{examined.timed_out_by}"')

    def learn(self, state: State, *, keeps_answers: bool = True) -> None:
        """Store the answer of a call, or record its failure for the next prompts. Raises StoreError.

        keeps_answers: whether the answer, which has the prompt's topics, may be cached.
        """
        if self._outcome is None or self._provider is None:
            return
        from subcog_hooks.intent import classifier
        from subcog_hooks.llm import breaker  # loaded by `ask`, like the others
        from subcog_hooks.llm.race import TIMEOUT

        if self._is_our_delay or (self._is_abandoned and self._outcome.status == TIMEOUT):
            return
        now = now_ms()
        if self._outcome.answer is None:
            breaker.record_call_failure(state, self._provider.circuit, now)
            return
        breaker.record_call_success(state, self._provider.circuit)
        if keeps_answers:
            breaker.cache_answer(state, self._key, classifier.answer_to_text(self._outcome.answer), now, ANSWER_KEPT_MS)

    def _seconds_since_start(self) -> float:
        return time.perf_counter() - self._started


def begin_detection(
    prompt: str,
    settings: Settings,
    home: Home,
    state: State | None,
    disclose: Callable[[str], str | None],
    seconds: float,
    keep_late: KeepLate | None = None,
) -> Detection:
    """Read a prompt's words, and start to ask an LLM where one is configured and the words are unsure.

    disclose: returns the part of a text that may leave the machine, None for nothing. seconds: the call's own limit. keep_late:
    keeps an answer that comes later under its key, None to drop it. Raises StoreError.
    """
    detection = Detection(prompt)
    if settings["llm.provider"] == NO_LLM or not settings["search_intent.use_llm"] or detection.reading.prompt is None:
        return detection
    detection.reason = reason_to_skip_llm(detection.reading, prompt, float(settings["search_intent.llm_skip_confidence"]))
    if detection.reason:
        detection.status = SKIPPED
        return detection
    from subcog_hooks.llm import providers

    try:
        provider = providers.provider_of(settings, home)
    except ConfigError as error:
        detection.fault = error
        return detection
    disclosed = disclose(prompt)  # before the cut: half a secret is not recognised
    if disclosed is None:
        detection.status = SKIPPED
        detection.reason = "the prompt may hold a secret"
    elif provider is not None:
        detection.ask(provider, ends_of(disclosed), state, seconds, keep_late)
    return detection


def reason_to_skip_llm(reading: keywords.Reading, prompt: str, skip_confidence: float) -> str:
    """Return the reason to ask no LLM, "" when one should be asked: also for topics of a question that names nothing."""
    has_topics = bool(extract_topics(reading.words()))
    if has_topics and reading.intent.confidence >= skip_confidence:
        return "the words are sure"
    if reading.intent.confidence < NOTHING_SURELY:
        return "the words are sure that it asks for nothing"
    if not has_topics and is_unclear(reading):
        return "it neither asks nor names anything"
    return "the prompt is too long" if len(prompt) > MAX_PROMPT_SHOWN else ""


def examine_prompt(
    prompt: str,
    settings: Settings,
    home: Home,
    state: State | None,
    disclose: Callable[[str], str | None],
    rarity: Callable[[str], float | None] | None = None,
) -> Examined:
    """Return the intent of a prompt for the terminal; llm_timeout_ms alone limits the wait, and nothing is counted.

    rarity: of a word in the store, for `extract_topics`. Raises ConfigError for an unusable provider, StoreError.
    """
    limit_ms = float(settings["search_intent.llm_timeout_ms"])
    detection = begin_detection(prompt, settings, home, state, disclose, limit_ms / 1000.0)
    if detection.fault is not None:
        raise detection.fault
    examined = detection.settle(extract_topics(detection.reading.words(), rarity), settings, limit_ms)
    if state is not None:
        detection.learn(state, keeps_answers=bool(settings["surfacing.log_prompts"]))
    return examined
