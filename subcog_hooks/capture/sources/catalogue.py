"""The sources that `subcog import --from` knows, by name: how to find each on this machine, and how to read it."""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from subcog_hooks.capture.sources import (
    basic_memory,
    cass_playbook,
    claude_mem,
    claude_memory,
    codex_memory,
    commit_reasons,
    decision_records,
    git_history,
    mcp_memory,
    mempalace,
    memsearch_notes,
    rule_files,
    upstream_subcog,
)
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.core.errors import UsageError
from subcog_hooks.store.project import Project

LIST = "list"  # in the place of a source: say what is found


class Surroundings(NamedTuple):
    """Where sources are looked for. config: the client's own folder; here: the project at hand; since: the date of the oldest
    commit, as git reads it."""

    config: str
    here: Project | None
    environment: Mapping[str, str]
    since: str | None = None

    def project(self, name: str) -> Project:
        """Return the project at hand, which a source is about. Raises UsageError outside of any."""
        if self.here is None:
            raise UsageError(f"this folder is in no repository, and {name} is read for one", "go to the project")
        return self.here


class Source(NamedTuple):
    """read: its reader, given where it is, None for where it usually is; where: says where it is, "" for nowhere."""

    read: Callable[[str | None, Surroundings], SourceReading]
    where: Callable[[Surroundings], str]


def _file(path: str) -> str:
    return path if os.path.isfile(path) else ""


def _notes_of_claude(around: Surroundings) -> str:
    folders = claude_memory.folders(around.config)
    if not folders and not any(claude_memory.loaded_files(around.config)):
        return ""
    return f"notes about {len(folders)} projects in {os.path.join(around.config, 'projects')}, CLAUDE.md files and rules"


def _rules(name: str) -> Source:
    def read(path: str | None, around: Surroundings) -> SourceReading:
        if path:
            raise UsageError(f"the rules of {name} are read where they stand", "leave SOURCE out, and go to the project")
        here = around.project(name)
        reading = rule_files.read(name, here.root, here.identity)
        reading.is_whole = here.root == here.names[-1]  # a worktree may lack what the main one has
        return reading

    def where(around: Surroundings) -> str:
        root = around.here.root if around.here else ""
        return ", ".join(os.path.relpath(file, root) for file in rule_files.files_of(name, root)) if root else ""

    return Source(read, where)


def _commits(path: str | None, around: Surroundings) -> SourceReading:
    if path:
        raise UsageError("the history is read where it stands", "leave SOURCE out, and go to the project")
    here = around.project(commit_reasons.GIT)
    return commit_reasons.read(git_history.commits(here.root, around.since, around.environment), here.identity)


def _notes_of_basic_memory(around: Surroundings) -> str:
    try:
        return ", ".join(folder for _, folder in basic_memory.folders(around.environment))
    except UsageError as error:
        return error.message


def _notes_of_memsearch(around: Surroundings) -> str:
    folder = memsearch_notes.default_path(around.environment, around.here)
    return folder if folder and memsearch_notes.day_files(folder) else ""


SOURCES: dict[str, Source] = {
    claude_memory.CLAUDE: Source(lambda path, around: claude_memory.read(around.config, path), _notes_of_claude),
    **{name: _rules(name) for name in rule_files.SOURCES},
    codex_memory.CODEX: Source(
        lambda path, around: codex_memory.read(path or codex_memory.default_path(around.environment)),
        lambda around: _file(os.path.join(codex_memory.default_path(around.environment), codex_memory.HANDBOOK)),
    ),
    decision_records.ADR: Source(
        lambda path, around: decision_records.read(around.project(decision_records.ADR), path),
        lambda around: ", ".join(decision_records.folders(around.here.root)) if around.here else "",
    ),
    commit_reasons.GIT: Source(
        _commits,
        lambda around: around.here.root if around.here and git_history.has_commits(around.here.root) else "",
    ),
    claude_mem.CLAUDE_MEM: Source(
        lambda path, around: claude_mem.read(
            path or claude_mem.default_path(around.environment), around.project(claude_mem.CLAUDE_MEM)
        ),
        lambda around: _file(claude_mem.default_path(around.environment)),
    ),
    claude_mem.CLAUDE_MEM_LITE: Source(
        lambda path, around: claude_mem.read_lite(
            path or claude_mem.default_lite_path(around.environment), around.project(claude_mem.CLAUDE_MEM_LITE)
        ),
        lambda around: _file(claude_mem.default_lite_path(around.environment)),
    ),
    mcp_memory.MCP_MEMORY: Source(
        lambda path, around: mcp_memory.read(path or mcp_memory.default_path(around.environment)),
        lambda around: _file(mcp_memory.default_path(around.environment)),
    ),
    basic_memory.BASIC_MEMORY: Source(
        lambda path, around: basic_memory.read(around.environment, path),
        _notes_of_basic_memory,
    ),
    memsearch_notes.MEMSEARCH: Source(
        lambda path, around: memsearch_notes.read(
            path or memsearch_notes.default_path(around.environment, around.here), around.here
        ),
        _notes_of_memsearch,
    ),
    mempalace.MEMPALACE: Source(
        lambda path, around: mempalace.read(path or mempalace.default_path(around.environment)),
        lambda around: _file(mempalace.database_in(mempalace.default_path(around.environment))),
    ),
    cass_playbook.CASS: Source(
        lambda path, around: cass_playbook.read(around.environment, around.here, path),
        lambda around: ", ".join(cass_playbook.files(around.environment, around.here)),
    ),
    upstream_subcog.UPSTREAM: Source(
        lambda path, around: upstream_subcog.read(path or upstream_subcog.default_path(around.environment)),
        lambda around: _file(upstream_subcog.default_path(around.environment)),
    ),
}
SOURCE_NAMES = tuple(SOURCES)


def read(name: str, path: str | None, around: Surroundings) -> SourceReading:
    """Return what a source holds. path: where it is; without one, where it usually is. Raises UsageError."""
    if source := SOURCES.get(name):
        reading = source.read(path, around)
        if path:
            reading.is_whole = False  # what was taken from the usual place is not gone because it is not here
        return reading
    raise UsageError(f"--from is {name!r}", f"expected {', '.join(SOURCE_NAMES)} or {LIST}")


def found(around: Surroundings) -> list[tuple[str, str]]:
    """Return the sources that are there, each with where."""
    return [(name, where) for name, source in SOURCES.items() if (where := source.where(around))]
