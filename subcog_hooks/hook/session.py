"""SessionStart: the brief. What is pinned, what holds, after a compaction what was in use, then what is worth knowing anyway.

`clear` starts a session with an id of its own. A resumed session hears what it heard last, byte for byte, which the client then
does not add again.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.hook import call as occasions
from subcog_hooks.hook.payload import START_EVENT, text_of
from subcog_hooks.recall.hits import BRIEF, PINNED, STATE, USED
from subcog_hooks.settings.defaults import COUNTED_AT_REST, SESSIONS_SETTING
from subcog_hooks.store import ledger, sessions, state_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home
    from subcog_hooks.cues.conditions import Scalar
    from subcog_hooks.hook.call import Occasion
    from subcog_hooks.hook.deliver import Delivery
    from subcog_hooks.hook.verdict import Verdict
    from subcog_hooks.store.memory import Memory

RESTING_COMMAND = "at-rest"  # what is left to be done in the background
REMIND = "capture.remind"
STARTUP, COMPACT, RESUME = "startup", "compact", "resume"  # of the payload's sources
CHARACTERS = "surfacing.brief_characters"
MOST_UNITS = 1_500  # UTF-16 units of what is given whatever the brief has room for: it stays in the context for the session
MOST_PINNED = 5
MOST_USED = 6
MOST_MEMORIES = 100  # more than have room in the longest brief


def respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    """Begin a session: `write` is called once with the output, or not at all. Raises StoreError."""
    occasions.with_sound_state(home, lambda: _respond(payload, home, write, deadline))


def _respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    occasion = occasions.open_occasion(payload, home, deadline)
    if occasion is None:
        return
    _answer(occasion, payload, write)
    if not occasion.is_trial:
        _leave_work(occasion)


def _leave_work(occasion: Occasion) -> None:
    """Start what is done at rest, where some of it is due and no process is at it. Raises OSError."""
    from subcog_hooks.store import job_record  # once the answer is written: the brief does not wait for it

    if not job_record.is_due(occasion.home, occasion.at):
        return
    from subcog_hooks.hook import detached  # where something is due

    if not detached.may_start():
        return
    from subcog_hooks.store.lock import is_held  # as above

    if not is_held(occasion.home.at_rest_lock):
        detached.start(occasion.home, [RESTING_COMMAND])


def _answer(occasion: Occasion, payload: dict[str, object], write: Callable[[bytes], None]) -> None:
    source = text_of(payload, "source")
    used = _forgotten(occasion) if source == COMPACT else []
    said = sessions.find_said(occasion.state, occasion.session) if source == RESUME else None
    is_silent = bool(why_silent(occasion))
    facts = _facts(occasion) if said is None and not is_silent else None
    _note(occasion, lambda: _begin(occasion, source))
    if is_silent:
        return
    remark = _reminder(occasion)
    if not remark:
        _begin_with(occasion, source, said, facts, used, write)
        return
    spoken: list[bytes] = []

    def write_with_remark(told: bytes) -> None:
        spoken.append(told)
        write(_with_remark(told, remark))

    _begin_with(occasion, source, said, facts, used, write_with_remark)
    if not spoken:
        write(_with_remark(b"{}", remark))
    if not occasion.is_trial:
        _note(occasion, lambda: state_values.note_reminder(occasion.state, occasion.at))


def _begin_with(
    occasion: Occasion,
    source: str,
    said: tuple[str, ...] | None,
    facts: Mapping[str, Scalar] | None,
    used: Sequence[str],
    write: Callable[[bytes], None],
) -> None:
    """Hand over what the session begins with. said: what a resumed one has heard. Raises StoreError."""
    found = {USED: _live(said, occasion)} if said is not None else _found(occasion, facts, used)
    ids: tuple[str, ...] = ()
    if any(found.values()):
        ids = _hand_over(occasion, found, source, write, is_repeat=said is not None)
        if not ids:
            return  # no time was left: a resumed session begins as if it were new
    if said is None:
        _note(occasion, lambda: sessions.keep_said(occasion.state, occasion.session, ids))


def _reminder(occasion: Occasion) -> str:
    """Return what the person is told of memories that wait, "" for nothing. Raises StoreError."""
    if not occasion.settings[REMIND]:
        return ""
    waiting = occasion.store.count_pending()
    said = [f"{waiting} {'memory waits' if waiting == 1 else 'memories wait'} for `subcog review`"] if waiting else []
    if occasion.settings[SESSIONS_SETTING] == COUNTED_AT_REST:
        from subcog_hooks.store import learned  # for those who want it

        if count := learned.count_learnable(occasion.state):
            things = "thing that you said in a session" if count == 1 else "things that you said in sessions"
            said.append(f"{count} {things} may be worth remembering: `subcog learn`")
    return f"subcog: {'; '.join(said)}" if said and state_values.is_reminder_due(occasion.state, occasion.at) else ""


def _with_remark(told: bytes, remark: str) -> bytes:
    """Return what is told to the model with a remark to the person beside it."""
    output = light_json.loads(told.decode())
    whole: Json = {"systemMessage": remark, **(output if isinstance(output, dict) else {})}
    return light_json.dumps(whole).encode() + b"\n"


def preview(occasion: Occasion) -> Delivery:
    """Return what a session that begins now would be given, whatever silences it. Raises StoreError."""
    from subcog_hooks.hook import deliver as hook_deliver  # as below

    verdict = _offered(occasion, _found(occasion, _facts(occasion), []), STARTUP)
    assert verdict.offer is not None
    return hook_deliver.preview(occasion, verdict.offer)


def _hand_over(
    occasion: Occasion,
    found: Mapping[str, Sequence[Memory]],
    source: str,
    write: Callable[[bytes], None],
    *,
    is_repeat: bool,
) -> tuple[str, ...]:
    """Hand over what was found, record it, and return the ids of what was printed. Raises StoreError."""
    from subcog_hooks.hook import record  # some sessions begin with nothing
    from subcog_hooks.hook.deliver import deliver

    verdict = _offered(occasion, found, source)
    assert verdict.offer is not None
    delivery = deliver(occasion, START_EVENT, verdict.offer, write, is_repeat=is_repeat)
    record.keep(occasion, START_EVENT, verdict, delivery)
    return delivery.ids


def _offered(occasion: Occasion, found: Mapping[str, Sequence[Memory]], source: str) -> Verdict:
    from subcog_hooks.hook.exact_offer import (
        Terms,
        offer_exact,  # as above
    )
    from subcog_hooks.recall.exact import Exact

    units = min(MOST_UNITS, int(occasion.settings["surfacing.max_characters"]))
    if int(occasion.settings[CHARACTERS]):
        from subcog_hooks.hook import brief  # where a brief is wanted

        units = max(units, brief.block_units([memory for some in found.values() for memory in some]))
    terms = Terms(0.0, MOST_MEMORIES, units, again=True, is_brief=True)
    return offer_exact(occasion, Exact(found), terms, source)


def _begin(occasion: Occasion, source: str) -> None:
    sessions.begin(occasion.state, occasion.session, occasion.project, source, occasion.at)
    ledger.prune_near(occasion.state)


def why_silent(occasion: Occasion) -> str:
    """Return the setting or the pause that keeps a session's start silent, "" where none does. Raises StoreError."""
    for name in ("surfacing.enabled", "surfacing.session_start"):
        if not occasion.settings[name]:
            return f"{name} is false"
    return "paused; `subcog resume` ends it" if state_values.is_paused(occasion.state, occasion.at) else ""


