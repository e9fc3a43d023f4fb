"""Opening SQLite files: flags, pragmas, schemas, and SQLite's errors as ours. No table is named here."""

from __future__ import annotations

import os
import stat
import time

import apsw

from subcog_hooks.core.errors import StoreBusy, StoreCorrupt, StoreError, StoreTooNew, StoreTooOld
from subcog_hooks.core.files import create_private_file
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

APPLICATION_ID = 0x73756263  # "subc": marks our files among SQLite databases

NO_UPGRADES: Mapping[int, str] = {}


@record
class Schema:
    """The schema of a database file: the SQL file that creates it, its version, and the safety of its commits.

    synchronous: FULL (a commit survives a power cut) or NORMAL (it survives kill -9). upgrades: the scripts that bring a file
    to this version, by the version of the file.
    """

    file: str
    version: int
    synchronous: str
    upgrades: Mapping[int, str] = NO_UPGRADES


class Database:
    """An open file of ours, closed at the end of a `with` block. Every method raises StoreError when SQLite does."""

    __slots__ = ("_connection", "path")

    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self._connection = connection
        self.path = path

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def run(self, sql: str, values: tuple[apsw.SQLiteValue, ...] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one statement."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise translate_error(error, self.path) from error
        except ValueError as error:
            raise self.unreadable(error) from error

    def unreadable(self, error: ValueError) -> StoreCorrupt:
        """Return the error for a text that is no UTF-8, or a list that is no JSON."""
        remedy = "`subcog export FILE` saves what can be read" if _is_truth(self.path) else "delete it; it is made anew"
        return StoreCorrupt(f"{self.path} is damaged ({error})", remedy)

    def problems(self) -> list[str]:
        """Return the faults that SQLite's own check finds, [] for a sound file."""
        rows = [str(row[0]) for row in self.run("PRAGMA integrity_check(5)")]
        return [] if rows == ["ok"] else rows


def open_reader(path: str, schema: Schema, busy_ms: float) -> apsw.Connection:
    """Return a read-only connection. Raises StoreError when the file is missing, damaged or of another version.

    No reader keeps another process from upgrading the file. A WAL database in a read-only folder, or on a full disk, has no
    place for its shared memory; it is read as immutable.
    """
    _check_regular_file(path)
    try:
        try:
            return _open_checked(path, schema, apsw.SQLITE_OPEN_READONLY, busy_ms, path)
        except apsw.Error as error:
            if not _has_no_room_beside(path, error):
                raise
        uri = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?immutable=1"
        return _open_checked(uri, schema, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, busy_ms, path)
    except apsw.Error as error:
        raise translate_error(error, path) from error


def _open_checked(name: str, schema: Schema, flags: int, busy_ms: float, path: str) -> apsw.Connection:
    connection = apsw.Connection(name, flags=flags)
    try:
        connection.set_busy_timeout(int(busy_ms))
        version = _version(connection, path)
        if version:
            _check_version(version, schema, path)
        if flags & apsw.SQLITE_OPEN_READWRITE:
            if connection.readonly("main"):  # SQLite falls back to that by itself
                raise StoreError(f"{path} cannot be written", "check its permissions")
            if version != schema.version:
                _create_or_upgrade(connection, schema, path)
            connection.pragma("synchronous", schema.synchronous)
            if schema.synchronous == "FULL":
                connection.pragma("fullfsync", True)  # macOS: there a plain fsync stops at the drive's cache
                connection.pragma("secure_delete", True)  # edited or purged texts do not stay in free pages
        elif not version:
            remedy = "another process is making it, or was stopped while it did; any writing command goes on"
            raise StoreError(f"{path} is empty", remedy)
        elif version in schema.upgrades:
            raise StoreError(f"{path} is of an earlier version", "run `subcog doctor`, which upgrades it")
    except BaseException:
        connection.close()
        raise
    return connection


def _has_no_room_beside(path: str, error: apsw.Error) -> bool:
    """Return whether SQLite has no place for its memory beside a file that is whole without its log. Raises StoreError."""
    try:
        has_log = os.stat(f"{path}-wal").st_size > 0
    except OSError:  # A writer that ends deletes it.
        has_log = False
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError) and not os.access(os.path.dirname(path), os.W_OK):
        if has_log:
            remedy = "copy your home to a writable folder, and set SUBCOG_HOME to that"
            raise StoreError(f"{path} has a log, which cannot be read in a read-only folder", remedy) from error
        return True
    return not has_log and isinstance(error, apsw.FullError | apsw.IOError | apsw.CantOpenError) and _is_full(path)


