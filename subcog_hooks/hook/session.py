"""SessionStart: hand over the brief. It has pinned memories, those whose conditions hold, and then the most useful others.

After a compaction it also has the memories that were in use. `clear` starts a session with an id of its own. A resumed session
gets its first block again, byte for byte: then the client does not add it twice.

SubagentStart: the pinned and the standing memories of that brief reach a subagent, which sees nothing of the session, once.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.hook.call import open_call
from subcog_hooks.hook.payload import (
    COMPACTING,
    FIRST,
    FORGET,
    OF_CLIENT,
    RESUMED,
    START_EVENT,
    START_KIND,
    SUBAGENT_EVENT,
    WITHOUT_CALLS,
    text_of,
)
from subcog_hooks.recall.hits import BRIEF, PINNED, STATE, USED
from subcog_hooks.store import lookups, sessions
from subcog_hooks.store.state import REMIND_EVERY_MS, is_due, is_paused, set_due

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any  # of JSON

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.paths import Home
    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.choose import Verdict
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.state import State

REMIND_SETTING = "capture.remind"
STARTUP, COMPACT, RESUME = "startup", "compact", "resume"  # sources in the payload
BRIEF_UNITS_SETTING = "surfacing.brief_characters"
MAX_UNITS = 1_500  # UTF-16 units of a start without a brief: they stay in the context for the whole session.
MAX_PINNED = 5
MAX_USED = 6
MAX_NOTED, MAX_NOTED_UNITS = 3, 120  # named memories in the line about what was noted, and UTF-16 units of each
MAX_MEMORIES = 100  # The longest brief has room for fewer.


def respond(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    """Begin a session: call `write` once with the output, or not at all. Raises StoreError."""
    call = open_call(payload, home, deadline)
    if call is None:
        return
    _answer_start(call, payload, write)
    from subcog_hooks.store import home_files  # The brief has been written, and does not wait for it.

    if call.is_trial or not home_files.is_due(call.home, call.now_ms):
        return
    from subcog_hooks.hook import detached  # Jobs are rarely due.

    if detached.may_start() and not home_files.is_held(call.home.jobs_lock):
        detached.start_process(call.home, [detached.BACKGROUND_COMMAND])


def respond_to_subagent(payload: dict[str, object], home: Home, write: Callable[[bytes], None], deadline: Deadline) -> None:
    """Begin a subagent: call `write` once with the output, or not at all. Raises StoreError."""
    if not text_of(payload, "agent_id") or not text_of(payload, "agent_type"):
        return  # A nameless subagent is the client's own: it writes the summary of a compaction.
    call = open_call(payload, home, deadline)
    if call is None or silence_reason(call):
        return
    memories = _memories_by_channel(call, (), is_whole=False)
    if any(memories.values()):
        _hand_over(call, memories, text_of(payload, "agent_type"), write, is_repeat=True, event=SUBAGENT_EVENT)


def _answer_start(call: HookCall, payload: dict[str, object], write: Callable[[bytes], None]) -> None:
    kind, source = text_of(payload, START_KIND), text_of(payload, "source")
    if kind == FORGET:
        _forget_given(call)
        _write_unless_busy(call, lambda: keep_printed_ids(call.state, call.session, None))
        return
    if kind == WITHOUT_CALLS:
        _write_unless_busy(call, lambda: _forget_calls(call))
        return
    session = sessions.find_session(call.state, call.session) if kind in (RESUMED, FIRST) else None
    if kind == FIRST and session is not None and session.source == COMPACTING:
        _settle_compaction(call, payload)
        session = None
    if session is not None and session.source == COMPACTING:
        source = COMPACT  # The session was ended before its new start.
    elif kind == COMPACTING or (kind and find_printed_ids(call.state, call.session) is not None):
        if kind != FIRST:
            _write_unless_busy(call, lambda: _record_start(call, COMPACTING if kind == COMPACTING else source))
        return
    used = _forget_given(call) if source == COMPACT else []
    first_ids = find_printed_ids(call.state, call.session) if source == RESUME else None
    is_silent = bool(silence_reason(call))
    if first_ids is None and not is_silent and call.store.has_cues()[1]:
        call.facts()  # Conditions are judged by the facts before the session is noted.
    _write_unless_busy(call, lambda: _record_start(call, source))
    if is_silent:
        return
    shows_remarks = OF_CLIENT not in payload  # A remark that other clients drop does not count as shown.
    untold = [id_ for (id_,) in call.state.run("SELECT memory FROM noted WHERE told_at IS NULL")] if shows_remarks else []
    news = [line for (line,) in call.state.run("SELECT line FROM news")] if shows_remarks else []
    news_text = "; ".join(filter(None, (_noted_text(call, untold), *news)))
    remark = (f"subcog: {news_text}" if news_text else _reminder_text(call)) if shows_remarks else ""
    if not remark:
        _hand_over_start(call, source, first_ids, used, write)
        return
    from subcog_hooks.hook.block import answer_with_message  # Few sessions begin with a remark.

    answer_with_message(lambda write: _hand_over_start(call, source, first_ids, used, write), write, remark)
    _write_unless_busy(call, lambda: _note_remark(call, untold, news))


def _settle_compaction(call: HookCall, payload: Mapping[str, object]) -> None:
    """Forget what the session was given before a compaction, unless that has failed. Raises StoreError."""
    from subcog_hooks.clients.description import find_client  # Few sessions are compacted.

    client = find_client(text_of(payload, OF_CLIENT))
    was_compacted = client.contract.was_compacted if client and client.contract else None
    if was_compacted is None or was_compacted(payload):
        _forget_given(call)
        _write_unless_busy(call, lambda: keep_printed_ids(call.state, call.session, None))
    _write_unless_busy(call, lambda: _record_start(call, STARTUP))


def _hand_over_start(
    call: HookCall, source: str, first_ids: tuple[str, ...] | None, used: Sequence[str], write: Callable[[bytes], None]
) -> None:
    """Hand over the session's first block. first_ids: its memories in a resumed session. Raises StoreError."""
    memories = {USED: _live_memories(first_ids, call)} if first_ids is not None else _memories_by_channel(call, used)
    ids: tuple[str, ...] = ()
    if any(memories.values()):
        ids = _hand_over(call, memories, source, write, is_repeat=first_ids is not None)
        if not ids:
            return  # Nothing was printed: when resumed, the session begins as if it were new.
    if first_ids is None:
        _write_unless_busy(call, lambda: keep_printed_ids(call.state, call.session, ids))


