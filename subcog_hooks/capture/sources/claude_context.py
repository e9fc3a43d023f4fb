"""Texts that Claude Code loads into the context itself: CLAUDE.md files with their imports, and rules.

They are stored to be searched and compared, and not injected again where the client has loaded them. So a memory's origin names
the folder in which a session must begin for the client to load it: `claude:…:context:PROJECT::FOLDER::…`, from the project's
root, "" for the root itself. The client's page on memory describes how files and rules are found.
"""

import os
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from subcog_hooks.capture import markdown
from subcog_hooks.capture.sections import document_of
from subcog_hooks.capture.sources.source_reading import SourceReading, read_source_text, walk_folders
from subcog_hooks.core.files import leads_out
from subcog_hooks.store.memory import FILE, IN_CONTEXT, Memory

CLAUDE_MD = "CLAUDE.md"
CLAUDE_FOLDER = ".claude"
MAX_HOPS = 4  # imports in a row, from a file to the last imported one
MAX_IMPORTS = 50  # files that one CLAUDE.md imports

_USER = "user"  # in place of a project's name
_RULE = "rule:"  # prefix of the location of a rule with globs
_PROJECT_FILES = (CLAUDE_MD, f"{CLAUDE_FOLDER}/{CLAUDE_MD}", "CLAUDE.local.md")
_IMPORT = re.compile(r"(?<!\S)@(\S+)")
_PATH_ENDINGS = ".,;:!?)'\""
_HEADING = re.compile(r"^#.*$", re.MULTILINE)
_WORD = re.compile(r"\w")


class ContextRoot(NamedTuple):
    """A folder with such files. name: prefix of locations; owner: None for all projects; widest: imports must not leave it.

    wanted: the only file or folder to read, with its imports.
    """

    root: str
    name: str
    owner: str | None
    widest: str
    wanted: str | None

    def wants(self, file: str) -> bool:
        """Return whether a file is to be read."""
        return self.wanted is None or not leads_out(file, self.wanted)


def read_user_context(config: str, reading: SourceReading, wanted: str | None = None) -> None:
    """Add the texts that hold for all of the person's sessions. config: the client's folder; wanted: the only path to read."""
    context_root = ContextRoot(config, _USER, None, os.path.expanduser("~"), wanted)
    reading.looked_in += [context_prefix(context_root.name), f"{_RULE}{context_root.name}::"]
    _add_with_imports(context_root, CLAUDE_MD, "", reading)
    for rule in _find_rules(config):
        _add_rule(context_root, os.path.relpath(rule, config), reading)


def read_project_context(root: str, owner: str, reading: SourceReading, wanted: str | None = None) -> None:
    """Add the texts that hold in a project. owner: its identity; wanted: the only path to read."""
    context_root = ContextRoot(root, owner, owner, root, wanted)
    reading.looked_in += [context_prefix(owner), f"{_RULE}{owner}::"]
    for folder, _ in walk_folders(root, reading=reading):
        for name in _PROJECT_FILES:
            _add_with_imports(context_root, os.path.join(folder, name), folder, reading)
    for rule in _find_rules(os.path.join(root, CLAUDE_FOLDER)):
        _add_rule(context_root, os.path.relpath(rule, root), reading)


def find_project_files(root: str) -> Iterator[str]:
    """Yield the files below a folder that `read_project_context` would read."""
    for folder, _ in walk_folders(root):
        for name in _PROJECT_FILES:
            yield from (file for file, _ in _follow_imports(os.path.join(root, folder, name), root, root, SourceReading("")))
    yield from _find_rules(os.path.join(root, CLAUDE_FOLDER))


def find_user_files(config: str) -> Iterator[str]:
    """Yield the files that `read_user_context` would read."""
    own, widest = os.path.join(config, CLAUDE_MD), os.path.expanduser("~")
    yield from (file for file, _ in _follow_imports(own, config, widest, SourceReading("")))
    yield from _find_rules(config)


def context_location(owner_name: str, folder: str, name: str) -> str:
    """Return the location of a text that the client loads in a folder. owner_name: the project, or another owner."""
    return f"{context_prefix(owner_name)}{folder}::{name}"


def context_prefix(owner_name: str) -> str:
    """Return the prefix of all locations of a project."""
    return f"{IN_CONTEXT.removeprefix(':')}{owner_name}::"


