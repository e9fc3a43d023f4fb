"""From a prompt's intent to the memories that are handed over, or to silence: recall, the gate, the ledger."""

import os

from subcog_hooks.embed import static
from subcog_hooks.errors import StoreError, SubcogError
from subcog_hooks.hooks import gate
from subcog_hooks.hooks.block import Entry, Rendered, of_intent, render_block, to_hook_output
from subcog_hooks.hooks.occasion import PRINT_MS
from subcog_hooks.hooks.sanitise import utf16_units
from subcog_hooks.hooks.turn import EVENT
from subcog_hooks.intent.kinds import GENERAL, NONE, Intent
from subcog_hooks.memory.index import IndexUnusable, LexicalIndex
from subcog_hooks.memory.vector_file import ExtensionMissing, path_of
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.recall import pipeline, semantic, tuning
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.hits import Answer
from subcog_hooks.redaction.leaks import mask
from subcog_hooks.state import ledger
from subcog_hooks.state.decision import GATE, INJECTED, INTENT, LLM, OUT_OF_TIME, RECALL, RENDER, ROOM, SPOKE
from subcog_hooks.text.typed import ends_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.hooks.gate import Judged
    from subcog_hooks.hooks.turn import Turn
    from subcog_hooks.intent.detection import Detection, Examined
    from subcog_hooks.recall.hits import Hit

VECTORS_WAIT_MS = 20.0  # for a file that another process has locked; words are found without it
AGAIN_MS = 30.0  # recall runs once more, with an LLM's topics, if so much is left (DESIGN section 6)
VETO = "the LLM is sure that memories would not help"

_left_open: list[VectorStore | static.StaticEncoder] = []  # closing costs a millisecond; the process ends anyway


def surface(turn: "Turn", detected: "Detection", write: "Callable[[bytes], None]") -> None:
    """Answer a prompt that memories could help with: `write` is called once, or not at all. Raises StoreError.

    Recall runs while an LLM is asked, and once more if its topics are others and there is time. What the intent does not speak
    for, triggers and conditions still may; they also do where nothing can be searched.
    """
    try:
        sources = _sources(turn)
        answer = turn.answer = _recalled(turn, sources)
    except IndexUnusable as error:
        if not turn.exact:
            raise
        turn.log(f"triggers and conditions alone: {error}")
        surface_exact(turn, detected, write)
        return
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
        _hand_over(turn, examined, answer.hits, sources.tuning, write)
    else:
        held_back = [hit for hit in answer.hits if not hit.is_exact]
        others = gate.held_back(held_back, float(turn.settings["surfacing.min_relevance"]), INTENT)
        if turn.exact:
            _hand_over(turn, examined, [hit for hit in answer.hits if hit.is_exact], sources.tuning, write, others)
        else:
            turn.judged = others
            turn.keep_if_free(INTENT, VETO if examined.is_vetoed else "")
    if examined.llm_reason and examined.llm_seconds is not None:  # asked, and failed
        turn.log(f"the LLM: {examined.llm_reason}")
    if answer.note:
        turn.log(answer.note)


def surface_exact(turn: "Turn", detected: "Detection", write: "Callable[[bytes], None]") -> None:
    """The same for a prompt that asks for nothing, to which a trigger or a condition has brought something."""
    assert turn.exact is not None
    hits = turn.exact.hits()
    turn.answer = Answer(hits, tuple(turn.exact.channels), turn.exact.note or None)
    try:
        pipeline.lower(hits, mask(_asked(turn)), turn.store, lambda: LexicalIndex.open(turn.home))
    except IndexUnusable as error:
        turn.log(f"what was called wrong was not looked for: {error}")
    examined = turn.settle(detected, turn.topics(detected))
    _hand_over(turn, examined, hits, tuning.of(turn.settings), write)
    if turn.exact.note:
        turn.log(turn.exact.note)


def _recalled(turn: "Turn", sources: Sources, new: "Sequence[str]" = ()) -> "Answer":
    """What the prompt brings, with the borrowed topics and new ones, if there are any. Raises StoreError."""
    asked = _asked(turn)
    text = "\n".join((asked, *new))
    answer = pipeline.for_prompt(
        text, sources, turn.audiences, turn.deadline, prompt=mask(asked), exact=turn.exact, holds=turn.holds
    )
    if turn.exact is not None and turn.exact.note:
        answer.note = "; ".join(filter(None, (answer.note, turn.exact.note)))
    return answer


def _asked(turn: "Turn") -> str:
    """What the prompt says, with what it borrows from the one before."""
    return "\n".join((ends_of(turn.prompt), *turn.borrowed))


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
    store = turn.store
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
    turn: "Turn",
    examined: "Examined",
    found: "list[Hit]",
    numbers: tuning.Tuning,
    write: "Callable[[bytes], None]",
    others: "Sequence[Judged]" = (),
) -> None:
    """Inject what passes the gate, if anything does. The silence or the answer is kept. others: what is held back already.

    The ledger's lock is taken before the last look at it, so that two hooks of one session at once can not both inject a
    memory; it is committed after the write, so that a hook which dies in between repeats a memory rather than losing it.
    Without a session there is no ledger to wait for.
    """
    hits = pipeline.favoured(found, examined.intent, numbers)
    if any(hit.memory.paths for hit in hits):
        from subcog_hooks.hooks import gone_files  # .2 ms, and few memories have paths

        gone_files.lower(hits, turn.here)
        hits = pipeline.ordered(hits)
    given = turn.given()
    turn.judged = [*_judged(turn, examined, hits, given, numbers), *others]
    turn.stages.done(GATE)
    if not _chosen(turn.judged):
        turn.keep_if_free(gate.silence(turn.judged, is_enough=examined.is_enough(turn.settings)))
        return
    if turn.deadline.left_ms() < PRINT_MS:
        turn.keep_if_free(OUT_OF_TIME)
        return
    if turn.session:
        turn.state.begin()
        now_given = ledger.given(turn.state, turn.session)
        if now_given != given:  # by another hook in the meantime
            turn.judged = [*_judged(turn, examined, hits, now_given, numbers), *others]
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
            ledger.record(turn.state, turn.session, block.ids, turn.at, turn.id)
        turn.state.commit()
    except StoreError as error:
        turn.log(f"the ledger was not kept: {error}")
        return
    turn.keep_if_free(outcome)  # by itself: once the answer is written the process may end at any moment


def _judged(turn: "Turn", examined: "Examined", hits: "list[Hit]", given: set[str], numbers: tuning.Tuning) -> "list[Judged]":
    """What the gate says of the hits, by the settings and what the session has been given."""
    return gate.judge(
        hits,
        given,
        gate.threshold_of(examined, turn.settings),
        gate.ceiling(examined.certainty, int(turn.settings["surfacing.max_memories"])),
        lambda relevant: pipeline.without_repeats(relevant, numbers),
    )


def _chosen(judged: "Sequence[Judged]") -> "list[Judged]":
    return [one for one in judged if one.outcome == INJECTED]


def _rendered(turn: "Turn", intent: Intent) -> Rendered:
    """The block of what was chosen; what does not fit into it is judged anew."""
    chosen = _chosen(turn.judged)
    memories = [one.hit.memory for one in chosen]
    block = render_block(
        [Entry(memory.namespace, memory.created_at, memory.id, memory.content) for memory in memories],
        about=of_intent(intent.type if intent.type != NONE else GENERAL, intent.confidence),
        max_units=int(turn.settings["surfacing.max_characters"]),
    )
    for one in chosen:
        if one.hit.memory.id not in block.ids:
            one.outcome = ROOM
    return block
