"""The only protocol that hands memories over, for every event: lock, look, write, commit.

The lock is taken before the last look at the ledger: two hooks of one session at once cannot both hand over a memory. It is
committed after the write: a hook that dies in between repeats a memory rather than losing it. Without a session there is no
ledger. A ledger that cannot be locked does not stop the delivery: then memories may come twice.
"""

from __future__ import annotations

from subcog_hooks.core.errors import StoreError
from subcog_hooks.hook.block import (
    HARD_CAP_UNITS,
    NOTHING_RENDERED,
    Entry,
    Pointer,
    RenderedBlock,
    command_of_agent,
    gist_of,
    render_block,
    to_hook_output,
)
from subcog_hooks.hook.choose import injected_judgements, pointer_judgements
from subcog_hooks.hook.payload import MAX_BYTES
from subcog_hooks.store import sessions
from subcog_hooks.store.verdicts import GATE, OUT_OF_TIME, RENDER, ROOM, SPENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.choose import Judgement, Offer, Verdict

SESSION_UNITS_SETTING = "surfacing.session_characters"
BYTES_OF_UNIT = 3  # of UTF-8 in a UTF-16 unit, at most
MIN_UNITS = 200  # A session with fewer units left gets no memories.


def deliver(call: HookCall, event: str, verdict: Verdict, write: Callable[[bytes], None], *, is_repeat: bool = False) -> None:
    """Hand over the memories of the verdict's offer that pass the gate, and fill in the verdict.

    `write` is called once with the output, or not at all. is_repeat: the session has been charged for the block before.

    Raises OSError when nobody takes the output, StoreError when the ledger cannot be read.
    """
    assert verdict.offer is not None
    verdict.end_delivery(*_hand_over(call, event, verdict.offer, write, is_repeat=is_repeat))


def _hand_over(
    call: HookCall, event: str, offer: Offer, write: Callable[[bytes], None], *, is_repeat: bool
) -> tuple[str, Sequence[Judgement], RenderedBlock]:
    """Return the outcome, "" for the one that the block shows, the judgements and the block."""
    given, pointed = call.given_ids(), _pointed_ids(call, offer)
    judgements = offer.judge(given, pointed)
    call.stages.end(GATE)
    is_silent = not injected_judgements(judgements) and not pointer_judgements(judgements)
    if is_silent and not offer.new_session_lines(judgements, pointed):
        return "", judgements, NOTHING_RENDERED
    units_left = _units_left(call, offer, judgements)
    if units_left < MIN_UNITS:
        return SPENT, judgements, NOTHING_RENDERED
    has_lock = _lock_ledger(call)
    if not has_lock and offer.when_given:  # Without the ledger a late answer would come again.
        judgements = [judgement for judgement in judgements if not judgement.hit.is_judged]
        if not injected_judgements(judgements):
            return OUT_OF_TIME, judgements, NOTHING_RENDERED
    try:
        latest = (call.given_ids(), _pointed_ids(call, offer)) if has_lock else (given, pointed)
        if latest != (given, pointed):  # Another hook has been faster.
            judgements = offer.judge(*latest)
        if has_lock and (units_left := _units_left(call, offer, judgements)) < MIN_UNITS:
            call.state.roll_back()
            return SPENT, judgements, NOTHING_RENDERED
        block = _render_offer(call, offer, judgements, min(offer.max_units, units_left), latest[1])
        if block.text:
            write(to_hook_output(event, block.text))
    except BaseException:
        if has_lock:
            call.state.roll_back()
        raise
    call.stages.end(RENDER)
    if has_lock:
        _commit_ledger(call, offer, block, is_repeat=is_repeat)
    return "", judgements, block


def _pointed_ids(call: HookCall, offer: Offer) -> set[str]:
    """Return the ids of the session's earlier lines, if the offer may have lines. Raises StoreError."""
    return (
        sessions.find_pointed(call.state, call.ledger_key)
        if (offer.line_bars.sole or offer.line_candidates or offer.session_lines) and call.session
        else set()
    )


def _units_left(call: HookCall, offer: Offer, judgements: Sequence[Judgement]) -> int:
    """Return the UTF-16 units that the session may still be given; a brief may use all of them. Raises StoreError.

    Where they are spent, pinned memories still come, and the others get the outcome ROOM.
    """
    max_units = int(call.settings[SESSION_UNITS_SETTING])
    if offer.is_brief or not call.session:
        return max_units
    units = max_units - sessions.count_units(call.state, call.session)
    if units >= MIN_UNITS or not any(judgement.hit.is_pinned for judgement in injected_judgements(judgements)):
        return units
    for judgement in (*injected_judgements(judgements), *pointer_judgements(judgements)):
        if not judgement.hit.is_pinned:
            judgement.outcome = ROOM
    return offer.max_units


