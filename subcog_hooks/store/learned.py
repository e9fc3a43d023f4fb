"""Lessons: prompts that have taught a memory a question. Openings: memories that an agent has shown after a line.

No text of a prompt is stored here: a lesson names the decision whose record has it. Every function raises StoreError.
"""

from __future__ import annotations

from subcog_hooks.core.records import record
from subcog_hooks.store import state_values
from subcog_hooks.store.memory import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

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


_UNCOMPARED = "uncompared"
MAX_WAIT_MS = 30 * state_values.DAY_MS  # of a proposal for an answer; then it is dropped
_STORED = "stored: "  # the prefix of a proposal's memory; the number is the time of storing


@record
class ReadPosition:
    """The position up to which a transcript was read. size: of the file then; end: bytes; digest: of the text before `end`."""

    size: int
    end: int
    digest: str


@record
class HeardTurn:
    """A turn whose statement is too uncertain to be proposed by itself.

    path: the transcript; position: the row's, in bytes; at_ms: milliseconds since the epoch. is_compared: with all other turns.
    """

    path: str
    position: int
    at_ms: int
    certainty: float
    is_compared: bool = False


@record
class ProposalRecord:
    """The origin of a proposal. sessions: how many said it; since: the first time, milliseconds since the epoch, 0 for unknown.

    alone: the certainty from its own session only, 0 for unknown.
    """

    certainty: float
    sessions: int
    since: int
    alone: float


def find_read_position(state: State, path: str) -> ReadPosition | None:
    """Return the position up to which a transcript was read, None for an unread one."""
    for size, end, digest in state.run("SELECT size, read, digest FROM transcripts WHERE path = ?", (path,)):
        return ReadPosition(_int_or_zero(size), _int_or_zero(end), str(digest))
    return None


def note_read_position(state: State, path: str, read: ReadPosition, heard: Sequence[HeardTurn]) -> None:
    """Record the position up to which a transcript was read, and the turns heard in it."""
    for turn in heard:
        state.run("INSERT OR REPLACE INTO heard VALUES (?, ?, ?, ?, 0)", (turn.path, turn.position, turn.at_ms, turn.certainty))
    state.run("INSERT OR REPLACE INTO transcripts VALUES (?, ?, ?, ?)", (path, read.size, read.end, read.digest))
    state_values.put_number(state, _UNCOMPARED, 1)


def find_asked_position(state: State, path: str) -> ReadPosition | None:
    """Return the position up to which a model was asked about a transcript, None for never."""
    for (noted,) in state.run("SELECT content_hash FROM enriched WHERE memory = ?", (_asked_key(path),)):
        size, end, digest = str(noted).split()
        return ReadPosition(int(size), int(end), digest)
    return None


def note_asked_position(state: State, path: str, read: ReadPosition) -> None:
    """Record the position up to which a model was asked about a transcript, with any result."""
    values = (_asked_key(path), f"{read.size} {read.end} {read.digest}")
    state.run("INSERT OR REPLACE INTO enriched VALUES (?, ?)", values)


def _asked_key(path: str) -> str:
    """Return the key of a transcript in the table `enriched`: no id of a memory has a blank."""
    return f"session {path}"


def find_certainties(state: State, model: str) -> dict[int, int]:
    """Return how many proposals of a model had each certainty, by twentieth."""
    begin = _certainty_key(model, "")
    rows = state.run("SELECT name, until FROM flags WHERE substr(name, 1, ?) = ?", (len(begin), begin))
    return {int(str(name)[len(begin) :]): _int_or_zero(count) for name, count in rows}


def note_certainties(state: State, model: str, counts: Mapping[int, int]) -> None:
    """Record how many proposals of a model had each certainty, by twentieth."""
    for bucket, count in counts.items():
        state_values.put_number(state, _certainty_key(model, bucket), count)


def _certainty_key(model: str, bucket: int | str) -> str:
    return f"certainty {model} {bucket}"


def note_replaced(state: State, memory: str, replaced: str) -> None:
    """Record which memory a waiting one replaces once it is accepted."""
    state.run("INSERT OR REPLACE INTO enriched VALUES (?, ?)", (f"replaces {memory}", replaced))


def find_replaced(state: State, memory: str) -> str:
    """Return the id of the memory that a waiting one replaces once it is accepted, "" for none."""
    return next(
        (str(id_) for (id_,) in state.run("SELECT content_hash FROM enriched WHERE memory = ?", (f"replaces {memory}",))), ""
    )


