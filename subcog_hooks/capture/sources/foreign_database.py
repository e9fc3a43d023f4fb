"""Another program's SQLite file: read without changing it, only the columns that are there, a running writer beside it."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote

import apsw

from subcog_hooks.errors import UsageError
from subcog_hooks.memory.model import MAX_ENTRY, MAX_LIST, hash_content

LATEST = 4e12  # milliseconds since the epoch: the year 2096
WAIT_MS = 2_000  # for the program that writes it


class ForeignDatabase:
    """An open database of another program. Every method raises UsageError where SQLite fails."""

    __slots__ = ("_connection", "_path")

    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self._connection = connection
        self._path = path

    def require(self, table: str, program: str) -> None:
        """Raise UsageError where a table is missing that the program's database has."""
        if not any(self.rows("sqlite_schema", ("name",), "type = 'table' AND name = ?", table)):
            raise UsageError(
                f"{self._path} has no table {table}: it is no store of {program}", "look whether it is the file you mean"
            )

    def rows(self, table: str, columns: tuple[str, ...], where: str = "", *values: str) -> Iterator[Mapping[str, object]]:
        """Yield the rows of a table by the columns that it has; none where there is no such table.

        where: a condition on them; values: for its question marks.
        """
        query = f" WHERE {where}" if where else ""
        try:
            there = {str(row[1]) for row in self._connection.execute(f"PRAGMA table_info({table})")}
            chosen = [column for column in columns if column in there]
            if not chosen:
                return
            # a text that is no UTF-8 would end all of it, and what is no text is nothing here
            read = [
                f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) WHEN 'blob' THEN NULL ELSE {name} END"
                for name in chosen
            ]
            words = f"SELECT {', '.join(read)} FROM {table}{query} ORDER BY {chosen[0]}"  # noqa: S608 - names of ours
            for row in self._connection.execute(words, values):
                yield {name: _readable(value) for name, value in zip(chosen, row, strict=True)}
        except apsw.Error as error:
            raise _unreadable(self._path, error) from error


@contextmanager
def opened(path: str) -> Iterator[ForeignDatabase]:
    """Open another program's database. Raises UsageError when it is none, is locked, or is damaged.

    Not as immutable: what its writer has in a log beside it counts, too.
    """
    if not os.path.isfile(path):
        raise UsageError(f"{path} is not there", "name the file: subcog import --from SOURCE FILE")
    try:
        uri = f"file:{quote(os.path.abspath(path))}?mode=ro"
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        connection.set_busy_timeout(WAIT_MS)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except apsw.Error as error:
        raise _unreadable(path, error) from error
    try:
        yield ForeignDatabase(connection, path)
    finally:
        connection.close()


def _unreadable(path: str, error: apsw.Error) -> UsageError:
    advice = "end the program that uses it" if isinstance(error, apsw.BusyError) else "look whether it is the file you mean"
    return UsageError(f"{path} can not be read: {error}", advice)


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
