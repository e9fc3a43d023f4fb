"""A lock between processes that dies with its owner, on every system: SQLite's own lock, on an empty file."""

import os

import apsw

from subcog_hooks.core import database
from subcog_hooks.core.errors import StoreBusy, StoreError
from subcog_hooks.core.files import make_private_folder


class ProcessLock:
    """A lock that this process alone holds inside the `with` block.

    wait_ms: how long to wait for another holder; then StoreBusy is raised. doing: the holder's work, for the error: "rebuilding
    the index". Raises StoreError when the folder cannot be written.
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
                self._connection = self._open_locked()
            except (apsw.NotADBError, apsw.CorruptError):  # another program has written into it
                os.truncate(self._path, 0)  # in place, so that all waiting processes use the same file
                self._connection = self._open_locked()
        except apsw.BusyError as error:
            raise StoreBusy(f"another process has been {self._doing} for long", "wait for it to end") from error
        except apsw.Error as error:
            raise database.translate_error(error, self._path) from error
        except OSError as error:
            raise StoreError(f"{self._path} cannot be written: {error.strerror}", "delete it") from error

    def _open_locked(self) -> apsw.Connection:
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
    """Return whether a process holds the lock now. The check never blocks that process."""
    if not os.path.isfile(path):  # opening a pipe would block
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