def _note_remark(call: HookCall, untold: Sequence[str], news: Sequence[str]) -> None:
    if untold or news:
        for id_ in untold:
            call.state.run("UPDATE noted SET told_at = ? WHERE memory = ?", (call.now_ms, id_))
        for line in news:
            call.state.run("DELETE FROM news WHERE line = ?", (line,))
    else:
        set_due(call.state, "reminder", call.now_ms + REMIND_EVERY_MS)


def _noted_text(call: HookCall, untold: Sequence[str]) -> str:
    """Return the text about memories that were stored without an answer, "" for none. Raises StoreError."""
    memories = [memory for memory in call.store.by_ids(untold).values() if memory.is_live(call.now_ms)] if untold else []
    if not memories:
        return ""
    from subcog_hooks.redaction.masking import mask_secrets  # Few sessions begin with such a line.
    from subcog_hooks.store import learned
    from subcog_hooks.text.sanitise import cut, one_line

    records = {memory.id: learned.find_proposal(call.state, memory.id) for memory in memories}
    memories.sort(key=lambda memory: -record.certainty if (record := records[memory.id]) else 0.0)
    surest = [
        f"“{cut(one_line(mask_secrets(memory.content)), MAX_NOTED_UNITS)}” [{memory.id}]" for memory in memories[:MAX_NOTED]
    ]
    things = "1 thing" if len(memories) == 1 else f"{len(memories)} things"
    named = ", the surest" if len(memories) > MAX_NOTED else ""
    undo = "`subcog learn --undo ID` takes one back, a date in the place of ID all of that day"
    return f"noted {things} from your sessions{named}: {', '.join(surest)} ({undo})"


