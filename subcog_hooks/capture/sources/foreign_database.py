"""Another program's SQLite file: read without changing it, only the columns that are there, a running writer beside it.

Such a file may be damaged, or made to do harm. So only tables are read, no view and no virtual table, and the file decides
neither how long that takes nor how much memory.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote

import apsw

from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.core.errors import UsageError
from subcog_hooks.store.memory import MAX_ENTRY, MAX_LIST, hash_content

LATEST = 4e12  # milliseconds since the epoch: the year 2096
WAIT_MS = 2_000  # for the program that writes it
MAX_FOREIGN_S = 60.0  # for the whole file
MAX_FOREIGN_TEXT = 4_000_000  # bytes: the longest content, where each of its characters takes four
MAX_FOREIGN_TEXTS = 200_000_000  # bytes of all texts: 100,000 memories have half of that
MAX_FOREIGN_ROWS = 2_000_000  # MemPalace has some ten for a memory
MAX_FOREIGN_HEAP = 500_000_000  # bytes that SQLite itself takes: a schema can be large, too

_BESIDE = ("-wal", "-shm", "-journal")  # SQLite opens these files with a database
_STEPS = 10_000  # of SQLite's machine, between two looks at the clock
_GUARDS = {  # https://www.sqlite.org/security.html
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_VIEW: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER: 0,
}
_FAULTS = (apsw.Error, ValueError, OverflowError, MemoryError)  # ValueError: a name or a message of SQLite that is no UTF-8
LONGEST_FAULT = 200  # characters of a message of SQLite
_LOOK = "look whether it is the file you mean"


class ForeignDatabase:
    """An open database of another program. Every method raises UsageError where SQLite fails."""

    __slots__ = ("_bytes", "_connection", "_path", "_reading", "_rows")

    def __init__(self, connection: apsw.Connection, path: str, reading: SourceReading) -> None:
        self._connection = connection
        self._path = path
        self._reading = reading
        self._bytes = 0
        self._rows = 0

    def require(self, table: str, program: str) -> None:
        """Raise UsageError where a table is missing that the program's database has."""
        if not self._columns(table):
            raise UsageError(f"{self._path} has no table {table}: it is no store of {program}", _LOOK)

    def rows(
        self, table: str, columns: tuple[str, ...], wanted: tuple[str, tuple[str, ...]] | None = None
    ) -> Iterator[Mapping[str, object]]:
        """Yield the rows of a table by the columns that it has; none where there is no such table.

        wanted: a column and its values: only these rows. A row with a text that is too long is left out, and counted.
        """
        there = self._columns(table)
        chosen = [column for column in columns if column in there]
        if not chosen or (wanted and wanted[0] not in there):
            return
        # a text that is no UTF-8 would end all of it, one that is too long fills the memory, and a blob is nothing here
        is_long = [f"typeof({name}) = 'text' AND octet_length({name}) > {MAX_FOREIGN_TEXT}" for name in chosen]
        read = [
            f"CASE WHEN {fault} THEN NULL WHEN typeof({name}) = 'text' THEN CAST({name} AS BLOB)"
            f" WHEN typeof({name}) = 'blob' THEN NULL ELSE {name} END"
            for name, fault in zip(chosen, is_long, strict=True)
        ]
        condition = f" WHERE {wanted[0]} IN ({', '.join('?' * len(wanted[1]))})" if wanted else ""
        words = f"SELECT {' OR '.join(is_long)}, {', '.join(read)} FROM {table} NOT INDEXED{condition}"  # noqa: S608 - names of ours
        number = 0
        try:
            for is_too_long, *row in self._connection.execute(words, wanted[1] if wanted else ()):
                number += 1
                if is_too_long:
                    self._reading.is_whole = False  # it has not gone from there
                    self._reading.left_out[f"has a text of more than {MAX_FOREIGN_TEXT:,} bytes"] += 1
                    continue
                self._count(row)
                yield {name: _readable(value) for name, value in zip(chosen, row, strict=True)}
        except _FAULTS as error:
            raise _fault(self._path, f"behind row {number} of its table {table}", error) from error

    def _columns(self, table: str) -> set[str]:
        """Return the columns that a table stores; none of a view, of a virtual table, and where there is no such table."""
        is_table = "SELECT 1 FROM sqlite_schema WHERE name = ? AND type = 'table' AND rootpage > 0"
        try:
            if not self._connection.execute(is_table, (table,)).fetchall():
                return set()
            return {str(row[1]) for row in self._connection.execute(f"PRAGMA table_info({table})")}
        except _FAULTS as error:
            raise _fault(self._path, f"in the definition of its table {table}", error) from error

    def _count(self, row: list[object]) -> None:
        """Count the bytes or rows that were read. Raises UsageError where they are too many."""
        self._rows += 1
        self._bytes += sum(len(value) for value in row if isinstance(value, bytes))
        if self._rows > MAX_FOREIGN_ROWS or self._bytes > MAX_FOREIGN_TEXTS:
            raise UsageError(
                f"{self._path} has more than {MAX_FOREIGN_ROWS:,} rows or {MAX_FOREIGN_TEXTS:,} bytes of text",
                "delete there what you do not need",
            )


