"""The progress of learning from transcripts: files read, turns heard, proposals stored."""

from __future__ import annotations

from subcog_hooks.store import state_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from subcog_hooks.store.state import State

_UNCOMPARED = "uncompared"
MOST_FIXES_KEPT = 5_000
_FIX, _FIX_END = "fix ", "fix!"  # begins the names of flags that say who has shown a fix; and what sorts behind them


class ReadSoFar:
    """A transcript that was read. size: of the file then; end: of what was read, bytes; digest: of what stands before that."""

    __slots__ = ("digest", "end", "size")

    def __init__(self, size: int, end: int, digest: str) -> None:
        self.size = size
        self.end = end
        self.digest = digest


class Heard:
    """A place where something was said that is too unsure to be proposed by itself.

    path: of the transcript; place: of the row, bytes; at: milliseconds since the epoch; is_compared: with all that was heard.
    """

    __slots__ = ("at", "certainty", "is_compared", "path", "place")

    def __init__(self, path: str, place: int, at: int, certainty: float, *, is_compared: bool = False) -> None:
        self.is_compared = is_compared
        self.path = path
        self.place = place
        self.at = at
        self.certainty = certainty


class Said:
    """The story of a proposal. sessions: how many said it; since: when first, milliseconds since the epoch, 0 for unknown;
    alone: how sure it would be if its own session only had said it, 0 for unknown.
    """

    __slots__ = ("alone", "certainty", "sessions", "since")

    def __init__(self, certainty: float, sessions: int, since: int, alone: float) -> None:
        self.alone = alone
        self.certainty = certainty
        self.sessions = sessions
        self.since = since


def find_read(state: State, path: str) -> ReadSoFar | None:
    """Return how far a transcript was read, None for not at all."""
    for size, end, digest in state.run("SELECT size, read, digest FROM transcripts WHERE path = ?", (path,)):
        return ReadSoFar(_whole(size), _whole(end), str(digest))
    return None


def note_read(state: State, path: str, read: ReadSoFar, heard: Sequence[Heard]) -> None:
    """Note how far a transcript was read, and what was heard in it."""
    for one in heard:
        state.run("INSERT OR REPLACE INTO heard VALUES (?, ?, ?, ?, 0)", (one.path, one.place, one.at, one.certainty))
    state.run("INSERT OR REPLACE INTO transcripts VALUES (?, ?, ?, ?)", (path, read.size, read.end, read.digest))
    state_values.put_number(state, _UNCOMPARED, 1)


def find_asked(state: State, path: str) -> ReadSoFar | None:
    """Return how far a model was asked about a transcript, None for not at all."""
    for (noted,) in state.run("SELECT content_hash FROM enriched WHERE memory = ?", (_asked_about(path),)):
        size, end, digest = str(noted).split()
        return ReadSoFar(int(size), int(end), digest)
    return None


def note_asked(state: State, path: str, read: ReadSoFar) -> None:
    """Note how far a model was asked about a transcript, whatever came of it."""
    values = (_asked_about(path), f"{read.size} {read.end} {read.digest}")
    state.run("INSERT OR REPLACE INTO enriched VALUES (?, ?)", values)


def _asked_about(path: str) -> str:
    """Return the name of a transcript among the texts about which a model was asked: no id of a memory has a blank."""
    return f"session {path}"


def is_compared(state: State) -> bool:
    """Return whether all that was heard is compared with each other."""
    return state_values.find_number(state, _UNCOMPARED) is None


def note_compared(state: State) -> None:
    """Note that all that was heard is compared with each other."""
    state.run("UPDATE heard SET compared = 1 WHERE compared = 0")
    state_values.delete_number(state, _UNCOMPARED)


def find_heard(state: State, limit: int) -> list[Heard]:
    """Return the latest places where something was heard."""
    columns = "path, place, at, certainty, compared"
    rows = state.run(f"SELECT {columns} FROM heard ORDER BY at DESC, path, place LIMIT ?", (limit,))  # noqa: S608 - constant
    return [
        Heard(str(path), _whole(place), _whole(at), _share(certainty), is_compared=bool(compared))
        for path, place, at, certainty, compared in rows
    ]


def unhear(state: State, one: Heard) -> None:
    """Let go of a place: what was said there is proposed now, or is no longer there."""
    state.run("DELETE FROM heard WHERE path = ? AND place = ?", (one.path, one.place))