def are_turns_compared(state: State) -> bool:
    """Return whether all heard turns are compared with each other."""
    return state_values.find_number(state, _UNCOMPARED) is None


def note_turns_compared(state: State) -> None:
    """Record that all heard turns are compared with each other."""
    state.run("UPDATE heard SET compared = 1 WHERE compared = 0")
    state_values.delete_number(state, _UNCOMPARED)


def find_heard_turns(state: State, limit: int) -> list[HeardTurn]:
    """Return the latest heard turns."""
    columns = "path, place, at, certainty, compared"
    rows = state.run(f"SELECT {columns} FROM heard ORDER BY at DESC, path, place LIMIT ?", (limit,))  # noqa: S608 - constant
    return [
        HeardTurn(str(path), _int_or_zero(position), _int_or_zero(at_ms), _float_or_zero(certainty), is_compared=bool(compared))
        for path, position, at_ms, certainty, compared in rows
    ]


def forget_heard_turn(state: State, turn: HeardTurn) -> None:
    """Delete a heard turn: it is proposed now, or no longer in its transcript."""
    state.run("DELETE FROM heard WHERE path = ? AND place = ?", (turn.path, turn.position))


def note_proposed(state: State, memory: str, proposal: ProposalRecord) -> None:
    """Record the origin of a proposal, unless its record has more sessions already, and the time of its first storing."""
    state.run("INSERT OR IGNORE INTO flags VALUES (?, ?)", (_STORED + memory, now_ms()))
    values = (memory, proposal.certainty, proposal.sessions, proposal.since, proposal.alone)
    state.run(
        "INSERT INTO proposed VALUES (?, ?, ?, ?, ?) ON CONFLICT (memory) DO UPDATE SET certainty = excluded.certainty, "
        "sessions = excluded.sessions, since = excluded.since WHERE excluded.sessions > sessions",
        values,
    )


def find_proposal(state: State, memory: str) -> ProposalRecord | None:
    """Return the origin of a proposal, None where it is unknown."""
    for _, proposal in _select_proposals(state, "WHERE memory = ?", (memory,)):
        return proposal
    return None


def find_stored_times(state: State) -> dict[str, int]:
    """Return when each proposal was stored first, in milliseconds since the epoch, by the memory's id."""
    return state_values.find_numbers(state, _STORED)


def find_old_proposals(state: State, now_ms: int) -> list[str]:
    """Return the memories of proposals that were stored MAX_WAIT_MS ago."""
    return [id_ for id_, at_ms in find_stored_times(state).items() if at_ms <= now_ms - MAX_WAIT_MS]


def find_proposals(state: State) -> dict[str, ProposalRecord]:
    """Return the origin of each proposal, by the memory's id."""
    return dict(_select_proposals(state))


def _select_proposals(state: State, where: str = "", values: tuple[str, ...] = ()) -> Iterator[tuple[str, ProposalRecord]]:
    rows = state.run(f"SELECT memory, certainty, sessions, since, alone FROM proposed {where}", values)  # noqa: S608 - constant
    for id_, certainty, sessions, since, alone in rows:
        yield (
            str(id_),
            ProposalRecord(_float_or_zero(certainty), _int_or_zero(sessions), _int_or_zero(since), _float_or_zero(alone)),
        )


def forget_all(state: State) -> None:
    """Delete the heard turns and proposals. Read positions stay: erased memories are not proposed again."""
    state_values.forget_noted(state, state_values.find_noted(state))
    for id_ in find_stored_times(state):
        state_values.delete_number(state, _STORED + id_)
    for table in ("heard", "proposed"):
        state.run(f"DELETE FROM {table}")  # noqa: S608 - one of these two


def _int_or_zero(value: object) -> int:
    return value if isinstance(value, int) else 0


def _float_or_zero(value: object) -> float:
    return value if isinstance(value, float) else 0.0


_LEARNABLE, _COUNTED = "learnable", "counted"


def note_learnable(state: State, count: int) -> None:
    """Record how many proposals the sessions could bring."""
    state_values.put_number(state, _LEARNABLE, count)


def count_learnable(state: State) -> int:
    """Return how many proposals the sessions could bring, 0 where nobody has counted."""
    return state_values.find_number(state, _LEARNABLE) or 0


def note_counted_stamp(state: State, stamp: int) -> None:
    """Record the stamp of the transcripts behind the count, 0 for transcripts without one."""
    state_values.put_number(state, _COUNTED, stamp)


def find_counted_stamp(state: State) -> int | None:
    """Return the stamp of the transcripts behind the last count, None for never."""
    return state_values.find_number(state, _COUNTED)
