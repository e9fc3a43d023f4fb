"""From what a prompt's words are about to what may be handed over, or to silence: recall, and the terms of an offer."""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreError, SubcogError
from subcog_hooks.embed import static
from subcog_hooks.hook import choose
from subcog_hooks.hook.reading import SETTLE_MS
from subcog_hooks.hook.verdict import Offer, Verdict, bars_of
from subcog_hooks.intent.kinds import GENERAL, NONE
from subcog_hooks.recall import pipeline, tuning
from subcog_hooks.recall import vectors as recall_vectors
from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.hits import Answer
from subcog_hooks.redaction.leaks import mask
from subcog_hooks.store.decision import INTENT, LLM, RECALL
from subcog_hooks.store.index import IndexUnusable, LexicalIndex
from subcog_hooks.store.memory import is_loaded_by_client
from subcog_hooks.store.store import Filter
from subcog_hooks.store.vector_file import ExtensionMissing, path_of
from subcog_hooks.store.vector_store import VectorStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.hook.call import Occasion
    from subcog_hooks.hook.reading import Read
    from subcog_hooks.intent.detector import Examined
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.settings.loading import Settings

VECTORS_WAIT_MS = 20.0  # for a file that another process has locked; words are found without it
AGAIN_MS = 30.0  # recall runs once more, with an LLM's topics, if so much is left (DESIGN section 6)
RECALL_MS = 300.0  # of own work that recall may need on a busy machine: with less, what a cue has brought comes alone
AFTERWARDS_MS = 200.0  # of own work that is left when meaning is given up, so that what words have found is handed over
VETO = "the LLM is sure that memories would not help"

_left_open: list[VectorStore | static.StaticEncoder] = []  # closing costs a millisecond; the process ends anyway


def close_left_open() -> None:
    """Close what searches in this process have left open: where it goes on, as after a dry run."""
    while _left_open:
        _left_open.pop().close()


def surface(read: Read) -> Verdict:
    """Decide on a prompt that memories could help with. Raises StoreError.

    Recall runs while an LLM is asked, and once more if its topics are others and there is time. What the intent does not speak
    for, triggers and conditions still may; they also do where nothing can be searched, or no time is left to search.
    """
    occasion, detected = read.turn.occasion, read.detected
    if read.exact and occasion.deadline.work_left_ms() < RECALL_MS:
        return surface_exact(read, "triggers and conditions alone: no time was left to search")
    try:
        sources = _open_sources(occasion)
        answer = _recall(read, sources)
    except IndexUnusable as error:
        if not read.exact:
            raise
        return surface_exact(read, f"triggers and conditions alone: {error}")
    occasion.stages.done(RECALL)
    words = read.topics(_rarity(sources) if detected.may_change else None)
    examined = detected.settle(words, occasion.settings, occasion.deadline.left_ms() - SETTLE_MS)
    remarks: list[str] = []
    if detected.may_change:
        occasion.stages.done(LLM)
    if examined.may_speak(occasion.settings) or _line_bar(examined, occasion.settings):
        if new := _new_topics(words, examined):
            answer = _recall_again(read, sources, new, answer, remarks)
        offer: Offer | None = _offer(read, examined, answer.hits, sources.tuning, index=sources.index)
        held_back: list[choose.Judged] = []
    else:
        others = [hit for hit in answer.hits if not hit.is_exact]
        held_back = choose.held_back(others, float(occasion.settings["surfacing.min_relevance"]), INTENT)
        exact = [hit for hit in answer.hits if hit.is_exact]
        offer = _offer(read, examined, exact, sources.tuning, held_back) if read.exact else None
    if examined.llm_reason and examined.llm_seconds is not None:  # asked, and failed
        remarks.append(f"the LLM: {examined.llm_reason}")
    if answer.note:
        remarks.append(answer.note)
    return _verdict(read, examined, answer, offer, held_back=held_back, remarks=remarks)


def surface_exact(read: Read, why: str = "") -> Verdict:
    """Decide on a prompt to which a trigger or a condition has brought something, without a search. Raises StoreError.

    why: nothing was searched, for the log; "" where the prompt asks for nothing.
    """
    assert read.exact is not None
    occasion = read.turn.occasion
    remarks = [line for line in (why, read.exact.note) if line]
    hits = read.exact.hits()
    answer = Answer(hits, tuple(read.exact.channels), read.exact.note or None)
    try:
        pipeline.discount_marked(hits, mask(read.asked()), occasion.store, lambda: LexicalIndex.open(occasion.home))
    except IndexUnusable as error:
        remarks.append(f"what was called wrong was not looked for: {error}")
    examined = read.detected.settle(read.topics(), occasion.settings, occasion.deadline.left_ms() - SETTLE_MS)
    offer = _offer(read, examined, hits, tuning.from_settings(occasion.settings))
    return _verdict(read, examined, answer, offer, remarks=remarks)


def _verdict(
    read: Read,
    examined: Examined,
    answer: Answer,
    offer: Offer | None,
    *,
    held_back: Sequence[choose.Judged] = (),
    remarks: Sequence[str] = (),
) -> Verdict:
    settings = read.turn.occasion.settings
    return Verdict(
        "" if offer else INTENT,
        VETO if offer is None and examined.is_vetoed else "",
        offer=offer,
        judged=held_back,
        bars=bars_of(settings, offer.least.needed if offer else choose.threshold_of(examined, settings, is_small=False).needed),
        strategies=answer.strategies,
        note=answer.note,
        remarks=remarks,
        detected=read.detected,
        examined=examined,
        borrowed=read.borrowed,
    )


