"""From a prompt to its intent: the keywords as the floor, an LLM as the ceiling, one deadline (S0).

`begin_detection` reads the words and starts the call, if one is needed. The caller can work meanwhile. `settle` waits within
the deadline and merges. The modules for an LLM are imported only before asking it.
"""

from __future__ import annotations

import time

from subcog_hooks.core.errors import ConfigError, StoreBusy
from subcog_hooks.intent import keywords
from subcog_hooks.intent.keywords import CACHED, NONE, NOTHING_SURELY, OFF, RESTING, SKIPPED, Intent
from subcog_hooks.intent.topics import extract_topics
from subcog_hooks.settings.defaults import NO_LLM
from subcog_hooks.store.memory import now_ms
from subcog_hooks.text.typed_prompt import ends_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.paths import Home
    from subcog_hooks.llm.ask import Outcome, Race
    from subcog_hooks.llm.providers import Provider
    from subcog_hooks.settings.defaults import Settings
    from subcog_hooks.store.state import State

    KeepLate = Callable[[str, str], None]

HOUR_MS = 3_600_000
# An answer is kept for a day: a prompt mostly comes again in the same piece of work.
ANSWER_KEPT_MS = 24 * HOUR_MS
MAX_PROMPT_SHOWN = 100_000  # characters of a prompt for an LLM: searching more for secrets takes too long
COPYING_S = 0.005  # The call ends this much before the wait for it, so that a copy of the process can wait on.
FAIR_S = 0.1  # A call with less time before the deadline has not failed: the hook was late, on a busy machine.

# The metrics have S0's names.
STARTED = "search_intent_llm_started"
COMPLETED = "search_intent_llm_completed"
TIMEOUTS = "search_intent_llm_timeout_total"
DURATION = "search_intent_detection_duration_seconds"

BY_DEADLINE, BY_SETTING = "deadline", "llm_timeout_ms"  # the limit that a call exceeded


