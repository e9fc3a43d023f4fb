"""The thing that a tool is about to touch: its file and that file's project, the names it is looked up by, the new text."""

from __future__ import annotations

import os

from subcog_hooks.cues import globs
from subcog_hooks.cues.tools import SEARCHES
from subcog_hooks.hooks.payload import text_of
from subcog_hooks.memory import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.hooks.occasion import Occasion
    from subcog_hooks.memory.project import Project

NEW_TEXT = 65_536  # characters of what is written that triggers are held against

_FILE_FIELDS = ("file_path", "notebook_path")
_TEXT_FIELDS = ("command", "new_string", "content", "new_source")


class Touched:
    """The thing that a tool is about to touch.

    owner: the project that the file lies in, without a file the one at hand, None outside of any; absolute: the file's whole
    path, "" where there is none; file: the same from the owner's root, or whole outside of any project; names: what it is
    looked up by; text: the command, or what is to be written; written: the identifiers that are new in it; actions: what is
    about to be done, as `text.actions` names it.
    """

    __slots__ = ("absolute", "actions", "file", "names", "owner", "text", "written")

    def __init__(
        self,
        owner: Project | None,
        absolute: str,
        file: str,
        names: Sequence[str],
        text: str,
        written: Sequence[str] = (),
        actions: Sequence[str] = (),
    ) -> None:
        self.owner = owner
        self.absolute = absolute
        self.file = file
        self.names = tuple(names)
        self.text = text
        self.written = tuple(written)
        self.actions = tuple(actions)


def read_touched(tool: str, given: Mapping[str, object], occasion: Occasion) -> Touched:
    """Return what a tool's input is about. given: the input."""
    path = _named_file(tool, given)
    owner, absolute, file = _placed(path, occasion) if path else (occasion.here, "", "")
    if file and tool in SEARCHES and not os.path.isfile(absolute):  # a folder is no file that is looked into
        owner, absolute, file = occasion.here, "", ""
    from subcog_hooks.text import mentions  # .3 ms

    text = _new_text(given)
    names: Sequence[str] = ()
    if file:
        names = mentions.names_of_file(file)
    elif tool == "Bash":
        names = mentions.names_of_command(text)
    elif tool == "Glob" and path:
        names = mentions.names_of_file(path)
    if tool == "Grep":
        names = (*names, *mentions.names_of_symbol(text_of(given, "pattern")))
    written: Sequence[str] = ()
    done: Sequence[str] = ()
    if text:  # a tool that only looks has none
        from subcog_hooks.text import actions  # .3 ms

        done = actions.done_by(tool, text, file)
        if tool in actions.EDITING:
            written = mentions.names_written(text, _old_text(given))
    return Touched(owner, absolute, file, names, text, written, done)


def _named_file(tool: str, given: Mapping[str, object]) -> str:
    """Return the path in a tool's input, "" for none. A pattern of `Glob` is one where it has no wildcards."""
    if tool == "Glob":
        pattern = text_of(given, "pattern", globs.MAX_PATH)
        return pattern if set("*?[{").isdisjoint(pattern) else ""
    fields = ("path",) if tool in SEARCHES else _FILE_FIELDS
    return next((text for field in fields if (text := text_of(given, field, globs.MAX_PATH + 1))), "")


def _new_text(given: Mapping[str, object]) -> str:
    """Return the command, or the beginning of what is to be written."""
    text = next((text for field in _TEXT_FIELDS if (text := text_of(given, field, NEW_TEXT))), "")
    edits = given.get("edits")
    if text or not isinstance(edits, list):
        return text
    parts: list[str] = []
    room = NEW_TEXT
    for edit in edits:
        if room > 0 and isinstance(edit, dict):
            parts.append(text_of(edit, "new_string", room))
            room -= len(parts[-1]) + 1
    return "\n".join(parts)[:NEW_TEXT]


def _old_text(given: Mapping[str, object]) -> str:
    """Return what stands where something is about to be written, as far as the tool's input says so."""
    edits = given.get("edits")
    parts = [given, *filter(lambda edit: isinstance(edit, dict), edits if isinstance(edits, list) else ())]
    return "\n".join([text_of(part, "old_string", NEW_TEXT) for part in parts])[:NEW_TEXT]


def _placed(path: str, occasion: Occasion) -> tuple[Project | None, str, str]:
    """Return the project that a file lies in, the file's whole path, and that from the project's root.

    Outside of any project it is told from the folder at hand if it lies below, else as a whole. A path from nowhere, or longer
    than a system takes, is of no file.
    """
    here, folder = occasion.here, text_of(occasion.payload, "cwd")
    whole = path.replace("\\", "/") if os.sep == "\\" or path[1:3] == ":\\" else path
    if not globs.is_absolute(whole):
        whole = f"{folder}/{whole}" if os.path.isabs(folder) else ""
    whole = os.path.normpath(whole).replace(os.sep, "/") if whole else ""
    if not whole or len(whole) > globs.MAX_PATH or "\0" in whole:
        return here, "", ""
    inside = globs.relative(whole, here.root) if here else None
    if here is not None and inside is not None and not _has_own_project(inside, here.root):
        return here, whole, inside
    owner = project.find(whole) if os.path.isabs(whole) else None  # another worktree, or here with links in its path
    inside = globs.relative(os.path.realpath(whole), owner.root) if owner else None
    if owner is not None and inside is not None:
        return owner, whole, inside
    return None, whole, (globs.relative(whole, folder) if here is None and os.path.isabs(folder) else None) or whole


def _has_own_project(inside: str, root: str) -> bool:
    """Return whether a folder between a file and the root is the root of another repository, or of a worktree."""
    folders = inside.split("/")[:-1]
    return any(os.path.lexists(os.path.join(root, *folders[:depth], ".git")) for depth in range(1, len(folders) + 1))
