"""Handing over memories that no search has found: at a tool's call and at the start of a session. With the ledger's word."""

from subcog_hooks.errors import StoreBusy, StoreError
from subcog_hooks.hooks import gate, record
from subcog_hooks.hooks.block import Entry, render_block, to_hook_output
from subcog_hooks.hooks.occasion import PRINT_MS
from subcog_hooks.hooks.sanitise import utf16_units
from subcog_hooks.memory.model import IdMaker
from subcog_hooks.recall.hits import PATH
from subcog_hooks.state import decision_log, ledger
from subcog_hooks.state.decision import INJECTED, OUT_OF_TIME, REPEATED, ROOM, SPOKE, Bars, Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from subcog_hooks.hooks.block import Rendered
    from subcog_hooks.hooks.gate import Judged
    from subcog_hooks.hooks.occasion import Occasion
    from subcog_hooks.recall.exact import Exact
    from subcog_hooks.recall.hits import Hit


class Terms:
    """On which terms memories are handed over.

    least: the relevance that one needs; most: how many; units: how much room they have; nearly: from which likeness on one
    repeats another; about: what the block says of itself; again: whether what the session has been given is given again.
    """

    __slots__ = ("about", "again", "least", "most", "nearly", "units")

    def __init__(
        self,
        least: float,
        most: int,
        units: int,
        nearly: float,
        about: "Mapping[str, str] | None" = None,
        *,
        again: bool = False,
    ) -> None:
        self.least = least
        self.nearly = nearly
        self.most = most
        self.units = units
        self.about = about or {}
        self.again = again


def hand_over(
    occasion: "Occasion", event: str, found: "Exact", terms: Terms, write: "Callable[[bytes], None]", reason: str = ""
) -> tuple[str, ...]:
    """Inject what was found and passes, and keep what became of it; the ids of what was injected. Raises StoreError.

    As with a prompt, the ledger's lock is taken before the last look at it, and it is committed after the write.
    """
    hits = found.hits()
    _lower_gone(hits, occasion)
    # what is pinned first, by its priority; else in the order of the channels
    hits.sort(key=lambda hit: (not hit.is_pinned, -hit.memory.priority if hit.is_pinned else 0, -hit.relevance))
    decision_id = IdMaker().new(occasion.at)
    if occasion.deadline.left_ms() < PRINT_MS:
        _keep(occasion, event, decision_id, OUT_OF_TIME, (), terms, found, 0, reason)
        return ()
    if occasion.session:
        occasion.state.begin()
    try:
        judged, block = _written(occasion, event, hits, terms, write)
    except BaseException:
        occasion.state.roll_back()
        raise
    outcome = SPOKE if block.ids else gate.silence(judged, is_enough=True)
    if occasion.session:
        try:
            if block.ids and not occasion.is_trial:
                ledger.record(occasion.state, occasion.session, block.ids, occasion.at, decision_id)
            occasion.state.commit()
        except StoreError as error:
            occasion.log(f"the ledger was not kept: {error}")
            occasion.state.roll_back()
            return block.ids
    if outcome != REPEATED:  # at every further touch of a file: nobody asks why, and prompts' records would go for it
        _keep(occasion, event, decision_id, outcome, judged, terms, found, utf16_units(block.text), reason)
    return block.ids


def _written(
    occasion: "Occasion", event: str, hits: "Sequence[Hit]", terms: Terms, write: "Callable[[bytes], None]"
) -> "tuple[list[Judged], Rendered]":
    """Judge by the ledger as it is now, and write what passes; what became of each hit, and the block."""
    judged = _judged(hits, set() if terms.again else occasion.given(), terms)
    chosen = [one for one in judged if one.outcome == INJECTED]
    memories = [one.hit.memory for one in chosen]
    block = render_block(
        [Entry(memory.namespace, memory.created_at, memory.id, memory.content) for memory in memories],
        about=terms.about,
        max_units=terms.units,
    )
    for one in chosen:
        if one.hit.memory.id not in block.ids:
            one.outcome = ROOM
    if block.ids:
        write(to_hook_output(event, block.text))
    return judged, block


def _lower_gone(hits: "Sequence[Hit]", occasion: "Occasion") -> None:
    """What is about files that are gone counts less, unless the file at hand is one of them: that is about to be there."""
    about = [hit for hit in hits if hit.memory.paths and PATH not in hit.ranks]
    if about:
        from subcog_hooks.hooks import gone_files  # .2 ms, and few memories have paths and other cues

        gone_files.lower(about, occasion.here)


def _judged(hits: "Sequence[Hit]", given: set[str], terms: Terms) -> "list[Judged]":
    def distinct(relevant: "Sequence[Hit]") -> "Sequence[Hit]":
        if len(relevant) < 2:
            return relevant
        from subcog_hooks.recall import diversity  # with tantivy, for its words

        return [relevant[place] for place in diversity.distinct([hit.memory.content for hit in relevant], terms.nearly)]

    return gate.judge(hits, given, gate.Threshold(terms.least, terms.least), terms.most, distinct)


def _keep(
    occasion: "Occasion",
    event: str,
    id_: str,
    outcome: str,
    judged: "Sequence[Judged]",
    terms: Terms,
    found: "Exact",
    units: int,
    reason: str,
) -> None:
    """Record the decision, unless another process is writing. A trial leaves none."""
    if occasion.is_trial:
        return
    decision = Decision(
        id_,
        occasion.at,
        event,
        occasion.session,
        occasion.here.identity if occasion.here else "",
        outcome,
        reason=reason,
        units=units,
        micros=int(occasion.deadline.spent_ms() * 1000.0),
        bars=Bars(terms.least, 0.0, terms.most, terms.units),
        strategies=tuple(found.channels),
        note=found.note or None,
        candidates=record.candidates(judged, outcome),
    )
    try:
        occasion.state.begin_briefly()
        decision_log.keep(occasion.state, decision, occasion.at)
        occasion.state.commit()
    except StoreBusy:
        pass  # nobody waits for records
    except StoreError as error:
        occasion.log(f"a decision was not recorded: {error}")
        occasion.state.roll_back()
