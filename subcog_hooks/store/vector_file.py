"""The file of a space's vectors: its path, its tables, opening it with sqlite-vec's functions, removing it."""

import os
import sys

import apsw

from subcog_hooks.core import database
from subcog_hooks.core.errors import StoreCorrupt, StoreError, StoreTooNew, StoreTooOld
from subcog_hooks.core.paths import Home

VECTORS_FORMAT = 1  # raised whenever the tables change: each version of subcog has its own file
PASSAGES = 256  # keys a memory: 0 is the whole text, then come the passages, at the end the questions
_LATER = "run `subcog doctor --fix`"
_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")

_SCRIPT = """
CREATE TABLE vectors (
  key INTEGER PRIMARY KEY,        -- row number of the memory * 256 + passage, 0 for the whole
  content_hash TEXT NOT NULL,     -- of the memory's whole text
  is_final INTEGER NOT NULL,      -- 0: to be replaced by the document model's
  status INTEGER NOT NULL,        -- place in STATUSES
  reach INTEGER NOT NULL,         -- who may be given it: reach_of(audience)
  vector BLOB                     -- int8, one byte a dimension; NULL: none yet
) STRICT;
CREATE INDEX final_by_content ON vectors (content_hash) WHERE is_final;
CREATE INDEX pending ON vectors (key) WHERE NOT is_final;
CREATE TABLE codes (
  status INTEGER NOT NULL, reach INTEGER NOT NULL, key INTEGER NOT NULL,
  code BLOB NOT NULL,             -- the signs of the vector, one bit a dimension
  PRIMARY KEY (status, reach, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE space (
  watermark INTEGER NOT NULL,
  dimension INTEGER NOT NULL,
  finals_made_by TEXT NOT NULL,   -- the document model's files and recipe
  firsts_made_by TEXT NOT NULL,   -- the same of the model that gives the provisional vectors
  parted INTEGER NOT NULL DEFAULT 0,  -- how many audiences a search reads by cells
  counted INTEGER NOT NULL DEFAULT 0  -- the last row number when audiences were last counted
) STRICT;

-- The codes of audiences with very many memories, in cells (see vector_cells.py). Triggers keep them in step, so a writer of
-- `codes` needs no knowledge of cells. 0 is the status "active".
CREATE TABLE parted (
  reach INTEGER PRIMARY KEY,
  codes INTEGER NOT NULL,         -- how many it had then, 0: its vectors are being replaced by another model's
  is_complete INTEGER NOT NULL    -- 0: they are still being placed
) STRICT;
CREATE TABLE cells (
  reach INTEGER NOT NULL, cell INTEGER NOT NULL,
  pivot BLOB NOT NULL,            -- int8, what its vectors are nearest to
  PRIMARY KEY (reach, cell)
) STRICT, WITHOUT ROWID;
CREATE TABLE placed (
  reach INTEGER NOT NULL, cell INTEGER NOT NULL, key INTEGER NOT NULL, code BLOB NOT NULL,
  PRIMARY KEY (reach, cell, key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX placed_by_key ON placed (key);
CREATE TRIGGER code_gone AFTER DELETE ON codes BEGIN
  DELETE FROM placed WHERE key = OLD.key;
END;
CREATE TRIGGER code_come AFTER INSERT ON codes
WHEN NEW.status = 0 AND EXISTS (SELECT 1 FROM parted WHERE reach = NEW.reach) BEGIN
  INSERT OR REPLACE INTO placed SELECT NEW.reach, cell, NEW.key, NEW.code FROM cells WHERE reach = NEW.reach
  ORDER BY vec_distance_cosine(vec_int8(pivot), vec_int8((SELECT vector FROM vectors WHERE key = NEW.key))) LIMIT 1;
END;
"""
VECTORS_SCHEMA = database.Schema(_SCRIPT, version=2, synchronous="NORMAL")


class VectorsUnusable(StoreError):
    """The vectors are missing, damaged or of another shape: search by words goes on, and they are made anew."""


