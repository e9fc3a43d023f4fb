"""The verdict on one hook call: an offer of memories, or silence with its reason, and then the outcome of its delivery."""

from __future__ import annotations

from subcog_hooks.core.records import record
from subcog_hooks.store.decision import INJECTED, POINTED, Thresholds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.hook.block import RenderedBlock
    from subcog_hooks.hook.choose import Judgement, Threshold
    from subcog_hooks.intent.detector import Detection, Examined
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.settings.defaults import Settings


_NOTHING: Mapping[str, str] = {}


@record
class Offer:
    """Memories that could be handed over, and the terms.

    hits: in the order in which they are judged; threshold: the relevance that a memory needs; max_units: UTF-16 units of the
    block; distinct: drops the hits that repeat a better one; attributes: of the block; repeats_given: memories that the session
    has been given come again; tells_relevance: the block names relevances, since somebody asked; is_enough: the intent is sure;
    held_back: judgements on hits that stay behind in any case; is_brief: a session begins with it; pointer_bar: the relevance
    that a memory needs for a line that points at it, 0.0 for no lines; prompt: the text that such a line is near to.
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
    pointer_bar: float = 0.0
    max_lines: int = 0
    prompt: str = ""
    line_candidates: Sequence[Hit] = ()
    when_given: Callable[[Sequence[str]], None] | None = None

    def point_at_first_of(self, hits: Sequence[Hit], prompt: str) -> None:
        """Let a line point at the first of these further hits that the session has not seen. prompt: its gist is near to it."""
        self.line_candidates, self.prompt = hits, prompt

    def judge(self, given: AbstractSet[str], pointed: AbstractSet[str] = frozenset()) -> list[Judgement]:
        """Return each hit with its outcome.

        given, pointed: ids that the session has been given, and those of earlier lines.
        """
        from subcog_hooks.hook import choose  # Every maker of an offer has loaded it.

        excluded = frozenset() if self.repeats_given else given
        judgements = [
            *choose.judge_hits(self.hits, excluded, self.threshold, self.max_memories, self.distinct),
            *self.held_back,
        ]
        if self.pointer_bar:
            choose.choose_pointers(judgements, pointed | excluded, self.pointer_bar, self.max_lines, self.distinct)
        if self.line_candidates:
            judgements += choose.point_at_first(self.line_candidates, judgements, given | pointed, self.distinct)
        return judgements

    def silence_reason(self, judgements: Sequence[Judgement]) -> str:
        """Return the outcome of an offer whose hits all stay behind."""
        from subcog_hooks.hook import choose  # Every maker of an offer has loaded it.

        return choose.silence_reason(judgements, is_enough=self.is_enough)


@record
class Verdict:
    """The decision about one hook call, and its outcome.

    outcome: one of the decision's outcomes, "" until an offer is delivered; reason: an addition to it; offer: None in silence;
    judgements: the hits with their outcomes; bars: the limits that they were measured against; strategies: the recall channels;
    note: the part of recall that was left out; remarks: lines for the log; error: the exception that stopped the call.

    Of a prompt: detected and examined are its intent, None for an unread prompt; borrowed are topics of the earlier prompt.

    Of a delivery: ids and pointed are the printed memories and lines, text is the block, units are its UTF-16 units.
    """

    outcome: str = ""
    reason: str = ""
    offer: Offer | None = None
    judgements: Sequence[Judgement] = ()
    bars: Thresholds | None = None
    strategies: Sequence[str] = ()
    note: str | None = None
    remarks: Sequence[str] = ()
    detected: Detection | None = None
    examined: Examined | None = None
    borrowed: Sequence[str] = ()
    error: Exception | None = None
    ids: tuple[str, ...] = ()
    pointed: tuple[str, ...] = ()
    text: str = ""
    units: int = 0

    def end_delivery(self, outcome: str, judgements: Sequence[Judgement], block: RenderedBlock) -> None:
        """Fill in the outcome of the offer's delivery."""
        self.outcome, self.judgements = outcome, judgements
        self.ids, self.pointed, self.text, self.units = block.ids, block.pointed, block.text, block.units

    def fail(self, outcome: str, reason: str, error: Exception, given: AbstractSet[str]) -> None:
        """Turn an offer whose delivery failed into a failure. given: ids that the session has been given."""
        self.outcome, self.reason, self.error = outcome, reason, error
        if self.offer is not None:
            self.judgements = self.offer.judge(given)


def injected_judgements(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements on the memories that are to be handed over."""
    return [judgement for judgement in judgements if judgement.outcome == INJECTED]


def pointer_judgements(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Return the judgements on the memories that lines point at, in their order."""
    return [judgement for judgement in judgements if judgement.outcome == POINTED]


def bars_from_settings(settings: Settings, needed: float | None = None) -> Thresholds:
    """Return the limits for a prompt's memories. needed: the relevance with this prompt, None for the setting."""
    min_relevance = float(settings["surfacing.min_relevance"])
    return Thresholds(
        min_relevance,
        float(settings["search_intent.min_confidence"]),
        int(settings["surfacing.max_memories"]),
        int(settings["surfacing.max_characters"]),
        min_relevance if needed is None else needed,
    )
