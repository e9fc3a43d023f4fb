"""A prompt that is being answered: what is known of it so far, and what is kept of it in the end."""

from subcog_hooks.errors import StoreBusy, StoreError
from subcog_hooks.hooks.occasion import Occasion
from subcog_hooks.hooks.payload import text_of
from subcog_hooks.intent.kinds import MAX_TOPICS
from subcog_hooks.intent.topics import topics
from subcog_hooks.memory.model import IdMaker
from subcog_hooks.settings.keys import EVERYTHING
from subcog_hooks.state import decision_log, kept_texts, sessions
from subcog_hooks.state.decision import FAILED, NOMEM, OFF, OUT_OF_TIME, PAUSED
from subcog_hooks.state.sessions import Earlier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.deadline import Deadline
    from subcog_hooks.hooks.gate import Judged
    from subcog_hooks.intent.detection import Detection, Examined
    from subcog_hooks.recall.exact import Exact
    from subcog_hooks.recall.hits import Answer

EVENT = "UserPromptSubmit"
SETTLE_MS = 20.0  # left of the deadline when an LLM is waited for no longer: 2 ms of work, 15 for a machine that is busy
MAX_REASON = 200  # characters of an error that are kept
UNREAD = (NOMEM, OFF, PAUSED)  # outcomes of prompts of which nothing is known
FEW = 2  # topics: that of a follow-up, and a word such as "second", which points at something


class Stages:
    """How long each stage of a run took."""

    __slots__ = ("_deadline", "_spent_ms", "rows")

    def __init__(self, deadline: "Deadline") -> None:
        self._deadline = deadline
        self._spent_ms = 0.0
        self.rows: list[tuple[str, float]] = []

    def done(self, name: str) -> None:
        """The stage of this name ends now; it began when the one before it ended."""
        spent_ms = self._deadline.spent_ms()
        self.rows.append((name, round(spent_ms - self._spent_ms, 2)))
        self._spent_ms = spent_ms


