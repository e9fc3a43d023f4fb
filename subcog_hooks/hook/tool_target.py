"""The target of a tool call: the file, names, new text and actions that memories are matched against."""

from __future__ import annotations

import os

from subcog_hooks.cues import globs
from subcog_hooks.cues.conditions import SEARCHES
from subcog_hooks.hook.payload import text_of
from subcog_hooks.store import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.store.project import Project

MAX_NEW_TEXT = 65_536  # characters of the written text that triggers are matched against

_FILE_FIELDS = ("file_path", "notebook_path")
_TEXT_FIELDS = ("command", "new_string", "content", "new_source")


class ToolTarget:
    """The target of a tool call.

    owner: the project of the file, without a file the one at hand, None outside of any; absolute: the file's full path, "" for
    none; file: its path from the owner's root, or in full outside of any project; around: other projects that have the file
    below their root, each with its path from there; names: looked up in memories; text: the command, or the text to be written;
    new_identifiers: in it; actions: as `text.actions` names them.
    """

    __slots__ = ("absolute", "actions", "around", "file", "names", "new_identifiers", "owner", "text")

    def __init__(
        self,
        owner: Project | None,
        absolute: str,
        file: str,
        names: Sequence[str],
        text: str,
        new_identifiers: Sequence[str] = (),
        actions: Sequence[str] = (),
        around: Sequence[tuple[Project, str]] = (),
    ) -> None:
        self.owner = owner
        self.absolute = absolute
        self.file = file
        self.names = tuple(names)
        self.text = text
        self.new_identifiers = tuple(new_identifiers)
        self.actions = tuple(actions)
        self.around = tuple(around)


def read_target(tool: str, tool_input: Mapping[str, object], call: HookCall) -> ToolTarget:
    """Return the target of a tool call."""
    path = _named_file(tool, tool_input)
    owner, absolute, file = _locate_file(path, call) if path else (call.here, "", "")
    if file and tool in SEARCHES and not os.path.isfile(absolute):  # A searched folder brings no memories.
        owner, absolute, file = call.here, "", ""
    around = _find_around(owner, absolute, call)
    from subcog_hooks.text import mentions  # .3 ms

    text = _new_text(tool_input)
    names: Sequence[str] = ()
    if file:
        names = [name for inside in (*[inside for _, inside in around], file) for name in mentions.names_of_file(inside)]
    elif tool == "Bash":
        names = mentions.names_of_command(text)
    elif tool == "Glob" and path:
        names = mentions.names_of_file(path)
    if tool == "Grep":
        names = (*names, *mentions.names_of_symbol(text_of(tool_input, "pattern")))
    new_identifiers: Sequence[str] = ()
    done: Sequence[str] = ()
    if text:  # A tool that only reads has none.
        from subcog_hooks.text import actions  # .3 ms

        done = actions.actions_of_call(tool, text, file)
        if tool in actions.EDITING:
            new_identifiers = mentions.names_in_edit(text, replaced_text(tool_input))
    return ToolTarget(owner, absolute, file, names, text, new_identifiers, done, around)


def _named_file(tool: str, tool_input: Mapping[str, object]) -> str:
    """Return the path in a tool's input, "" for none. A pattern of `Glob` without wildcards is a path."""
    if tool == "Glob":
        pattern = text_of(tool_input, "pattern", globs.MAX_PATH)
        return pattern if set("*?[{").isdisjoint(pattern) else ""
    fields = ("path",) if tool in SEARCHES else _FILE_FIELDS
    return next((text for field in fields if (text := text_of(tool_input, field, globs.MAX_PATH + 1))), "")


def _new_text(tool_input: Mapping[str, object]) -> str:
    """Return the command, or the beginning of the text to be written."""
    text = next((text for field in _TEXT_FIELDS if (text := text_of(tool_input, field, MAX_NEW_TEXT))), "")
    edits = tool_input.get("edits")
    if text or not isinstance(edits, list):
        return text
    parts: list[str] = []
    room = MAX_NEW_TEXT
    for edit in edits:
        if room > 0 and isinstance(edit, dict):
            parts.append(text_of(edit, "new_string", room))
            room -= len(parts[-1]) + 1
    return "\n".join(parts)[:MAX_NEW_TEXT]


def replaced_text(tool_input: Mapping[str, object]) -> str:
    """Return the text that an edit replaces, as far as the tool's input has it."""
    edits = tool_input.get("edits")
    parts = [tool_input, *filter(lambda edit: isinstance(edit, dict), edits if isinstance(edits, list) else ())]
    return "\n".join([text_of(part, "old_string", MAX_NEW_TEXT) for part in parts])[:MAX_NEW_TEXT]


def _locate_file(path: str, call: HookCall) -> tuple[Project | None, str, str]:
    """Return the project of a file, the file's full path, and its path from the project's root.

    Outside of any project the last path starts at the folder at hand, or is full for a file elsewhere. A relative path without
    a folder, or a path that is too long, gives no file.
    """
    here, folder = call.here, text_of(call.payload, "cwd")
    whole = path.replace("\\", "/") if os.sep == "\\" or path[1:3] == ":\\" else path
    if not globs.is_absolute(whole):
        whole = f"{folder}/{whole}" if os.path.isabs(folder) else ""
    whole = os.path.normpath(whole).replace(os.sep, "/") if whole else ""
    if not whole or len(whole) > globs.MAX_PATH or "\0" in whole:
        return here, "", ""
    inside = globs.relative_path(whole, here.root) if here else None
    if here is not None and inside is not None and not _has_own_project(inside, here.root):
        return here, whole, inside
    owner = (
        project.find_project(whole) if os.path.isabs(whole) else None
    )  # The path may lead to another worktree, or have links.
    inside = globs.relative_path(os.path.realpath(whole), owner.root) if owner else None
    if owner is not None and inside is not None:
        return owner, whole, inside
    return None, whole, (globs.relative_path(whole, folder) if here is None and os.path.isabs(folder) else None) or whole


def _find_around(owner: Project | None, absolute: str, call: HookCall) -> list[tuple[Project, str]]:
    """Return the session's project and parents of submodules that have a file below their root, with its path from there."""
    if owner is None or not absolute or (owner is call.here and owner.parent is None):
        return []
    real = os.path.realpath(absolute)
    around: dict[str, tuple[Project, str]] = {}
    for member in (*call.with_parents(owner), *call.with_parents(call.here)):
        inside = globs.relative_path(real, member.root)
        if inside is not None and member.identity != owner.identity:
            around.setdefault(member.identity, (member, inside))
    return list(around.values())


def _has_own_project(inside: str, root: str) -> bool:
    """Return whether a folder between a file and the root is the root of another repository, or of a worktree."""
    folders = inside.split("/")[:-1]
    return any(os.path.lexists(os.path.join(root, *folders[:depth], ".git")) for depth in range(1, len(folders) + 1))
