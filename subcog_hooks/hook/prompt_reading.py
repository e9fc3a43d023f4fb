"""A prompt as read before any search: its intent, its topics, and the memories that its cues bring."""

from __future__ import annotations

from subcog_hooks.hook.payload import text_of
from subcog_hooks.intent import topics
from subcog_hooks.intent.keywords import MAX_TOPICS
from subcog_hooks.settings.defaults import EVERYTHING
from subcog_hooks.store import sessions
from subcog_hooks.text.typed_prompt import needs_of, query_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.intent.detector import Detection
    from subcog_hooks.recall.exact import ExactMatches

SETTLE_MS = 20.0  # Time left when the hook stops waiting for an LLM: 2 ms of work, 15 for a busy machine.
_INNER_ENDS = (". ", "? ", "! ", "\n")  # A text without any of them is one sentence.
MAX_FOLLOW_UP_TOPICS = 2  # One topic of a follow-up, and a word such as "second", which points at something.


class PromptReading:
    """One prompt of a session, and its reading.

    prompt: as typed; detected: the intent by words, set by `decide_prompt`; borrowed: topics that it takes from the earlier
    prompt; cue_matches: memories by triggers and conditions, None where the store has neither.
    """

    __slots__ = ("_own_topics", "_position", "borrowed", "call", "cue_matches", "detected", "prompt")

    detected: Detection

    def __init__(self, call: HookCall) -> None:
        self.call = call
        self.prompt = text_of(call.payload, "prompt")
        self.borrowed: tuple[str, ...] = ()
        self.cue_matches: ExactMatches | None = None
        self._position: int | None = None
        self._own_topics: tuple[str, ...] | None = None

    @property
    def keeps_texts(self) -> bool:
        """Return whether texts of the prompt may be stored. An unreadable switch counts as off."""
        settings = self.call.settings
        is_doubtful = any(name == EVERYTHING or "prompt" in name.lower() for name in settings.left_out)
        return bool(settings["surfacing.log_prompts"]) and not is_doubtful

    def position(self) -> int:
        """Return the prompt's position in its session, from 1; 1 for an unknown session. Raises StoreError."""
        if self._position is None:
            session = sessions.find_session(self.call.state, self.call.session) if self.call.session else None
            self._position = session.prompts + 1 if session else 1
        return self._position

    def search_text(self) -> str:
        """Return the text that memories are compared with: the typed part of the prompt and the borrowed topics."""
        return "\n".join((query_text(self.prompt, self.detected.reading.prompt), *self.borrowed))

    def separate_needs(self) -> list[str]:
        """Return the parts of the prompt that are needs by themselves: the messages of a failure, else a sentence."""
        prepared = self.detected.reading.prompt
        if prepared is None or not (prepared.failures or any(end in prepared.text for end in _INNER_ENDS)):
            return []
        return needs_of(prepared)

    def topics(self, rarity: Callable[[str], float | None] | None = None) -> tuple[str, ...]:
        """Return the prompt's own topics and the borrowed ones. rarity: as for intent.topics."""
        own = topics.extract_topics(self.detected.reading.words(), rarity) if rarity else self.own_topics()
        if not self.borrowed:
            return own
        return (*topics.drop_pointing_words(own), *self.borrowed)[:MAX_TOPICS]

    def own_topics(self) -> tuple[str, ...]:
        """Return the topics of the prompt's own words. They take .3 ms for 2,000 characters, so they are computed once."""
        if self._own_topics is None:
            self._own_topics = topics.extract_topics(self.detected.reading.words())
        return self._own_topics


def borrow_topics(reading: PromptReading) -> None:
    """Let a follow-up borrow topics of the earlier prompt, and raise its confidence. Raises StoreError."""
    words, call = reading.detected.reading, reading.call
    own = reading.own_topics()
    if len(own) > MAX_FOLLOW_UP_TOPICS or not topics.is_follow_up(words.words(), own, words.intent.confidence):
        return
    if not call.session or not reading.keeps_texts:
        return
    earlier = sessions.find_last_prompt(call.state, call.session, call.now_ms)
    if earlier is not None and (borrowed := topics.borrowed_topics(own, earlier)):
        min_confidence = float(call.settings["search_intent.min_confidence"])
        words.intent.confidence = topics.follow_up_confidence(words.intent.confidence, earlier, min_confidence)
        reading.borrowed = borrowed
        reading.detected.is_follow_up = True


def match_cues(prompt: str, call: HookCall) -> ExactMatches | None:
    """Return the memories that triggers and conditions bring, None where the store has neither. Raises StoreError."""
    has_triggers, has_conditions = call.store.has_cues()
    if not (has_triggers or has_conditions):
        return None
    from subcog_hooks.recall import exact  # Most stores have neither.

    text = prompt if has_triggers else ""
    facts = call.facts() if has_conditions else None
    return exact.match_prompt(text, facts, call.store, call.eligible, call.deadline)
