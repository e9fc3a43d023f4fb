"""Lessons: prompts that have taught a memory a question. Openings: memories that an agent has shown after a line.

No text of a prompt is stored here: a lesson names the decision whose record has it. Every function raises StoreError.
"""

from __future__ import annotations

from subcog_hooks.store import state_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from subcog_hooks.store.state import State


TEACH_EVERY_MS = 30 * 60_000  # ms between two runs
_TEACHING, _TAUGHT = "teaching", "taught"


def note_lesson(state: State, decision: str) -> None:
    """Record that the prompt of a decision has taught a memory, so that it does not again after the person removed that."""
    state.run("INSERT OR IGNORE INTO lessons VALUES (?)", (decision,))


def find_lessons(state: State) -> set[str]:
    """Return the decisions on prompts that a memory learned a question from."""
    return {str(decision) for (decision,) in state.run("SELECT decision FROM lessons")}


def forget_lessons(state: State, recorded: Collection[str] = ()) -> None:
    """Delete the lessons of prompts without a stored text. recorded: the decisions about prompts with a text."""
    for decision in find_lessons(state).difference(recorded):
        state.run("DELETE FROM lessons WHERE decision = ?", (decision,))


def is_teaching_due(state: State, now_ms: int) -> bool:
    """Return whether teaching may begin: the last run is TEACH_EVERY_MS ago, and an opening or a lesson may need it."""
    if state_values.is_ahead(state, _TEACHING, now_ms, TEACH_EVERY_MS):
        return False
    last_ms = (state_values.find_number(state, _TEACHING) or 0) - TEACH_EVERY_MS
    if state.run("SELECT 1 FROM pointers WHERE opened_at >= ? LIMIT 1", (last_ms,)):
        return True
    return bool(find_lessons(state))


def has_taught(state: State) -> bool:
    """Return whether teaching ever ran since this state was made: an earlier state may have been deleted."""
    return state_values.find_number(state, _TEACHING) is not None


def take_teaching(state: State, now_ms: int) -> bool:
    """Return whether teaching may begin, since the last run is TEACH_EVERY_MS ago; note its start if so."""
    if state_values.is_ahead(state, _TEACHING, now_ms, TEACH_EVERY_MS):
        return False
    state_values.put_number(state, _TEACHING, now_ms + TEACH_EVERY_MS)
    return True


def has_news(state: State, seen: int) -> bool:
    """Return whether the material of teaching has changed since the last run. seen: its checksum."""
    return state_values.find_number(state, _TAUGHT) != seen


def note_taught_stamp(state: State, seen: int) -> None:
    """Record the checksum of the material that teaching has gone through."""
    state_values.put_number(state, _TAUGHT, seen)


def find_seen(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session and its subagents were given or pointed at."""
    ends = _ends_with_subagents(session)
    given = state.run("SELECT memory FROM ledger WHERE session >= ? AND session < ?", ends)
    return {str(row[0]) for row in (*given, *state.run("SELECT memory FROM pointers WHERE session >= ? AND session < ?", ends))}


def note_opened(state: State, session: str, memories: Sequence[str], now_ms: int) -> list[str]:
    """Record that a session opens memories. Return the ids that it, or a subagent, was pointed at and had not opened."""
    open_once = (
        "UPDATE pointers SET opened_at = ? "
        "WHERE session >= ? AND session < ? AND memory = ? AND opened_at IS NULL RETURNING memory"
    )
    ends = _ends_with_subagents(session)
    return [memory for memory in memories if state.run(open_once, (now_ms, *ends, memory))]


def count_opened(state: State, session: str) -> int:
    """Return how many memories this session has opened from lines that pointed at them."""
    rows = state.run("SELECT count(*) FROM pointers WHERE session = ? AND opened_at IS NOT NULL", (session,))
    return int(rows[0][0] or 0)


def find_openings(state: State) -> list[tuple[str, str]]:
    """Return the openings of memories from lines, as (memory, decision of the line), the latest first."""
    rows = state.run("SELECT memory, decision FROM pointers WHERE opened_at IS NOT NULL ORDER BY opened_at DESC, memory")
    return [(str(memory), str(decision)) for memory, decision in rows]


def find_opened(state: State, decision: str) -> set[str]:
    """Return the ids of the memories that were opened from the lines of a decision."""
    rows = state.run("SELECT memory FROM pointers WHERE decision = ? AND opened_at IS NOT NULL", (decision,))
    return {str(row[0]) for row in rows}


def _ends_with_subagents(session: str) -> tuple[str, str]:
    """Return the ends of a session's key and those of its subagents, which begin with it and a slash."""
    return session, f"{session}0"  # The zero follows the slash.
