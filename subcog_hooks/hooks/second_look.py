"""The second look at a prompt: the model's own vector of each need, in a process that the hook has left to itself.

It prints nothing. What it finds waits in state.db for the session's next tool call, or its next prompt; what became of it is a
decision of its own. It ends by itself, and whatever ends it sooner leaves a row in state.db that the next look takes away.

An async hook of the client's own would hand its answer over as well, but in print mode it is killed at the end of the turn, and
after `/clear` its answer stands in the new session (seen in 2.1.197 and 2.1.329). What waits in state.db is dropped then.
"""

from __future__ import annotations

import _thread
import os
import time

from subcog_hooks import log
from subcog_hooks.deadline import Deadline
from subcog_hooks.embed.documents import DocumentEmbedder
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.errors import SubcogError
from subcog_hooks.hooks import detached, gate, model_ranking, surfacing
from subcog_hooks.hooks import occasion as occasions
from subcog_hooks.hooks.look_again import Task
from subcog_hooks.hooks.payload import PROMPT_EVENT
from subcog_hooks.hooks.record import candidates
from subcog_hooks.hooks.session_start import RESTING_COMMAND
from subcog_hooks.hooks.verdict import bars_of, chosen
from subcog_hooks.intent.kinds import Intent
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.lock import is_held
from subcog_hooks.memory.model import now_ms
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.paths import Home
from subcog_hooks.recall import neural_relevance, pipeline, semantic, tuning
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.redaction.leaks import mask
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import LEARN, NEVER
from subcog_hooks.settings.defaults import SECOND_LOOK as MODE
from subcog_hooks.state import decision_log, pause, second_looks, suggestions
from subcog_hooks.state.connection import State
from subcog_hooks.state.decision import (
    FAILED,
    FOUND,
    GATE,
    LLM,
    MODEL_CHOICE,
    MODEL_LOADED,
    MOVED_ON,
    RECALL,
    WAITING,
    Decision,
)
from subcog_hooks.state.second_looks import LOOK_MS, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hooks.gate import Judged
    from subcog_hooks.hooks.occasion import Occasion
    from subcog_hooks.recall.hits import Answer, Hit
    from subcog_hooks.recall.semantic import Encode

AT_END_MS = 500.0  # that writing down what was found may take
NOTING_WAIT_MS = 1_000.0  # for another process that writes
NEVER_REACHED = 2.0  # a relevance above any
MAX_WHY = 200  # characters of a failure that are kept


def main() -> None:
    """Take the look whose task stands on the standard input. Never raises; a task that is none is left alone."""
    _thread.start_new_thread(_end_in_time, ())
    detached.yield_to_others()
    told = os.read(0, detached.MAX_TOLD + 1)
    try:
        task = Task.from_text(told.decode("utf-8", "replace"))
    except ValueError:
        return
    home = Home.find()
    log.keep_reserve(home)
    try:
        occasions.with_sound_state(home, lambda: take(task, home))
        _let_learn(home)
    except Exception as error:  # noqa: BLE001 - nobody sees this process: `doctor` and `why` tell it
        log.write(home, f"a second look failed: {type(error).__name__}: {error}")


def _let_learn(home: Home) -> None:
    """Start the work at rest, which learns from second looks, unless that was done a short while ago.

    Raises StoreError, OSError.
    """
    if not loading.load(home)[LEARN]:
        return
    state = State.open(home, NOTING_WAIT_MS)
    try:
        suggestions.note_look(state, now_ms())
        is_due = suggestions.is_teaching_due(state, now_ms())
    finally:
        state.close()
    if is_due and not is_held(home.at_rest_lock):
        detached.start(home, [RESTING_COMMAND])


def _end_in_time() -> None:
    """End the process when its time is over, whatever it is at."""
    time.sleep(LOOK_MS / 1000.0)
    os._exit(0)


def take(task: Task, home: Home) -> None:
    """Look again at a prompt, and write down what was found. Raises StoreError, and what stopped it."""
    deadline = Deadline(LOOK_MS - AT_END_MS)
    told = {"session_id": task.session, "cwd": task.cwd, "transcript_path": task.transcript, "hook_event_name": PROMPT_EVENT}
    occasion = occasions.open_occasion(told, home, deadline)
    if occasion is None or not second_looks.session_of(occasion.state, task.decision):
        return  # the session has moved on
    if not is_wanted(occasion):
        occasion.state.begin(NOTING_WAIT_MS)
        second_looks.end(occasion.state, task.decision, "", (), now_ms())
        occasion.state.commit()
        return
    try:
        answer, judged = look(task, occasion, _query_encoder(occasion))
    except Exception as error:
        why = error.message if isinstance(error, SubcogError) else f"{type(error).__name__}: {error}"
        keep(task, occasion, (), why=why[:MAX_WHY])
        raise
    keep(task, occasion, judged, answer)


