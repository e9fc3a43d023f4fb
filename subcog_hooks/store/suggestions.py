"""Suggestions: changes of memories that wait for the person's word, and those that are settled, which do not come again.

No text of a prompt is in here: of what was learned from one only the decision is named, whose record has it. Every function
raises StoreError.
"""

from __future__ import annotations

from subcog_hooks.store import state_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    import apsw

    from subcog_hooks.store.state import State

QUESTION, KEYWORD, GLOB, STANDING, CONFLICT = "question", "keyword", "path", "standing", "conflict"  # what is suggested

TEACH_EVERY_MS = 30 * 60_000  # however often it could be begun
LOOK_TEACHES_MS = 24 * 3_600_000  # for how long a second look is gone through again
_TEACHING, _LOOKED_AGAIN, _TAUGHT = "teaching", "looked again", "taught"
UNDECIDED, DROPPED, MADE = range(3)  # what became of one: it waits; the person does not want it; it was made without their word


class Suggestion:
    """A change of a memory that somebody suggests.

    field: one of the above; value: the word, the glob, yes or no, the id of the other memory; of a question the place among
    the needs of the prompt that `decision` is about. by: who suggests it; at: when, milliseconds since the epoch.
    """

    __slots__ = ("at", "by", "decision", "field", "id", "memory", "value")

    def __init__(self, id: str, memory: str, field: str, value: str, by: str, at: int, decision: str = "") -> None:
        self.id = id
        self.memory = memory
        self.field = field
        self.value = value
        self.by = by
        self.at = at
        self.decision = decision


_ROW = "suggestions VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_COLUMNS = "id, memory, field, value, by, at, decision"


def add(state: State, one: Suggestion) -> bool:
    """Let a suggestion wait. Return False where it waits already, or is settled."""
    return bool(state.run(f"INSERT OR IGNORE INTO {_ROW} RETURNING 1", _values(one, UNDECIDED)))


def note_made(state: State, one: Suggestion) -> None:
    """Note that a change was made without the person's word, whether it was suggested or not."""
    state.run(f"INSERT OR REPLACE INTO {_ROW}", _values(one, MADE))


def _values(one: Suggestion, became: int) -> tuple[apsw.SQLiteValue, ...]:
    return (one.id, one.memory, one.field, one.value, one.by, one.at, one.decision, became)


def find_open(state: State) -> list[Suggestion]:
    """Return those that wait, those of one memory together, the oldest first."""
    rows = state.run(f"SELECT {_COLUMNS} FROM suggestions WHERE became = ? ORDER BY memory, at, id", (UNDECIDED,))  # noqa: S608 - constants
    return [_suggestion(row) for row in rows]


def drop(state: State, id: str) -> None:
    """Note that the person does not want it: it is not suggested again."""
    state.run("UPDATE suggestions SET became = ? WHERE id = ?", (DROPPED, id))


def remove(state: State, id: str) -> None:
    """Take one away: it is settled, or means nothing any more."""
    state.run("DELETE FROM suggestions WHERE id = ?", (id,))


def remove_of_prompt(state: State, memory: str, decision: str) -> None:
    """Take away what a memory was to learn from a prompt, which it knows by now."""
    state.run("DELETE FROM suggestions WHERE memory = ? AND decision = ? AND became = ?", (memory, decision, UNDECIDED))


def find_settled(state: State) -> tuple[set[tuple[str, str]], set[str]]:
    """Return from which prompts nothing is to be learned any more, by their decisions.

    First pairs of a memory and a prompt, to which the person has said no; then the prompts that have taught a memory.
    """
    rows = state.run("SELECT memory, decision, became FROM suggestions WHERE decision <> ''")
    dropped = {(str(memory), str(decision)) for memory, decision, became in rows if became == DROPPED}
    return dropped, {str(decision) for _, decision, became in rows if became == MADE}


def remove_learned(state: State) -> None:
    """Take away what was to be learned from prompts, and what was turned down of that."""
    state.run("DELETE FROM suggestions WHERE decision <> ''")


def remove_unrecorded(state: State, recorded: Collection[str]) -> None:
    """Take away what was to be learned from prompts that are not kept any more.

    recorded: the decisions about those that are.
    """
    for (decision,) in state.run("SELECT DISTINCT decision FROM suggestions WHERE decision <> ''"):
        if decision not in recorded:
            state.run("DELETE FROM suggestions WHERE decision = ?", (decision,))


def _suggestion(row: tuple[object, ...]) -> Suggestion:
    id_, memory, field, value, by, at, decision = row
    return Suggestion(str(id_), str(memory), str(field), str(value), str(by), at if isinstance(at, int) else 0, str(decision))


# when memories were last taught, and what that went through


def is_teaching_due(state: State, now_ms: int) -> bool:
    """Return whether memories may be taught, since that was last begun a while ago, and there is something to go through."""
    if state_values.is_ahead(state, _TEACHING, now_ms, TEACH_EVERY_MS):
        return False
    if state_values.is_ahead(state, _LOOKED_AGAIN, now_ms, LOOK_TEACHES_MS):
        return True
    return bool(state.run("SELECT 1 FROM suggestions WHERE decision <> '' LIMIT 1"))


def has_taught(state: State) -> bool:
    """Return whether memories were ever taught since this state was made: one before may have been deleted."""
    return state_values.find_number(state, _TEACHING) is not None


def note_look(state: State, now_ms: int) -> None:
    """Note that a second look was taken, which the session may use in the next hours."""
    state_values.put_number(state, _LOOKED_AGAIN, now_ms + LOOK_TEACHES_MS)


def take_teaching(state: State, now_ms: int) -> bool:
    """Return whether memories may be taught, since that was last begun a while ago; it is noted as begun then."""
    if state_values.is_ahead(state, _TEACHING, now_ms, TEACH_EVERY_MS):
        return False
    state_values.put_number(state, _TEACHING, now_ms + TEACH_EVERY_MS)
    return True


def is_news(state: State, seen: int) -> bool:
    """Return whether what could be taught is other than when it was last gone through. seen: a checksum of it."""
    return state_values.find_number(state, _TAUGHT) != seen


def note_taught(state: State, seen: int) -> None:
    """Note that what could be taught was gone through."""
    state_values.put_number(state, _TAUGHT, seen)