@contextmanager
def opened(path: str, reading: SourceReading, usual: str = "") -> Iterator[ForeignDatabase]:
    """Open another program's database. Raises UsageError when it is none, is locked, or is damaged.

    Not as immutable: what its writer has in a log beside it counts, too. usual: the person's own folder for it.
    """
    if not os.path.isfile(path):
        raise UsageError(f"{path} is not there", "name the file: subcog import --from SOURCE FILE")
    for beside in (path + ending for ending in _BESIDE):
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
        raise _fault(path, "at its beginning", error) from error
    return connection


def _fault(path: str, place: str, error: Exception) -> UsageError:
    """Return a UsageError for an exception of SQLite's. place: in the file."""
    if isinstance(error, apsw.BusyError):
        return UsageError(f"{path} is locked", "end the program that uses it")
    if isinstance(error, apsw.InterruptError):
        return UsageError(f"{path} takes more than {MAX_FOREIGN_S:.0f} s to read, {place}", _LOOK)
    if isinstance(error, apsw.NoMemError | MemoryError | apsw.TooBigError):
        return UsageError(f"{path} needs too much memory to be read, {place}", _LOOK)
    if isinstance(error, apsw.CantOpenError | apsw.PermissionsError | apsw.IOError | apsw.ReadOnlyError):
        return UsageError(f"{path} cannot be read: {error}", "look whether its file and folder can be read")
    return UsageError(
        f"{path} is damaged {place}, or is no SQLite database: {' '.join(str(error).split())[:LONGEST_FAULT]}",
        "restore it from a backup, or import a copy mended by `sqlite3 FILE .recover`",
    )


def _readable(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def name_of(row: Mapping[str, object]) -> str:
    """Return what a row is known by: its id, else its text's hash."""
    found = row.get("id")
    return str(found) if found is not None else hash_content(repr(sorted(row.items())))[:12]


def text_of(row: Mapping[str, object], column: str) -> str:
    """Return a column as a text, "" where it is none."""
    value = row.get(column)
    return value.strip() if isinstance(value, str) else ""


def list_of(row: Mapping[str, object], column: str) -> list[str]:
    """Return the texts of a column that is a JSON list, each once; none where it is no such list."""
    try:
        entries = json.loads(text_of(row, column) or "[]")
    except (ValueError, RecursionError):
        return []
    texts = (entry.strip() for entry in entries if isinstance(entry, str)) if isinstance(entries, list) else ()
    return list(dict.fromkeys(filter(None, texts)))


def tags_of(row: Mapping[str, object], column: str) -> tuple[str, ...]:
    """Return the comma-separated tags in a column that fit into a memory."""
    tags = dict.fromkeys(tag.strip() for tag in text_of(row, column).split(","))
    return tuple(tag for tag in tags if 0 < len(tag) <= MAX_ENTRY)[:MAX_LIST]


def milliseconds_of(row: Mapping[str, object], column: str, *, a_second: float = 1.0) -> int:
    """Return a column as milliseconds since the epoch, 0 where it is no number. a_second: how many of its units are one."""
    value = row.get(column)
    at = value * 1000.0 / a_second if isinstance(value, int | float) else 0.0
    return int(at) if 0.0 < at < LATEST else 0
