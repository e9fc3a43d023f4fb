"""The search for a prompt: an index, a store and vectors are opened, and the hits become an offer."""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreError, SubcogError
from subcog_hooks.embed import static_encoder
from subcog_hooks.embed.static_encoder import encode_by_language
from subcog_hooks.hook import choose
from subcog_hooks.hook.call import left_open
from subcog_hooks.hook.choose import Offer, Verdict, bars_from_settings
from subcog_hooks.hook.prompt_reading import SETTLE_MS
from subcog_hooks.intent.keywords import GENERAL, NONE
from subcog_hooks.recall import fusion, pipeline
from subcog_hooks.recall import vectors as recall_vectors
from subcog_hooks.recall import words as recall_words
from subcog_hooks.recall.candidates import Sources
from subcog_hooks.recall.hits import ACTION, Answer
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.store.index import IndexUnusable, LexicalIndex
from subcog_hooks.store.store_reader import Filter
from subcog_hooks.store.vector_reader import ExtensionMissing, VectorReader, vectors_path
from subcog_hooks.store.verdicts import BELOW, INTENT, LLM, RECALL
from subcog_hooks.text import GOVERNED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.prompt_reading import PromptReading
    from subcog_hooks.intent.keywords import Intent
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.store.store_reader import StoreReader


VECTORS_WAIT_MS = 20.0  # Recall works by words where another process has locked the vectors longer.


def open_sources(call: HookCall, store: StoreReader | None = None) -> Sources:
    """Open the index, the store and the vectors. Recall works without vectors; `doctor` reports why.

    store: an open store beside the notes' one, which has an index and vectors of its own; None for the notes.
    """
    numbers = fusion.tuning_from_settings(call.settings)
    home = store.home if store else call.home
    index = LexicalIndex.open(home)
    sources = Sources(index, store or call.store, None, numbers)
    if numbers.alpha == 0.0 or not os.path.exists(vectors_path(home, static_encoder.SPACE)):
        return sources
    try:
        encoder = static_encoder.StaticEncoder.open()
        left_open.append(encoder)
        vectors = VectorReader.reader(home, static_encoder.SPACE, encoder.dimension, VECTORS_WAIT_MS)
    except SubcogError as error:
        if not isinstance(error, ExtensionMissing):
            call.log(f"recall by words alone: {error}")
        return sources
    left_open.append(vectors)
    sources.space = recall_vectors.SearchSpace(vectors, encode_by_language(encoder.encode))
    return sources


MAX_RULES = 20  # newest rules about one action, of which an order brings one
AGAIN_MS = 30.0  # With this work time left recall runs once more, with an LLM's topics.
RECALL_MS = 120.0  # Recall may need this work time on a slow machine; with less, only cues bring memories.
AFTERWARDS_MS = 80.0  # This work time is left when recall gives up vectors, so that word hits are handed over.
VETO = "the LLM is sure that memories would not help"