def _reminder_text(call: HookCall) -> str:
    """Return the reminder of pending memories for the person, "" for none. Raises StoreError."""
    if not call.settings[REMIND_SETTING]:
        return ""
    waiting = call.store.count_pending()
    if not waiting or not is_due(call.state, "reminder", call.now_ms, REMIND_EVERY_MS):
        return ""
    return f"subcog: {waiting} {'memory waits' if waiting == 1 else 'memories wait'} for `subcog review`"


def preview_start(call: HookCall) -> Verdict:
    """Return the delivery to a session that begins now, even where settings silence it. Raises StoreError."""
    from subcog_hooks.hook import deliver as hook_deliver  # Some sessions begin with nothing.

    verdict = _offer_memories(call, _memories_by_channel(call, []), STARTUP)
    hook_deliver.preview_delivery(call, verdict)
    return verdict


def _hand_over(
    call: HookCall,
    memories: Mapping[str, Sequence[Memory]],
    source: str,
    write: Callable[[bytes], None],
    *,
    is_repeat: bool,
    event: str = START_EVENT,
) -> tuple[str, ...]:
    """Hand the memories over, record it, and return the printed ids. Raises StoreError."""
    from subcog_hooks.hook import record  # Some sessions begin with nothing.
    from subcog_hooks.hook.deliver import deliver

    verdict = _offer_memories(call, memories, source, repeats_given=event == START_EVENT)
    deliver(call, event, verdict, write, is_repeat=is_repeat)
    record.record_call(call, event, verdict)
    return verdict.ids


def _offer_memories(
    call: HookCall, memories: Mapping[str, Sequence[Memory]], source: str, *, repeats_given: bool = True
) -> Verdict:
    from subcog_hooks.hook.choose import offer_exact
    from subcog_hooks.recall.exact import ExactMatches

    max_units = min(MAX_UNITS, int(call.settings["surfacing.max_characters"]))
    if int(call.settings[BRIEF_UNITS_SETTING]):
        from subcog_hooks.hook import brief  # Some users have no brief.

        max_units = max(max_units, brief.block_units([memory for channel in memories.values() for memory in channel]))
    matches = ExactMatches(memories)
    return offer_exact(call, matches, source, 0.0, MAX_MEMORIES, max_units, repeats_given=repeats_given, is_brief=True)


def _record_start(call: HookCall, source: str) -> None:
    begin_session(call.state, call.session, call.project, source, call.now_ms)
    sessions.prune_near(call.state)


def begin_session(state: State, session: str, project: str, source: str, now_ms: int) -> None:
    """Note the start of a session; one that goes on keeps its count of prompts. Old sessions are deleted."""
    if not session:
        return
    state.run(
        "INSERT INTO sessions VALUES (?, ?, ?, ?, 0, NULL, 0) ON CONFLICT (session)"
        " DO UPDATE SET project = excluded.project, source = excluded.source, last_at = excluded.last_at",
        (session, project, source, now_ms),
    )
    sessions.prune_sessions(state, now_ms)


def find_printed_ids(state: State, session: str) -> tuple[str, ...] | None:
    """Return the ids of the memories that the session's start printed, None where they are unknown."""
    for (said,) in state.run("SELECT said FROM sessions WHERE session = ? AND said IS NOT NULL", (session,)):
        ids: Any = light_json.loads(said)
        return tuple(ids)
    return None


def keep_printed_ids(state: State, session: str, memories: Sequence[str] | None) -> None:
    """Store the ids of the memories that the start of a session printed, None where it begins anew."""
    said = None if memories is None else light_json.dumps(memories)
    state.run("UPDATE sessions SET said = ? WHERE session = ?", (said, session))


