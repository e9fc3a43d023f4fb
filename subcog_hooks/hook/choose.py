"""The gate: which memories of an offer are injected, which get a line, and the reason for each rejection; and the verdict
on a call with its delivery's outcome. Pure, but for the client's files.
"""

from __future__ import annotations

from subcog_hooks.core.records import record
from subcog_hooks.recall.hits import BRIEF, STATE
from subcog_hooks.store import verdicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.hook.block import Pointer, RenderedBlock
    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.intent.detector import Detection
    from subcog_hooks.intent.keywords import Intent
    from subcog_hooks.recall.exact import ExactMatches
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
# In a store below a hundred memories one line of ten below this relevance was right: one comes, and only without better lines.
SMALL_STORE_LINE, SOLE_LINE = 0.08, 0.05
SURE_QUESTION = 0.6  # From this confidence on a prompt asks for something; below it, it may be an order.
LINES_SHARE = 5  # A scope is small for lines with fewer than a fifth of `fusion.small` memories.
CERTAIN = 0.95  # A memory of this relevance comes in a small scope, too.
CODE_FACTOR = 3.0  # A further factor in a small scope, for a question that the code itself answers.
SEEKING_FACTOR = 0.8  # The bar's factor for a question about memories; 1.0 and .6 change two of 924 prompts at most.


@record
class Threshold:
    """The relevance that a memory needs. usual: with a prompt that asks for something; needed: with this prompt.

    A memory whose own cues ask for it needs the usual relevance; a pinned or formerly judged memory needs none. No memory
    reaches a threshold above 1.0.
    """

    usual: float
    needed: float

    def is_reached(self, hit: Hit) -> bool:
        return hit.is_pinned or hit.is_judged or hit.relevance >= (self.usual if hit.is_cued else self.needed)


def threshold_for_prompt(examined: Intent, settings: Settings, *, is_small: bool) -> Threshold:
    """Return the relevance that a memory needs with this prompt's intent and these settings.

    is_small: at most a few dozen memories are in scope. A prompt that asks for nothing gets only memories with a cue.
    """
    usual = float(settings["surfacing.min_relevance"])
    is_enough = examined.is_enough(settings)
    if is_enough and examined.is_seeking:
        usual *= SEEKING_FACTOR
    needed = usual if is_enough else DOUBTFUL_FACTOR * usual
    if not examined.may_speak(settings):
        needed = OUT_OF_REACH
    elif is_small and not examined.is_seeking:
        factor = SMALL_STORE_FACTOR * (CODE_FACTOR if examined.is_about_code else 1.0)
        needed = max(needed, min(CERTAIN, needed * factor))
    return Threshold(usual, needed)


@record
class Judgement:
    """A hit and its outcome: INJECTED, or the reason for its rejection."""

    hit: Hit
    outcome: str


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
            judgements.append(Judgement(hit, verdicts.LOADED))
        elif hit.memory.id in given:
            judgements.append(Judgement(hit, verdicts.GIVEN))
        elif room > 0 or hit.is_pinned:  # All pinned ones come, whose channel has a maximum of its own.
            room -= 1
            judgements.append(Judgement(hit, verdicts.INJECTED))
        else:
            judgements.append(Judgement(hit, verdicts.COUNT))
    judged_ids = {judgement.hit.memory.id for judgement in judgements}
    rejected = [hit for hit in hits if hit.memory.id not in judged_ids]
    return judgements + [Judgement(hit, rejection_reason(hit, given, threshold)) for hit in rejected]


@record
class LineBars:
    """The relevance that a memory needs for a line that points at it, 0.0 for no lines. sole: for the first line."""

    usual: float = 0.0
    sole: float = 0.0


NO_LINES = LineBars()


def bars_for_lines(examined: Intent, settings: Settings, *, is_small: bool) -> LineBars:
    """Return the bars for a prompt's lines. is_small: less than a hundred memories are in scope. An order gets all lines."""
    bar = float(settings["surfacing.maybe_relevance"])
    if not bar or not examined.topics or examined.is_vetoed:
        return NO_LINES
    is_strict = is_small and examined.confidence >= SURE_QUESTION
    return LineBars(max(bar, SMALL_STORE_LINE), max(bar, SOLE_LINE)) if is_strict else LineBars(bar, bar)


def choose_pointers(
    judgements: Sequence[Judgement],
    seen: AbstractSet[str],
    bars: LineBars,
    max_lines: int,
    distinct: Callable[[Sequence[Hit]], Sequence[Hit]],
) -> None:
    """Let lines point at the most relevant memories that are not injected, each once a session.

    seen: ids given to the session or pointed at; distinct: as for `judge_hits`.
    """
    injected = [judgement.hit for judgement in judgements if judgement.outcome == verdicts.INJECTED]
    if any((hit.relevance >= SURE and STATE not in hit.ranks) or hit.is_pinned for hit in injected):
        return  # A memory that the session's state brings says nothing about the prompt.
    possible = {
        judgement.hit.memory.id: judgement
        for judgement in judgements
        if judgement.outcome in (verdicts.BELOW, verdicts.INTENT, verdicts.COUNT)
        and judgement.hit.relevance >= bars.sole
        and judgement.hit.memory.id not in seen
        and not judgement.hit.is_loaded
    }
    nearest = sorted([judgement.hit for judgement in possible.values()], key=lambda hit: -hit.relevance)
    different = distinct([*injected, *nearest[: 2 * MAX_LINES]])
    for rank, hit in enumerate([hit for hit in different if hit.memory.id in possible][: max(0, max_lines)]):
        if rank == 0 or hit.relevance >= bars.usual:
            possible[hit.memory.id].outcome = verdicts.POINTED


