"""Suggestions: changes of memories that wait for the person's answer, and answered ones, which do not come again.

No text of a prompt is stored here: a suggestion from a prompt names the decision whose record has it. Every function raises
StoreError.
"""

from __future__ import annotations

from subcog_hooks.store import state_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    import apsw

    from subcog_hooks.store.state import State

QUESTION, KEYWORD, GLOB, STANDING, CONFLICT = "question", "keyword", "path", "standing", "conflict"  # the fields of suggestions

TEACH_EVERY_MS = 30 * 60_000  # ms between two runs
_TEACHING, _TAUGHT = "teaching", "taught"
OPENED = "opening"  # the author of a question from a prompt whose line was opened
UNDECIDED, DROPPED, MADE = range(3)  # it waits; the person has refused it; it was made without an answer


class Suggestion:
    """A suggested change of a memory.

    field: one of the constants above; value: the word, the glob, yes or no, or the id of the other memory. For a question,
    value is its position among the needs of the prompt that `decision` is about. by: the author; at_ms: when, milliseconds
    since the epoch.
    """

    __slots__ = ("at_ms", "by", "decision", "field", "id", "memory", "value")

    def __init__(self, id: str, memory: str, field: str, value: str, by: str, at_ms: int, decision: str = "") -> None:
        self.id = id
        self.memory = memory
        self.field = field
        self.value = value
        self.by = by
        self.at_ms = at_ms
        self.decision = decision


_ROW = "suggestions VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_COLUMNS = "id, memory, field, value, by, at, decision"


def add_suggestion(state: State, suggestion: Suggestion) -> bool:
    """Store a suggestion that waits. Return False where it waits already, or is settled."""
    return bool(state.run(f"INSERT OR IGNORE INTO {_ROW} RETURNING 1", _row_values(suggestion, UNDECIDED)))


def note_change_made(state: State, suggestion: Suggestion) -> None:
    """Record that a change was made without the person's answer, whether it was suggested or not."""
    state.run(f"INSERT OR REPLACE INTO {_ROW}", _row_values(suggestion, MADE))


def _row_values(suggestion: Suggestion, became: int) -> tuple[apsw.SQLiteValue, ...]:
    return (
        suggestion.id,
        suggestion.memory,
        suggestion.field,
        suggestion.value,
        suggestion.by,
        suggestion.at_ms,
        suggestion.decision,
        became,
    )


def find_open_suggestions(state: State) -> list[Suggestion]:
    """Return the suggestions that wait, grouped by memory, the oldest first."""
    rows = state.run(f"SELECT {_COLUMNS} FROM suggestions WHERE became = ? ORDER BY memory, at, id", (UNDECIDED,))  # noqa: S608 - constants
    return [_suggestion_of_row(row) for row in rows]


def drop_suggestion(state: State, id: str) -> None:
    """Record that the person refuses a suggestion: it does not come again."""
    state.run("UPDATE suggestions SET became = ? WHERE id = ?", (DROPPED, id))


def remove_open_suggestions(state: State, memory: str, newer: str = "") -> None:
    """Delete the open suggestions about a memory before its text is asked about anew. newer: of a pair, "" for no pair."""
    sql = "DELETE FROM suggestions WHERE memory = ? AND became = ? AND iif(field = ?, value, '') = ?"
    state.run(sql, (memory, UNDECIDED, CONFLICT, newer))


def remove_suggestion(state: State, id: str) -> None:
    """Delete a suggestion that is settled or has lost its meaning."""
    state.run("DELETE FROM suggestions WHERE id = ?", (id,))


def find_taught_prompts(state: State) -> set[str]:
    """Return the prompts, by their decisions, that have taught a memory."""
    rows = state.run("SELECT decision FROM suggestions WHERE decision <> '' AND became = ?", (MADE,))
    return {str(decision) for (decision,) in rows}


def remove_learned(state: State) -> None:
    """Delete all suggestions from prompts, open or settled."""
    state.run("DELETE FROM suggestions WHERE decision <> ''")


def remove_unrecorded(state: State, recorded: Collection[str]) -> None:
    """Delete the suggestions from prompts whose text is not kept any more.

    recorded: the decisions about the prompts with a text.
    """
    for (decision,) in state.run("SELECT DISTINCT decision FROM suggestions WHERE decision <> ''"):
        if decision not in recorded:
            state.run("DELETE FROM suggestions WHERE decision = ?", (decision,))


def _suggestion_of_row(row: tuple[object, ...]) -> Suggestion:
    id_, memory, field, value, by, at_ms, decision = row
    return Suggestion(
        str(id_), str(memory), str(field), str(value), str(by), at_ms if isinstance(at_ms, int) else 0, str(decision)
    )


# when memories were last taught, and from which material


def is_teaching_due(state: State, now_ms: int) -> bool:
    """Return whether teaching may begin: the last run is TEACH_EVERY_MS ago, and an opening or a lesson may need it."""
    if state_values.is_ahead(state, _TEACHING, now_ms, TEACH_EVERY_MS):
        return False
    last_ms = (state_values.find_number(state, _TEACHING) or 0) - TEACH_EVERY_MS
    if state.run("SELECT 1 FROM pointers WHERE opened_at >= ? LIMIT 1", (last_ms,)):
        return True
    return bool(state.run("SELECT 1 FROM suggestions WHERE decision <> '' LIMIT 1"))


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
