"""The sources of `subcog import --from` by name: where each lies on this machine, and its reader."""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from subcog_hooks.capture.repository_files import find_holder
from subcog_hooks.capture.sources import claude, repository, stores
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.core.errors import UsageError
from subcog_hooks.store.memory import UNDATED
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

    def first_commit_reader(self) -> Callable[[str], int]:
        """Return the reader of first commits for the current project's files that tell no date."""
        return repository.first_commit_reader(self.here.root, self.environment) if self.here else lambda _: UNDATED


class Source(NamedTuple):
    """A source. read: its reader, which takes a path or None for the usual one; where: describes its location, "" for none."""

    read: Callable[[str | None, SourceContext], SourceReading]
    where: Callable[[SourceContext], str]


def _store_source(name: str) -> Source:
    def read(path: str | None, context: SourceContext) -> SourceReading:
        here = context.project(name) if stores.STORES[name].is_of_project else None
        return stores.read_store(name, path or stores.default_path(name, context.environment), here)

    return Source(read, lambda context: _existing_file(stores.default_path(name, context.environment)))


def _existing_file(path: str) -> str:
    return path if os.path.isfile(path) else ""


def _describe_claude_notes(context: SourceContext) -> str:
    folders = claude.find_memory_folders(context.config)
    if not folders and not any(claude.find_loaded_files(context.config, context.here)):
        return ""
    projects = f"{len(folders)} project" + "s" * (len(folders) != 1)
    return f"notes about {projects} in {os.path.join(context.config, 'projects')}, CLAUDE.md files and rules"


def _rule_source(name: str) -> Source:
    def read(path: str | None, context: SourceContext) -> SourceReading:
        if path:
            raise UsageError(f"the rules of {name} are read where they stand", "leave SOURCE out, and go to the project")
        here = context.project(name)
        reading = repository.read_rule_files(name, here.root, here.identity, context.first_commit_reader())
        reading.is_whole &= here.root == here.names[-1]  # a worktree may lack files of the main one
        return reading

    def where(context: SourceContext) -> str:
        root = context.here.root if context.here else ""
        return ", ".join(os.path.relpath(file, root) for file in repository.find_rule_files(name, root)) if root else ""

    return Source(read, where)


def _read_records(path: str | None, context: SourceContext) -> SourceReading:
    here = context.project(repository.ADR)
    holder = find_holder(path) if path else None
    if holder and holder.identity != here.identity:
        raise UsageError(f"{path} lies in {holder.identity}", "go to that project")
    return repository.read_decision_records(here, path, context.first_commit_reader())


def _describe_basic_memory(context: SourceContext) -> str:
    try:
        return ", ".join(folder for _, folder in stores.list_note_folders(context.environment) if os.path.isdir(folder))
    except UsageError as error:
        return error.message


SOURCES: dict[str, Source] = {
    claude.CLAUDE: Source(
        lambda path, context: claude.read_claude_memory(context.config, path, context.here), _describe_claude_notes
    ),
    **{name: _rule_source(name) for name in repository.SOURCES},
    stores.CODEX: Source(
        lambda path, context: stores.read_handbook(path or stores.codex_folder(context.environment)),
        lambda context: _existing_file(os.path.join(stores.codex_folder(context.environment), stores.HANDBOOK)),
    ),
    repository.ADR: Source(
        _read_records, lambda context: repository.describe_record_places(context.here.root) if context.here else ""
    ),
    **{name: _store_source(name) for name in (stores.CLAUDE_MEM, stores.MCP_MEMORY)},
    stores.BASIC_MEMORY: Source(
        lambda path, context: stores.read_basic_memory(context.environment, path), _describe_basic_memory
    ),
    stores.MEMPALACE: _store_source(stores.MEMPALACE),
    stores.UPSTREAM: _store_source(stores.UPSTREAM),
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