def point_at_first(
    candidates: Sequence[Hit],
    judgements: Sequence[Judgement],
    seen: AbstractSet[str],
    distinct: Callable[[Sequence[Hit]], Sequence[Hit]],
) -> list[Judgement]:
    """Let a line point at the first candidate that nobody has seen, and that repeats none told. Return the new judgements.

    seen: ids that the session has been given or pointed at.
    """
    told = [judgement.hit for judgement in judgements if judgement.outcome == verdicts.INJECTED]
    earlier = {judgement.hit.memory.id: judgement for judgement in judgements}
    both = [earlier.get(hit.memory.id) or Judgement(hit, verdicts.BELOW) for hit in candidates]
    for judgement in both:
        hit = judgement.hit
        if judgement.outcome == verdicts.BELOW and hit.memory.id in seen:
            judgement.outcome = verdicts.GIVEN
        elif judgement.outcome == verdicts.BELOW and hit.marked > 0.0 and hit in distinct([*told, hit]):
            judgement.outcome = verdicts.POINTED
            break
    return [judgement for judgement in both if judgement.hit.memory.id not in earlier]


def rejection_reason(hit: Hit, given: AbstractSet[str], threshold: Threshold) -> str:
    if hit.marked <= 0.0 and hit.probability >= threshold.usual:
        return verdicts.BAD
    if threshold.is_reached(hit):
        if hit.is_loaded:
            return verdicts.LOADED
        return verdicts.GIVEN if hit.memory.id in given else verdicts.DUPLICATE
    if hit.relevance >= threshold.usual:
        return verdicts.INTENT
    return verdicts.BAD if hit.marked < 1.0 and hit.probability >= threshold.usual else verdicts.BELOW


def max_memories_for(certainty: float, max_memories: int) -> int:
    """Return the highest number of memories for a prompt of this certainty.

    >>> [max_memories_for(certainty, 6) for certainty in (0.95, 0.8, 0.7, 0.5, 0.0)], max_memories_for(0.9, 2)
    ([6, 6, 4, 3, 3], 2)
    """
    return min(max_memories, next(count for floor, count in MAX_BY_CERTAINTY if certainty >= floor))


_NOTHING: Mapping[str, str] = {}


@record
class Offer:
    """Memories that could be handed over, and the terms.

    hits: in the order in which they are judged; threshold: the relevance that a memory needs; max_units: UTF-16 units of the
    block; distinct: drops the hits that repeat a better one; attributes: of the block; repeats_given: memories that the session
    has been given come again; tells_relevance: the block names relevances, since somebody asked; is_enough: the intent is sure;
    held_back: judgements on hits that stay behind in any case; is_brief: a session begins with it; line_bars: for lines that
    point at memories; prompt: the text that such a line is near to; line_candidates: further hits, at the first of which that
    the session has not seen a line points; session_lines: lines that point at past sessions.
    when_given: called with the printed ids before the ledger is committed, so that both are stored or neither.
    """

    hits: Sequence[Hit]
    threshold: Threshold
    max_memories: int
    max_units: int
    distinct: Callable[[Sequence[Hit]], Sequence[Hit]]
    attributes: Mapping[str, str] = _NOTHING
    repeats_given: bool = False
    tells_relevance: bool = False
    is_enough: bool = True
    held_back: Sequence[Judgement] = ()
    is_brief: bool = False
    line_bars: LineBars = NO_LINES
    max_lines: int = 0
    prompt: str = ""
    line_candidates: Sequence[Hit] = ()
    session_lines: Sequence[Pointer] = ()
    when_given: Callable[[Sequence[str]], None] | None = None

    def judge(self, given: AbstractSet[str], pointed: AbstractSet[str] = frozenset()) -> list[Judgement]:
        """Return each hit with its outcome.

        given, pointed: ids that the session has been given, and those of earlier lines.
        """
        excluded = frozenset() if self.repeats_given else given
        judgements = [*judge_hits(self.hits, excluded, self.threshold, self.max_memories, self.distinct), *self.held_back]
        if self.line_candidates:
            judgements += point_at_first(self.line_candidates, judgements, given | pointed, self.distinct)
        if self.line_bars.sole:
            room = self.max_lines - len(pointer_judgements(judgements))
            choose_pointers(judgements, pointed | excluded, self.line_bars, room, self.distinct)
        return judgements

    def new_session_lines(self, judgements: Sequence[Judgement], pointed: AbstractSet[str]) -> list[Pointer]:
        """Return the lines about past sessions that the session has not had, none beside a memory that surely answers.

        pointed: ids of earlier lines.
        """
        told = [judgement.hit for judgement in injected_judgements(judgements)]
        if any(hit.relevance >= SURE or hit.is_pinned for hit in told):
            return []
        return [line for line in self.session_lines if line.id not in pointed]

    def silence_reason(self, judgements: Sequence[Judgement]) -> str:
        """Return the outcome of an offer without an injected hit."""
        if any(judgement.outcome in (verdicts.GIVEN, verdicts.LOADED) for judgement in judgements):
            return verdicts.REPEATED
        if not self.is_enough:
            return verdicts.INTENT
        return verdicts.BELOW if judgements else verdicts.NOTHING_FOUND


