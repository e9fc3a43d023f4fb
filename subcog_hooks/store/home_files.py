"""Small JSON files of the home, and the lock under which processes change them and other files.

They hold the results of jobs, repeated imports, and the rules of Claude Code that notes own. A damaged one counts as empty.
"""

from __future__ import annotations

import os

import apsw

from subcog_hooks.core import database, light_json
from subcog_hooks.core.errors import StoreBusy, StoreError
from subcog_hooks.core.files import make_private_folder, read_regular
from subcog_hooks.core.records import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home

    Row = TypeVar("Row", "RecordedImport", "OwnedRule")

LOCK_WAIT_MS = 5_000  # for another process that changes the same file
MAX_BYTES = 1024 * 1024  # of a file
MAX_IMPORTS = 500  # the latest are kept
MAX_RESULT = 300  # characters
DONE, RUN_FAILED, PUT_OFF, UNFINISHED = "done", "failed", "put off", "unfinished"  # put off: no model can be asked now
FARTHEST_S = 86_400.0  # seconds; a session starts the jobs at least this often
UNDER_WAY = 0  # the next time while jobs run, or after they were killed


class ProcessLock:
    """A lock that this process alone holds inside the `with` block. Raises StoreError.

    wait_ms: how long to wait for another holder; then StoreBusy is raised. doing: the holder's work, for its message.
    """

    __slots__ = ("_connection", "_doing", "_path", "_wait_ms")

    def __init__(self, path: str, wait_ms: int, doing: str) -> None:
        self._path = path
        self._wait_ms = wait_ms
        self._doing = doing

    def __enter__(self) -> None:
        make_private_folder(os.path.dirname(self._path))
        try:
            self._connection = apsw.Connection(self._path)
            self._connection.set_busy_timeout(self._wait_ms)
            self._connection.execute("BEGIN EXCLUSIVE")
        except apsw.BusyError as error:
            raise StoreBusy(f"another process has been {self._doing} for long", "wait for it to end") from error
        except apsw.Error as error:
            raise database.translate_error(error, self._path) from error

    def __exit__(self, *exception: object) -> None:
        self._connection.close()


def is_held(path: str) -> bool:
    """Return whether a process holds the lock now. The check never blocks that process."""
    if not os.path.isfile(path):  # opening a pipe would block
        return False
    try:
        apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY).execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except apsw.Error as error:
        return isinstance(error, apsw.BusyError)
    return False


def _read_json(path: str) -> Any:  # of JSON
    """Return the value in a file, None where it cannot be read."""
    try:
        return light_json.loads(read_regular(path, MAX_BYTES).decode())
    except (OSError, ValueError):
        return None


def _write_json(path: str, value: Json) -> None:
    """Replace a file, which only the person may read. Raises StoreError."""
    from subcog_hooks.core.files import WholeFile  # No hook comes here.

    try:
        with WholeFile(os.path.realpath(path)) as whole:
            whole.file.write(light_json.dumps(value) + "\n")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}", "check the disk") from error


def _read_rows(path: str, kind: type[Row]) -> list[Row]:
    rows = _read_json(path)
    try:
        return [kind(*row) for row in rows] if isinstance(rows, list) and all(isinstance(row, list) for row in rows) else []
    except TypeError:
        return []


def _change_rows(path: str, kind: type[Row], doing: str, change: Callable[[list[Row]], list[Row]]) -> None:
    with ProcessLock(f"{path}.lock", LOCK_WAIT_MS, doing):
        _write_json(path, [list(vars(row).values()) for row in change(_read_rows(path, kind))])


# the background jobs


@record
class LastRun:
    """The last run of a job. ended_ms: when it ended, milliseconds since the epoch; result: its outcome in one line."""

    ended_ms: int
    took_ms: int
    outcome: str
    result: str

    def __post_init__(self) -> None:
        self.result = " ".join(self.result.split())[:MAX_RESULT]


@record
class JobRecord:
    """The last runs by the names of their jobs.

    next_at: when a session is to start the jobs, milliseconds since the epoch; settings: the mtime of the settings' file at the
    last run, in nanoseconds.
    """

    runs: dict[str, LastRun]
    next_at: int
    settings: int


