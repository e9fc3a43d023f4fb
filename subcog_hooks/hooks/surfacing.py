"""From a prompt's intent to the memories that are handed over, or to silence: recall, the gate, the ledger."""

import os

from subcog_hooks.capture.leaks import mask
from subcog_hooks.decision import GATE, INJECTED, INTENT, LLM, OUT_OF_TIME, RECALL, RENDER, ROOM, SPOKE
from subcog_hooks.embed import static
from subcog_hooks.errors import StoreError, SubcogError
from subcog_hooks.hooks import gate
from subcog_hooks.hooks.render import Entry, Rendered, render_block, to_hook_output
from subcog_hooks.hooks.sanitise import utf16_units
from subcog_hooks.hooks.turn import EVENT, PRINT_MS
from subcog_hooks.intent.kinds import GENERAL, NONE, Intent
from subcog_hooks.intent.text import ends_of
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.store import Store, audiences_of
from subcog_hooks.memory.vector_file import ExtensionMissing, path_of
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.recall import pipeline, semantic, tuning
from subcog_hooks.recall.candidates import Sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.hooks.gate import Judged
    from subcog_hooks.hooks.turn import Turn
    from subcog_hooks.intent.detection import Detection, Examined
    from subcog_hooks.recall.hits import Answer, Hit

VECTORS_WAIT_MS = 20.0  # for a file that another process has locked; words are found without it
AGAIN_MS = 30.0  # recall runs once more, with an LLM's topics, if so much is left (DESIGN section 6)
VETO = "the LLM is sure that memories would not help"

_left_open: list[Store | VectorStore | static.StaticEncoder] = []  # closing costs a millisecond; the process ends anyway


def surface(turn: "Turn", detected: "Detection", write: "Callable[[bytes], None]") -> None:
    """Answer a prompt that memories could help with: `write` is called once, or not at all. Raises StoreError.

    Recall runs while an LLM is asked, and once more if its topics are others and there is time.
    """
    sources = _sources(turn)
    answer = turn.answer = _recalled(turn, sources)
    turn.stages.done(RECALL)
    words = turn.topics(detected, _rarity(sources) if detected.may_change else None)
    examined = turn.settle(detected, words)
    if detected.may_change:
        turn.stages.done(LLM)
    if examined.may_speak(turn.settings):
        again = _recalled_again(turn, sources, words, examined, answer)
        if again is not answer:
            answer = turn.answer = again
            turn.stages.done(RECALL)
        _hand_over(turn, examined, answer, sources, write)
    else:
        turn.judged = gate.held_back(answer.hits, float(turn.settings["surfacing.min_relevance"]), INTENT)
        turn.keep_if_free(INTENT, VETO if examined.is_vetoed else "")
    if examined.llm_reason and examined.llm_seconds is not None:  # asked, and failed
        turn.log(f"the LLM: {examined.llm_reason}")
    if answer.note:
        turn.log(answer.note)


def _recalled(turn: "Turn", sources: Sources, new: "Sequence[str]" = ()) -> "Answer":
    """What the prompt brings, with the borrowed topics and new ones, if there are any. Raises StoreError."""
    audiences = audiences_of(*turn.here.names) if turn.here else audiences_of()
    asked = "\n".join((ends_of(turn.prompt), *turn.borrowed))
    return pipeline.for_prompt("\n".join((asked, *new)), sources, audiences, turn.deadline, prompt=mask(asked))


def _recalled_again(turn: "Turn", sources: Sources, words: tuple[str, ...], examined: "Examined", first: "Answer") -> "Answer":
    """What the prompt brings with an LLM's topics; the first answer where they are the same, time is short, or it fails."""
    known = {word.casefold() for word in words}
    new = [topic for topic in examined.intent.topics if topic.casefold() not in known]
    if not new or turn.deadline.left_ms() < AGAIN_MS:
        return first
    try:
        answer = _recalled(turn, sources, new)
    except StoreError as error:
        turn.log(f"recall with the topics of the LLM: {error}")
        return first
    return first if answer.is_degraded and not first.is_degraded else answer  # out of time, say


def _rarity(sources: Sources) -> "Callable[[str], float | None]":
    from subcog_hooks.recall import rarity  # only for an LLM, whose topics are joined with ours

    return rarity.in_index(sources.index)