def is_from_path(memory: Memory, path: str, config: str, root: str) -> bool:
    """Return whether a file in `path` had the text of such a memory. config: the client's folder; root: of the project."""
    owner_name, _, name = document_of(memory).rpartition("::")
    is_users = owner_name.partition("::")[0].endswith(f":{_USER}")
    return not leads_out(os.path.join(config if is_users else root, name), path)


def _add_with_imports(context_root: ContextRoot, relative: str, folder: str, reading: SourceReading) -> None:
    root, first = context_root.root, os.path.join(context_root.root, relative)
    is_wanted = context_root.wants(first)
    report_to = reading if is_wanted else SourceReading("")
    for file, (text, changed_ms) in _follow_imports(first, root, context_root.widest, report_to):
        if is_wanted or context_root.wants(file):
            location = context_location(context_root.name, folder, _display_path(file, root))
            _add_text(context_root, location, text, changed_ms, reading)


def _follow_imports(file: str, root: str, widest: str, reading: SourceReading) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield a file and its imports, each once, with the text without comments and imports, and the time of its last change.

    root: the file's folder; widest: the folder that imports must not leave; reading: counts the files that are left out.
    """
    queue, seen = [(file, 0)], set[str]()
    while queue and len(seen) < MAX_IMPORTS:
        file, hops = queue.pop(0)
        real_path = os.path.realpath(file)
        if real_path in seen or not os.path.isfile(real_path):
            continue
        seen.add(real_path)
        if leads_out(file, widest) and (hops or leads_out(file, root)):
            reading.left_out["is outside of the folder that imports it" if hops else "is a link out of its folder"] += 1
        elif text_and_time := read_source_text(file, reading):
            text = markdown.drop_comments(text_and_time[0])
            imports = {name: os.path.join(os.path.dirname(file), os.path.expanduser(name)) for name in find_imports(text)}
            existing = {f"@{name}" for name, imported in imports.items() if os.path.isfile(imported)}
            yield file, (_drop_import_lines(text, existing), text_and_time[1])
            if hops < MAX_HOPS:
                queue += [(imported, hops + 1) for imported in imports.values()]


def _add_rule(context_root: ContextRoot, relative: str, reading: SourceReading) -> None:
    file = os.path.join(context_root.root, relative)
    name = _display_path(file, context_root.root)
    location = context_location(context_root.name, "", name)
    if not context_root.wants(file):
        return
    if leads_out(file, context_root.root) and leads_out(file, context_root.widest):
        reading.left_out["is a link out of its folder"] += 1
    elif text_and_time := read_source_text(file, reading, location):
        fields, body = markdown.parse_front_matter(text_and_time[0])
        if fields.get("paths"):
            location = f"{_RULE}{context_root.name}::{name}"
        _add_text(context_root, location, markdown.drop_comments(body), text_and_time[1], reading)


def _add_text(context_root: ContextRoot, location: str, text: str, changed_ms: int, reading: SourceReading) -> None:
    if not has_words(text):
        reading.left_out["says nothing itself"] += 1
    else:
        kind = "of CLAUDE.md and rules"
        reading.add_document(kind, location, text, changed_ms, context_root.owner, namespace="patterns", trust=FILE)


def has_words(text: str) -> bool:
    """Return whether a Markdown text says anything beside its headings."""
    return bool(_WORD.search(_HEADING.sub("", text)))


def find_imports(text: str) -> list[str]:
    """Return the paths that a file imports, as written; code imports nothing.

    >>> find_imports("See @docs/style.md and `@not/this.md`, mail to a@b.org.")
    ['docs/style.md']
    """
    paths = [match.group(1).rstrip(_PATH_ENDINGS) for match in _IMPORT.finditer(markdown.read_prose(text))]
    return list(dict.fromkeys(name for name in paths if name.isprintable()))


def _drop_import_lines(text: str, imports: AbstractSet[str]) -> str:
    """Return a text without the lines that are nothing but one of these imports: the model gets the file in their place."""
    return "\n".join(line for line in text.split("\n") if line.lstrip(" \t-*").rstrip() not in imports)


def _display_path(file: str, root: str) -> str:
    relative = os.path.relpath(file, root)
    return (file if relative.startswith(os.pardir) else relative).replace(os.sep, "/")


def _find_rules(folder: str) -> list[str]:
    return sorted(
        os.path.join(parent, name)
        for parent, _, names in os.walk(os.path.join(folder, "rules"))
        for name in names
        if name.lower().endswith(".md") and os.path.isfile(os.path.join(parent, name))
    )
