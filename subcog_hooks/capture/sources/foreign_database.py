"""Another program's SQLite file: read unchanged, only the existing columns, beside a running writer.

Such a file may be damaged or malicious. So only tables are read, no view and no virtual table, with limits on time and memory.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from urllib.parse import quote

import apsw

from subcog_hooks.capture.markdown_document import parse_date_ms
from subcog_hooks.capture.sources.source_reading import SourceReading, valid_tags
from subcog_hooks.core.errors import UsageError

MIN_TIME_MS, MAX_TIME_MS = 8e11, 4e12  # milliseconds since the epoch: the years 1995 and 2096
WAIT_MS = 2_000  # wait for the program that writes the file
MAX_FOREIGN_S = 60.0  # seconds for the whole file
MAX_FOREIGN_TEXT = 4_000_000  # bytes; the longest content, at four bytes a character
MAX_FOREIGN_TEXTS = 200_000_000  # bytes of all texts; 100,000 memories have half of them
MAX_FOREIGN_ROWS = 2_000_000  # MemPalace has some ten rows a memory
MAX_FOREIGN_HEAP = 500_000_000  # bytes of SQLite itself; a schema can be large, too

_SIDE_FILES = ("-wal", "-shm", "-journal")  # SQLite opens these files with a database
_STEPS = 10_000  # instructions of SQLite between two looks at the clock
_GUARDS = {  # https://www.sqlite.org/security.html
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
}
_FAULTS = (apsw.Error, ValueError, OverflowError, MemoryError)  # ValueError: a name or message is no UTF-8
MAX_SQLITE_MESSAGE = 200  # characters of a message of SQLite
_CHECK_FILE = "look whether it is the file you mean"


@dataclass(slots=True)
class ForeignDatabase:
    """An open database of another program. Every method raises UsageError if SQLite fails."""

    _connection: apsw.Connection
    _path: str
    _reading: SourceReading
    _bytes: int = 0
    _rows: int = 0

    def require_table(self, table: str, program: str) -> None:
        """Raise UsageError if a table of the program's database is missing."""
        if not self._columns(table):
            raise UsageError(f"{self._path} has no table {table}: it is no store of {program}", _CHECK_FILE)

    def select_rows(
        self, table: str, columns: tuple[str, ...], wanted: tuple[str, tuple[str, ...]] | None = None, *, by_index: bool = False
    ) -> Iterator[Mapping[str, object]]:
        """Yield a table's rows with its existing columns, without too long texts.

        wanted: a column and the values to select; by_index: trust the database's indexes, so that rows of many are found fast.
        """
        existing = self._columns(table)
        chosen = [column for column in columns if column in existing]
        if not chosen or (wanted and wanted[0] not in existing):
            return
        # casts: text that is no UTF-8 would raise, a long text would fill the memory, and blobs hold no text
        is_long = [f"typeof({name}) = 'text' AND octet_length({name}) > {MAX_FOREIGN_TEXT}" for name in chosen]
        values = [
            f"CASE WHEN {condition_of_length} THEN NULL WHEN typeof({name}) = 'text' THEN CAST({name} AS BLOB)"
            f" WHEN typeof({name}) = 'blob' THEN NULL ELSE {name} END"
            for name, condition_of_length in zip(chosen, is_long, strict=True)
        ]
        condition = f" WHERE {wanted[0]} IN ({', '.join('?' * len(wanted[1]))})" if wanted else ""
        source = f"{table}{'' if by_index else ' NOT INDEXED'}{condition}"
        statement = f"SELECT {' OR '.join(is_long)}, {', '.join(values)} FROM {source}"  # noqa: S608 - names of ours
        number = 0
        try:
            for is_too_long, *row in self._connection.execute(statement, wanted[1] if wanted else ()):
                number += 1
                if is_too_long:
                    self._reading.is_whole = False  # the row is still in the source
                    self._reading.left_out[f"has a text of more than {MAX_FOREIGN_TEXT:,} bytes"] += 1
                    continue
                self._rows += 1
                self._bytes += sum(len(value) for value in row if isinstance(value, bytes))
                if self._rows > MAX_FOREIGN_ROWS or self._bytes > MAX_FOREIGN_TEXTS:
                    size = f"{MAX_FOREIGN_ROWS:,} rows or {MAX_FOREIGN_TEXTS:,} bytes of text"
                    raise UsageError(f"{self._path} has more than {size}", "delete there what you do not need")
                texts = (value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in row)
                yield dict(zip(chosen, texts, strict=True))
        except _FAULTS as error:
            raise _as_usage_error(self._path, f"behind row {number} of its table {table}", error) from error

    def sum_lengths(self, table: str, column: str, group: str) -> dict[str, int]:
        """Return the bytes of a table's texts in a column, for each text of another column."""
        if not {column, group} <= self._columns(table):
            return {}
        statement = f"SELECT CAST({group} AS BLOB), sum(octet_length({column})) FROM {table} NOT INDEXED GROUP BY 1"  # noqa: S608 - names of ours
        try:
            rows = list(islice(self._connection.execute(statement), MAX_FOREIGN_ROWS))
        except _FAULTS as error:
            raise _as_usage_error(self._path, f"in its table {table}", error) from error
        return {name.decode("utf-8", "replace"): int(size or 0) for name, size in rows if isinstance(name, bytes)}

    def _columns(self, table: str) -> set[str]:
        """Return the columns of a table; none for a view, a virtual table, or a missing table."""
        is_table = "SELECT 1 FROM sqlite_schema WHERE name = ? AND type = 'table' AND rootpage > 0"
        try:
            if not self._connection.execute(is_table, (table,)).fetchall():
                return set()
            return {str(row[1]) for row in self._connection.execute(f"PRAGMA table_info({table})")}
        except _FAULTS as error:
            raise _as_usage_error(self._path, f"in the definition of its table {table}", error) from error