def is_wanted(occasion: Occasion) -> bool:
    """Return whether the person still wants second looks: nothing was switched off or paused since. Raises StoreError."""
    settings = occasion.settings
    is_on = settings["surfacing.enabled"] and settings["search_intent.enabled"] and settings[MODE] != NEVER
    return bool(is_on) and not pause.is_on(occasion.state, now_ms())


def _query_encoder(occasion: Occasion) -> Encode:
    """Return what gives a query the vector that the model gives texts. Raises ModelError."""
    encode = DocumentEmbedder(PACKAGED).query
    occasion.stages.done(MODEL_LOADED)
    return encode


def look(task: Task, occasion: Occasion, encode: Encode) -> tuple[Answer, list[Judged]]:
    """Return what the prompt brings by the model's own vectors, and what becomes of each hit. Raises StoreError, ModelError."""
    settings = occasion.settings
    numbers = tuning.from_settings(settings)
    vectors = VectorStore.reader(occasion.home, PACKAGED.name, PACKAGED.dimension)
    try:
        space = semantic.SearchSpace(vectors, semantic.in_latin(encode))
        sources = Sources(LexicalIndex.open(occasion.home), occasion.store, space, numbers)
        answer = pipeline.for_needs(
            task.asked, task.needs, sources, occasion.eligible, occasion.deadline, prompt=mask(task.asked)
        )
    finally:
        vectors.close()
    occasion.stages.done(RECALL)
    judged, note = judge(task, occasion, answer.hits, numbers)
    answer.note = "; ".join(filter(None, (answer.note, note))) or None
    return answer, judged


def judge(task: Task, occasion: Occasion, hits: Sequence[Hit], numbers: tuning.Tuning) -> tuple[list[Judged], str]:
    """Return what becomes of each hit, by the relevance that such vectors have, or as a model chooses; and who was asked.

    Raises StoreError.
    """
    settings = occasion.settings
    pipeline.weigh_for_prompt(hits, Intent(task.type, task.confidence), task.place, numbers)
    neural_relevance.weigh_anew(hits)
    surfacing.discount_absent(hits, occasion)
    ordered = pipeline.ordered(hits)
    least = threshold_of(task, occasion)
    ranking = model_ranking.rank_hits(task.asked, [hit for hit in ordered if _is_new(hit, occasion)], occasion)
    if ranking.chosen is not None:
        occasion.stages.done(LLM)
        for place, hit in enumerate(ranking.chosen, 1):
            hit.ranks[MODEL_CHOICE] = place
        named = {hit.memory.id for hit in ranking.chosen}
        ordered = [*ranking.chosen, *(hit for hit in ordered if hit.memory.id not in named)]
        least = _OnlyNamed(named)
    judged = gate.judge(
        ordered,
        occasion.given(),
        least,
        gate.ceiling(task.certainty, int(settings["surfacing.max_memories"])),
        lambda relevant: pipeline.without_repeats(relevant, numbers),
    )
    occasion.stages.done(GATE)
    return judged, ranking.note


def _is_new(hit: Hit, occasion: Occasion) -> bool:
    """Return whether a hit could be handed over, were it relevant."""
    return hit.marked > 0.0 and not hit.is_loaded and hit.memory.id not in occasion.given()


class _OnlyNamed(gate.Threshold):
    """The bar where a model has chosen: what it has named reaches it, whatever its relevance, and nothing else."""

    __slots__ = ("_named",)

    def __init__(self, named: set[str]) -> None:
        super().__init__(NEVER_REACHED, NEVER_REACHED)
        self._named = named

    def is_reached(self, hit: Hit) -> bool:
        return hit.memory.id in self._named


def threshold_of(task: Task, occasion: Occasion) -> gate.Threshold:
    """Return the relevance that a memory needs in a second look, by the settings."""
    least = float(occasion.settings["surfacing.min_relevance"])
    return gate.threshold(least, is_enough=task.is_enough, is_seeking=task.is_seeking)


def keep(task: Task, occasion: Occasion, judged: Sequence[Judged], answer: Answer | None = None, *, why: str = "") -> None:
    """Write down what was found, and the decision that it was. why: it failed. Raises StoreError."""
    state, now = occasion.state, now_ms()
    found = [Finding(one.hit.memory.id, one.hit.relevance) for one in chosen(judged)]
    outcome = FAILED if why else WAITING if found else gate.silence(judged, is_enough=task.is_enough)
    state.roll_back()
    state.begin(NOTING_WAIT_MS)
    if not second_looks.end(state, task.decision, occasion.id, found, now) and found:
        outcome = MOVED_ON
    decision = Decision(
        occasion.id,
        now,
        decision_log.LOOK_EVENT,
        task.session,
        occasion.project,
        outcome,
        reason=why,
        micros=int(occasion.deadline.spent_ms() * 1000.0),
        bars=bars_of(occasion.settings, threshold_of(task, occasion).needed),
        stages=occasion.stages.rows,
        strategies=answer.strategies if answer else (),
        note=answer.note if answer else None,
        candidates=candidates(judged, FOUND),
        looked_at=task.decision,
        later_ms=now - task.at,
    )
    decision_log.keep(state, decision, now)
    state.commit()