def _forgotten(occasion: Occasion) -> list[str]:
    """Let a session hear all of it again, since the client has forgotten it: the last that it was given. Raises StoreError."""
    if not occasion.session:
        return []
    used = ledger.given_lately(occasion.state, occasion.session, MOST_USED)
    ledger.forget(occasion.state, occasion.session)
    sessions.forget_units(occasion.state, occasion.session)
    return used


def _facts(occasion: Occasion) -> Mapping[str, Scalar] | None:
    """Return the facts by which conditions are judged, before the session is noted; None where no memory has any conditions."""
    return occasion.facts() if occasion.store.has_cues()[1] else None


def _note(occasion: Occasion, note: Callable[[], None]) -> None:
    """Take note of a session, unless another process is writing. Not of a trial. Raises StoreError."""
    if not occasion.session or occasion.is_trial:
        return
    try:
        occasion.state.begin_briefly()
    except StoreBusy:
        return
    note()
    occasion.state.commit()


def _found(occasion: Occasion, facts: Mapping[str, Scalar] | None, used: Sequence[str]) -> dict[str, list[Memory]]:
    """Return the live memories of each channel, in the order in which they are printed. Raises StoreError."""
    store, eligible = occasion.store, occasion.eligible
    found = {PINNED: store.pinned(eligible.audiences, MOST_PINNED, eligible.now_ms)}
    if facts is not None:
        from subcog_hooks.recall import exact  # where the store has conditions

        found[STATE], note = exact.by_states(facts, store, eligible)
        if note:
            occasion.log(note)
    found[USED] = [memory for memory in _live(used, occasion) if occasion.holds(memory)]
    if room := int(occasion.settings[CHARACTERS]):
        known = {memory.id: memory for some in found.values() for memory in some}
        found[BRIEF] = _worth_knowing(occasion, tuple(known.values()), room)
    return found


def _worth_knowing(occasion: Occasion, known: Sequence[Memory], room: int) -> list[Memory]:
    """Return what else is worth knowing and fits into a brief of so many characters. Raises StoreError."""
    from subcog_hooks.hook import brief  # as above

    weighed = brief.weighed(occasion)
    is_mixed = len({one.memory.scope == "project" for one in weighed}) > 1
    chosen = brief.fitting((one.memory for one in brief.ranked(weighed)), room, known, is_mixed=is_mixed)
    memories = occasion.store.by_ids([outline.id for outline in chosen])
    return [memories[outline.id] for outline in chosen if outline.id in memories]


def _live(ids: Sequence[str], occasion: Occasion) -> list[Memory]:
    """Return the memories of these ids that may be handed over, in their order. Raises StoreError."""
    if not ids:
        return []
    memories = occasion.store.by_ids(ids)
    return [memory for memory in map(memories.get, ids) if memory and occasion.eligible.includes(memory)]