def note_proposed(state: State, memory: str, said: Said) -> None:
    """Note how a proposal came about, unless more sessions have said it already."""
    values = (memory, said.certainty, said.sessions, said.since, said.alone)
    state.run(
        "INSERT INTO proposed VALUES (?, ?, ?, ?, ?) ON CONFLICT (memory) DO UPDATE SET certainty = excluded.certainty, "
        "sessions = excluded.sessions, since = excluded.since WHERE excluded.sessions > sessions",
        values,
    )


def find_said(state: State, memory: str) -> Said | None:
    """Return how a proposal came about, None where that is not known."""
    for _, said in _find_said(state, "WHERE memory = ?", (memory,)):
        return said
    return None


def find_proposed(state: State) -> dict[str, Said]:
    """Return how each proposal came about, by the memory's id."""
    return dict(_find_said(state))


def _find_said(state: State, where: str = "", values: tuple[str, ...] = ()) -> Iterator[tuple[str, Said]]:
    rows = state.run(f"SELECT memory, certainty, sessions, since, alone FROM proposed {where}", values)  # noqa: S608 - constant
    for id_, certainty, sessions, since, alone in rows:
        yield str(id_), Said(_share(certainty), _whole(sessions), _whole(since), _share(alone))


def find_fix(state: State, key: str) -> dict[str, int]:
    """Return which sessions have shown a command that failed and then worked, each with when: milliseconds since the epoch.

    key: a hash of the project and the two forms.
    """
    begin = f"{_FIX}{key} "
    rows = state.run("SELECT name, until FROM flags WHERE name >= ? AND name < ?", (begin, f"{_FIX}{key}!"))
    return {str(name)[len(begin) :]: _whole(at) for name, at in rows}


def has_fixes(state: State) -> bool:
    """Return whether any session has shown one."""
    return bool(state.run("SELECT 1 FROM flags WHERE name >= ? AND name < ? LIMIT 1", (_FIX, _FIX_END)))


def find_fix_keys(state: State) -> list[str]:
    """Return the keys of all that sessions have shown."""
    rows = state.run(
        "SELECT DISTINCT substr(name, 5, instr(substr(name, 5), ' ') - 1) FROM flags WHERE name >= ? AND name < ?",
        (_FIX, _FIX_END),
    )
    return [str(key) for (key,) in rows]


def forget_fix(state: State, key: str) -> None:
    """Forget which sessions have shown it."""
    state.run("DELETE FROM flags WHERE name >= ? AND name < ?", (f"{_FIX}{key} ", f"{_FIX}{key}!"))


def note_fix(state: State, key: str, session: str, at: int) -> None:
    """Note that a session has shown it. Those shown longest ago are let go of above MOST_FIXES_KEPT."""
    state.run("INSERT OR IGNORE INTO flags VALUES (?, ?)", (f"{_FIX}{key} {session}", at))
    old = "SELECT name FROM flags WHERE name >= ? AND name < ? ORDER BY until DESC LIMIT -1 OFFSET ?"
    state.run(f"DELETE FROM flags WHERE name IN ({old})", (_FIX, _FIX_END, MOST_FIXES_KEPT))  # noqa: S608 - a constant


def forget_all(state: State) -> None:
    """Forget what was heard, shown and proposed. How far was read stays: what was erased is not to be proposed again."""
    state.run("DELETE FROM flags WHERE name >= ? AND name < ?", (_FIX, _FIX_END))
    for table in ("heard", "proposed"):
        state.run(f"DELETE FROM {table}")  # noqa: S608 - one of these two


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _share(value: object) -> float:
    return value if isinstance(value, float) else 0.0


_LEARNABLE, _COUNTED = "learnable", "counted"


def note_learnable(state: State, count: int) -> None:
    """Note how many proposals sessions could bring."""
    state_values.put_number(state, _LEARNABLE, count)


def count_learnable(state: State) -> int:
    """Return how many proposals sessions could bring, 0 where nobody has looked."""
    return state_values.find_number(state, _LEARNABLE) or 0


def note_counted(state: State, stamp: int) -> None:
    """Note which transcripts were read for the count. stamp: of the transcripts, 0 for none that could be known again."""
    state_values.put_number(state, _COUNTED, stamp)


def find_counted(state: State) -> int | None:
    """Return the stamp of the transcripts that were read for the last count, None for never."""
    return state_values.find_number(state, _COUNTED)
