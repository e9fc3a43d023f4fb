"""The choice of the prompts that get a second look, and the task of the process that takes it. Made once the answer is written.

It is where the first look was unsure: the prompt asks, and nothing answered, or a memory came near the bar. Never for what was
answered, for what asks for nothing, or where all memories fit into the brief that a session begins with.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.hook import detached, reading
from subcog_hooks.hook.payload import text_of
from subcog_hooks.intent.kinds import NONE
from subcog_hooks.recall import relevance, tuning
from subcog_hooks.settings.defaults import ALWAYS, NEVER, NO_LLM, SECOND_LOOK
from subcog_hooks.store import second_looks
from subcog_hooks.store.decision import BELOW, INTENT, LINES, NOTHING_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.deliver import Delivery
    from subcog_hooks.hook.reading import Turn
    from subcog_hooks.hook.verdict import Verdict
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.settings.loading import Settings

WORDS = ("hook", "--second-look")  # of the command line
# Of the bar, from which on a memory is near it: chosen on half of the projects of development prompts as people type them. A
# look starts at .23 of the prompts then and brings .09 of the answers; with 0.0 at .79, for .01 more and as many wrong ones.
NEARNESS = 0.25
# The same for a short note of the project, where a model will choose: chosen on histories of six people in crowded projects: a
# look starts at .24 of the prompts then. Without a model no note is near: of nine that looks brought to them none was of use.
NOTE_NEARNESS = 0.33
MOST_OUTLINES = 100  # that a brief has room for at most
LONGEST_OUTLINE = 400  # characters that it shows of one


class Task:
    """The task of a second look.

    decision, at: of the prompt; session, cwd, transcript: where it was typed, as the client says it; asked: what memories are
    compared with; needs: the parts of it that are needs by themselves; type, confidence, certainty, is_enough, is_seeking: of
    its intent; place: of the prompt in its session.
    """

    __slots__ = (
        "asked",
        "at",
        "certainty",
        "confidence",
        "cwd",
        "decision",
        "is_enough",
        "is_seeking",
        "needs",
        "place",
        "session",
        "transcript",
        "type",
    )

    def __init__(
        self,
        decision: str,
        at: int,
        session: str,
        cwd: str,
        transcript: str,
        asked: str,
        needs: Sequence[str],
        type: str,
        confidence: float,
        certainty: float,
        place: int,
        *,
        is_enough: bool,
        is_seeking: bool,
    ) -> None:
        self.decision = decision
        self.at = at
        self.session = session
        self.cwd = cwd
        self.transcript = transcript
        self.asked = asked
        self.needs = tuple(needs)
        self.type = type
        self.confidence = confidence
        self.certainty = certainty
        self.place = place
        self.is_enough = is_enough
        self.is_seeking = is_seeking

    def to_text(self) -> str:
        """Return it as JSON."""
        return light_json.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_text(cls, text: str) -> Task:
        """Return the task that `to_text` has written. Raises ValueError for any other text."""
        told = light_json.loads(text)
        try:
            assert isinstance(told, dict)
            return cls(
                str(told["decision"]),
                int(told["at"]),
                str(told["session"]),
                str(told["cwd"]),
                str(told["transcript"]),
                str(told["asked"]),
                [str(need) for need in told["needs"]],
                str(told["type"]),
                float(told["confidence"]),
                float(told["certainty"]),
                int(told["place"]),
                is_enough=bool(told["is_enough"]),
                is_seeking=bool(told["is_seeking"]),
            )
        except (KeyError, TypeError, AssertionError) as error:
            raise ValueError("this is no task of a second look") from error


def start_if_unsure(asked: Turn, verdict: Verdict, delivery: Delivery | None) -> None:
    """Start a second look where the first was unsure, and nothing forbids one. Raises StoreError."""
    occasion = asked.occasion
    mode = occasion.settings[SECOND_LOOK]
    if mode == NEVER or not occasion.session or occasion.is_trial:
        return
    if not is_unsure(verdict, delivery, occasion.settings, is_eager=mode == ALWAYS):
        return
    if not detached.may_start() or not tuning.from_settings(occasion.settings).alpha or _fits_into_brief(asked):
        return
    told = task_of(asked, verdict).to_text().encode()
    if len(told) > detached.MAX_TOLD:
        return
    occasion.state.begin_briefly()
    may_begin = second_looks.begin(occasion.state, occasion.id, occasion.session, occasion.at)
    occasion.state.commit()
    if not may_begin:
        return
    try:
        detached.start(occasion.home, WORDS, told)
    except OSError as error:
        occasion.log(f"no second look was started: {error}")
        occasion.state.begin_briefly()
        second_looks.end(occasion.state, occasion.id, "", (), occasion.at)
        occasion.state.commit()


def is_unsure(verdict: Verdict, delivery: Delivery | None, settings: Settings, *, is_eager: bool) -> bool:
    """Return whether a second look may find what the first did not.

    is_eager: also where no memory came near the bar.
    """
    examined = verdict.examined
    outcome = verdict.outcome or (delivery.outcome if delivery else "")
    if (
        outcome not in (BELOW, INTENT, NOTHING_FOUND, LINES)
        or verdict.error is not None
        or verdict.bars is None
        or examined is None
    ):
        return False  # without bars nothing was looked for
    if not examined.may_speak(settings):
        return False
    if is_eager:
        return True
    judged = delivery.judged if delivery else verdict.judged
    has_model = settings["llm.at_rest"] != NO_LLM
    return any(_is_near(one.hit, verdict.bars.needed, has_model=has_model) for one in judged)


def _is_near(hit: Hit, needed: float, *, has_model: bool) -> bool:
    """Return whether a memory came so near to the bar that a second look may bring one."""
    if relevance.weights_of(hit.terms) is relevance.OF_NOTES:
        return has_model and hit.relevance >= NOTE_NEARNESS * needed
    return hit.relevance >= NEARNESS * needed


def task_of(asked: Turn, verdict: Verdict) -> Task:
    """Return what the second look at a prompt is told. Raises StoreError."""
    assert verdict.detected is not None
    assert verdict.examined is not None
    read = reading.Read(asked, verdict.detected)
    read.borrowed = tuple(verdict.borrowed)
    examined, occasion = verdict.examined, asked.occasion
    own = {word.casefold() for word in read.topics()}
    new = [topic for topic in examined.intent.topics if topic.casefold() not in own]  # an LLM's
    return Task(
        occasion.id,
        occasion.at,
        occasion.session,
        text_of(occasion.payload, "cwd"),
        text_of(occasion.payload, "transcript_path"),
        "\n".join((read.asked(), *new)),
        read.needs(),
        examined.intent.type or NONE,
        examined.intent.confidence,
        examined.certainty,
        1 if examined.is_seeking else asked.place(),
        is_enough=examined.is_enough(occasion.settings),
        is_seeking=examined.is_seeking,
    )


def _fits_into_brief(asked: Turn) -> bool:
    """Return whether all memories of here fit into the brief, which the session has begun with then. Raises StoreError."""
    settings, occasion = asked.occasion.settings, asked.occasion
    room = int(settings["surfacing.brief_characters"])
    if not room or not settings["surfacing.session_start"]:
        return False
    return occasion.store.fit_into(room, occasion.eligible.audiences, MOST_OUTLINES, LONGEST_OUTLINE)
