"""Imports Claude Code's own notes in the background, whenever one of their files has changed."""

import hashlib
import os

from subcog_hooks.capture import importing
from subcog_hooks.capture.import_changes import ImportOptions, ImportReport
from subcog_hooks.capture.sources import claude_memory
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.cli.agents import registration
from subcog_hooks.cli.terminal import author, context
from subcog_hooks.core import repository_variables
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.files import PRIVATE_FILE, read_regular
from subcog_hooks.core.paths import Home
from subcog_hooks.settings.defaults import NO_NOTES, WAITING_NOTES
from subcog_hooks.store.memory import AGENT, PENDING

CONFIG_FOLDER = "CLAUDE_CONFIG_DIR"
MAX_STAMP = 256  # bytes of the stored digest


def import_in_background(home: Home, pace: Pace) -> str:
    """Import changed notes and return a summary, "" for no change. Raises SubcogError."""
    if not pace.goes_on():
        return ""
    report = import_changed(home)
    return f"{report.added} added, {report.replaced} updated, {report.archived} archived" if report else ""


def import_changed(home: Home) -> ImportReport | None:
    """Import changed notes, None where no file has changed since the last import. Raises SubcogError."""
    stamp = _files_digest()
    if _last_stamp(home) == stamp:
        return None
    _write_stamp(home, "")  # Cleared first, so that a failed import is repeated.
    reading = claude_memory.read_claude_memory(config_folder())
    for _, row in reading.rows:
        row.memory.standing = None  # Nobody has reviewed it.
    _apply_agent_setting(reading)
    with context.writing() as store:
        options = ImportOptions()
        absence = reading.find_absence(store, options)
        report = importing.import_reading(reading.rows, absence, reading.files, store, options, lambda _: None)
        if report.added or report.replaced or report.archived:
            context.update_index_and_vectors(store)
    _write_stamp(home, stamp)
    return report


def _apply_agent_setting(reading: SourceReading) -> None:
    setting = context.settings()[author.AGENT_SETTING]
    if setting == NO_NOTES:
        reading.is_whole = False
        reading.rows = [(line, row) for line, row in reading.rows if row.memory.trust != AGENT]
    elif setting == WAITING_NOTES:
        for _, row in reading.rows:
            row.memory.status = PENDING if row.memory.trust == AGENT else row.memory.status


def config_folder() -> str:
    """Return the client's folder. Raises ConfigError where a repository sets it: it could be any folder."""
    if CONFIG_FOLDER in os.environ and (setter := repository_variables.find_setter(CONFIG_FOLDER)):
        raise ConfigError(f"{CONFIG_FOLDER} is set by {setter}", "a repository does not say where your notes are")
    return registration.config_folder()


def count_notes() -> tuple[int, int, int]:
    """Return the number of notes, of projects with notes, and of CLAUDE.md files and rules."""
    config = config_folder()
    folders = claude_memory.find_memory_folders(config)
    notes = sum(len(list(claude_memory.find_topic_files(folder))) for folder in folders)
    return notes, len(folders), len(list(claude_memory.find_loaded_files(config)))


def _files_digest() -> str:
    digest = hashlib.sha256()
    for file in claude_memory.find_files(config_folder()):
        try:
            status = os.stat(file)
        except OSError:
            continue
        digest.update(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _last_stamp(home: Home) -> str:
    try:
        return read_regular(home.claude_notes, MAX_STAMP).decode("utf-8", "replace")
    except OSError:
        return ""


def _write_stamp(home: Home, stamp: str) -> None:
    try:
        descriptor = os.open(home.claude_notes, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, PRIVATE_FILE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(stamp)
    except OSError:
        pass  # On a full disk, the next run imports again.