def decide_by_recall(reading: PromptReading) -> Verdict:
    """Decide on a prompt that memories could help with. Raises StoreError.

    Recall runs while an LLM is asked, and once more if the LLM names new topics in time. Triggers and conditions also bring
    memories without a strong intent, an index, or time to search.
    """
    call, detected = reading.call, reading.detected
    if reading.cue_matches and call.deadline.work_left_ms() < RECALL_MS:
        return decide_by_cues(reading, "triggers and conditions alone: no time was left to search")
    try:
        sources = open_sources(call)
        answer = _recall_prompt(reading, sources)
    except IndexUnusable as error:
        if not reading.cue_matches:
            raise
        return decide_by_cues(reading, f"triggers and conditions alone: {error}")
    call.stages.end(RECALL)
    topics = reading.topics(recall_words.rarity_in_index(sources.index) if detected.may_change else None)
    examined = detected.settle(topics, call.settings, call.deadline.left_ms() - SETTLE_MS)
    remarks: list[str] = []
    if detected.may_change:
        call.stages.end(LLM)
    if examined.may_speak(call.settings) or choose.bars_for_lines(examined, call.settings, is_small=False).sole:
        own = {topic.casefold() for topic in topics}
        if new := [topic for topic in examined.topics if topic.casefold() not in own]:
            _recall_again(reading, sources, new, answer, remarks)
        offer: Offer | None = _offer_hits(reading, examined, answer.hits, sources.tuning, index=sources.index)
        held_back: list[choose.Judgement] = []
    else:
        bar = float(call.settings["surfacing.min_relevance"])
        others = [hit for hit in answer.hits if not hit.is_cued]
        held_back = [choose.Judgement(hit, INTENT if hit.relevance >= bar else BELOW) for hit in others]
        cued = [hit for hit in answer.hits if hit.is_cued]
        offer = _offer_hits(reading, examined, cued, sources.tuning, held_back) if cued else None
    if rule := _find_governing_rule(reading, examined):
        offer = offer or _offer_hits(reading, examined, [], sources.tuning, held_back)
        offer.line_candidates, offer.prompt = [rule], reading.search_text()
    if examined.llm_reason and examined.llm_seconds is not None:  # The LLM was asked, and failed.
        remarks.append(f"the LLM: {examined.llm_reason}")
    if answer.note:
        remarks.append(answer.note)
    return _verdict_of_offer(reading, examined, answer, offer, held_back=held_back, remarks=remarks)


def decide_by_cues(reading: PromptReading, skip_reason: str = "") -> Verdict:
    """Decide without a search on a prompt for which triggers or conditions have brought memories. Raises StoreError.

    skip_reason: for the log, why recall was skipped; "" where the prompt asks for nothing.
    """
    matches = reading.cue_matches
    assert matches is not None
    call = reading.call
    remarks = [line for line in (skip_reason, matches.note) if line]
    hits = matches.hits()
    answer = Answer(hits, tuple(matches.channels), matches.note or None)
    try:
        pipeline.discount_marked_hits(
            hits, mask_secrets(reading.search_text()), call.store, lambda: LexicalIndex.open(call.home)
        )
    except IndexUnusable as error:
        remarks.append(f"marks of wrong memories could not be read: {error}")
    examined = reading.detected.settle(reading.topics(), call.settings, call.deadline.left_ms() - SETTLE_MS)
    offer = _offer_hits(reading, examined, hits, fusion.tuning_from_settings(call.settings))
    return _verdict_of_offer(reading, examined, answer, offer, remarks=remarks)


def _verdict_of_offer(
    reading: PromptReading,
    examined: Intent,
    answer: Answer,
    offer: Offer | None,
    *,
    held_back: Sequence[choose.Judgement] = (),
    remarks: Sequence[str] = (),
) -> Verdict:
    settings = reading.call.settings
    threshold = offer.threshold if offer else choose.threshold_for_prompt(examined, settings, is_small=False)
    return Verdict(
        "" if offer else INTENT,
        VETO if offer is None and examined.is_vetoed else "",
        offer=offer,
        judgements=held_back,
        bars=bars_from_settings(settings, threshold.needed),
        strategies=answer.strategies,
        note=answer.note,
        remarks=remarks,
        detected=reading.detected,
        examined=examined,
        borrowed=reading.borrowed,
    )


