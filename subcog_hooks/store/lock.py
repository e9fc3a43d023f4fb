"""A lock between processes that dies with its owner, on every system: SQLite's own, on an empty file."""

import os

import apsw

from subcog_hooks.core import database
from subcog_hooks.core.errors import StoreBusy, StoreError
from subcog_hooks.core.paths import make_private_folder


class ProcessLock:
    """Entered, it is held by this process alone.

    wait_ms: for how long another holder is waited for; then StoreBusy is raised. doing: what the holder does, for that error:
    "rebuilding the index". Raises StoreError when the folder can not be written.
    """

    __slots__ = ("_connection", "_doing", "_path", "_wait_ms")

    def __init__(self, path: str, wait_ms: int, doing: str) -> None:
        self._path = path
        self._wait_ms = wait_ms
        self._doing = doing

    def __enter__(self) -> None:
        make_private_folder(os.path.dirname(self._path))
        try:
            try:
                self._connection = self._locked()
            except (apsw.NotADBError, apsw.CorruptError):  # something else was written into it
                os.truncate(self._path, 0)  # in place, so that all who wait for the lock wait for the same file
                self._connection = self._locked()
        except apsw.BusyError as error:
            raise StoreBusy(f"another process has been {self._doing} for long", "wait for it to end") from error
        except apsw.Error as error:
            raise database.translated(error, self._path) from error
        except OSError as error:
            raise StoreError(f"{self._path} can not be written: {error.strerror}", "delete it") from error

    def _locked(self) -> apsw.Connection:
        connection = apsw.Connection(self._path)
        try:
            connection.set_busy_timeout(self._wait_ms)
            connection.execute("BEGIN EXCLUSIVE")
        except BaseException:
            connection.close()
            raise
        return connection

    def __exit__(self, *exception: object) -> None:
        self._connection.close()


def is_held(path: str) -> bool:
    """Return whether a process holds the lock at this moment. Looking does not get in anybody's way."""
    if not os.path.isfile(path):  # nor is a pipe opened, which waits for a writer
        return False
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        finally:
            connection.close()
    except apsw.BusyError:
        return True
    except apsw.Error:
        return False
    return False
