"""From a prompt's intent to the memories that are handed over, or to silence: recall, the gate, the ledger."""

import os

from subcog_hooks.embed import static
from subcog_hooks.errors import StoreError, SubcogError
from subcog_hooks.hooks.render import Entry, render_block, to_hook_output
from subcog_hooks.hooks.turn import EVENT, PRINT_MS
from subcog_hooks.intent.kinds import GENERAL, NONE
from subcog_hooks.intent.text import ends_of
from subcog_hooks.intent.topics import topics
from subcog_hooks.memory.index import LexicalIndex
from subcog_hooks.memory.model import now_ms
from subcog_hooks.memory.store import Store, audiences_of
from subcog_hooks.memory.vector_file import ExtensionMissing, path_of
from subcog_hooks.memory.vectors import VectorStore
from subcog_hooks.recall import pipeline, semantic, tuning
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.hits import Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.hooks.turn import Turn
    from subcog_hooks.intent.detection import Examined
    from subcog_hooks.recall.hits import Answer

VECTORS_WAIT_MS = 20.0  # for a file that another process has locked; words are found without it
AGAIN_MS = 30.0  # recall runs once more, with an LLM's topics, if so much is left (DESIGN section 6)
COUNTS = ((0.8, 6), (0.65, 4), (0.0, 3))  # at most so many memories from that confidence on (DESIGN 7, the gate)

_left_open: list[Store | VectorStore] = []  # closing costs a millisecond; the process ends anyway


def surface(turn: "Turn", write: "Callable[[bytes], None]") -> None:
    """Answer a prompt that memories could help with: `write` is called once, or not at all. Raises StoreError.

    Recall runs while an LLM is asked, and once more if its topics are others and there is time. Whatever fails, what became of
    the call is kept.
    """
    words: tuple[str, ...] = ()
    relevant: list[Hit] = []
    examined = None
    try:
        given = turn.state.injected(turn.session) if turn.session else set()
        sources = _sources(turn)
        answer = _recalled(turn, sources, given)
        words = topics(turn.detected.reading.words(), _rarity(sources) if turn.detected.may_change else None)
        examined = turn.settle(words)
        if examined.speaks(turn.settings):
            answer = _recalled_again(turn, sources, given, words, examined, answer)
            hits = pipeline.favoured(answer.hits, examined.intent.type, sources.tuning)
            relevant = [hit for hit in hits if hit.relevance >= float(turn.settings["surfacing.min_relevance"])]
            relevant = pipeline.without_repeats(relevant, sources)
    except Exception:
        turn.keep_if_free(examined or turn.settle(words))
        raise
    if relevant and turn.deadline.left_ms() >= PRINT_MS:
        _inject(relevant, examined, turn, write)
    else:
        turn.keep_if_free(examined)
    if examined.llm_reason and examined.llm_seconds is not None:  # asked, and failed
        turn.log(f"the LLM: {examined.llm_reason}")
    if answer.note:
        turn.log(answer.note)


def _recalled(turn: "Turn", sources: Sources, given: set[str], also: str = "") -> "Answer":
    """What the prompt brings, with more words if there are any. Raises StoreError."""
    audiences = audiences_of(*turn.here.names) if turn.here else audiences_of()
    return pipeline.for_prompt(ends_of(turn.prompt) + also, sources, audiences, turn.deadline, given)


def _recalled_again(
    turn: "Turn", sources: Sources, given: set[str], words: tuple[str, ...], examined: "Examined", first: "Answer"
) -> "Answer":
    """What the prompt brings with an LLM's topics; the first answer where they are the same, time is short, or it fails."""
    known = {word.casefold() for word in words}
    new = [topic for topic in examined.intent.topics if topic.casefold() not in known]
    if not new or turn.deadline.left_ms() < AGAIN_MS:
        return first
    try:
        answer = _recalled(turn, sources, given, "\n" + " ".join(new))
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
        vectors = VectorStore.reader(turn.home, static.SPACE, encoder.dimension, VECTORS_WAIT_MS)
    except ExtensionMissing:
        return Sources(index, store, None, numbers)
    except SubcogError as error:
        turn.log(f"recall by words alone: {error}")
        return Sources(index, store, None, numbers)
    _left_open.append(vectors)
    return Sources(index, store, semantic.Space(vectors, semantic.in_latin(encoder.encode)), numbers)


def _inject(relevant: list[Hit], examined: "Examined", turn: "Turn", write: "Callable[[bytes], None]") -> None:
    """Write the block, once for each memory and session, then take note of it.

    The ledger's lock is taken first, so that two hooks of one session at once can not both inject a memory; it is committed
    after the write, so that a hook which dies in between repeats a memory rather than losing it. Without a session there is no
    ledger to wait for.
    """
    given: set[str] = set()
    if turn.session:
        turn.state.begin()
        given = turn.state.injected(turn.session)
    intent = examined.intent
    allowed = next(count for floor, count in COUNTS if examined.certainty >= floor)
    most = min(int(turn.settings["surfacing.max_memories"]), allowed)
    fresh = [hit.memory for hit in relevant if hit.memory.id not in given][:most]
    entries = [Entry(memory.namespace, memory.created_at, memory.id, memory.content) for memory in fresh]
    units = int(turn.settings["surfacing.max_characters"])
    named = intent.type if intent.type != NONE else GENERAL
    block = render_block(entries, intent=named, confidence=intent.confidence, max_units=units)
    if block.ids:
        write(to_hook_output(EVENT, block.text))
    if not turn.session:
        turn.keep_if_free(examined)
        return
    try:
        if block.ids:
            turn.state.record(turn.session, block.ids, now_ms())
        turn.keep(examined)
        turn.state.commit()
    except StoreError as error:
        turn.log(f"the ledger was not kept: {error}")
