"""Choose the prompts that get a second look, and start its process, once the answer is written.

A second look is for an unsure first one: the prompt asks, and nothing answered, or a memory came near the bar. Answered prompts
and prompts that ask for nothing get none. Where the brief has room for all memories, no prompt gets one.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.hook import detached
from subcog_hooks.hook.payload import text_of
from subcog_hooks.intent.kinds import NONE
from subcog_hooks.recall import relevance, tuning
from subcog_hooks.settings.defaults import ALWAYS, NEVER, NO_LLM, SECOND_LOOK
from subcog_hooks.store import second_looks
from subcog_hooks.store.decision import BELOW, INTENT, LINES, NOTHING_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.prompt_reading import PromptReading
    from subcog_hooks.hook.verdict import Verdict
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.settings.defaults import Settings

WORDS = ("hook", "--second-look")  # arguments of the command line
# A memory is near from this share of the bar on: chosen on half of the projects of development prompts as people type them.
# A look starts at .23 of the prompts then and brings .09 of the answers; with 0.0 at .79, for .01 more and as many wrong ones.
NEARNESS = 0.25
# The share for a short note of the project, where a model will choose: chosen on histories of six people in crowded projects. A
# look starts at .24 of the prompts then. Without a model no note is near: of nine notes that looks brought none was of use.
NOTE_NEARNESS = 0.33
MAX_OUTLINES = 100  # A brief has room for fewer memories.
MAX_OUTLINE = 400  # characters of a memory in a brief


class Task:
    """The task of a second look.

    decision, prompt_ms: id and time of the prompt's decision; session, cwd, transcript: as the client names them; search_text:
    the text that memories are compared with; needs: its parts that are needs by themselves; type, confidence, certainty,
    is_enough, is_seeking: of its intent; position: of the prompt in its session; late_key: of the cached answer of an LLM that
    was too late, "" for none.
    """

    __slots__ = (
        "certainty",
        "confidence",
        "cwd",
        "decision",
        "is_enough",
        "is_seeking",
        "late_key",
        "needs",
        "position",
        "prompt_ms",
        "search_text",
        "session",
        "transcript",
        "type",
    )

    def __init__(
        self,
        decision: str,
        prompt_ms: int,
        session: str,
        cwd: str,
        transcript: str,
        search_text: str,
        needs: Sequence[str],
        type: str,
        confidence: float,
        certainty: float,
        position: int,
        *,
        is_enough: bool,
        is_seeking: bool,
        late_key: str = "",
    ) -> None:
        self.decision = decision
        self.prompt_ms = prompt_ms
        self.session = session
        self.cwd = cwd
        self.transcript = transcript
        self.search_text = search_text
        self.needs = tuple(needs)
        self.type = type
        self.confidence = confidence
        self.certainty = certainty
        self.position = position
        self.is_enough = is_enough
        self.is_seeking = is_seeking
        self.late_key = late_key

    def to_text(self) -> str:
        """Return the task as JSON."""
        return light_json.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_text(cls, text: str) -> Task:
        """Return the task that `to_text` has written. Raises ValueError for any other text."""
        task = light_json.loads(text)
        try:
            assert isinstance(task, dict)
            return cls(
                str(task["decision"]),
                int(task["prompt_ms"]),
                str(task["session"]),
                str(task["cwd"]),
                str(task["transcript"]),
                str(task["search_text"]),
                [str(need) for need in task["needs"]],
                str(task["type"]),
                float(task["confidence"]),
                float(task["certainty"]),
                int(task["position"]),
                is_enough=bool(task["is_enough"]),
                is_seeking=bool(task["is_seeking"]),
                late_key=str(task["late_key"]),
            )
        except (KeyError, TypeError, AssertionError) as error:
            raise ValueError("this is no task of a second look") from error


def start_if_unsure(reading: PromptReading, verdict: Verdict) -> None:
    """Start a second look where the first was unsure, and nothing forbids one. Raises StoreError."""
    call = reading.call
    mode = call.settings[SECOND_LOOK]
    if mode == NEVER or not call.session or call.is_trial:
        return
    if not is_unsure(verdict, call.settings, is_eager=mode == ALWAYS):
        return
    if not detached.may_start() or not tuning.tuning_from_settings(call.settings).alpha or _fits_into_brief(call):
        return
    task = task_of(reading, verdict).to_text().encode()
    if len(task) > detached.MAX_INPUT_BYTES:
        return
    call.state.begin_briefly()
    may_begin = second_looks.begin_look(call.state, call.id, call.session, call.now_ms)
    call.state.commit()
    if not may_begin:
        return
    try:
        detached.start_process(call.home, WORDS, task)
    except OSError as error:
        call.log(f"no second look was started: {error}")
        call.state.begin_briefly()
        second_looks.end_look(call.state, call.id, "", (), call.now_ms)
        call.state.commit()


def is_unsure(verdict: Verdict, settings: Settings, *, is_eager: bool) -> bool:
    """Return whether a second look may find more than the first.

    is_eager: also where no memory came near the bar.
    """
    examined = verdict.examined
    if (
        verdict.outcome not in (BELOW, INTENT, NOTHING_FOUND, LINES)
        or verdict.error is not None
        or verdict.bars is None
        or examined is None
    ):
        return False  # A verdict without bars comes from no search.
    if not examined.may_speak(settings):
        return False
    if is_eager:
        return True
    bar, has_model = verdict.bars.needed, settings["llm.at_rest"] != NO_LLM
    return any(_is_near(judgement.hit, bar, has_model=has_model) for judgement in verdict.judgements)


def _is_near(hit: Hit, needed: float, *, has_model: bool) -> bool:
    if relevance.model_weights(hit.terms) is relevance.OF_NOTES:
        return has_model and hit.relevance >= NOTE_NEARNESS * needed
    return hit.relevance >= NEARNESS * needed


def task_of(reading: PromptReading, verdict: Verdict) -> Task:
    """Return the task of a second look at a prompt. Raises StoreError."""
    examined, call = verdict.examined, reading.call
    assert examined is not None
    own = {word.casefold() for word in reading.topics()}
    asked, needs = reading.search_text(), reading.separate_needs()
    if llm_topics := [topic for topic in examined.intent.topics if topic.casefold() not in own]:
        needs.append("\n".join((asked, *llm_topics)))
    return Task(
        call.id,
        call.now_ms,
        call.session,
        text_of(call.payload, "cwd"),
        text_of(call.payload, "transcript_path"),
        asked,
        needs,
        examined.intent.type or NONE,
        examined.intent.confidence,
        examined.certainty,
        1 if examined.is_seeking else reading.position(),
        is_enough=examined.is_enough(call.settings),
        is_seeking=examined.is_seeking,
        late_key=reading.detected.late_key,
    )


def _fits_into_brief(call: HookCall) -> bool:
    """Return whether the brief has room for all memories here: then the session has begun with them. Raises StoreError."""
    settings = call.settings
    room = int(settings["surfacing.brief_characters"])
    if not room or not settings["surfacing.session_start"]:
        return False
    return call.store.fit_into(room, call.eligible.audiences, MAX_OUTLINES, MAX_OUTLINE)
