"""Another program's SQLite file: read without changing it, only the columns that are there, a running writer beside it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote

import apsw

from subcog_hooks.errors import UsageError

WAIT_MS = 2_000  # for the program that writes it


class ForeignDatabase:
    """An open database of another program. Every method raises UsageError where SQLite fails."""

    __slots__ = ("_connection", "_path")

    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self._connection = connection
        self._path = path

    def rows(self, table: str, columns: tuple[str, ...]) -> Iterator[Mapping[str, object]]:
        """Yield the rows of a table by the columns that it has; none where there is no such table."""
        try:
            there = {str(row[1]) for row in self._connection.execute(f"PRAGMA table_info({table})")}
            chosen = [column for column in columns if column in there]
            if not chosen:
                return
            for row in self._connection.execute(f"SELECT {', '.join(chosen)} FROM {table} ORDER BY rowid"):  # noqa: S608 - names of ours
                yield dict(zip(chosen, row, strict=True))
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


def text_of(row: Mapping[str, object], column: str) -> str:
    """Return a column as a text, "" where it is none."""
    value = row.get(column)
    return value.strip() if isinstance(value, str) else ""


def milliseconds_of(row: Mapping[str, object], column: str, *, a_second: float = 1.0) -> int:
    """Return a column as milliseconds since the epoch, 0 where it is no number. a_second: how many of its units are one."""
    value = row.get(column)
    return max(0, int(value * 1000.0 / a_second)) if isinstance(value, int | float) else 0
