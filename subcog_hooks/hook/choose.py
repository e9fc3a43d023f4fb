"""The gate: which memories that recall has brought are told, which are pointed at, and what the others lack. Pure."""

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
    from subcog_hooks.settings.loading import Settings

COUNTS = ((0.8, 6), (0.65, 4), (0.0, 3))  # at most so many memories from that confidence on
DOUBTFUL = 2.0  # times the bar, for a prompt that hardly asks for anything: what is so relevant may speak alone
OUT_OF_REACH = 2.0  # a relevance above any
MAX_LINES = 3  # of memories that may be related, at a session's first prompt
MAX_LATER_LINES = 1  # at a later prompt: near notes are less often wanted there, and two cost idle prompts 193 characters
# Beside a memory of this relevance no line is given: of 400 tidy and typed prompts two were answered by such a line.
SURE = 0.6
# A store of a few dozen memories rarely has the answer: with the usual bar two of three prompts that need no note got one.
SMALL_SHARE = 10  # a store is as small with fewer than a tenth of `fusion.small` memories in scope
IN_SMALL_STORE = 1.6  # times the bar
CERTAIN = 0.95  # a relevance that is told whatever the store
FOR_CODE = 3.0  # times that bar, there, for a question that the code itself answers
SEEKING_SHARE = 0.8  # of the bar, where it asks for what is remembered; 1.0 and .6 differ by two of 924 prompts at most


class Threshold:
    """The relevance that a memory needs. usual: with a prompt that asks for something; needed: with this one.

    What its owner has said to be wanted now needs the usual one, and nothing if it is pinned or was judged before. Above 1.0 no
    memory will do.
    """

    __slots__ = ("needed", "usual")

    def __init__(self, usual: float, needed: float) -> None:
        self.usual = usual
        self.needed = needed

    def is_reached(self, hit: Hit) -> bool:
        return hit.is_pinned or hit.is_judged or hit.relevance >= (self.usual if hit.is_exact else self.needed)


def threshold(min_relevance: float, *, is_enough: bool, is_seeking: bool) -> Threshold:
    """Return the relevance that a memory needs.

    is_enough: the intent reaches min_confidence; is_seeking: the prompt asks for what is remembered.

    >>> [round(threshold(0.25, is_enough=True, is_seeking=seeking).needed, 2) for seeking in (False, True)]
    [0.25, 0.2]
    >>> [threshold(least, is_enough=False, is_seeking=False).needed for least in (0.25, 0.6)]
    [0.5, 1.2]
    """
    usual = min_relevance * SEEKING_SHARE if is_seeking and is_enough else min_relevance
    return Threshold(usual, usual if is_enough else DOUBTFUL * usual)


def threshold_of(examined: Examined, settings: Settings, *, is_small: bool) -> Threshold:
    """Return the relevance that a memory needs with this prompt's intent, by the settings.

    is_small: a few dozen memories are in scope at most. A prompt that asks for nothing is told only memories with a cue of
    their own.
    """
    bar = float(settings["surfacing.min_relevance"])
    usual = threshold(bar, is_enough=examined.is_enough(settings), is_seeking=examined.is_seeking)
    if not examined.may_speak(settings):
        usual.needed = OUT_OF_REACH
    elif is_small and not examined.is_seeking:
        factor = IN_SMALL_STORE * (FOR_CODE if examined.is_about_code else 1.0)
        usual.needed = max(usual.needed, min(CERTAIN, usual.needed * factor))
    return usual


class Judged:
    """A hit and what becomes of it: INJECTED, or what it lacks."""

    __slots__ = ("hit", "outcome")

    def __init__(self, hit: Hit, outcome: str) -> None:
        self.hit = hit
        self.outcome = outcome