def read_record(home: Home) -> JobRecord:
    """Return the record; an empty record, whose jobs are due, where none can be read."""
    try:
        runs, next_at, settings = _read_json(home.job_record)
        return JobRecord({name: LastRun(*run) for name, run in runs.items()}, int(next_at), int(settings))
    except (TypeError, ValueError, AttributeError):
        return JobRecord({}, UNDER_WAY, -1)


def write_record(home: Home, record: JobRecord) -> bool:
    """Replace the record. Return False on failure, as on a full disk: the next process repeats the jobs then."""
    runs = {name: list(vars(run).values()) for name, run in record.runs.items()}
    try:
        _write_json(home.job_record, [runs, record.next_at, record.settings])
    except StoreError:
        return False
    return True


def find_settings_time(home: Home) -> int:
    """Return the mtime of the settings' file in nanoseconds, 0 where there is none."""
    try:
        return os.stat(home.config).st_mtime_ns
    except OSError:
        return 0


def is_due(home: Home, now_ms: int) -> bool:
    """Return whether a new session is to start the jobs: one is due, or the settings have changed.

    A time that is too far ahead was written by a clock that has been put back.
    """
    record = read_record(home)
    return not 0 < record.next_at - now_ms <= FARTHEST_S * 1000 or record.settings != find_settings_time(home)


# the imports that are repeated


@record
class RecordedImport:
    """An import of Markdown, or from another program. trusted, keeps_users, waits: as in ImportOptions.

    project, root: the project's identity and worktree, "" where it is for all projects; path: of the file or folder, "" for a
    program's usual place; source: the program's name, "" for Markdown; stamp: a digest of the files.
    """

    project: str = ""
    root: str = ""
    path: str = ""
    source: str = ""
    trusted: bool = False
    keeps_users: bool = False
    waits: bool = False
    stamp: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The root, the path and the source: another import with the same ones repeats this one."""
        return self.root, self.path, self.source


def read_imports(home: Home) -> list[RecordedImport]:
    """Return the recorded imports, the oldest first."""
    return _read_rows(home.imports, RecordedImport)


def record_import(home: Home, entry: RecordedImport) -> None:
    """Record an import; an agent's does not replace the person's. Raises StoreError."""

    def add(entries: list[RecordedImport]) -> list[RecordedImport]:
        earlier = next((other for other in entries if other.key == entry.key), None)
        if earlier and entry.keeps_users and not earlier.keeps_users:
            return entries
        return [*(other for other in entries if other.key != entry.key), entry][-MAX_IMPORTS:]

    _change_rows(home.imports, RecordedImport, "recording an import", add)


def record_stamp(home: Home, entry: RecordedImport, stamp: str) -> None:
    """Record the digest of the files of an import that was repeated. Raises StoreError."""

    def mark(entries: list[RecordedImport]) -> list[RecordedImport]:
        return [replace(other, stamp=stamp) if vars(other) == vars(entry) else other for other in entries]

    _change_rows(home.imports, RecordedImport, "recording an import", mark)


# the rules of Claude Code that notes own


@record
class OwnedRule:
    """A permission rule of Claude Code that a memory owns: no field of the memory, so that no import or agent can bring one.

    kind: `ask` or `deny`, the list of the settings file that has it.
    """

    memory: str
    path: str
    kind: str
    rule: str

    @property
    def place(self) -> tuple[str, str, str]:
        """The settings file, the list and the rule: what other memories may own too."""
        return self.path, self.kind, self.rule

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnedRule) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.memory, *self.place))


def read_rules(home: Home) -> list[OwnedRule]:
    """Return the owned rules, the oldest first."""
    return _read_rows(home.rules, OwnedRule)


def change_rules(home: Home, change: Callable[[list[OwnedRule]], list[OwnedRule]]) -> None:
    """Replace the owned rules. Raises StoreError."""
    _change_rows(home.rules, OwnedRule, "changing the rules of notes", change)
