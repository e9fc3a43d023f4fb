"""The offer of memories that cues bring without a search: at a tool call and at a session's start."""

from __future__ import annotations

from subcog_hooks.core.records import record
from subcog_hooks.hook import choose
from subcog_hooks.hook.verdict import Offer, Verdict
from subcog_hooks.recall.hits import BRIEF
from subcog_hooks.store.decision import Thresholds
from subcog_hooks.store.memory import is_loaded_by_client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.recall.exact import ExactMatches
    from subcog_hooks.recall.hits import Hit


_NOTHING: Mapping[str, str] = {}


@record
class OfferTerms:
    """The terms of such an offer.

    max_units: UTF-16 units of the block; attributes: of the block; repeats_given: memories that the session has been given come
    again; is_brief: a session begins with the block.
    """

    min_relevance: float
    max_memories: int
    max_units: int
    attributes: Mapping[str, str] = _NOTHING
    repeats_given: bool = False
    is_brief: bool = False


def offer_exact(call: HookCall, exact: ExactMatches, terms: OfferTerms, reason: str) -> Verdict:
    """Return an offer of these memories: pinned ones first, by priority, then the most relevant.

    reason: the record's text about the event. Equally relevant memories stay in the order of the channels.
    """
    hits = exact.hits()
    if any(hit.memory.paths or is_loaded_by_client(hit.memory.source) for hit in hits):
        from subcog_hooks.hook import absent_files  # .2 ms, and few memories have paths or are the client's own.

        absent_files.discount_absent(hits, call)
    hits.sort(key=lambda hit: (not hit.is_pinned, -hit.memory.priority if hit.is_pinned else 0, -hit.relevance))

    def distinct(relevant: Sequence[Hit]) -> Sequence[Hit]:
        others = [hit for hit in relevant if BRIEF not in hit.ranks]  # A brief has dropped repeats itself.
        if len(others) < 2:
            return relevant
        from subcog_hooks.recall import diversity  # It loads tantivy.

        distinct_hits = [others[position] for position in diversity.distinct_positions([hit.memory.content for hit in others])]
        return [hit for hit in relevant if BRIEF in hit.ranks or hit in distinct_hits]

    offer = Offer(
        hits,
        choose.Threshold(terms.min_relevance, terms.min_relevance),
        terms.max_memories,
        terms.max_units,
        distinct,
        attributes=terms.attributes,
        repeats_given=terms.repeats_given,
        is_brief=terms.is_brief,
    )
    return Verdict(
        reason=reason,
        offer=offer,
        bars=Thresholds(terms.min_relevance, 0.0, terms.max_memories, terms.max_units, terms.min_relevance),
        strategies=tuple(exact.channels),
        note=exact.note or None,
    )