def _offer_hits(
    reading: PromptReading,
    examined: Intent,
    hits: Sequence[Hit],
    numbers: fusion.Tuning,
    held_back: Sequence[choose.Judgement] = (),
    *,
    index: LexicalIndex | None = None,
) -> Offer:
    """Return the hits as an offer. held_back: judgements on others; index: counts the memories in scope, None for no search."""
    call, settings = reading.call, reading.call.settings
    position = 1 if examined.is_seeking else reading.position()  # A question about memories may come at any time.
    pipeline.weigh_for_prompt(hits, examined, position)
    call.mark_loaded(hits)
    memories = numbers.small
    bar = min(float(settings["surfacing.min_relevance"]), float(settings["surfacing.maybe_relevance"]) or 1.0)
    if index is not None and not reading.detected.reading.is_foreign and any(hit.relevance >= bar for hit in hits):
        # The weights for other languages are fitted to small stores, too.
        memories = recall_words.count_memories(index, Filter(audiences=call.eligible.audiences))
    return Offer(
        pipeline.sort_by_relevance(hits),
        choose.threshold_for_prompt(examined, settings, is_small=memories < numbers.small // choose.SMALL_SHARE),
        choose.max_memories_for(examined.certainty, int(settings["surfacing.max_memories"])),
        int(settings["surfacing.max_characters"]),
        lambda relevant: pipeline.remove_repeats(relevant, numbers),
        attributes={"intent": examined.type if examined.type != NONE else GENERAL},
        tells_relevance=True,
        is_enough=examined.is_enough(settings),
        held_back=held_back,
        line_bars=choose.bars_for_lines(examined, settings, is_small=memories < numbers.small // choose.LINES_SHARE),
        max_lines=choose.MAX_LINES if position == 1 else choose.MAX_LATER_LINES,
        prompt=reading.search_text(),
    )


def _find_governing_rule(reading: PromptReading, examined: Intent) -> Hit | None:
    """Return the rule about the action that an order names, such as "deploy"; None without any, and for a question."""
    call, text = reading.call, reading.search_text()
    if examined.is_vetoed or examined.type not in (NONE, GENERAL) or not call.settings["surfacing.maybe_relevance"]:
        return None
    if GOVERNED.isdisjoint(map(str.lower, reading.detected.reading.words())):
        return None
    from subcog_hooks.text import actions  # Other prompts do not need it.

    eligible = call.eligible
    if not (named := actions.actions_of_order(text)):
        return None
    from subcog_hooks.recall.exact import ExactMatches  # Few orders name such an action.
    from subcog_hooks.store import lookups

    rows = lookups.find_governing(call.store, named, eligible.audiences, MAX_RULES, eligible.now_ms)
    rules = call.store.by_seqs([seq for seqs in rows.values() for seq in seqs])
    allowed = sorted([rule for rule in rules.values() if eligible.allows(rule)], key=lambda rule: -rule.created_at)
    if not allowed:
        return None
    position, closeness = actions.closest_rule([rule.content for rule in allowed], text, named)
    return None if closeness == actions.FAR else ExactMatches({ACTION: [allowed[position]]}).hits()[0]


def _recall_prompt(reading: PromptReading, sources: Sources) -> Answer:
    """Return the hits for the prompt with its borrowed topics. Raises StoreError."""
    call = reading.call
    asked = reading.search_text()
    deadline = call.deadline.sooner(AFTERWARDS_MS)
    needs, matches = reading.separate_needs(), reading.cue_matches
    answer = pipeline.recall_for_parts(
        asked, needs, sources, call.eligible, deadline, prompt=mask_secrets(asked), exact=matches
    )
    if matches is not None and matches.note:
        answer.note = "; ".join(filter(None, (answer.note, matches.note)))
    return answer


def _recall_again(reading: PromptReading, sources: Sources, new: Sequence[str], first: Answer, remarks: list[str]) -> None:
    """Add the hits for the prompt with new topics to the first answer, where there is time."""
    call = reading.call
    if call.deadline.work_left_ms() < AGAIN_MS:
        remarks.append("recall with the topics of the LLM: no time was left")
        return
    asked = reading.search_text()
    deadline = call.deadline.sooner(AFTERWARDS_MS)
    try:
        text = "\n".join((asked, *new))
        again = pipeline.recall_for_prompt(text, sources, call.eligible, deadline, prompt=mask_secrets(asked))
    except StoreError as error:
        remarks.append(f"recall with the topics of the LLM: {error}")
        return
    pipeline.join_answers(first, again)
    call.stages.end(RECALL)
