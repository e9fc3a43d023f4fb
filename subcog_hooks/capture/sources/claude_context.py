"""Texts that Claude Code puts before the model by itself: CLAUDE.md files with what they import, and its rules.

It is kept to be searched and compared, not to be handed over where the client has it in the context already. So a memory's
origin tells in which folder a session has to begin for that: `claude:context:FOLDER:…`, from the project's root, "" for all of
it. Files and rules are found as the client's page on memory says.
"""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from subcog_hooks.capture import markdown
from subcog_hooks.capture.sources.reading import SourceReading, leads_out, read_text
from subcog_hooks.memory.model import FILE, IN_CONTEXT

CLAUDE_MD = "CLAUDE.md"
ITS_FOLDER = ".claude"
MOST_HOPS = 4  # from a file that imports to the last one that is imported
MOST_IMPORTED = 50  # files, by one CLAUDE.md
MOST_FOLDERS = 5_000  # of a project, that are looked through
DEEPEST = 6  # folders below the root
PASSED_OVER = frozenset(("node_modules", "venv", "vendor", "dist", "build", "target", "__pycache__"))

_OF_A_PROJECT = (CLAUDE_MD, f"{ITS_FOLDER}/{CLAUDE_MD}", "CLAUDE.local.md")
_CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"(?<!\S)@(\S+)")
_AFTER_A_PATH = ".,;:!?)'\""


class Tree(NamedTuple):
    """The place of such files. root: their folder; name: begins their places; owner: the project's identity, None for all of
    them; widest: the folder that imports do not lead out of."""

    root: str
    name: str
    owner: str | None
    widest: str


def read_persons(config: str, reading: SourceReading) -> None:
    """Add what holds for all of the person's sessions. config: the client's own folder."""
    tree = Tree(config, "user", None, os.path.expanduser("~"))
    _add_with_imports(tree, CLAUDE_MD, "", reading)
    for rule in _files_below(os.path.join(config, "rules"), ".md"):
        _add_rule(tree, os.path.relpath(rule, config), reading)


def read_project(root: str, owner: str, reading: SourceReading) -> None:
    """Add what holds in a project. owner: its identity."""
    tree = Tree(root, owner, owner, root)
    for name in _OF_A_PROJECT:
        _add_with_imports(tree, name, "", reading)
    for folder in _folders_below(root):
        for name in _OF_A_PROJECT:
            _add_with_imports(tree, f"{folder}/{name}", folder, reading)
    for rule in _files_below(os.path.join(root, ITS_FOLDER, "rules"), ".md"):
        _add_rule(tree, os.path.relpath(rule, root), reading)


def files_of(root: str) -> Iterator[str]:
    """Yield the files below a folder that `read_project` would read, without what they import."""
    for folder in ("", *_folders_below(root)):
        yield from (file for name in _OF_A_PROJECT if os.path.isfile(file := os.path.join(root, folder, name)))
    yield from _files_below(os.path.join(root, ITS_FOLDER, "rules"), ".md")


def persons_files(config: str) -> Iterator[str]:
    """Yield the files that `read_persons` would read, without what they import."""
    if os.path.isfile(file := os.path.join(config, CLAUDE_MD)):
        yield file
    yield from _files_below(os.path.join(config, "rules"), ".md")


def place_of(name: str, folder: str) -> str:
    """Return where something stands that the client has in the context of a session that begins in a folder."""
    return f"{IN_CONTEXT.partition(':')[2]}{folder}:{name}"


def _add_with_imports(tree: Tree, relative: str, folder: str, reading: SourceReading) -> None:
    """Add a file and what it imports, each once."""
    waiting, seen = [(os.path.join(tree.root, relative), 0)], set[str]()
    while waiting and len(seen) < MOST_IMPORTED:
        file, hops = waiting.pop(0)
        real = os.path.realpath(file)
        if real in seen or not os.path.isfile(real):
            continue
        seen.add(real)
        if leads_out(file, tree.widest):
            reading.left_out["is outside of the folder that imports it"] += 1
        elif found := read_text(file, reading):
            text = markdown.without_comments(found[0])
            _add(tree, place_of(f"{tree.name}/{_shown(file, tree.root)}", folder), text, found[1], reading)
            if hops < MOST_HOPS:
                waiting += [(_resolved(name, file), hops + 1) for name in imports_of(text)]


def _add_rule(tree: Tree, relative: str, reading: SourceReading) -> None:
    """Add a rule: in every session of the project, or, with globs, once a file that one names is read."""
    file = os.path.join(tree.root, relative)
    if leads_out(file, tree.widest):
        reading.left_out["is a link out of its folder"] += 1
    elif found := read_text(file, reading):
        fields, body = markdown.front_matter(found[0])
        name = f"{tree.name}/{_shown(file, tree.root)}"
        place = f"rule:{name}" if fields.get("paths") else place_of(name, "")
        _add(tree, place, markdown.without_comments(body), found[1], reading)


def _add(tree: Tree, place: str, text: str, changed: int, reading: SourceReading) -> None:
    if not text.strip():
        reading.left_out["is empty"] += 1
        return
    reading.add_document("of CLAUDE.md and rules", place, text, changed, tree.owner, namespace="patterns", trust=FILE)


def imports_of(text: str) -> list[str]:
    """Return the paths that a file imports, as it names them; code imports nothing.

    >>> imports_of("See @docs/style.md and `@not/this.md`, mail to a@b.org.")
    ['docs/style.md']
    """
    return list(dict.fromkeys(match.group(1).rstrip(_AFTER_A_PATH) for match in _IMPORT.finditer(_CODE.sub("", text))))


def _resolved(name: str, importer: str) -> str:
    return os.path.join(os.path.dirname(importer), os.path.expanduser(name))


def _shown(file: str, root: str) -> str:
    """Return how a file is named: from the folder where that leads to it, else by its full path."""
    relative = os.path.relpath(file, root)
    return (file if relative.startswith(os.pardir) else relative).replace(os.sep, "/")


def _files_below(folder: str, suffix: str) -> list[str]:
    return sorted(
        os.path.join(parent, name)
        for parent, _, names in os.walk(folder)
        for name in names
        if name.lower().endswith(suffix) and os.path.isfile(os.path.join(parent, name))
    )


def _folders_below(root: str) -> Iterator[str]:
    """Yield the folders of a project in which such a file may stand, from its root, without hidden ones and dependencies."""
    left = MOST_FOLDERS
    for parent, below, names in os.walk(root):
        relative = os.path.relpath(parent, root).replace(os.sep, "/")
        depth = 0 if relative == os.curdir else relative.count("/") + 1
        left -= 1
        if left < 0:
            return
        if depth and (".git" in below or ".git" in names):
            below.clear()  # another repository
            continue
        if depth:
            yield relative
        is_deepest = depth == DEEPEST
        below[:] = [] if is_deepest else sorted(name for name in below if name not in PASSED_OVER and not name.startswith("."))