class ExtensionMissing(StoreError):
    """sqlite-vec is not installed, or SQLite may not load it here: search by words goes on."""


class TranslatedErrors:
    """Turns SQLite's errors into ours: a file that cannot be read any more raises VectorsUnusable."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.SQLError):  # a missing table, or a vector of another length
            raise VectorsUnusable(f"{self._path} cannot be used: {error}", _LATER) from error
        if isinstance(error, apsw.Error):
            error = database.translate_error(error, self._path)
        if isinstance(error, StoreCorrupt | StoreTooNew | StoreTooOld) or (
            isinstance(error, StoreError) and not os.path.isfile(self._path)
        ):
            raise VectorsUnusable(error.message, _LATER) from error
        if isinstance(error, StoreError):
            raise error


def open_to_write(path: str, busy_ms: float) -> apsw.Connection:
    with TranslatedErrors(path):
        connection = database.open_writer(path, VECTORS_SCHEMA, busy_ms)
        try:
            connection.pragma("secure_delete", True)  # purged vectors do not stay in free pages
        except BaseException:
            connection.close()
            raise
    return connection


def prepare_connection(connection: apsw.Connection, path: str, dimension: int, *, may_make: bool = False) -> apsw.Connection:
    """Return the connection with sqlite-vec loaded.

    A connection that cannot be used is closed. Raises VectorsUnusable, ExtensionMissing. may_make: write down the dimension in
    a new file.
    """
    try:
        load_extension(connection)
        with TranslatedErrors(path):
            rows = connection.execute("SELECT dimension FROM space").fetchall()  # reading needs no lock
            if may_make and not rows:
                new = "INSERT INTO space SELECT -1, ?, '', '', 0, 0 WHERE NOT EXISTS (SELECT 1 FROM space)"
                connection.execute(new, (dimension,))
                rows = connection.execute("SELECT dimension FROM space").fetchall()
        if rows != [(dimension,)]:
            actual = rows[0][0] if rows else "no"
            raise VectorsUnusable(f"{path} has vectors of {actual} dimensions, expected {dimension}", _LATER)
    except BaseException:
        connection.close()
        raise
    return connection


def remove_file(path: str) -> None:
    for name in (path, f"{path}-wal", f"{path}-shm"):
        try:
            os.unlink(name)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"{name} cannot be removed: {error.strerror}", "another process may be using it") from error


def inode_of(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return -1


def vectors_path(home: Home, space: str) -> str:
    return os.path.join(home.index, f"vectors-{VECTORS_FORMAT}-{space}.db")


def find_vector_files(home: Home) -> list[str]:
    """Return the files of all spaces' vectors, also of other versions of subcog."""
    try:
        names = os.listdir(home.index)
    except FileNotFoundError:
        return []
    return [os.path.join(home.index, name) for name in sorted(names) if name.startswith("vectors-") and name.endswith(".db")]


def load_extension(connection: apsw.Connection) -> None:
    """Load sqlite-vec into a connection. Raises ExtensionMissing.

    The library lies beside apsw's folder. sqlite-vec's own package is imported only where it does not, because it imports the
    standard sqlite3.
    """
    file = os.path.join(os.path.dirname(os.path.dirname(apsw.__file__)), "sqlite_vec", "vec0")
    if not os.path.exists(file + _SUFFIX):
        try:
            import sqlite_vec  # 8 ms: see the docstring

            file = sqlite_vec.loadable_path()
        except ImportError as error:
            raise ExtensionMissing("sqlite-vec is not installed; search is by words alone", "pip install sqlite-vec") from error
    try:
        connection.enable_load_extension(True)
        connection.load_extension(file)
        connection.enable_load_extension(False)
    except (apsw.Error, AttributeError) as error:  # a build of SQLite without extensions lacks the method
        raise ExtensionMissing(
            f"sqlite-vec cannot be loaded ({error}); search is by words alone", "reinstall subcog"
        ) from error
