"""The gate: it decides which recalled memories are injected, which get a line, and the reason for each rejection. Pure."""

from __future__ import annotations

from subcog_hooks.store.decision import (
    BAD,
    BELOW,
    COUNT,
    DUPLICATE,
    GIVEN,
    INJECTED,
    INTENT,
    LOADED,
    NOTHING_FOUND,
    POINTED,
    REPEATED,
    STALE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.intent.detector import Examined
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.settings.defaults import Settings

MAX_BY_CERTAINTY = ((0.8, 6), (0.65, 4), (0.0, 3))  # A prompt of at least this certainty gets this number of memories.
DOUBTFUL_FACTOR = 2.0  # The bar's factor for a prompt that hardly asks for anything: only a very relevant memory may come.
OUT_OF_REACH = 2.0  # A relevance is at most 1.0.
MAX_LINES = 3  # lines for related memories at a session's first prompt
MAX_LATER_LINES = 1  # Later prompts want near notes less often: two lines cost idle prompts 193 characters.
# A memory of this relevance gets no lines beside it: of 400 tidy and typed prompts two were answered by such a line.
SURE = 0.6
# A store of a few dozen memories rarely has the answer: with the usual bar two of three prompts that need no note got one.
SMALL_SHARE = 10  # A scope is small with fewer than a tenth of `fusion.small` memories.
SMALL_STORE_FACTOR = 1.6  # The bar's factor in a small scope.
CERTAIN = 0.95  # A memory of this relevance comes in a small scope, too.
CODE_FACTOR = 3.0  # A further factor in a small scope, for a question that the code itself answers.
SEEKING_FACTOR = 0.8  # The bar's factor for a question about memories; 1.0 and .6 change two of 924 prompts at most.


class Threshold:
    """The relevance that a memory needs. usual: with a prompt that asks for something; needed: with this prompt.

    A memory whose own cues ask for it needs the usual relevance; a pinned or formerly judged memory needs none. No memory
    reaches a threshold above 1.0.
    """

    __slots__ = ("needed", "usual")

    def __init__(self, usual: float, needed: float) -> None:
        self.usual = usual
        self.needed = needed

    def is_reached(self, hit: Hit) -> bool:
        return hit.is_pinned or hit.is_judged or hit.relevance >= (self.usual if hit.is_exact else self.needed)


def relevance_threshold(min_relevance: float, *, is_enough: bool, is_seeking: bool) -> Threshold:
    """Return the relevance that a memory needs.

    is_enough: the intent reaches min_confidence; is_seeking: the prompt asks for stored memories.

    >>> [round(relevance_threshold(0.25, is_enough=True, is_seeking=seeking).needed, 2) for seeking in (False, True)]
    [0.25, 0.2]
    >>> [relevance_threshold(bar, is_enough=False, is_seeking=False).needed for bar in (0.25, 0.6)]
    [0.5, 1.2]
    """
    usual = min_relevance * SEEKING_FACTOR if is_seeking and is_enough else min_relevance
    return Threshold(usual, usual if is_enough else DOUBTFUL_FACTOR * usual)


def threshold_for_prompt(examined: Examined, settings: Settings, *, is_small: bool) -> Threshold:
    """Return the relevance that a memory needs with this prompt's intent and these settings.

    is_small: at most a few dozen memories are in scope. A prompt that asks for nothing gets only memories with a cue.
    """
    bar = float(settings["surfacing.min_relevance"])
    threshold = relevance_threshold(bar, is_enough=examined.is_enough(settings), is_seeking=examined.is_seeking)
    if not examined.may_speak(settings):
        threshold.needed = OUT_OF_REACH
    elif is_small and not examined.is_seeking:
        factor = SMALL_STORE_FACTOR * (CODE_FACTOR if examined.is_about_code else 1.0)
        threshold.needed = max(threshold.needed, min(CERTAIN, threshold.needed * factor))
    return threshold


class Judgement:
    """A hit and its outcome: INJECTED, or the reason for its rejection."""

    __slots__ = ("hit", "outcome")

    def __init__(self, hit: Hit, outcome: str) -> None:
        self.hit = hit
        self.outcome = outcome


def judge_hits(
    hits: Sequence[Hit],
    given: AbstractSet[str],
    threshold: Threshold,
    max_memories: int,
    distinct: Callable[[Sequence[Hit]], Sequence[Hit]],
) -> list[Judgement]:
    """Return each hit with its outcome: injected, or the reason for its rejection. Injected hits come in their order.

    hits: pinned ones first, then the most relevant; given: ids that the session has had; distinct: drops the hits that repeat a
    better one. A hit that repeats a given memory, or one that the client has loaded, is not injected either.
    """
    relevant = [hit for hit in hits if threshold.is_reached(hit) and hit.marked > 0.0]
    relevant.sort(key=lambda hit: not hit.is_loaded)  # Loaded memories come first, so that `distinct` drops their repeats.
    judgements: list[Judgement] = []
    room = max_memories
    for hit in distinct(relevant):
        if hit.is_loaded:
            judgements.append(Judgement(hit, LOADED))
        elif hit.memory.id in given:
            judgements.append(Judgement(hit, GIVEN))
        elif room > 0 or hit.is_pinned:  # All pinned ones come, whose channel has a maximum of its own.
            room -= 1
            judgements.append(Judgement(hit, INJECTED))
        else:
            judgements.append(Judgement(hit, COUNT))
    judged_ids = {judgement.hit.memory.id for judgement in judgements}
    rejected = [hit for hit in hits if hit.memory.id not in judged_ids]
    return judgements + [Judgement(hit, rejection_reason(hit, given, threshold)) for hit in rejected]


def choose_pointers(
    judgements: Sequence[Judgement],
    seen: AbstractSet[str],
    bar: float,
    max_lines: int,
    distinct: Callable[[Sequence[Hit]], Sequence[Hit]],
) -> None:
    """Let lines point at the most relevant memories that are not injected, each once a session.

    seen: ids given to the session or pointed at; bar: the relevance that a line needs; distinct: as for `judge_hits`.
    """
    injected = [judgement.hit for judgement in judgements if judgement.outcome == INJECTED]
    if any(hit.relevance >= SURE or hit.is_pinned for hit in injected):
        return
    possible = {
        judgement.hit.memory.id: judgement
        for judgement in judgements
        if judgement.outcome in (BELOW, INTENT, COUNT)
        and judgement.hit.relevance >= bar
        and judgement.hit.memory.id not in seen
        and not judgement.hit.is_loaded
    }
    nearest = sorted([judgement.hit for judgement in possible.values()], key=lambda hit: -hit.relevance)
    different = distinct([*injected, *nearest[: 2 * MAX_LINES]])
    for hit in [hit for hit in different if hit.memory.id in possible][:max_lines]:
        possible[hit.memory.id].outcome = POINTED


def point_at_first(
    candidates: Sequence[Hit],
    judgements: Sequence[Judgement],
    seen: AbstractSet[str],
    distinct: Callable[[Sequence[Hit]], Sequence[Hit]],
) -> list[Judgement]:
    """Return a judgement on each candidate: a line points at the first that nobody has seen, and that repeats none told.

    seen: ids that the session has been given or pointed at.
    """
    told = [judgement.hit for judgement in judgements if judgement.outcome == INJECTED]
    judged_ids = {judgement.hit.memory.id for judgement in judgements}
    further = [Judgement(hit, BELOW) for hit in candidates if hit.memory.id not in judged_ids]
    for judgement in further:
        hit = judgement.hit
        if hit.memory.id in seen:
            judgement.outcome = GIVEN
        elif hit.marked > 0.0 and hit in distinct([*told, hit]):
            judgement.outcome = POINTED
            break
    return further


def rejection_reason(hit: Hit, given: AbstractSet[str], threshold: Threshold) -> str:
    if hit.marked <= 0.0 and hit.probability >= threshold.usual:
        return BAD
    if threshold.is_reached(hit):
        if hit.is_loaded:
            return LOADED
        return GIVEN if hit.memory.id in given else DUPLICATE
    if hit.relevance >= threshold.usual:
        return INTENT
    if hit.present < 1.0 and hit.probability * hit.marked >= threshold.usual:
        return STALE
    return BAD if hit.marked < 1.0 and hit.probability >= threshold.usual else BELOW


def hold_back_hits(hits: Sequence[Hit], min_relevance: float, reason: str) -> list[Judgement]:
    """Return each hit with its outcome where none is handed over: the relevant hits get this reason."""
    return [Judgement(hit, reason if hit.relevance >= min_relevance else BELOW) for hit in hits]


def silence_reason(judgements: Sequence[Judgement], *, is_enough: bool) -> str:
    """Return the decision's outcome where no hit is handed over."""
    if any(judgement.outcome in (GIVEN, LOADED) for judgement in judgements):
        return REPEATED
    if not is_enough:
        return INTENT
    return BELOW if judgements else NOTHING_FOUND


def max_memories_for(certainty: float, max_memories: int) -> int:
    """Return the highest number of memories for a prompt of this certainty.

    >>> [max_memories_for(certainty, 6) for certainty in (0.95, 0.8, 0.7, 0.5, 0.0)], max_memories_for(0.9, 2)
    ([6, 6, 4, 3, 3], 2)
    """
    return min(max_memories, next(count for floor, count in MAX_BY_CERTAINTY if certainty >= floor))