@record
class Verdict:
    """The verdict on one hook call, and its outcome.

    outcome: one of the verdict's outcomes, "" until an offer is delivered; reason: an addition to it; offer: None in silence;
    judgements: the hits with their outcomes; bars: the limits that they were measured against; strategies: the recall channels;
    note: the part of recall that was left out; remarks: lines for the log; error: the exception that stopped the call.

    Of a prompt: detected and examined are its intent, None for an unread prompt; borrowed are topics of the earlier prompt.

    Of a delivery: ids and pointed are the printed memories and lines, text is the block, units are its UTF-16 units.
    """

    outcome: str = ""
    reason: str = ""
    offer: Offer | None = None
    judgements: Sequence[Judgement] = ()
    bars: verdicts.Thresholds | None = None
    strategies: Sequence[str] = ()
    note: str | None = None
    remarks: Sequence[str] = ()
    detected: Detection | None = None
    examined: Intent | None = None
    borrowed: Sequence[str] = ()
    error: Exception | None = None
    ids: tuple[str, ...] = ()
    pointed: tuple[str, ...] = ()
    text: str = ""
    units: int = 0

    def end_delivery(self, outcome: str, judgements: Sequence[Judgement], block: RenderedBlock) -> None:
        """Fill in the outcome of the offer's delivery, "" for the one that the block shows."""
        assert self.offer is not None
        shown = verdicts.SPOKE if block.ids else verdicts.LINES if block.pointed else self.offer.silence_reason(judgements)
        self.outcome, self.judgements = outcome or shown, judgements
        judged = {judgement.hit.memory.id for judgement in judgements}
        if episodes := [id_ for id_ in block.pointed if id_ not in judged]:
            self.note = "; ".join(filter(None, (self.note, f"past sessions pointed at: {', '.join(episodes)}")))
        self.ids, self.pointed, self.text, self.units = block.ids, block.pointed, block.text, block.units


def injected_judgements(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements on the memories that are to be handed over."""
    return [judgement for judgement in judgements if judgement.outcome == verdicts.INJECTED]


def pointer_judgements(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements on the memories that lines point at, in their order."""
    return [judgement for judgement in judgements if judgement.outcome == verdicts.POINTED]


def bars_from_settings(settings: Settings, needed: float | None = None) -> verdicts.Thresholds:
    """Return the limits for a prompt's memories. needed: the relevance with this prompt, None for the setting."""
    min_relevance = float(settings["surfacing.min_relevance"])
    return verdicts.Thresholds(
        min_relevance,
        float(settings["search_intent.min_confidence"]),
        int(settings["surfacing.max_memories"]),
        int(settings["surfacing.max_characters"]),
        min_relevance if needed is None else needed,
    )


def offer_exact(
    call: HookCall,
    exact: ExactMatches,
    reason: str,
    min_relevance: float,
    max_memories: int,
    max_units: int,
    *,
    attributes: Mapping[str, str] = _NOTHING,
    repeats_given: bool = False,
    is_brief: bool = False,
) -> Verdict:
    """Return an offer of these memories, on the terms that `Offer` explains: pinned ones first, then the most relevant.

    reason: the record's text about the event. Equally relevant memories stay in the order of the channels.
    """
    hits = exact.hits()
    call.mark_loaded(hits)
    hits.sort(key=lambda hit: (not hit.is_pinned, -hit.memory.priority if hit.is_pinned else 0, -hit.relevance))

    def distinct(relevant: Sequence[Hit]) -> Sequence[Hit]:
        others = [hit for hit in relevant if BRIEF not in hit.ranks]  # A brief has dropped repeats itself.
        if len(others) < 2:
            return relevant
        from subcog_hooks.recall import fusion  # It loads tantivy.

        distinct_hits = [others[position] for position in fusion.distinct_positions([hit.memory.content for hit in others])]
        return [hit for hit in relevant if BRIEF in hit.ranks or hit in distinct_hits]

    offer = Offer(
        hits,
        Threshold(min_relevance, min_relevance),
        max_memories,
        max_units,
        distinct,
        attributes=attributes,
        repeats_given=repeats_given,
        is_brief=is_brief,
    )
    return Verdict(
        reason=reason,
        offer=offer,
        bars=verdicts.Thresholds(min_relevance, 0.0, max_memories, max_units, min_relevance),
        strategies=tuple(exact.channels),
        note=exact.note or None,
    )
