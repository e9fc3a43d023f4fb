"""Rule files that other tools read in a repository: what holds always, and what holds for the files that a glob names.

Front matter is read line by line: `globs: **/*.ts` is common, and no YAML. The keys are those of each tool's documentation.
"""

import glob
import os
from typing import NamedTuple

from subcog_hooks.capture import markdown
from subcog_hooks.capture.sources.reading import SourceReading, leads_out, read_text
from subcog_hooks.cues import globs
from subcog_hooks.errors import InvalidMemory, UsageError


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
PASSED_OVER = ("node_modules", ".venv", "venv", "vendor", "dist", "build", "target")


def files_of(name: str, root: str) -> list[str]:
    """Return a tool's rule files in a repository, sorted."""
    found: set[str] = set()
    for pattern in SOURCES[name].files:
        found.update(glob.glob(os.path.join(glob.escape(root), pattern), recursive=True, include_hidden=True))
    return sorted(
        file for file in found if os.path.isfile(file) and not set(os.path.relpath(file, root).split(os.sep)) & set(PASSED_OVER)
    )


def read(name: str, root: str, owner: str) -> SourceReading:
    """Return what a tool's rule files hold. owner: the identity of the project at `root`. Raises UsageError."""
    reading = SourceReading(name, f"{owner}/")
    files = files_of(name, root)
    if not files:
        raise UsageError(f"{root} has no rule files of {name}", "`subcog import --from list` says what there is")
    for file in files:
        place = os.path.relpath(file, root).replace(os.sep, "/")
        if leads_out(file, root):
            reading.left_out["is a link out of the repository"] += 1
        elif found := read_text(file, reading):
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
    return f"{folder}/**" if folder and not folder.startswith(".") else ""


def split_globs(value: str) -> list[str]:
    """Return the globs of a comma-separated value; a comma inside of braces parts none.

    >>> split_globs("src/**/*.{ts,tsx}, *.md")
    ['src/**/*.{ts,tsx}', '*.md']
    """
    parts, depth = [""], 0
    for character in value:
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip().strip("'\"[]") for part in parts if part.strip().strip("'\"[]")]
