"""The sources of `subcog import --from` by name: where each lies on this machine, and its reader."""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from subcog_hooks.capture.markdown_document import FileDates
from subcog_hooks.capture.repository_files import find_holder
from subcog_hooks.capture.sources import (
    basic_memory,
    cass_playbook,
    claude_mem,
    claude_memory,
    codex_memory,
    decision_records,
    mcp_memory,
    mempalace,
    memsearch_notes,
    rule_files,
    upstream_subcog,
)
from subcog_hooks.capture.sources.first_commits import first_commit_reader
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.core.errors import UsageError
from subcog_hooks.store.project import Project

LIST = "list"  # in place of a source's name: list the sources that are there


class SourceContext(NamedTuple):
    """The place of a search. config: the client's folder; here: the current project."""

    config: str
    here: Project | None
    environment: Mapping[str, str]

    def project(self, name: str) -> Project:
        """Return the current project, which the source is about. Raises UsageError outside of any."""
        if self.here is None:
            raise UsageError(f"this folder is in no repository, and {name} is read for one", "go to the project")
        return self.here

    def file_dates(self) -> FileDates:
        """Return the dates of the current project's files that tell none."""
        return FileDates(None, first_commit_reader(self.here.root, self.environment)) if self.here else FileDates()


class Source(NamedTuple):
    """A source. read: its reader, which takes a path or None for the usual one; where: describes its location, "" for none."""

    read: Callable[[str | None, SourceContext], SourceReading]
    where: Callable[[SourceContext], str]


def _file_source(
    read: Callable[[str, SourceContext], SourceReading],
    default_path: Callable[[Mapping[str, str]], str],
    find_file: Callable[[str], str] = str,
) -> Source:
    """Return a source with a usual place on this machine. find_file: maps the place to the file that must be there."""

    def where(context: SourceContext) -> str:
        path = find_file(default_path(context.environment))
        return path if os.path.isfile(path) else ""

    return Source(lambda path, context: read(path or default_path(context.environment), context), where)


def _describe_claude_notes(context: SourceContext) -> str:
    folders = claude_memory.find_memory_folders(context.config)
    if not folders and not any(claude_memory.find_loaded_files(context.config, context.here)):
        return ""
    projects = f"{len(folders)} project" + "s" * (len(folders) != 1)
    return f"notes about {projects} in {os.path.join(context.config, 'projects')}, CLAUDE.md files and rules"


def _rule_source(name: str) -> Source:
    def read(path: str | None, context: SourceContext) -> SourceReading:
        if path:
            raise UsageError(f"the rules of {name} are read where they stand", "leave SOURCE out, and go to the project")
        here = context.project(name)
        reading = rule_files.read_rule_files(name, here.root, here.identity, context.file_dates().first_commit_ms)
        reading.is_whole &= here.root == here.names[-1]  # a worktree may lack files of the main one
        return reading

    def where(context: SourceContext) -> str:
        root = context.here.root if context.here else ""
        return ", ".join(os.path.relpath(file, root) for file in rule_files.find_rule_files(name, root)) if root else ""

    return Source(read, where)


def _read_records(path: str | None, context: SourceContext) -> SourceReading:
    here = context.project(decision_records.ADR)
    holder = find_holder(path) if path else None
    if holder and holder.identity != here.identity:
        raise UsageError(f"{path} lies in {holder.identity}", "go to that project")
    return decision_records.read_decision_records(here, path, context.file_dates())


def _describe_basic_memory(context: SourceContext) -> str:
    try:
        return ", ".join(folder for _, folder in basic_memory.list_note_folders(context.environment) if os.path.isdir(folder))
    except UsageError as error:
        return error.message


def _describe_memsearch(context: SourceContext) -> str:
    folder = memsearch_notes.default_path(context.environment, context.here)
    return folder if folder and memsearch_notes.find_day_files(folder) else ""


SOURCES: dict[str, Source] = {
    claude_memory.CLAUDE: Source(
        lambda path, context: claude_memory.read_claude_memory(context.config, path, context.here), _describe_claude_notes
    ),
    **{name: _rule_source(name) for name in rule_files.SOURCES},
    codex_memory.CODEX: _file_source(
        lambda path, _: codex_memory.read_handbook(path),
        codex_memory.default_path,
        lambda folder: os.path.join(folder, codex_memory.HANDBOOK),
    ),
    decision_records.ADR: Source(
        _read_records, lambda context: decision_records.describe_record_places(context.here.root) if context.here else ""
    ),
    claude_mem.CLAUDE_MEM: _file_source(
        lambda path, context: claude_mem.read_claude_mem(path, context.project(claude_mem.CLAUDE_MEM)), claude_mem.default_path
    ),
    claude_mem.CLAUDE_MEM_LITE: _file_source(
        lambda path, context: claude_mem.read_claude_mem_lite(path, context.project(claude_mem.CLAUDE_MEM_LITE)),
        claude_mem.default_lite_path,
    ),
    mcp_memory.MCP_MEMORY: _file_source(lambda path, _: mcp_memory.read_mcp_memory(path), mcp_memory.default_path),
    basic_memory.BASIC_MEMORY: Source(
        lambda path, context: basic_memory.read_basic_memory(context.environment, path), _describe_basic_memory
    ),
    memsearch_notes.MEMSEARCH: Source(
        lambda path, context: memsearch_notes.read_day_files(
            path or memsearch_notes.default_path(context.environment, context.here), context.here
        ),
        _describe_memsearch,
    ),
    mempalace.MEMPALACE: _file_source(
        lambda path, _: mempalace.read_palace(path), mempalace.default_path, mempalace.database_path
    ),
    cass_playbook.CASS: Source(
        lambda path, context: cass_playbook.read_playbooks(context.environment, context.here, path),
        lambda context: ", ".join(cass_playbook.find_playbooks(context.environment, context.here)),
    ),
    upstream_subcog.UPSTREAM: _file_source(lambda path, _: upstream_subcog.read_upstream(path), upstream_subcog.default_path),
}
SOURCE_NAMES = tuple(SOURCES)


def read_source(name: str, path: str | None, context: SourceContext) -> SourceReading:
    """Read a source. path: its location, or None for the usual one. Raises UsageError."""
    if source := SOURCES.get(name):
        reading = source.read(path, context)
        if path:
            reading.is_whole = False  # memories from the usual place are not gone because this place lacks them
        return reading
    raise UsageError(f"--from is {name!r}", f"expected {', '.join(SOURCE_NAMES)} or {LIST}")


def find_sources(context: SourceContext) -> list[tuple[str, str]]:
    """Return the sources that are there, each with its location."""
    return [(name, where) for name, source in SOURCES.items() if (where := source.where(context))]