@contextmanager
def open_database(path: str, reading: SourceReading, usual: str = "") -> Iterator[ForeignDatabase]:
    """Open another program's database beside its writer. Raises UsageError if it is none, is locked, or is damaged."""
    if not os.path.isfile(path):
        raise UsageError(f"{path} is not there", "name the file: subcog import --from SOURCE FILE")
    for beside in (path + ending for ending in _SIDE_FILES):
        if os.path.lexists(beside) and not os.path.isfile(beside):
            raise UsageError(f"{beside} is no regular file", "remove it")
    reading.begin_store(path, usual)
    limit = apsw.hard_heap_limit(MAX_FOREIGN_HEAP)
    try:
        connection = _connect(path)
        try:
            yield ForeignDatabase(connection, path, reading)
        finally:
            connection.close()
    finally:
        apsw.hard_heap_limit(limit)


def _connect(path: str) -> apsw.Connection:
    ends = time.monotonic() + MAX_FOREIGN_S
    try:
        uri = f"file:{quote(os.path.abspath(path))}?mode=ro"
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        connection.set_busy_timeout(WAIT_MS)
        connection.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
        for guard, value in _GUARDS.items():
            connection.config(guard, value)
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except _FAULTS as error:
        raise _as_usage_error(path, "at its beginning", error) from error
    return connection


def _as_usage_error(path: str, location: str, error: Exception) -> UsageError:
    if isinstance(error, apsw.BusyError):
        return UsageError(f"{path} is locked", "end the program that uses it")
    if isinstance(error, apsw.InterruptError | apsw.NoMemError | MemoryError | apsw.TooBigError):
        is_late = isinstance(error, apsw.InterruptError)
        fault = f"takes more than {MAX_FOREIGN_S:.0f} s to read" if is_late else "needs too much memory to be read"
        return UsageError(f"{path} {fault}, {location}", _CHECK_FILE)
    if isinstance(error, apsw.CantOpenError | apsw.PermissionsError | apsw.IOError | apsw.ReadOnlyError):
        return UsageError(f"{path} cannot be read: {error}", "look whether its file and folder can be read")
    return UsageError(
        f"{path} is damaged {location}, or is no SQLite database: {' '.join(str(error).split())[:MAX_SQLITE_MESSAGE]}",
        "restore it from a backup, or import a copy mended by `sqlite3 FILE .recover`",
    )


def text_value(row: Mapping[str, object], column: str) -> str:
    """Return a column as a text, "" if it is none."""
    value = row.get(column)
    return value.strip() if isinstance(value, str) else ""


def list_value(row: Mapping[str, object], column: str) -> list[str]:
    """Return the texts of a column with a JSON list, each once; none if it is no such list."""
    entries = _json_value(row, column)
    texts = (entry.strip() for entry in entries if isinstance(entry, str)) if isinstance(entries, list) else ()
    return list(dict.fromkeys(filter(None, texts)))


def dict_value(row: Mapping[str, object], column: str) -> Mapping[str, object]:
    """Return the members of a column with a JSON object; none if it is no such object."""
    members = _json_value(row, column)
    return members if isinstance(members, dict) else {}


def _json_value(row: Mapping[str, object], column: str) -> object:
    try:
        return json.loads(text_value(row, column))
    except (ValueError, RecursionError):
        return None


def tags_value(row: Mapping[str, object], column: str) -> tuple[str, ...]:
    """Return the comma-separated tags in a column that fit into a memory."""
    return valid_tags(tag.strip() for tag in text_value(row, column).split(","))


def milliseconds_value(row: Mapping[str, object], *columns: str) -> int:
    """Return the first column with a time as milliseconds since the epoch, 0 for none.

    It is an ISO 8601 text, or a number of seconds, milliseconds, microseconds or nanoseconds: its size tells which.

    >>> [milliseconds_value({"at": time}, "at") for time in (1781000000, 1781000000000.5, "2026-06-09T10:13:20Z", 0, "soon")]
    [1781000000000, 1781000000000, 1781000000000, 0, 0]
    """
    for value in map(row.get, columns):
        if isinstance(value, str) and (at_ms := parse_date_ms(value.strip()) or 0) >= MIN_TIME_MS:
            return at_ms
        if isinstance(value, int | float):
            for ms_a_unit in (1e3, 1.0, 1e-3, 1e-6):
                if MIN_TIME_MS <= value * ms_a_unit < MAX_TIME_MS:
                    return round(value * ms_a_unit)
    return 0
