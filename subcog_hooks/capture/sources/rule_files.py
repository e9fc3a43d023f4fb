"""Rule files of other tools in a repository: rules for its files, and rules for the files of a glob.

Front matter is parsed line by line: `globs: **/*.ts` is common, and is no YAML. The keys are those of each tool's
documentation.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

from subcog_hooks.capture import markdown
from subcog_hooks.capture.repository_files import narrow_globs
from subcog_hooks.capture.sources.source_reading import SourceReading, read_source_text, walk_folders
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.core.files import leads_out
from subcog_hooks.cues import globs


class RuleSource(NamedTuple):
    """The rule files of a tool: globs from the repository's root. glob_keys: the fields of front matter with globs."""

    files: tuple[str, ...]
    glob_keys: tuple[str, ...] = ()


SOURCES = {
    "agents": RuleSource(("AGENTS.md", "**/AGENTS.md")),
    "cursor": RuleSource((".cursorrules", ".cursor/rules/**/*.mdc", "**/.cursor/rules/**/*.mdc"), ("globs",)),
    "copilot": RuleSource((".github/copilot-instructions.md", ".github/instructions/**/*.instructions.md"), ("applyto",)),
    "windsurf": RuleSource((".windsurf/rules/*.md", ".windsurfrules"), ("globs", "glob")),
    "gemini": RuleSource(("GEMINI.md",)),
}


def find_rule_files(name: str, root: str, reading: SourceReading | None = None) -> list[str]:
    """Return a tool's rule files in a repository, sorted, and its folders that are links to elsewhere. No file comes twice."""
    patterns = SOURCES[name].files
    files = [
        os.path.join(root, folder, file)
        for folder, names in walk_folders(root, frozenset((".cursor", ".github", ".windsurf")), reading)
        for file in names
        if any(_matches_pattern(pattern, folder, file) for pattern in patterns)
    ]
    files += filter(os.path.lexists, _outer_folders(patterns, root))
    by_target: dict[str, str] = {}
    # A file goes before links to it, and a short way before a long one.
    for path in sorted(files, key=lambda path: (os.path.realpath(path) != path, path.count(os.sep), path)):
        by_target.setdefault(os.path.realpath(path), path)
    return sorted(by_target.values())


def _outer_folders(patterns: tuple[str, ...], root: str) -> list[str]:
    """Return a tool's folders of rules at the root that are no folders of the repository."""
    folders = {os.path.join(root, pattern.partition("/*")[0]) for pattern in patterns if "/*" in pattern}
    return [folder for folder in folders if not os.path.isdir(folder) or leads_out(folder, root)]


def _matches_pattern(pattern: str, folder: str, file: str) -> bool:
    name = pattern.rpartition("/")[2]
    if not file.endswith(name.lstrip("*")):
        return False
    return globs.matches(pattern, f"{folder}/{file}".lstrip("/")) if "/" in pattern else not folder and file == pattern


def read_rule_files(name: str, root: str, owner: str, first_commit_ms: Callable[[str], int]) -> SourceReading:
    """Read a tool's rule files. owner: the identity of the project at `root`; first_commit_ms: as in FileDates.

    Raises UsageError.
    """
    reading = SourceReading(name, f"{owner}::", repository=owner)
    for file in find_rule_files(name, root, reading):
        location = os.path.relpath(file, root).replace(os.sep, "/")
        if text_and_time := read_source_text(file, reading, location, inside=root, of="the repository"):
            _add_rules(SOURCES[name], location, text_and_time[0], first_commit_ms(location), owner, reading)
    return reading


def _add_rules(source: RuleSource, location: str, text: str, date_ms: int, owner: str, reading: SourceReading) -> None:
    fields, body = markdown.parse_front_matter(text)
    patterns = [pattern for key in source.glob_keys for value in fields.get(key, []) for pattern in markdown.split_list(value)]
    paths = narrow_globs(dict.fromkeys(patterns))
    if folder_glob := _folder_glob(location):
        paths = paths or [folder_glob]
    for pattern in list(paths):
        try:
            globs.check_glob(pattern)
        except InvalidMemory:
            paths.remove(pattern)
            reading.left_out["is a glob that means nothing here"] += 1
    if not body.strip():
        reading.left_out["is empty"] += 1
        return
    kind = "for files" if paths else "for the repository"
    body = "\n" * (text.count("\n") - body.count("\n")) + body  # Its lines keep their numbers.
    reading.add_document(kind, location, body.rstrip(), date_ms, owner, namespace="patterns", paths=tuple(paths))


def _folder_glob(location: str) -> str:
    folder = location.partition("/.cursor/")[0] if "/.cursor/" in location else os.path.dirname(location)
    plain = "".join(f"[{character}]" if character in "*?[{" else character for character in folder)
    return f"{plain}/**" if folder and not folder.startswith(".") else ""
