"""The record of imports that are repeated: one small JSON file in the home. A damaged one counts as none."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import read_regular
from subcog_hooks.core.paths import Home
from subcog_hooks.core.whole_files import WholeFile
from subcog_hooks.store.lock import ProcessLock

MAX_RECORD_BYTES = 1024 * 1024
MAX_IMPORTS = 500  # the latest are kept
LOCK_WAIT_MS = 5_000


class RecordedImport(NamedTuple):
    """An import of Markdown, or from another program.

    project, root: the project's identity and worktree, "" where it is for all projects; path: of the file or folder, "" for a
    program's usual place; source: the program's name, "" for Markdown; trusted, keeps_users, waits: as in ImportOptions;
    stamp: a digest of the files.
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


_DEFAULTS = RecordedImport()._asdict()


def read_imports(home: Home) -> list[RecordedImport]:
    """Return the recorded imports, the oldest first; none where the file cannot be read."""
    try:
        rows = light_json.loads(read_regular(home.imports, MAX_RECORD_BYTES).decode())
    except (OSError, ValueError):
        return []
    parsed = map(_parse_import, rows if isinstance(rows, list) else ())
    return [entry for entry in parsed if entry is not None]


def _parse_import(row: object) -> RecordedImport | None:
    if not isinstance(row, dict):
        return None
    values: dict[str, Any] = {name: row.get(name, default) for name, default in _DEFAULTS.items()}
    is_valid = all(isinstance(values[name], type(default)) for name, default in _DEFAULTS.items())
    return RecordedImport(**values) if is_valid and (values["path"] or values["source"]) else None


def record_import(home: Home, entry: RecordedImport) -> None:
    """Record an import; an agent's does not replace the person's. Raises StoreError."""

    def add(entries: list[RecordedImport]) -> list[RecordedImport]:
        earlier = next((other for other in entries if other.key == entry.key), None)
        if earlier and entry.keeps_users and not earlier.keeps_users:
            return entries
        return [*(other for other in entries if other.key != entry.key), entry]

    _change_record(home, add)


def record_stamp(home: Home, entry: RecordedImport, stamp: str) -> None:
    """Record the digest of the files of an import that was repeated. Raises StoreError."""
    stamped = entry._replace(stamp=stamp)
    _change_record(home, lambda entries: [stamped if other == entry else other for other in entries])


def _change_record(home: Home, change: Callable[[list[RecordedImport]], list[RecordedImport]]) -> None:
    with ProcessLock(f"{home.imports}.lock", LOCK_WAIT_MS, "recording an import"):
        rows = [entry._asdict() for entry in change(read_imports(home))[-MAX_IMPORTS:]]
        try:
            with WholeFile(os.path.realpath(home.imports)) as whole:
                whole.file.write(light_json.dumps(rows) + "\n")
        except OSError as error:
            raise StoreError(f"{home.imports} cannot be written: {error.strerror}", "check the disk") from error
