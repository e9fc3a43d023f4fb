"""The verdict of a hook, before anything is handed over: an offer of memories, or silence with its reason. No writing here."""

from __future__ import annotations

from subcog_hooks.store.decision import INJECTED, POINTED, Bars

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.hook.choose import Judged, Threshold
    from subcog_hooks.intent.detector import Detection, Examined
    from subcog_hooks.recall.hits import Hit
    from subcog_hooks.settings.loading import Settings


class Offer:
    """Memories that could be handed over, and on which terms.

    hits: in the order in which they are judged; least: the relevance that one needs; most: how many; units: UTF-16 units that
    they have room in; distinct: of hits, those that do not repeat a better one; about: what the block says of itself; again:
    whether what the session has been given is given again; tells_relevance: whether the block names it, since something was
    asked; is_enough: whether the intent is sure; others: hits that are held
    back whatever becomes of these; is_brief: a session begins with it; line_bar: the relevance that a line needs which points
    at a memory, 0.0 for no lines; max_lines: how many; prompt: the text that such a line is near to. when_given: called with
    the ids that were printed before the ledger is committed, so that both are kept or neither.
    """

    __slots__ = (
        "about",
        "again",
        "distinct",
        "hits",
        "is_brief",
        "is_enough",
        "least",
        "line_bar",
        "max_lines",
        "most",
        "others",
        "prompt",
        "tells_relevance",
        "units",
        "when_given",
    )

    def __init__(
        self,
        hits: Sequence[Hit],
        least: Threshold,
        most: int,
        units: int,
        distinct: Callable[[Sequence[Hit]], Sequence[Hit]],
        *,
        about: Mapping[str, str] | None = None,
        again: bool = False,
        tells_relevance: bool = False,
        is_enough: bool = True,
        others: Sequence[Judged] = (),
        is_brief: bool = False,
        line_bar: float = 0.0,
        max_lines: int = 0,
        prompt: str = "",
    ) -> None:
        self.line_bar = line_bar
        self.max_lines = max_lines
        self.prompt = prompt
        self.hits = hits
        self.least = least
        self.most = most
        self.units = units
        self.distinct = distinct
        self.about = about or {}
        self.again = again
        self.tells_relevance = tells_relevance
        self.is_enough = is_enough
        self.others = tuple(others)
        self.is_brief = is_brief
        self.when_given: Callable[[Sequence[str]], None] | None = None

    def judge(self, given: AbstractSet[str], pointed: AbstractSet[str] = frozenset()) -> list[Judged]:
        """Return what becomes of each hit. given, pointed: ids that the session has been given, and pointed at."""
        from subcog_hooks.hook import choose  # loaded by whoever makes an offer, as below

        known = frozenset() if self.again else given
        judged = [*choose.judge(self.hits, known, self.least, self.most, self.distinct), *self.others]
        if self.line_bar:
            choose.point(judged, pointed, self.line_bar, self.max_lines, self.distinct)
        return judged

    def silence(self, judged: Sequence[Judged]) -> str:
        """Return why nothing is handed over, where the hits are the reason."""
        from subcog_hooks.hook import choose

        return choose.silence(judged, is_enough=self.is_enough)


def chosen(judged: Sequence[Judged]) -> list[Judged]:
    """Return those that are to be handed over."""
    return [one for one in judged if one.outcome == INJECTED]


class Verdict:
    """The decision about one run.

    outcome: why the hook is silent, "" where an offer decides; reason: what there is to add to it. offer: None in silence;
    judged: what became of the hits in silence; bars: what they were measured against. strategies: what recall ran; note: what
    it did not. remarks: lines for the log. error: what stopped it, None for nothing.

    Of a prompt: detected and examined, its intent, None where it was not read; borrowed: topics of the prompt before that were
    taken over.
    """

    __slots__ = (
        "bars",
        "borrowed",
        "detected",
        "error",
        "examined",
        "judged",
        "note",
        "offer",
        "outcome",
        "reason",
        "remarks",
        "strategies",
    )

    def __init__(
        self,
        outcome: str = "",
        reason: str = "",
        *,
        offer: Offer | None = None,
        judged: Sequence[Judged] = (),
        bars: Bars | None = None,
        strategies: Sequence[str] = (),
        note: str | None = None,
        remarks: Sequence[str] = (),
        detected: Detection | None = None,
        examined: Examined | None = None,
        borrowed: Sequence[str] = (),
        error: Exception | None = None,
    ) -> None:
        self.outcome = outcome
        self.reason = reason
        self.offer = offer
        self.judged = judged
        self.bars = bars
        self.strategies = tuple(strategies)
        self.note = note
        self.remarks = tuple(remarks)
        self.detected = detected
        self.examined = examined
        self.borrowed = tuple(borrowed)
        self.error = error

    def fail(self, outcome: str, reason: str, error: Exception, given: AbstractSet[str]) -> None:
        """Turn an offer that could not be delivered into a failure. given: ids that the session has been given."""
        self.outcome, self.reason, self.error = outcome, reason, error
        if self.offer is not None:
            self.judged = self.offer.judge(given)


def pointed_at(judged: Sequence[Judged]) -> list[Judged]:
    """Return the judgements that lines point at memories, in their order."""
    return [judgement for judgement in judged if judgement.outcome == POINTED]


def bars_of(settings: Settings, needed: float | None = None) -> Bars:
    """Return what a prompt's memories are measured against. needed: the relevance with this prompt, None for the setting."""
    return Bars(
        float(settings["surfacing.min_relevance"]),
        float(settings["search_intent.min_confidence"]),
        int(settings["surfacing.max_memories"]),
        int(settings["surfacing.max_characters"]),
        needed,
    )
