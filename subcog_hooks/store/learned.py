"""The progress of work at rest: transcripts read, turns heard, proposals stored, prompts that taught, texts asked about.

No text of a prompt is stored here: a lesson names the verdict whose record has it. Every function raises StoreError.
"""

from __future__ import annotations

from subcog_hooks.core.records import record
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import is_due, set_due

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from subcog_hooks.store.state import State

READ, ASKED = "transcripts", "asked_transcripts"  # tables of positions
TEACH_EVERY_MS = 30 * 60_000  # ms between two runs
MAX_WAIT_MS = 30 * 86_400_000  # of a proposal for an answer; then it is dropped


@record
class ReadPosition:
    """The position up to which a transcript was read. size: of the file then; end: bytes; digest: of the text before `end`."""

    size: int
    end: int
    digest: str


@record
class HeardTurn:
    """A turn whose statement is too uncertain to be proposed by itself.

    path: the transcript; position: the row's, in bytes; at_ms: since the epoch. is_compared: with all other turns.
    """

    path: str
    position: int
    at_ms: int
    certainty: float
    is_compared: bool = False


@record
class ProposalRecord:
    """The origin of a proposal. sessions: how many said it; since: the first time, ms since the epoch, 0 for unknown.

    alone: the certainty from its own session only, 0 for unknown.
    """

    certainty: float
    sessions: int
    since: int
    alone: float


@record
class Progress:
    """How far the work at rest has come: the row of the table `progress`. Its columns are explained in `state.sql`."""

    asked_revision: int
    taught_stamp: int | None
    is_uncompared: int


def find_progress(state: State) -> Progress:
    """Return how far the work at rest has come."""
    return Progress(*state.run(f"SELECT {', '.join(Progress.__annotations__)} FROM progress")[0])  # noqa: S608 - its columns


def note_progress(state: State, **columns: int) -> None:
    """Change columns of the row of progress."""
    state.run(f"UPDATE progress SET {', '.join(f'{name} = ?' for name in columns)}", tuple(columns.values()))  # noqa: S608 - as above


# transcripts and heard turns


def note_read_position(state: State, path: str, read: ReadPosition, heard: Sequence[HeardTurn]) -> None:
    """Record the position up to which a transcript was read, and the turns heard in it."""
    for turn in heard:
        state.run("INSERT OR REPLACE INTO heard VALUES (?, ?, ?, ?, 0)", (turn.path, turn.position, turn.at_ms, turn.certainty))
    note_position(state, READ, path, read)
    note_progress(state, is_uncompared=1)


def note_position(state: State, table: str, path: str, read: ReadPosition) -> None:
    """Record the position up to which a transcript was read, or a model was asked about it. table: READ or ASKED."""
    state.run(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?)", (path, read.size, read.end, read.digest))  # noqa: S608 - as above


def find_position(state: State, table: str, path: str) -> ReadPosition | None:
    """Return such a position, None for an unread transcript. table: READ or ASKED."""
    rows = state.run(f"SELECT size, read, digest FROM {table} WHERE path = ?", (path,))  # noqa: S608 - one of two names
    return ReadPosition(*rows[0]) if rows else None


def note_turns_compared(state: State) -> None:
    """Record that all heard turns are compared with each other."""
    state.run("UPDATE heard SET compared = 1 WHERE compared = 0")
    note_progress(state, is_uncompared=0)


def find_heard_turns(state: State, limit: int) -> list[HeardTurn]:
    """Return the latest heard turns."""
    sql = "SELECT path, place, at, certainty, compared FROM heard ORDER BY at DESC, path, place LIMIT ?"
    return [HeardTurn(*row) for row in state.run(sql, (limit,))]


# proposals


def note_proposed(state: State, memory: str, proposal: ProposalRecord) -> None:
    """Record the origin of a proposal, unless its record has more sessions already, and the time of its first storing."""
    state.run(
        "INSERT INTO proposed VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (memory) DO UPDATE SET certainty = excluded.certainty, "
        "sessions = excluded.sessions, since = excluded.since WHERE excluded.sessions > sessions",
        (memory, proposal.certainty, proposal.sessions, proposal.since, proposal.alone, now_ms()),
    )


def find_proposal(state: State, memory: str) -> ProposalRecord | None:
    """Return the origin of a proposal, None where it is unknown."""
    rows = state.run("SELECT certainty, sessions, since, alone FROM proposed WHERE memory = ?", (memory,))
    return ProposalRecord(*rows[0]) if rows else None


def find_proposals(state: State) -> dict[str, ProposalRecord]:
    """Return the origin of each proposal, by the memory's id."""
    rows = state.run("SELECT memory, certainty, sessions, since, alone FROM proposed")
    return {id_: ProposalRecord(*columns) for id_, *columns in rows}


def find_old_proposals(state: State, now_ms: int) -> list[str]:
    """Return the memories of proposals that were stored MAX_WAIT_MS ago."""
    return [id_ for (id_,) in state.run("SELECT memory FROM proposed WHERE stored_at <= ?", (now_ms - MAX_WAIT_MS,))]


# lessons


def find_lessons(state: State) -> set[str]:
    """Return the verdicts on prompts that a memory learned a question from."""
    return {verdict for (verdict,) in state.run("SELECT verdict FROM lessons")}


def forget_lessons(state: State, recorded: Collection[str] = ()) -> None:
    """Delete the lessons of prompts without a stored text. recorded: the verdicts on prompts with a text."""
    for verdict in find_lessons(state).difference(recorded):
        state.run("DELETE FROM lessons WHERE verdict = ?", (verdict,))


def is_teaching_due(state: State, now_ms: int) -> bool:
    """Return whether teaching may begin: the last run is TEACH_EVERY_MS ago, and an opening or a lesson may need it."""
    if not is_due(state, "teaching", now_ms, TEACH_EVERY_MS):
        return False
    since = "coalesce((SELECT at FROM due_times WHERE task = 'teaching'), 0) - ?"
    sql = f"SELECT 1 FROM pointers WHERE opened_at >= {since} UNION ALL SELECT 1 FROM lessons LIMIT 1"  # noqa: S608 - constant
    return bool(state.run(sql, (TEACH_EVERY_MS,)))


def take_teaching(state: State, now_ms: int) -> bool:
    """Return whether teaching may begin, since the last run is TEACH_EVERY_MS ago; note its start if so."""
    if may_begin := is_due(state, "teaching", now_ms, TEACH_EVERY_MS):
        set_due(state, "teaching", now_ms + TEACH_EVERY_MS)
    return may_begin
