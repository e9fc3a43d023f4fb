"""The one protocol by which memories are handed over, whatever the event: lock, look, write, commit.

The ledger's lock is taken before the last look at it, so that two hooks of one session at once can not both hand over a memory;
it is committed after the write, so that a hook which dies in between repeats a memory rather than losing it. Without a session
there is no ledger to wait for. Where the ledger can not be had, memories are handed over without it: they may come twice.
"""

from __future__ import annotations

from subcog_hooks.core.errors import StoreError
from subcog_hooks.hook.block import Entry, Pointer, Rendered, render_block, to_hook_output
from subcog_hooks.hook.call import PRINT_MS
from subcog_hooks.hook.verdict import chosen, pointed_at
from subcog_hooks.store import ledger, sessions
from subcog_hooks.store.decision import GATE, LINES, OUT_OF_TIME, RENDER, ROOM, SPENT, SPOKE
from subcog_hooks.text.sanitise import utf16_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.hook.call import Occasion
    from subcog_hooks.hook.choose import Judged
    from subcog_hooks.hook.verdict import Offer
    from subcog_hooks.recall.hits import Hit


ACCOUNT = "surfacing.session_characters"
LEAST_UNITS = 200  # of a session's account: in less nothing is said


class Delivery:
    """The end of an offer: its outcome, and that of each hit; the ids that were printed, and in how many UTF-16 units.

    ids: of the memories that are told; pointed: of those that lines point at. text: what would be printed, of a preview alone.
    """

    __slots__ = ("ids", "judged", "outcome", "pointed", "text", "units")

    def __init__(
        self,
        outcome: str,
        judged: Sequence[Judged],
        ids: tuple[str, ...] = (),
        units: int = 0,
        text: str = "",
        pointed: tuple[str, ...] = (),
    ) -> None:
        self.outcome = outcome
        self.judged = judged
        self.pointed = pointed
        self.ids = ids
        self.units = units
        self.text = text


def deliver(
    occasion: Occasion, event: str, offer: Offer, write: Callable[[bytes], None], *, is_repeat: bool = False
) -> Delivery:
    """Hand over what passes the gate, if anything does. `write` is called once with the output, or not at all.

    is_repeat: the session's account has been charged with it before.

    Raises OSError when nobody takes the output, StoreError when the ledger can not be read.
    """
    given, pointed = occasion.given(), _pointed(occasion, offer)
    judged = offer.judge(given, pointed)
    occasion.stages.done(GATE)
    if not chosen(judged) and not pointed_at(judged):
        return Delivery(offer.silence(judged), judged)
    left = _units_left(occasion, is_brief=offer.is_brief)
    if left < LEAST_UNITS:
        return Delivery(SPENT, judged)
    if occasion.deadline.work_left_ms() < PRINT_MS:
        return Delivery(OUT_OF_TIME, judged)
    has_lock = _lock(occasion)
    if not has_lock and offer.when_given:  # without the ledger nobody would know that they were handed over
        judged = [one for one in judged if not one.hit.is_judged]
        if not chosen(judged):
            return Delivery(OUT_OF_TIME, judged)
    try:
        now = (occasion.given(), _pointed(occasion, offer)) if has_lock else (given, pointed)
        if now != (given, pointed):  # by another hook in the meantime
            judged = offer.judge(*now)
        if has_lock and (left := _units_left(occasion, is_brief=offer.is_brief)) < LEAST_UNITS:  # as above
            occasion.state.roll_back()
            return Delivery(SPENT, judged)
        block = _render(offer, judged, min(offer.units, left), occasion.at, is_first=not now[1])
        if block.text:
            write(to_hook_output(event, block.text))
    except BaseException:
        if has_lock:
            occasion.state.roll_back()
        raise
    occasion.stages.done(RENDER)
    if has_lock:
        _commit(occasion, block, is_repeat=is_repeat, then=offer.when_given)
    return Delivery(_outcome_of(block, offer, judged), judged, block.ids, utf16_units(block.text), pointed=block.pointed)


def _outcome_of(block: Rendered, offer: Offer, judged: Sequence[Judged]) -> str:
    if block.ids:
        return SPOKE
    return LINES if block.pointed else offer.silence(judged)