def judge(
    hits: Sequence[Hit],
    given: AbstractSet[str],
    least: Threshold,
    most: int,
    distinct: Callable[[Sequence[Hit]], Sequence[Hit]],
) -> list[Judged]:
    """Return what becomes of each hit; those that are to be injected come in their order.

    hits: what is pinned first, then the most relevant; given: ids that the session has had; least: what they need; most: so
    many are injected; distinct: of hits, those that do not repeat a better one, in the order in which they are handed over. One
    that repeats what was given, or what the client has put before the model, is not injected either.
    """
    relevant = [hit for hit in hits if least.is_reached(hit) and hit.marked > 0.0]
    relevant.sort(key=lambda hit: not hit.is_loaded)  # first, so that what repeats one is left out
    judged: list[Judged] = []
    room = most
    for hit in distinct(relevant):
        if hit.is_loaded:
            judged.append(Judged(hit, LOADED))
        elif hit.memory.id in given:
            judged.append(Judged(hit, GIVEN))
        elif room:
            room -= 1
            judged.append(Judged(hit, INJECTED))
        else:
            judged.append(Judged(hit, COUNT))
    told = {one.hit.memory.id for one in judged}
    return judged + [Judged(hit, _lack(hit, given, least)) for hit in hits if hit.memory.id not in told]


def point(
    judged: Sequence[Judged],
    pointed: AbstractSet[str],
    bar: float,
    max_lines: int,
    distinct: Callable[[Sequence[Hit]], Sequence[Hit]],
) -> None:
    """Let lines point at the most relevant memories that are not told, each once a session.

    pointed: ids that the session was pointed at; bar: the relevance that a line needs; distinct: as for `judge`.
    """
    injected = [judgement.hit for judgement in judged if judgement.outcome == INJECTED]
    if any(hit.relevance >= SURE or hit.is_pinned for hit in injected):
        return
    possible = {
        judgement.hit.memory.id: judgement
        for judgement in judged
        if judgement.outcome in (BELOW, INTENT, COUNT)
        and judgement.hit.relevance >= bar
        and judgement.hit.memory.id not in pointed
    }
    nearest = sorted([judgement.hit for judgement in possible.values()], key=lambda hit: -hit.relevance)
    unlike = distinct([*injected, *nearest[: 2 * MAX_LINES]])
    for hit in [hit for hit in unlike if hit.memory.id in possible][:max_lines]:
        possible[hit.memory.id].outcome = POINTED


def _lack(hit: Hit, given: AbstractSet[str], least: Threshold) -> str:
    if hit.marked <= 0.0 and hit.probability >= least.usual:
        return BAD
    if least.is_reached(hit):
        if hit.is_loaded:
            return LOADED
        return GIVEN if hit.memory.id in given else DUPLICATE
    if hit.relevance >= least.usual:
        return INTENT
    if hit.present < 1.0 and hit.probability * hit.marked >= least.usual:
        return STALE
    return BAD if hit.marked < 1.0 and hit.probability >= least.usual else BELOW


def held_back(hits: Sequence[Hit], min_relevance: float, why: str) -> list[Judged]:
    """Return what becomes of hits when none is handed over, for a reason that is not theirs: those that are relevant get it."""
    return [Judged(hit, why if hit.relevance >= min_relevance else BELOW) for hit in hits]


def silence(judged: Sequence[Judged], *, is_enough: bool) -> str:
    """Return why nothing is handed over, where the hits are the reason: one of the decision's outcomes."""
    if any(one.outcome in (GIVEN, LOADED) for one in judged):
        return REPEATED
    if not is_enough:
        return INTENT
    return BELOW if judged else NOTHING_FOUND


def ceiling(certainty: float, max_memories: int) -> int:
    """Return at most how many memories a prompt of this confidence gets.

    >>> [ceiling(certainty, 6) for certainty in (0.95, 0.8, 0.7, 0.5, 0.0)], ceiling(0.9, 2)
    ([6, 6, 4, 3, 3], 2)
    """
    return min(max_memories, next(count for floor, count in COUNTS if certainty >= floor))