def _offer(
    read: Read,
    examined: Examined,
    hits: Sequence[Hit],
    numbers: tuning.Tuning,
    others: Sequence[choose.Judged] = (),
    *,
    index: LexicalIndex | None = None,
) -> Offer:
    """Return the hits as an offer on the terms of this prompt.

    others: hits that are held back already; index: where the memories in scope are counted, None for no search.
    """
    turn, intent = read.turn, examined.intent
    occasion = turn.occasion
    settings = occasion.settings
    place = 1 if examined.is_seeking else turn.place()  # who asks for what is remembered wants it at any time
    pipeline.weigh_for_prompt(hits, intent, place, numbers)
    discount_absent(hits, occasion)
    is_small = index is not None and _is_small(index, hits, occasion, numbers.small // choose.SMALL_SHARE)
    return Offer(
        pipeline.ordered(hits),
        choose.threshold_of(examined, settings, is_small=is_small),
        choose.ceiling(examined.certainty, int(settings["surfacing.max_memories"])),
        int(settings["surfacing.max_characters"]),
        lambda relevant: pipeline.without_repeats(relevant, numbers),
        about={"intent": intent.type if intent.type != NONE else GENERAL},
        tells_relevance=True,
        is_enough=examined.is_enough(settings),
        others=others,
        line_bar=_line_bar(examined, settings),
        max_lines=choose.MAX_LINES if place == 1 else choose.MAX_LATER_LINES,
        prompt=read.asked(),
    )


def _line_bar(examined: Examined, settings: Settings) -> float:
    """Return the relevance that a line needs which points at a memory; 0.0 where a prompt gets none."""
    is_about_something = bool(examined.intent.topics) and not examined.is_vetoed
    return float(settings["surfacing.maybe_relevance"]) if is_about_something else 0.0


def _is_small(index: LexicalIndex, hits: Sequence[Hit], occasion: Occasion, small: int) -> bool:
    """Return whether fewer memories than `small` are in scope, where a memory's relevance makes that matter."""
    bar = float(occasion.settings["surfacing.min_relevance"])
    if not any(hit.relevance >= bar for hit in hits):
        return False
    return recall_words.count(index, Filter(audiences=occasion.eligible.audiences)) < small


def discount_absent(hits: Sequence[Hit], occasion: Occasion) -> None:
    """Discount the hits whose files are gone, and mark those that the client itself has put before the model."""
    if any(hit.memory.paths for hit in hits):
        from subcog_hooks.hook import absent_files  # .2 ms, and few memories have paths

        absent_files.discount_gone_files(hits, occasion.here)
    if any(is_loaded_by_client(hit.memory.source) for hit in hits):
        from subcog_hooks.hook import absent_files  # as above, and few are the client's own

        absent_files.note_loaded(hits, occasion)


def _recall(read: Read, sources: Sources, new: Sequence[str] = ()) -> Answer:
    """Return what the prompt brings, with the borrowed topics and new ones, if there are any. Raises StoreError."""
    occasion = read.turn.occasion
    asked = read.asked()
    text = "\n".join((asked, *new))
    deadline = occasion.deadline.sooner(AFTERWARDS_MS)
    needs = read.needs()
    answer = pipeline.for_needs(text, needs, sources, occasion.eligible, deadline, prompt=mask(asked), exact=read.exact)
    if read.exact is not None and read.exact.note:
        answer.note = "; ".join(filter(None, (answer.note, read.exact.note)))
    return answer


def _new_topics(words: tuple[str, ...], examined: Examined) -> list[str]:
    """Return the topics of an LLM that the words did not have."""
    known = {word.casefold() for word in words}
    return [topic for topic in examined.intent.topics if topic.casefold() not in known]


def _recall_again(read: Read, sources: Sources, new: Sequence[str], first: Answer, remarks: list[str]) -> Answer:
    """Return what the prompt brings with new topics, or the first answer where time is short or that is better."""
    occasion = read.turn.occasion
    if occasion.deadline.left_ms() < AGAIN_MS:
        return first
    try:
        answer = _recall(read, sources, new)
    except StoreError as error:
        remarks.append(f"recall with the topics of the LLM: {error}")
        return first
    if answer.is_degraded and not first.is_degraded:  # out of time, say
        return first
    occasion.stages.done(RECALL)
    return answer


def _rarity(sources: Sources) -> Callable[[str], float | None]:
    from subcog_hooks.recall import words as recall_words  # only for an LLM, whose topics are joined with ours

    return recall_words.rarity_in_index(sources.index)


def _open_sources(occasion: Occasion) -> Sources:
    """Return what recall reads; without vectors words alone will do, and `doctor` says what is the matter."""
    numbers = tuning.from_settings(occasion.settings)
    index = LexicalIndex.open(occasion.home)
    store = occasion.store
    if numbers.alpha == 0.0 or not os.path.exists(path_of(occasion.home, static.SPACE)):
        return Sources(index, store, None, numbers)
    try:
        encoder = static.StaticEncoder.open()
        _left_open.append(encoder)
        vectors = VectorStore.reader(occasion.home, static.SPACE, encoder.dimension, VECTORS_WAIT_MS)
    except ExtensionMissing:
        return Sources(index, store, None, numbers)
    except SubcogError as error:
        occasion.log(f"recall by words alone: {error}")
        return Sources(index, store, None, numbers)
    _left_open.append(vectors)
    return Sources(index, store, recall_vectors.SearchSpace(vectors, recall_vectors.in_latin(encoder.encode)), numbers)