class Turn(Occasion):
    """A prompt that is being answered.

    id: of the decision that it will be. What is found out on the way: detected and examined, the intent; borrowed: topics of
    the prompt before; exact: what triggers and conditions have brought, None where the store has neither; answer: what recall
    has brought; judged: what becomes of it; units: UTF-16 units that were printed.
    """

    __slots__ = (
        "_own",
        "answer",
        "borrowed",
        "detected",
        "exact",
        "examined",
        "id",
        "judged",
        "prompt",
        "stages",
        "units",
    )

    def __init__(self, occasion: Occasion, stages: Stages, prompt: str | None = None) -> None:
        """prompt: another than the payload's."""
        super().__init__(
            occasion.payload,
            occasion.session,
            occasion.here,
            occasion.settings,
            occasion.state,
            occasion.home,
            occasion.deadline,
        )
        self.prompt = text_of(occasion.payload, "prompt") if prompt is None else prompt
        self.stages = stages
        self.id = IdMaker().new(self.at)
        self.detected: Detection | None = None
        self.examined: Examined | None = None
        self.borrowed: tuple[str, ...] = ()
        self.exact: Exact | None = None
        self.answer: Answer | None = None
        self.judged: Sequence[Judged] = ()
        self.units = 0
        self._own: tuple[str, ...] | None = None

    @property
    def keeps_texts(self) -> bool:
        """Whether anything that the prompt says may be kept. A switch that can not be read is off."""
        is_doubtful = any(_may_be_about_prompts(name) for name in self.settings.left_out)
        return bool(self.settings["surfacing.log_prompts"]) and not is_doubtful

    def find_exact(self) -> bool:
        """Whether triggers or conditions bring something that the session has not been given. Raises StoreError."""
        has_triggers, has_conditions = self.store.has_cues()
        if not (has_triggers or has_conditions):
            return False
        from subcog_hooks.recall import exact  # most stores have neither

        given = self.given()
        text = self.prompt if has_triggers else ""
        facts = self.facts() if has_conditions else None
        self.exact = exact.of_prompt(text, facts, self.store, self.audiences, given, self.at, self.deadline, self.holds)
        return self.exact.is_news(given)

    def borrow(self, detected: "Detection") -> None:
        """Take over what the prompt before was about, and how surely, if this one goes on from it. Raises StoreError."""
        reading = detected.reading
        own = self._own_topics(detected)
        if not self.session or not self.keeps_texts or len(own) > FEW:
            return
        from subcog_hooks.intent import follow_up  # few prompts have so few topics

        if not follow_up.is_follow_up(reading.words(), own, reading.intent.confidence):
            return
        earlier = sessions.last_topics(self.state, self.session, self.at)
        if earlier is not None and (borrowed := follow_up.borrowed(own, earlier)):
            least = float(self.settings["search_intent.min_confidence"])
            reading.intent.confidence = follow_up.confidence_of(reading.intent.confidence, earlier, least)
            self.borrowed = borrowed

    def topics(self, detected: "Detection", rarity: "Callable[[str], float | None] | None" = None) -> tuple[str, ...]:
        """What the prompt asks about: its words' topics and the borrowed ones. rarity: as for intent.topics."""
        own = topics(detected.reading.words(), rarity) if rarity else self._own_topics(detected)
        if not self.borrowed:
            return own
        from subcog_hooks.intent import follow_up  # has been loaded to borrow

        return (*follow_up.own_topics(own), *self.borrowed)[:MAX_TOPICS]

    def _own_topics(self, detected: "Detection") -> tuple[str, ...]:
        """Those of its words, told once: .3 ms for 2,000 characters, and asked for three times."""
        if self._own is None:
            self._own = topics(detected.reading.words())
        return self._own

    def settle(self, detected: "Detection", words: tuple[str, ...]) -> "Examined":
        """The intent, waited for as long as the deadline allows. words: what the prompt asks about."""
        self.examined = detected.settle(words, self.settings, self.deadline.left_ms() - SETTLE_MS)
        return self.examined

    def keep(self, outcome: str, reason: str = "") -> None:
        """Take note of what became of the prompt, in the transaction that is open. Raises StoreError.

        Not of a trial: neither `why` nor `stats` is to tell of prompts that nobody typed.
        """
        if self.is_trial:
            return
        if self.detected is not None and self.examined is not None:
            self.detected.count(self.examined, self.state)
            self.detected.learn(self.state, self.settings, keeps_answers=self.keeps_texts)
        sessions.seen(self.state, self.session, self.here.identity if self.here else "", self.at)
        if not self.keeps_texts and kept_texts.may_exist(self.state):
            kept_texts.forget_some(self.state)
        from subcog_hooks.hooks import record  # the answer, if there is one, has been written

        try:
            decision = record.of(self, outcome, reason)
            decision_log.keep(self.state, decision, self.at)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - a record is no reason to lose the ledger
            self.log(f"a decision was not recorded: {type(error).__name__}: {error}")
            return
        if not self.session:
            return
        if decision.intent is not None and decision.intent.topics:
            earlier = Earlier(decision.intent.topics, decision.intent.confidence)
            sessions.keep_topics(self.state, self.session, earlier, self.at)
        elif outcome in UNREAD or (self.examined is not None and self.examined.intent.topics):
            sessions.forget_topics(
                self.state, self.session
            )  # what comes next would go on from this prompt, of which nothing is kept

    def keep_if_free(self, outcome: str, reason: str = "") -> None:
        """The same, unless another process is writing: nobody waits for records."""
        try:
            self.state.begin_briefly()
            self.keep(outcome, reason)
            self.state.commit()
        except StoreBusy:
            pass  # at every prompt while somebody writes: not worth a line in the log
        except StoreError as error:
            self.log(f"what became of a prompt was not kept: {error}")

    def give_up(self, error: Exception) -> None:
        """Take note of a failure; what was begun in the state is left undone."""
        if self.detected is not None and self.examined is None:
            self.examined = self.detected.abandon(self.topics(self.detected), self.settings)
        try:
            self.state.roll_back()
        except StoreError:
            pass  # `error` is what is told
        outcome = OUT_OF_TIME if isinstance(error, TimeoutError) else FAILED
        self.keep_if_free(outcome, f"{type(error).__name__}: {error}"[:MAX_REASON])


def _may_be_about_prompts(name: str) -> bool:
    """Whether a setting that can not be used may have been meant for surfacing.log_prompts."""
    return name == EVERYTHING or "prompt" in name.lower()
