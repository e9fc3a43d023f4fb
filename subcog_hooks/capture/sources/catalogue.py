"""The sources that `subcog import --from` knows, by name: how to find each on this machine, and how to read it."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from subcog_hooks.capture.sources import claude_mem, claude_memory, mcp_memory, rule_files
from subcog_hooks.capture.sources.reading import SourceReading
from subcog_hooks.errors import UsageError
from subcog_hooks.memory.project import Project

LIST = "list"  # in the place of a source: say what is found
SOURCE_NAMES = (claude_memory.CLAUDE, *rule_files.SOURCES, claude_mem.CLAUDE_MEM, mcp_memory.MCP_MEMORY)


class Surroundings(NamedTuple):
    """Where sources are looked for. config: the client's own folder; here: the project at hand."""

    config: str
    here: Project | None
    environment: Mapping[str, str]


def read(name: str, path: str | None, around: Surroundings) -> SourceReading:
    """Return what a source holds. path: where it is; without one, where it usually is. Raises UsageError."""
    if name == claude_memory.CLAUDE:
        return claude_memory.read(around.config, path)
    if name in rule_files.SOURCES:
        if around.here is None:
            raise UsageError(f"this folder is in no repository, where rules of {name} would be", "go to the project")
        return rule_files.read(name, around.here.root, around.here.identity)
    if name == mcp_memory.MCP_MEMORY:
        return mcp_memory.read(path or mcp_memory.default_path(around.environment))
    if name == claude_mem.CLAUDE_MEM:
        if around.here is None:
            raise UsageError("this folder is in no repository, and claude-mem's notes are about projects", "go to the project")
        called = os.path.basename(around.here.root)
        return claude_mem.read(path or claude_mem.default_path(around.environment), called, around.here.identity)
    raise UsageError(f"--from is {name!r}", f"expected {', '.join(SOURCE_NAMES)} or {LIST}")


def found(around: Surroundings) -> list[tuple[str, str]]:
    """Return the sources that are there, each with where."""
    there: list[tuple[str, str]] = []
    if folders := claude_memory.folders(around.config):
        there.append((claude_memory.CLAUDE, f"{len(folders)} projects in {os.path.join(around.config, 'projects')}"))
    if around.here is not None:
        for name in rule_files.SOURCES:
            files = [os.path.relpath(file, around.here.root) for file in rule_files.files_of(name, around.here.root)]
            there += [(name, ", ".join(files))] if files else []
    for name, path in (
        (claude_mem.CLAUDE_MEM, claude_mem.default_path(around.environment)),
        (mcp_memory.MCP_MEMORY, mcp_memory.default_path(around.environment)),
    ):
        if os.path.isfile(path):
            there.append((name, path))
    return there