def open_writer(path: str, schema: Schema, busy_ms: float) -> apsw.Connection:
    """Return a connection that may write; the file is made (mode 0600) or upgraded as needed. Raises StoreError."""
    try:
        if not _check_regular_file(path):
            create_private_file(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}", "check its permissions and the disk") from error
    give_up_at = time.monotonic() + busy_ms / 1000.0
    while True:
        try:
            return _open_checked(path, schema, apsw.SQLITE_OPEN_READWRITE, busy_ms, path)
        except (apsw.BusyError, apsw.LockedError) as error:
            # another process makes the tables: SQLite does not wait by itself when the journal mode is being changed
            if time.monotonic() >= give_up_at:
                raise translate_error(error, path) from error
            time.sleep(0.003)
        except apsw.Error as error:
            raise translate_error(error, path) from error


def open_in_memory(schema: Schema) -> apsw.Connection:
    """Return a connection to an empty database in memory, which ends when it is closed."""
    connection = apsw.Connection(":memory:")
    _create_or_upgrade(connection, schema, ":memory:")
    return connection


def _check_regular_file(path: str) -> bool:
    """Return whether the file exists. Raises StoreError where it is not regular: SQLite would wait for a pipe's writer."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    if not stat.S_ISREG(mode):
        kind = "it is a folder" if stat.S_ISDIR(mode) else "it is not a regular file"
        raise StoreError(f"{path} cannot be opened: {kind}", "move it away")
    return True


def overwrite_log(connection: apsw.Connection, path: str) -> None:
    """Empty SQLite's log into the file. Raises StoreBusy when another process still reads the old bytes, StoreError."""
    try:
        is_read = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]
    except apsw.Error as error:
        raise translate_error(error, path) from error
    if is_read:
        raise StoreBusy("purged, but another process still reads the old bytes", "they go when the next command ends after it")


def _version(connection: apsw.Connection, path: str) -> int:
    """Return the schema version, 0 for an empty file. Raises StoreCorrupt for another program's database."""
    if connection.pragma("application_id") == APPLICATION_ID:  # set before, or together with, the version
        return int(connection.pragma("user_version"))
    connection.execute("BEGIN")  # one snapshot: another process may be making the tables right now
    try:
        version = int(connection.pragma("user_version"))
        ours = connection.pragma("application_id") == APPLICATION_ID
        if not ours and (version or connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()[0][0]):
            raise StoreCorrupt(f"{path} is not a subcog database", "move it away")
    finally:
        connection.execute("COMMIT")
    return version


def _create_or_upgrade(connection: apsw.Connection, schema: Schema, path: str) -> None:
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "FULL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = int(connection.pragma("user_version"))  # another process may have been faster
        if version:
            _check_version(version, schema, path)
        if version != schema.version:
            if not version:
                with open(schema.file, encoding="utf-8") as file:
                    connection.execute(file.read())
            else:
                connection.execute(schema.upgrades[version])
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", schema.version)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _check_version(version: int, schema: Schema, path: str) -> None:
    """Raise StoreTooNew for a later version, and StoreTooOld for an earlier one that has no upgrade."""
    if version > schema.version:
        remedy = "upgrade subcog" if _is_truth(path) else "upgrade subcog, or delete it; it is made anew"
        raise StoreTooNew(f"{path} was written by a later version of subcog", remedy)
    if version < schema.version and version not in schema.upgrades:
        export = "run `subcog export` with the version that wrote it, move it away, then import the export here"
        remedy = export if _is_truth(path) else "delete it; it is made anew"
        raise StoreTooOld(f"{path} is of a version before 0.1.0", remedy)


def _is_truth(path: str) -> bool:
    """Return whether the file is memories.db, which cannot be made anew."""
    return path.endswith("memories.db")


def translate_error(error: apsw.Error, path: str) -> StoreError:
    """Return our error for an SQLite failure, with a remedy for the user."""
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreBusy(f"{path} is locked by another process", "try again in a moment")
    if isinstance(error, apsw.NotADBError | apsw.CorruptError | apsw.FormatError):
        import_anew = "restore a backup, or move it and the folder index away and import your last export"
        return StoreCorrupt(f"{path} is damaged ({error})", import_anew if _is_truth(path) else "delete it; it is made anew")
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError | apsw.CantOpenError) and _is_full(path)):
        return StoreError(f"{path} cannot be used: the disk is full", "free some space and run the command again")
    if isinstance(error, apsw.CantOpenError):
        reason = "it is a folder" if os.path.isdir(path) else "no such file" if not os.path.exists(path) else str(error)
        return StoreError(f"{path} cannot be opened: {reason}", "check the path and its permissions")
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError):
        return StoreError(f"{path} cannot be written", "check its permissions")
    if isinstance(error, apsw.IOError):  # its text may be "not an error" after a rollback
        return StoreError(f"{path}: disk I/O error", "look whether the disk or a quota is full, and run `subcog doctor`")
    return StoreError(f"{path}: {error}", "run `subcog doctor`")


def _is_full(path: str) -> bool:
    """Return whether the disk has no block left: SQLite needs some even to read, and then calls it an I/O error."""
    try:
        return os.statvfs(os.path.dirname(path)).f_bavail == 0
    except (AttributeError, OSError):  # Windows has no statvfs
        return False
