"""Rule files that other tools read in a repository: what holds always, and what holds for the files that a glob names.

Front matter is read line by line: `globs: **/*.ts` is common, and no YAML. The keys are those of each tool's documentation.
"""

import os
from typing import NamedTuple

from subcog_hooks.capture import markdown
from subcog_hooks.capture.sources.source_reading import SourceReading, folders_below, read_text
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.core.regular_files import leads_out
from subcog_hooks.cues import globs


class RuleSource(NamedTuple):
    """Where a tool has its rules.

    files: globs from the repository's root; glob_keys: the fields of front matter that name files; always: the field and the
    value that say a rule holds always, None where a rule without globs does; is_ours: Claude Code reads them, too.
    """

    files: tuple[str, ...]
    glob_keys: tuple[str, ...] = ()
    always: tuple[str, str] | None = None
    is_ours: bool = False


SOURCES = {
    "agents": RuleSource(("AGENTS.md", "**/AGENTS.md"), is_ours=True),
    "cursor": RuleSource(
        (".cursorrules", ".cursor/rules/**/*.mdc", "**/.cursor/rules/**/*.mdc"), ("globs",), ("alwaysapply", "true")
    ),
    "copilot": RuleSource((".github/copilot-instructions.md", ".github/instructions/**/*.instructions.md"), ("applyto",)),
    "windsurf": RuleSource((".windsurf/rules/*.md", ".windsurfrules"), ("globs", "glob"), ("trigger", "always_on")),
    "gemini": RuleSource(("GEMINI.md",)),
}
EVERY_FILE = ("**", "**/*", "*")  # a glob of these names no file in particular
_HIDDEN = frozenset((".cursor", ".github", ".windsurf"))  # folders that hold rules


def files_of(name: str, root: str) -> list[str]:
    """Return a tool's rule files in a repository, sorted."""
    return sorted(
        os.path.join(root, folder, file)
        for folder, files in folders_below(root, _HIDDEN)
        for file in files
        if any(_is_meant(pattern, folder, file) for pattern in SOURCES[name].files)
    )


def _is_meant(pattern: str, folder: str, file: str) -> bool:
    """Return whether a pattern of a source means a file; one without a slash is a name at the root."""
    name = pattern.rpartition("/")[2]
    if not file.endswith(name.lstrip("*")):
        return False
    return globs.matches(pattern, f"{folder}/{file}".lstrip("/")) if "/" in pattern else not folder and file == pattern


def read(name: str, root: str, owner: str) -> SourceReading:
    """Return what a tool's rule files hold. owner: the identity of the project at `root`. Raises UsageError."""
    reading = SourceReading(name, f"{owner}::")
    for file in files_of(name, root):
        place = os.path.relpath(file, root).replace(os.sep, "/")
        if leads_out(file, root):
            reading.left_out["is a link out of the repository"] += 1
        elif found := read_text(file, reading, place):
            _add_rules(SOURCES[name], place, *found, owner, reading)
    return reading


def _add_rules(source: RuleSource, place: str, text: str, changed: int, owner: str, reading: SourceReading) -> None:
    fields, body = markdown.front_matter(text)
    named = [pattern for key in source.glob_keys for value in fields.get(key, []) for pattern in split_globs(value)]
    paths = [pattern for pattern in dict.fromkeys(named) if pattern not in EVERY_FILE]
    if kept := _glob_of_folder(place):
        paths = paths or [kept]
    for pattern in list(paths):
        try:
            globs.check(pattern)
        except InvalidMemory:
            paths.remove(pattern)
            reading.left_out["is a glob that means nothing here"] += 1
    if not body.strip():
        reading.left_out["is empty"] += 1
        return
    says_always = source.always is None or source.always[1] in [value.lower() for value in fields.get(source.always[0], [])]
    is_plain = not fields
    holds = not paths and (says_always or is_plain) and not source.is_ours  # else it stands before the model already
    kind = "for files" if paths else "always" if holds else "when asked for"
    reading.add_document(
        kind,
        place,
        body.strip(),
        changed,
        owner,
        namespace="patterns",
        paths=tuple(paths),
        standing=True if holds else None,
        trust="file",
    )


def _glob_of_folder(place: str) -> str:
    """Return the glob of the folder that a nested AGENTS.md or rule folder stands in, "" at the root."""
    folder = place.partition("/.cursor/")[0] if "/.cursor/" in place else os.path.dirname(place)
    plain = "".join(f"[{character}]" if character in "*?[{" else character for character in folder)
    return f"{plain}/**" if folder and not folder.startswith(".") else ""


def split_globs(value: str) -> list[str]:
    """Return the globs of a comma-separated value; a comma inside of braces parts none.

    >>> split_globs("src/**/*.{ts,tsx}, *.md")
    ['src/**/*.{ts,tsx}', '*.md']
    """
    parts, depth, start = [], 0, 0
    for position, character in enumerate(value):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            parts.append(value[start:position])
            start = position + 1
    parts.append(value[start:])
    return [part.strip().strip("'\"[]") for part in parts if part.strip().strip("'\"[]")]