def forget_session(state: State, session: str) -> None:
    """Delete the entries and units of a session whose client has forgotten its context: it may be given them again."""
    state.run("UPDATE sessions SET units = 0 WHERE session = ?", (session,))
    state.run("DELETE FROM ledger WHERE session IN (?, ?)", (session, session + sessions.CUT))
    state.run("DELETE FROM pointers WHERE session = ? AND opened_at IS NULL", (session,))
    state.run("UPDATE OR REPLACE pointers SET session = '' WHERE session = ?", (session,))  # Openings are kept: they teach.


def silence_reason(call: HookCall) -> str:
    """Return the setting or the pause that silences a session's start, "" for none. Raises StoreError."""
    for name in ("surfacing.enabled", "surfacing.session_start"):
        if not call.settings[name]:
            return f"{name} is false"
    return "paused; `subcog resume` ends it" if is_paused(call.state, call.now_ms) else ""


def _forget_given(call: HookCall) -> list[str]:
    """Forget the given memories of a compacted session, and return the latest ids. Raises StoreError.

    Where another process is writing all the time, the session goes on without them, but for the returned ones.
    """
    if not call.session:
        return []
    sql = "SELECT memory FROM ledger WHERE session IN (?, ?) GROUP BY memory ORDER BY max(at) DESC, memory LIMIT ?"
    used = [id_ for (id_,) in call.state.run(sql, (call.session, call.session + sessions.CUT, MAX_USED))]
    try:
        call.state.begin(call.deadline.left_ms() / 2)
        forget_session(call.state, call.session)
        call.state.commit()
    except StoreBusy as error:
        call.log(f"what the session was given is not forgotten: {error}")
    return used


def _forget_calls(call: HookCall) -> None:
    """Let the memories come again that tool calls have brought to a session, whose client has lost these texts alone."""
    for table, also in (("ledger", ""), ("pointers", " AND opened_at IS NULL")):
        call.state.run(f"DELETE FROM {table} WHERE session = ? AND {sessions.BY_CALLS}{also}", (call.session,))  # noqa: S608 - constants


def _write_unless_busy(call: HookCall, write: Callable[[], None]) -> None:
    """Write to state.db in a transaction, unless another process is writing, or the call is a trial. Raises StoreError."""
    if not call.session or call.is_trial:
        return
    try:
        call.state.begin_briefly()
    except StoreBusy:
        return
    write()
    call.state.commit()


def _memories_by_channel(call: HookCall, used: Sequence[str], *, is_whole: bool = True) -> dict[str, list[Memory]]:
    """Return the live memories by channel, in printing order; a part has the pinned and the standing. Raises StoreError."""
    store, eligible = call.store, call.eligible
    memories = {PINNED: lookups.find_pinned(store, eligible.audiences, MAX_PINNED, eligible.now_ms)}
    if is_whole and store.has_cues()[1]:
        from subcog_hooks.recall import exact  # Few stores have conditions.

        memories[STATE], note = exact.match_conditions(call.facts(), store, eligible)
        if note:
            call.log(note)
    memories[USED] = [memory for memory in _live_memories(used, call) if call.holds(memory)]
    if room := int(call.settings[BRIEF_UNITS_SETTING]):
        from subcog_hooks.hook import brief  # Some users have no brief.

        before = {memory.id: memory for channel in memories.values() for memory in channel}
        chosen = brief.select_fitting((score.memory for score in brief.rank_memories(call)), room, tuple(before.values()))
        chosen = [outline for outline in chosen if is_whole or outline.standing]
        whole = store.by_ids([outline.id for outline in chosen])
        memories[BRIEF] = [whole[outline.id] for outline in chosen if outline.id in whole]
    return memories


def _live_memories(ids: Sequence[str], call: HookCall) -> list[Memory]:
    """Return the memories of these ids that may be handed over, in their order. Raises StoreError."""
    if not ids:
        return []
    memories = call.store.by_ids(ids)
    return [memory for memory in map(memories.get, ids) if memory and call.eligible.includes(memory)]
