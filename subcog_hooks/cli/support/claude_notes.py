"""Claude Code's own notes, kept up to date at rest: looked at again only where a file of them has changed."""

import hashlib
import json
import os

from subcog_hooks.capture import importing
from subcog_hooks.capture.sources import claude_memory
from subcog_hooks.cli.support import client, session
from subcog_hooks.errors import SubcogError
from subcog_hooks.memory.model import now_ms
from subcog_hooks.paths import PRIVATE_FILE, Home
from subcog_hooks.regular_files import read_regular

NOTES_SETTING = "capture.claude_memory"
MAX_RECORD = 64 * 1024  # bytes of what is kept of the last look


def take_over(home: Home) -> importing.Report | None:
    """Import what has changed since the last look, None where nothing has. Raises SubcogError."""
    stamp = _stamp()
    if _record(home).get("stamp") == stamp:
        return None
    reading = claude_memory.read(client.config_folder())
    with session.writing() as store:
        report = importing.run_reading(reading.rows, reading.origin, reading.files, store, importing.Options(), lambda _: None)
        if report.added or report.replaced or report.archived:
            session.follow(store)
    _keep(home, stamp, f"{report.added} added, {report.replaced} updated, {report.archived} archived")
    return report


def note_failure(home: Home, error: SubcogError) -> None:
    """Keep why the last look failed, for `doctor`; the next one looks again."""
    _keep(home, "", str(error))


def last_look(home: Home) -> tuple[int, str] | None:
    """Return when the notes were last looked at (milliseconds since the epoch), and what came of it; None for never."""
    record = _record(home)
    at, told = record.get("at"), record.get("told")
    return (at, told) if isinstance(at, int) and isinstance(told, str) else None


def count() -> tuple[int, int]:
    """Return how many notes there are, and of how many projects."""
    folders = claude_memory.folders(client.config_folder())
    return sum(len(list(claude_memory.topic_files(folder))) for folder in folders), len(folders)


def _stamp() -> str:
    """Return a digest of the files' names, sizes and times."""
    digest = hashlib.sha256()
    for file in claude_memory.files_of(client.config_folder()):
        try:
            status = os.stat(file)
        except OSError:
            continue
        digest.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _record(home: Home) -> dict[str, object]:
    try:
        found = json.loads(read_regular(home.claude_notes, MAX_RECORD))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _keep(home: Home, stamp: str, told: str) -> None:
    text = json.dumps({"stamp": stamp, "at": now_ms(), "told": told})
    try:
        descriptor = os.open(home.claude_notes, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, PRIVATE_FILE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        pass  # a full disk: the next look does it once more