class Detection:
    """The detection for one prompt: the reading of its words, and the call of an LLM, if any.

    status: of the LLM so far; reason: why it has no answer. fault: the reason why the configured provider cannot be asked.
    is_follow_up: the prompt has borrowed topics of an earlier one, which the LLM is not shown.
    """

    __slots__ = (
        *("_has_failed", "_key", "_outcome", "_provider", "_race", "_seconds", "_started"),
        *("answer", "fault", "is_follow_up", "reading", "reason", "status"),
    )

    def __init__(self, prompt: str) -> None:
        self._started = time.perf_counter()
        self.reading = keywords.read_prompt(prompt)
        self._seconds = self._seconds_since_start()
        self.status = OFF
        self.reason = ""
        self.answer: Intent | None = None
        self.fault: ConfigError | None = None
        self.is_follow_up = False
        self._provider: Provider | None = None
        self._race: Race | None = None
        self._outcome: Outcome | None = None
        self._has_failed = True  # without an answer; False where the time was ours
        self._key = ""

    @property
    def may_change(self) -> bool:
        """True while an LLM may still change the intent."""
        return self._race is not None or self.answer is not None

    def skip(self, reason: str) -> None:
        """Ask no LLM, for a reason."""
        self.status, self.reason = SKIPPED, reason

    def start_call(
        self, provider: Provider, prompt: str, state: State | None, seconds: float, keep_late: KeepLate | None
    ) -> None:
        """Start the call, unless the answer is cached or the provider rests. Raises StoreError."""
        from subcog_hooks.intent import classifier
        from subcog_hooks.llm import ask

        now = now_ms()
        question = classifier.build_question(prompt)
        self._provider = provider
        key = self._key = ask.answer_key(provider, question)
        kept = ask.find_cached_answer(state, key, now) if state else None
        self.answer = classifier.parse_answer(kept) if kept else None
        if self.answer is not None:
            self.status = CACHED
            return
        if seconds <= 0.0:
            self.skip("no time was left")
            return
        try:
            may_ask = state is None or ask.may_call(state, provider.circuit, now)
        except StoreBusy:  # the try after a rest could not be recorded
            may_ask = False
        if not may_ask:
            self.status, self.reason = RESTING, "it failed too often lately"
            return
        keep = None
        if keep_late is not None:
            keep = lambda answer: keep_late(key, classifier.answer_to_text(answer))  # noqa: E731
            seconds -= self._seconds_since_start() + COPYING_S
        self._race = ask.Race(provider, question, classifier.parse_answer, seconds, keep)

    def settle(self, words: tuple[str, ...], settings: Settings, left_ms: float) -> Intent:
        """Return the intent, after at most `left_ms` of waiting. words: the topics of the prompt's words."""
        plain = self.reading.intent
        plain.topics = words
        if self.may_change:
            timed_out_by = self._end_race(settings, left_ms)
            intent = self._merge_answer(plain, words, float(settings["search_intent.min_confidence"]))
            intent.timed_out_by, intent.answer, intent.seconds = timed_out_by, self.answer, self._seconds_since_start()
            intent.llm_seconds = self._outcome.seconds if self._outcome else None
        else:
            intent = plain if words else Intent(NONE, 0.0, (), plain.keywords)
            intent.row = "no LLM was asked" if words else "no topics"
            intent.certainty, intent.seconds = intent.confidence, self._seconds
        intent.llm_status, intent.llm_reason, intent.reading = self.status, self.reason, self.reading
        return intent

    def _end_race(self, settings: Settings, left_ms: float) -> str:
        """Wait for the call, if there is one. Return the limit that it exceeded, "" for none."""
        if self._race is None:
            return ""
        from subcog_hooks.llm.ask import TIMEOUT  # loaded by `start_call`

        allowed_ms = float(settings["search_intent.llm_timeout_ms"]) - self._race.elapsed_seconds() * 1000.0
        outcome = self._outcome = self._race.join(min(allowed_ms, left_ms) / 1000.0)
        self.status, self.answer, self.reason = outcome.status, outcome.answer, outcome.reason
        if self.status != TIMEOUT:
            return ""
        if allowed_ms <= left_ms:
            return BY_SETTING
        self._has_failed = outcome.seconds >= FAIR_S
        return BY_DEADLINE

    def _merge_answer(self, plain: Intent, words: tuple[str, ...], min_confidence: float) -> Intent:
        """Return the intent of words and LLM. A sure answer stands alone where no signal of a type or of asking fired (S0)."""
        from subcog_hooks.intent.classifier import merge_intents

        answer = self.answer
        if answer is not None and answer.type == NONE and self.is_follow_up:
            answer = Intent(NONE, 0.0, answer.topics)  # The LLM says no, but has not seen the subject of the prompt.
        is_sure = answer is not None and answer.confidence >= min_confidence
        is_alone = is_sure and all(signal.family == NONE for signal in self.reading.fired)
        attempted = self._outcome is not None
        return merge_intents(
            None if is_alone else plain, answer, attempted=attempted, min_confidence=min_confidence, words=words
        )

    def abandon(self, words: tuple[str, ...], settings: Settings) -> Intent:
        """Return the intent known so far. The breaker does not count the abandoned call as a failure."""
        intent = self.settle(words, settings, 0.0)
        self._has_failed = self._has_failed and not intent.timed_out_by
        return intent

    def record_metrics(self, intent: Intent, state: State) -> None:
        """Add the outcome of the prompt to the metrics. Raises StoreError."""
        state.observe_duration(DURATION, f'source="{intent.source}"', intent.seconds)
        if self._outcome is None:
            return
        state.increase_counter(STARTED)
        state.increase_counter(COMPLETED, f'status="{self._outcome.status}"')
        if intent.timed_out_by:
            state.increase_counter(TIMEOUTS, f'reason="{intent.timed_out_by}"')

    def learn(self, state: State, *, keeps_answers: bool = True) -> None:
        """Store the answer of a call, or record its failure for the next prompts. Raises StoreError.

        keeps_answers: whether the answer, which has the prompt's topics, may be cached.
        """
        if self._outcome is None or self._provider is None:
            return
        from subcog_hooks.intent import classifier
        from subcog_hooks.llm import ask  # loaded by `start_call`, like the others

        now, answer = now_ms(), self._outcome.answer
        if answer is not None:
            ask.record_call_success(state, self._provider.circuit)
            if keeps_answers:
                ask.cache_answer(state, self._key, classifier.answer_to_text(answer), now, ANSWER_KEPT_MS)
        elif self._has_failed:
            ask.record_call_failure(state, self._provider.circuit, now)

    def _seconds_since_start(self) -> float:
        return time.perf_counter() - self._started


def begin_detection(
    prompt: str, settings: Settings, home: Home, state: State | None, seconds: float, keep_late: KeepLate | None = None
) -> Detection:
    """Read a prompt's words, and start to ask an LLM where one is configured and the words are unsure.

    seconds: the call's own limit; keep_late: keeps a later answer under its key, None to drop it. Raises StoreError.
    """
    detection = Detection(prompt)
    if settings["llm.provider"] == NO_LLM or not settings["search_intent.use_llm"] or detection.reading.prompt is None:
        return detection
    if reason := reason_to_skip_llm(detection.reading, prompt, float(settings["search_intent.llm_skip_confidence"])):
        detection.skip(reason)
        return detection
    from subcog_hooks.llm import disclosure, providers

    try:
        provider = providers.provider_of(settings, home)
    except ConfigError as error:
        detection.fault = error
        return detection
    disclosed = disclosure.disclosable_text(prompt)  # before the cut: half a secret is not recognised
    if disclosed is None:
        detection.skip("the prompt may hold a secret")
    elif provider is not None:
        detection.start_call(provider, ends_of(disclosed), state, seconds, keep_late)
    return detection


def reason_to_skip_llm(reading: keywords.Reading, prompt: str, skip_confidence: float) -> str:
    """Return the reason to ask no LLM, "" when one should be asked: also for topics of a question that names nothing."""
    has_topics = bool(extract_topics(reading.words()))
    if has_topics and reading.intent.confidence >= skip_confidence:
        return "the words are sure"
    if reading.intent.confidence < NOTHING_SURELY:
        return "the words are sure that it asks for nothing"
    if not has_topics and reading.is_unclear:
        return "it neither asks nor names anything"
    return "the prompt is too long" if len(prompt) > MAX_PROMPT_SHOWN else ""