def _pointed(occasion: Occasion, offer: Offer) -> set[str]:
    """Return the ids of the memories that the session was pointed at, where that matters. Raises StoreError."""
    return ledger.pointed_at(occasion.state, occasion.session) if offer.line_bar and occasion.session else set()


def _units_left(occasion: Occasion, *, is_brief: bool) -> int:
    """Return the UTF-16 units that the session may still be given: all for its start. Raises StoreError."""
    most = int(occasion.settings[ACCOUNT])
    if is_brief or not occasion.session:
        return most
    return most - sessions.units_given(occasion.state, occasion.session)


def preview(occasion: Occasion, offer: Offer) -> Delivery:
    """Return what `deliver` would do now; nothing is written or locked. Raises StoreError."""
    pointed = _pointed(occasion, offer)
    judged = offer.judge(occasion.given(), pointed)
    units = min(offer.units, int(occasion.settings[ACCOUNT]))
    block = _render(offer, judged, units, occasion.at, is_first=not pointed)
    outcome = _outcome_of(block, offer, judged)
    return Delivery(outcome, judged, block.ids, utf16_units(block.text), block.text, block.pointed)


def _lock(occasion: Occasion) -> bool:
    """Take the ledger's lock, if there is one and it can be had in time. Return whether it was taken."""
    if not occasion.session:
        return False
    try:
        occasion.state.begin(occasion.deadline.left_ms())
    except StoreError as error:
        occasion.log(f"handed over without the ledger: {error}")
        return False
    return True


def _commit(
    occasion: Occasion, block: Rendered, *, is_repeat: bool, then: Callable[[Sequence[str]], None] | None = None
) -> None:
    try:
        if block.text and not occasion.is_trial:
            if then:
                then(block.ids)
            if block.ids:
                ledger.record_given(occasion.state, occasion.session, block.ids, occasion.at, occasion.id)
            if block.pointed:
                ledger.record_pointed(occasion.state, occasion.session, block.pointed, occasion.at, occasion.id)
            if not is_repeat:
                units = utf16_units(block.text)
                sessions.add_units(occasion.state, occasion.session, occasion.project, units, occasion.at)
        occasion.state.commit()
    except StoreError as error:
        occasion.log(f"the ledger was not kept: {error}")
        occasion.state.roll_back()


def _render(offer: Offer, judged: Sequence[Judged], units: int, now: int, *, is_first: bool) -> Rendered:
    """Return the block of what was chosen, in so many UTF-16 units; what does not fit into it is judged anew.

    now: in milliseconds since the epoch; a date that lies ahead is shown as today's. is_first: the session has had no line yet
    that points at a memory.
    """
    wanted, maybe = chosen(judged), pointed_at(judged)
    lines, command = _lines_for([judgement.hit for judgement in maybe], offer, is_first=is_first) if maybe else ([], "")
    is_late = any(one.hit.is_judged for one in wanted)
    block = render_block(
        [_entry(one.hit, now, tells_relevance=offer.tells_relevance and not one.hit.is_judged) for one in wanted],
        about={**offer.about, "look": "second"} if is_late else offer.about,
        max_units=units,
        is_brief=offer.is_brief,
        pointers=lines,
        command=command,
    )
    for one in (*wanted, *maybe):
        if one.hit.memory.id not in (*block.ids, *block.pointed):
            one.outcome = ROOM
    return block


def _lines_for(hits: Sequence[Hit], offer: Offer, *, is_first: bool) -> tuple[list[Pointer], str]:
    """Return the lines that point at memories, and the command that opens one, "" where the session knows it."""
    from subcog_hooks.hook import (
        gist,
        opening,  # where there is something to point at
    )

    lines = [Pointer(hit.memory.id, gist.gist_of(hit.memory.content, offer.prompt), hit.memory.noted) for hit in hits]
    return lines, opening.command_of_agent() if is_first else ""


def _entry(hit: Hit, now: int, *, tells_relevance: bool) -> Entry:
    memory = hit.memory
    relevance = hit.relevance if tells_relevance else None
    return Entry(memory.namespace, min(memory.created_at, now), memory.id, memory.content, memory.noted, relevance)
