"""From a prompt to its intent: the keywords as the floor, an LLM as the ceiling, one deadline (S0).

`begin_detection` reads the words and starts the call, if one is needed. The caller can work meanwhile. `settle` waits within
the deadline and merges. The modules for an LLM are imported only before asking it.
"""

from __future__ import annotations

import time

from subcog_hooks.core.errors import ConfigError
from subcog_hooks.intent import keywords
from subcog_hooks.intent.keywords import NONE, NOTHING_SURELY, OFF, SKIPPED, Intent
from subcog_hooks.intent.topics import extract_topics
from subcog_hooks.settings.defaults import NO_LLM
from subcog_hooks.text.typed_prompt import ends_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.paths import Home
    from subcog_hooks.intent.classifier import LlmCall
    from subcog_hooks.llm.providers import Provider
    from subcog_hooks.settings.defaults import Settings
    from subcog_hooks.store.state import State

    KeepLate = Callable[[str, str], None]

MAX_PROMPT_SHOWN = 100_000  # characters of a prompt for an LLM: searching more for secrets takes too long
DURATION = "search_intent_detection_duration_seconds"  # S0's name


class Detection:
    """The detection for one prompt: the reading of its words, and the call of an LLM, if any.

    status: of the LLM so far; reason: why it has no answer. fault: the reason why the configured provider cannot be asked.
    is_follow_up: the prompt has borrowed topics of an earlier one, which the LLM is not shown.
    """

    __slots__ = ("_call", "_seconds", "_started", "fault", "is_follow_up", "reading", "reason", "status")

    def __init__(self, prompt: str) -> None:
        self._started = time.perf_counter()
        self.reading = keywords.read_prompt(prompt)
        self._seconds = time.perf_counter() - self._started
        self.status = OFF
        self.reason = ""
        self.fault: ConfigError | None = None
        self.is_follow_up = False
        self._call: LlmCall | None = None

    @property
    def may_change(self) -> bool:
        """True while an LLM may still change the intent."""
        return self._call is not None

    def skip(self, reason: str) -> None:
        """Ask no LLM, for a reason."""
        self.status, self.reason = SKIPPED, reason

    def start_call(
        self, provider: Provider, prompt: str, state: State | None, seconds: float, keep_late: KeepLate | None
    ) -> None:
        """Start the call, unless the answer is cached or the provider rests. Raises StoreError."""
        from subcog_hooks.intent.classifier import LlmCall

        call = LlmCall(provider, prompt, self._started)
        call.start(state, seconds, keep_late)
        self.status, self.reason = call.status, call.reason
        if call.may_answer:
            self._call = call

    def settle(self, words: tuple[str, ...], settings: Settings, left_ms: float) -> Intent:
        """Return the intent, after at most `left_ms` of waiting. words: the topics of the prompt's words."""
        plain = self.reading.intent
        plain.topics = words
        if self._call is not None:
            intent = self._call.settle(self.reading, settings, left_ms, is_follow_up=self.is_follow_up)
            self.status, self.reason = self._call.status, self._call.reason
        else:
            intent = plain if words else Intent(NONE, 0.0, (), plain.keywords)
            intent.row = "no LLM was asked" if words else "no topics"
            intent.certainty, intent.seconds = intent.confidence, self._seconds
        intent.llm_status, intent.llm_reason, intent.reading = self.status, self.reason, self.reading
        return intent

    def abandon(self, words: tuple[str, ...], settings: Settings) -> Intent:
        """Return the intent known so far. The breaker does not count the abandoned call as a failure."""
        intent = self.settle(words, settings, 0.0)
        if self._call is not None and intent.timed_out_by:
            self._call.has_failed = False
        return intent

    def record_metrics(self, intent: Intent, state: State) -> None:
        """Add the outcome of the prompt to the metrics. Raises StoreError."""
        state.observe_duration(DURATION, f'source="{intent.source}"', intent.seconds)
        if self._call is not None:
            self._call.record_metrics(state)

    def learn(self, state: State, *, keeps_answers: bool = True) -> None:
        """Store the answer of a call, or record its failure for the next prompts. Raises StoreError.

        keeps_answers: whether the answer, which has the prompt's topics, may be cached.
        """
        if self._call is not None:
            self._call.learn(state, keeps_answers=keeps_answers)


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
    from subcog_hooks.llm import providers
    from subcog_hooks.redaction import disclosure

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