def preview_delivery(call: HookCall, verdict: Verdict) -> None:
    """Fill in the verdict as `deliver` would now; nothing is written or locked. Raises StoreError."""
    offer = verdict.offer
    assert offer is not None
    pointed = _pointed_ids(call, offer)
    judgements = offer.judge(call.given_ids(), pointed)
    max_units = min(offer.max_units, int(call.settings[SESSION_UNITS_SETTING]))
    block = _render_offer(call, offer, judgements, max_units, pointed)
    verdict.end_delivery("", judgements, block)


def _lock_ledger(call: HookCall) -> bool:
    """Take the ledger's lock, unless the call has no session or no time. Return whether it was taken."""
    if not call.session:
        return False
    try:
        call.state.begin(call.deadline.left_ms())
    except StoreError as error:
        call.log(f"handed over without the ledger: {error}")
        return False
    return True


def _commit_ledger(call: HookCall, offer: Offer, block: RenderedBlock, *, is_repeat: bool) -> None:
    # A brief cuts long memories: a prompt that asks for one gets it whole. Another block names the command that prints it.
    cut_ids = block.cut if offer.is_brief else ()
    given = [id_ for id_ in block.ids if id_ not in cut_ids]
    try:
        if block.text and not call.is_trial:
            if offer.when_given:
                offer.when_given(block.ids)
            if given:
                sessions.record_given(call.state, call.ledger_key, given, call.now_ms, call.id)
            if cut_ids:
                sessions.record_given(call.state, call.ledger_key + sessions.CUT, cut_ids, call.now_ms, call.id)
            if block.pointed:
                sessions.record_pointed(call.state, call.ledger_key, block.pointed, call.now_ms, call.id)
            if not is_repeat:
                sessions.add_units(call.state, call.session, call.project, block.units, call.now_ms)
        call.state.commit()
    except StoreError as error:
        call.log(f"the ledger was not kept: {error}")
        call.state.roll_back()


def _render_offer(
    call: HookCall, offer: Offer, judgements: Sequence[Judgement], max_units: int, pointed: AbstractSet[str]
) -> RenderedBlock:
    """Return the block; a memory without room gets the outcome ROOM. pointed: ids of the session's earlier lines."""
    injected, pointers = injected_judgements(judgements), pointer_judgements(judgements)
    session_lines = offer.new_session_lines(judgements, pointed)
    lines: list[Pointer] = []
    for judgement in pointers:
        memory = judgement.hit.memory
        lines.append(Pointer(memory.id, gist_of(memory.content, offer.prompt), memory.noted))
    lines += session_lines
    command = command_of_agent() if lines and not pointed else ""  # Later lines come without it.
    is_late = any(judgement.hit.is_judged for judgement in injected)
    entries = []
    for judgement in injected:
        hit, memory = judgement.hit, judgement.hit.memory
        date = min(memory.created_at, call.now_ms)  # A date that lies ahead is shown as today's.
        relevance = hit.relevance if offer.tells_relevance and not hit.is_judged else None
        entries.append(Entry(memory.namespace, date, memory.id, memory.content, memory.noted, relevance))
    attributes = {**offer.attributes, "look": "second"} if is_late else offer.attributes

    def render(hard_cap: int, whole_command: str = "") -> RenderedBlock:
        block = render_block(
            entries,
            attributes=attributes,
            max_units=max_units,
            is_brief=offer.is_brief,
            pointers=lines,
            command=command,
            whole_command=whole_command,
            hard_cap=hard_cap,
        )
        if not block.cut or offer.is_brief or whole_command:
            return block
        explained = render(hard_cap, command_of_agent())
        return explained if (explained.ids, explained.pointed) == (block.ids, block.pointed) else block

    block = render(HARD_CAP_UNITS)
    max_bytes = call.payload.get(MAX_BYTES)
    if isinstance(max_bytes, int) and len(block.text.encode()) >= max_bytes:
        block = render(max_bytes // BYTES_OF_UNIT)
    for judgement in (*injected, *pointers):
        if judgement.hit.memory.id not in (*block.ids, *block.pointed):
            judgement.outcome = ROOM
    return block
