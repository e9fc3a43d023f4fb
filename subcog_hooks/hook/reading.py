"""A prompt that is to be answered: what it says, and what its words are about before anything is searched."""

from __future__ import annotations

from subcog_hooks.hook.payload import text_of
from subcog_hooks.intent.kinds import MAX_TOPICS
from subcog_hooks.intent.topics import topics
from subcog_hooks.settings.defaults import EVERYTHING
from subcog_hooks.store import sessions
from subcog_hooks.text.typed import asked_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.hook.call import Occasion
    from subcog_hooks.intent.detector import Detection
    from subcog_hooks.recall.exact import Exact
    from subcog_hooks.store.sessions import Earlier

SETTLE_MS = 20.0  # left of the deadline when an LLM is waited for no longer: 2 ms of work, 15 for a machine that is busy
_INNER_ENDS = (". ", "? ", "! ", "\n")  # without any of them a text is one sentence
FEW = 2  # topics: that of a follow-up, and a word such as "second", which points at something


class Turn:
    """A prompt, and the call of the hook that it came with.

    prompt: as it was typed.
    """

    __slots__ = ("_earlier", "_is_alone", "_place", "occasion", "prompt")

    def __init__(
        self,
        occasion: Occasion,
        prompt: str | None = None,
        earlier: Earlier | None = None,
        place: int | None = None,
        *,
        is_alone: bool = False,
    ) -> None:
        """prompt: for a dry run, another than the payload's; earlier, place: what the prompt before was about, and the place
        in the session, instead of what state.db knows; is_alone: there is no prompt before to go on from."""
        self.occasion = occasion
        self.prompt = text_of(occasion.payload, "prompt") if prompt is None else prompt
        self._earlier = earlier
        self._is_alone = is_alone
        self._place = place

    @property
    def keeps_texts(self) -> bool:
        """Return whether anything that the prompt says may be kept. A switch that can not be read is off."""
        settings = self.occasion.settings
        is_doubtful = any(_may_be_about_prompts(name) for name in settings.left_out)
        return bool(settings["surfacing.log_prompts"]) and not is_doubtful

    def place(self) -> int:
        """Return the prompt's place in its session, from 1; 1 where that is not known. Raises StoreError."""
        if self._place is None:
            known = sessions.find(self.occasion.state, self.occasion.session) if self.occasion.session else None
            self._place = known.prompts + 1 if known else 1
        return self._place

    def earlier(self) -> Earlier | None:
        """Return what the session's prompt before was about, None where that is not known. Raises StoreError."""
        if self._earlier is not None or self._is_alone or not self.occasion.session or not self.keeps_texts:
            return self._earlier
        return sessions.last_topics(self.occasion.state, self.occasion.session, self.occasion.at)


class Read:
    """The reading of a prompt's words, before anything is searched.

    turn: the prompt; detected: its intent, as far as words tell; borrowed: topics of the prompt before; exact: what triggers
    and conditions have brought, None where the store has neither.
    """

    __slots__ = ("_own", "borrowed", "detected", "exact", "turn")

    def __init__(self, turn: Turn, detected: Detection) -> None:
        self.turn = turn
        self.detected = detected
        self.borrowed: tuple[str, ...] = ()
        self.exact: Exact | None = None
        self._own: tuple[str, ...] | None = None

    def asked(self) -> str:
        """Return what memories are compared with: what was typed of the prompt, with what it borrows from the one before."""
        return "\n".join((asked_in(self.turn.prompt, self.detected.reading.prompt), *self.borrowed))

    def needs(self) -> list[str]:
        """Return the part of the prompt that is a need by itself: the line that says what failed, else a sentence."""
        prepared = self.detected.reading.prompt
        if prepared is None or not prepared.text:
            return []
        if not prepared.error and not any(end in prepared.text for end in _INNER_ENDS):
            return []
        from subcog_hooks.text.needs import needs_of  # .2 ms, and many prompts are one sentence

        return needs_of(prepared)

    def topics(self, rarity: Callable[[str], float | None] | None = None) -> tuple[str, ...]:
        """Return what the prompt asks about: its words' topics and the borrowed ones. rarity: as for intent.topics."""
        own = topics(self.detected.reading.words(), rarity) if rarity else self.own_topics()
        if not self.borrowed:
            return own
        from subcog_hooks.intent import follow_up  # has been loaded to borrow

        return (*follow_up.own_topics(own), *self.borrowed)[:MAX_TOPICS]

    def own_topics(self) -> tuple[str, ...]:
        """Return those of its words, told once: .3 ms for 2,000 characters, and asked for three times."""
        if self._own is None:
            self._own = topics(self.detected.reading.words())
        return self._own


def read(turn: Turn, detected: Detection) -> Read:
    """Return what the prompt's words are about, with what it borrows from the one before. Raises StoreError."""
    found = Read(turn, detected)
    reading = detected.reading
    own = found.own_topics()
    if len(own) > FEW:
        return found
    from subcog_hooks.intent import follow_up  # few prompts have so few topics

    if not follow_up.is_follow_up(reading.words(), own, reading.intent.confidence):
        return found
    earlier = turn.earlier()
    if earlier is not None and (borrowed := follow_up.borrowed(own, earlier)):
        least = float(turn.occasion.settings["search_intent.min_confidence"])
        reading.intent.confidence = follow_up.confidence_of(reading.intent.confidence, earlier, least)
        found.borrowed = borrowed
    return found


def match_cues(turn: Turn) -> Exact | None:
    """Return what triggers and conditions bring, None where the store has neither. Raises StoreError."""
    occasion = turn.occasion
    has_triggers, has_conditions = occasion.store.has_cues()
    if not (has_triggers or has_conditions):
        return None
    from subcog_hooks.recall import exact  # most stores have neither

    text = turn.prompt if has_triggers else ""
    facts = occasion.facts() if has_conditions else None
    return exact.match_prompt(text, facts, occasion.store, occasion.eligible, occasion.deadline)


def _may_be_about_prompts(name: str) -> bool:
    """Return whether a setting that can not be used may have been meant for surfacing.log_prompts."""
    return name == EVERYTHING or "prompt" in name.lower()
