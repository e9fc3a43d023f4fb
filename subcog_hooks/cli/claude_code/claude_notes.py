"""Claude Code's own notes, kept up to date at rest: looked at again only where a file of them has changed."""

import hashlib
import os

from subcog_hooks.capture import importing
from subcog_hooks.capture.import_changes import Options, Report
from subcog_hooks.capture.sources import claude_memory
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.cli.claude_code import client
from subcog_hooks.cli.support import author, context
from subcog_hooks.core import child_environment
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.paths import PRIVATE_FILE, Home
from subcog_hooks.core.regular_files import read_regular
from subcog_hooks.settings.defaults import NO_NOTES, WAITING_NOTES
from subcog_hooks.store.memory import AGENT, PENDING

CONFIG_FOLDER = "CLAUDE_CONFIG_DIR"
MAX_STAMP = 256  # bytes of what is kept of the last look


def at_rest(home: Home, breath: Pace) -> str:
    """Import what has changed since the last look, and return what came of it, "" where nothing has. Raises SubcogError."""
    if not breath.goes_on():
        return ""
    report = take_over(home)
    return f"{report.added} added, {report.replaced} updated, {report.archived} archived" if report else ""


def take_over(home: Home) -> Report | None:
    """Import what has changed since the last look, None where nothing has. Raises SubcogError."""
    stamp = _stamp()
    if _last_stamp(home) == stamp:
        return None
    _keep(home, "")  # until it is done: what fails is looked at again
    reading = claude_memory.read(config_folder(), by_itself=True)
    _keep_to_the_setting(reading)
    with context.writing() as store:
        options = Options()
        report = importing.run_reading(reading.rows, reading.has_lost, reading.files, store, options, lambda _: None)
        if report.added or report.replaced or report.archived:
            context.follow(store)
    _keep(home, stamp)
    return report


def _keep_to_the_setting(reading: SourceReading) -> None:
    """Let an agent's notes wait, or leave them out, where the person has said so of what agents store."""
    setting = context.settings()[author.AGENT_SETTING]
    if setting == NO_NOTES:
        reading.is_whole = False
        reading.rows = [(place, row) for place, row in reading.rows if row.memory.trust != AGENT]
    elif setting == WAITING_NOTES:
        for _, row in reading.rows:
            row.memory.status = PENDING if row.memory.trust == AGENT else row.memory.status


def config_folder() -> str:
    """Return the client's folder. Raises ConfigError where a repository names it: it could be any folder."""
    if CONFIG_FOLDER in os.environ and (setter := child_environment.find_setter(CONFIG_FOLDER)):
        raise ConfigError(f"{CONFIG_FOLDER} is set by {setter}", "a repository does not say where your notes are")
    return client.config_folder()


def count() -> tuple[int, int, int]:
    """Return how many notes there are, of how many projects, and how many CLAUDE.md files and rules."""
    config = config_folder()
    folders = claude_memory.folders(config)
    notes = sum(len(list(claude_memory.topic_files(folder))) for folder in folders)
    return notes, len(folders), len(list(claude_memory.loaded_files(config)))


def _stamp() -> str:
    """Return a digest of the files' names, sizes and times."""
    digest = hashlib.sha256()
    for file in claude_memory.files_of(config_folder()):
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


def _keep(home: Home, stamp: str) -> None:
    try:
        descriptor = os.open(home.claude_notes, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, PRIVATE_FILE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(stamp)
    except OSError:
        pass  # a full disk: the next look does it once more
