"""Texts that Claude Code puts before the model by itself: CLAUDE.md files with what they import, and its rules.

It is kept to be searched and compared, not to be handed over where the client has it in the context already. So a memory's
origin tells in which folder a session has to begin for that: `claude:…:context:PROJECT::FOLDER::…`, from the project's root, ""
for all of it. Files and rules are found as the client's page on memory says.
"""

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from subcog_hooks.capture import markdown
from subcog_hooks.capture.sources.source_reading import SourceReading, folders_below, read_text
from subcog_hooks.core.regular_files import leads_out
from subcog_hooks.store.memory import FILE, IN_CONTEXT

CLAUDE_MD = "CLAUDE.md"
ITS_FOLDER = ".claude"
MOST_HOPS = 4  # from a file that imports to the last one that is imported
MOST_IMPORTED = 50  # files, by one CLAUDE.md

_RULE = "rule:"  # begins the place of a rule with globs
_OF_A_PROJECT = (CLAUDE_MD, f"{ITS_FOLDER}/{CLAUDE_MD}", "CLAUDE.local.md")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")  # one pattern for a whole block would take a minute for 200 KB of backticks
_CODE = re.compile(r"`[^`]*`")
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
    reading.looked_in += [beginning_of(tree.name), f"{_RULE}{tree.name}::"]
    _add_with_imports(tree, CLAUDE_MD, "", reading)
    for rule in _files_below(os.path.join(config, "rules"), ".md"):
        _add_rule(tree, os.path.relpath(rule, config), reading)


def read_project(root: str, owner: str, reading: SourceReading) -> None:
    """Add what holds in a project. owner: its identity."""
    tree = Tree(root, owner, owner, root)
    reading.looked_in += [beginning_of(owner), f"{_RULE}{owner}::"]
    for name in _OF_A_PROJECT:
        _add_with_imports(tree, name, "", reading)
    for folder, names in folders_below(root):
        for name in _OF_A_PROJECT if folder else ():
            if name in names or "/" in name:
                _add_with_imports(tree, f"{folder}/{name}", folder, reading)
    for rule in _files_below(os.path.join(root, ITS_FOLDER, "rules"), ".md"):
        _add_rule(tree, os.path.relpath(rule, root), reading)


def files_of(root: str) -> Iterator[str]:
    """Yield the files below a folder that `read_project` would read."""
    for folder, _ in folders_below(root):
        for name in _OF_A_PROJECT:
            yield from (file for file, _ in _with_imports(os.path.join(root, folder, name), root, root, SourceReading("")))
    yield from _files_below(os.path.join(root, ITS_FOLDER, "rules"), ".md")


def persons_files(config: str) -> Iterator[str]:
    """Yield the files that `read_persons` would read."""
    own, widest = os.path.join(config, CLAUDE_MD), os.path.expanduser("~")
    yield from (file for file, _ in _with_imports(own, config, widest, SourceReading("")))
    yield from _files_below(os.path.join(config, "rules"), ".md")


def place_of(of: str, folder: str, name: str) -> str:
    """Return where something stands that the client has in the context of a session that begins in a folder of a project.

    of: the project, or what else the file belongs to.
    """
    return f"{beginning_of(of)}{folder}::{name}"


def beginning_of(of: str) -> str:
    """Return the beginning that all places of a project have."""
    return f"{IN_CONTEXT.removeprefix(':')}{of}::"


def _add_with_imports(tree: Tree, relative: str, folder: str, reading: SourceReading) -> None:
    """Add a file and what it imports, each once."""
    for file, (text, changed) in _with_imports(os.path.join(tree.root, relative), tree.root, tree.widest, reading):
        _add(tree, place_of(tree.name, folder, _shown(file, tree.root)), text, changed, reading)


def _with_imports(file: str, root: str, widest: str, reading: SourceReading) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield a file and what it imports, each once, with its text without comments and when it was changed.

    root: the folder that it is in; widest: that which they do not lead out of; reading: told what is left out.
    """
    waiting, seen = [(file, 0)], set[str]()
    while waiting and len(seen) < MOST_IMPORTED:
        file, hops = waiting.pop(0)
        real = os.path.realpath(file)
        if real in seen or not os.path.isfile(real):
            continue
        seen.add(real)
        if leads_out(file, widest) and (hops or leads_out(file, root)):
            reading.left_out["is outside of the folder that imports it" if hops else "is a link out of its folder"] += 1
        elif found := read_text(file, reading):
            text = markdown.without_comments(found[0])
            yield file, (text, found[1])
            if hops < MOST_HOPS:
                waiting += [(_resolved(name, file), hops + 1) for name in imports_of(text)]


def _add_rule(tree: Tree, relative: str, reading: SourceReading) -> None:
    """Add a rule: in every session of the project, or, with globs, once a file that one names is read."""
    file = os.path.join(tree.root, relative)
    if leads_out(file, tree.root) and leads_out(file, tree.widest):
        reading.left_out["is a link out of its folder"] += 1
    elif found := read_text(file, reading, place_of(tree.name, "", name := _shown(file, tree.root))):
        fields, body = markdown.front_matter(found[0])
        place = f"{_RULE}{tree.name}::{name}" if fields.get("paths") else place_of(tree.name, "", name)
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
    found = [match.group(1).rstrip(_AFTER_A_PATH) for match in _IMPORT.finditer(_without_code(text))]
    return list(dict.fromkeys(name for name in found if name.isprintable()))


def _without_code(text: str) -> str:
    kept, fence = [], ""
    for line in text.split("\n"):
        if fence:
            is_end = line.startswith(fence) and not line.rstrip().strip(fence[0])
            fence = "" if is_end else fence
        elif found := _FENCE.match(line):
            fence = found[1] or found[2]
        else:
            kept.append(_CODE.sub("", line))
    return "\n".join(kept)


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
