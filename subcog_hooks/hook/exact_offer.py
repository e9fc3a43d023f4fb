"""The offer of memories that no search has found: at a tool's call and at the start of a session."""

from __future__ import annotations

from subcog_hooks.hook import choose
from subcog_hooks.hook.verdict import Offer, Verdict
from subcog_hooks.recall.hits import BRIEF, PATH
from subcog_hooks.store.decision import Bars
from subcog_hooks.store.memory import is_loaded_by_client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.hook.call import Occasion
    from subcog_hooks.recall.exact import Exact
    from subcog_hooks.recall.hits import Hit


class Terms:
    """The terms of such an offer.

    least: the relevance that a memory needs; most: the number of memories; units: their room in UTF-16 units; about: the
    attributes of the block; again: whether memories that the session was given are given again; is_brief: whether a session
    begins with it.
    """

    __slots__ = ("about", "again", "is_brief", "least", "most", "units")

    def __init__(
        self,
        least: float,
        most: int,
        units: int,
        about: Mapping[str, str] | None = None,
        *,
        again: bool = False,
        is_brief: bool = False,
    ) -> None:
        self.is_brief = is_brief
        self.least = least
        self.most = most
        self.units = units
        self.about = about
        self.again = again


def offer_exact(occasion: Occasion, found: Exact, terms: Terms, reason: str) -> Verdict:
    """Return what was found as an offer: what is pinned first, by its priority, else the most relevant.

    reason: what the record says of the event. What is equally relevant stays in the order of the channels.
    """
    hits = found.hits()
    _discount_gone_files(hits, occasion)
    if any(is_loaded_by_client(hit.memory.source) for hit in hits):
        from subcog_hooks.hook import absent_files  # few are the client's own

        absent_files.note_loaded(hits, occasion)
    hits.sort(key=lambda hit: (not hit.is_pinned, -hit.memory.priority if hit.is_pinned else 0, -hit.relevance))

    def distinct(relevant: Sequence[Hit]) -> Sequence[Hit]:
        others = [hit for hit in relevant if BRIEF not in hit.ranks]  # a brief has looked itself, without tantivy
        if len(others) < 2:
            return relevant
        from subcog_hooks.recall import diversity  # with tantivy, for its words

        kept = [others[place] for place in diversity.distinct([hit.memory.content for hit in others])]
        return [hit for hit in relevant if BRIEF in hit.ranks or hit in kept]

    offer = Offer(
        hits,
        choose.Threshold(terms.least, terms.least),
        terms.most,
        terms.units,
        distinct,
        about=terms.about,
        again=terms.again,
        is_brief=terms.is_brief,
    )
    return Verdict(
        reason=reason,
        offer=offer,
        bars=Bars(terms.least, 0.0, terms.most, terms.units),
        strategies=tuple(found.channels),
        note=found.note or None,
    )


def _discount_gone_files(hits: Sequence[Hit], occasion: Occasion) -> None:
    """Discount what is about files that are gone, unless the file at hand is one of them: that is about to be there."""
    about = [hit for hit in hits if hit.memory.paths and PATH not in hit.ranks]
    if about:
        from subcog_hooks.hook import absent_files  # .2 ms, and few memories have paths and other cues

        absent_files.discount_gone_files(about, occasion.here)