def _sources(turn: "Turn") -> Sources:
    """What recall reads; without vectors words alone will do, and `doctor` says what is the matter."""
    numbers = tuning.of(turn.settings)
    index = LexicalIndex.open(turn.home)
    store = Store.reader(turn.home, max(1.0, turn.deadline.left_ms() - PRINT_MS))
    _left_open.append(store)
    if numbers.alpha == 0.0 or not os.path.exists(path_of(turn.home, static.SPACE)):
        return Sources(index, store, None, numbers)
    try:
        encoder = static.StaticEncoder.open()
        _left_open.append(encoder)
        vectors = VectorStore.reader(turn.home, static.SPACE, encoder.dimension, VECTORS_WAIT_MS)
    except ExtensionMissing:
        return Sources(index, store, None, numbers)
    except SubcogError as error:
        turn.log(f"recall by words alone: {error}")
        return Sources(index, store, None, numbers)
    _left_open.append(vectors)
    return Sources(index, store, semantic.Space(vectors, semantic.in_latin(encoder.encode)), numbers)


def _hand_over(
    turn: "Turn", examined: "Examined", answer: "Answer", sources: Sources, write: "Callable[[bytes], None]"
) -> None:
    """Inject what passes the gate, if anything does. The silence or the answer is kept.

    The ledger's lock is taken before the last look at it, so that two hooks of one session at once can not both inject a
    memory; it is committed after the write, so that a hook which dies in between repeats a memory rather than losing it.
    Without a session there is no ledger to wait for.
    """
    hits = pipeline.favoured(answer.hits, examined.intent, sources.tuning)
    given = turn.state.injected(turn.session) if turn.session else set()
    turn.judged = _judged(turn, examined, hits, given, sources)
    turn.stages.done(GATE)
    if not _chosen(turn.judged):
        turn.keep_if_free(gate.silence(turn.judged, is_enough=examined.is_enough(turn.settings)))
        return
    if turn.deadline.left_ms() < PRINT_MS:
        turn.keep_if_free(OUT_OF_TIME)
        return
    if turn.session:
        turn.state.begin()
        now_given = turn.state.injected(turn.session)
        if now_given != given:  # by another hook in the meantime
            turn.judged = _judged(turn, examined, hits, now_given, sources)
    block = _rendered(turn, examined.intent)
    if block.ids:
        write(to_hook_output(EVENT, block.text))
        turn.units = utf16_units(block.text)
    turn.stages.done(RENDER)
    outcome = SPOKE if block.ids else gate.silence(turn.judged, is_enough=examined.is_enough(turn.settings))
    if not turn.session:
        turn.keep_if_free(outcome)
        return
    try:
        if block.ids and not turn.is_trial:
            turn.state.record(turn.session, block.ids, turn.at, turn.id)
        turn.state.commit()
    except StoreError as error:
        turn.log(f"the ledger was not kept: {error}")
        return
    turn.keep_if_free(outcome)  # by itself: once the answer is written the process may end at any moment


def _judged(turn: "Turn", examined: "Examined", hits: "list[Hit]", given: set[str], sources: Sources) -> "list[Judged]":
    """What the gate says of the hits, by the settings and what the session has been given."""
    return gate.judge(
        hits,
        given,
        gate.threshold_of(examined, turn.settings),
        gate.ceiling(examined.certainty, int(turn.settings["surfacing.max_memories"])),
        lambda relevant: pipeline.without_repeats(relevant, sources),
    )


def _chosen(judged: "Sequence[Judged]") -> "list[Judged]":
    return [one for one in judged if one.outcome == INJECTED]


def _rendered(turn: "Turn", intent: Intent) -> Rendered:
    """The block of what was chosen; what does not fit into it is judged anew."""
    chosen = _chosen(turn.judged)
    memories = [one.hit.memory for one in chosen]
    block = render_block(
        [Entry(memory.namespace, memory.created_at, memory.id, memory.content) for memory in memories],
        intent=intent.type if intent.type != NONE else GENERAL,
        confidence=intent.confidence,
        max_units=int(turn.settings["surfacing.max_characters"]),
    )
    for one in chosen:
        if one.hit.memory.id not in block.ids:
            one.outcome = ROOM
    return block
