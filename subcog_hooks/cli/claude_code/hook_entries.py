"""Hook entries in Claude Code's settings files: found, added and taken out."""

import ast
import json
import shlex
from collections.abc import Sequence
from contextlib import suppress

from subcog_hooks.cues.tools import TOOLS

_DECODER = json.JSONDecoder(strict=False)
_BLANK = " \t\r\n"


class Member:
    """One member of an object or array: its key (None in an array), and the spans of the member and of its value."""

    __slots__ = ("end", "key", "start", "value", "value_start")

    def __init__(self, key: str | None, start: int, value_start: int, end: int, value: object) -> None:
        self.key = key
        self.start = start
        self.value_start = value_start
        self.end = end
        self.value = value


def members(text: str, at: int) -> list[Member]:
    """Return the members of the object or array that begins at `text[at]`. Raises ValueError when it is not JSON."""
    is_object = text[at] == "{"
    closing = "}" if is_object else "]"
    found: list[Member] = []
    position = _skip(text, at + 1)
    while position < len(text) and text[position] != closing:
        start, key = position, None
        if is_object:
            if text[position] != '"':
                raise ValueError(f"expected a key at character {position + 1}")
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        value, end = _DECODER.raw_decode(text, position)
        found.append(Member(key, start, position, end, value))
        position = _skip(text, end)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
    return found


def start_of(text: str) -> int:
    """Return where the document's one object begins. Raises ValueError when the text is something else."""
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    value, end = _DECODER.raw_decode(text, at)
    if not isinstance(value, dict) or text[end:].strip(_BLANK):
        raise ValueError("expected one JSON object")
    return at


def member(text: str, at: int, key: str) -> Member | None:
    """Return the member `key` of the object at `text[at]`, the last one when it is there twice, as JSON readers take it."""
    found = [entry for entry in members(text, at) if entry.key == key]
    return found[-1] if found else None


def insert(text: str, at: int, added: str) -> str:
    """Return `text` with `added` (a member, without a comma) as the last one of the object or array at `text[at]`.

    Into an empty bracket it goes without a new line: that is how `remove` knows that the bracket was there before.
    """
    there = members(text, at)
    if not there:
        return text[: at + 1] + added + text[at + 1 :]
    line = "\r\n" if "\r\n" in text else "\n"
    indent = _indent(text, there[-1].start)
    separator = f",{line}{indent}" if indent is not None else ", "
    end = there[-1].end
    return text[:end] + separator + added.replace("\n", line + (indent or "")) + text[end:]


def remove(text: str, at: int, which: Member) -> str:
    """Return `text` without one member of the object or array at `text[at]`."""
    there = members(text, at)
    place = next(i for i, entry in enumerate(there) if entry.start == which.start)
    if place:
        return text[: there[place - 1].end] + text[which.end :]
    if len(there) > 1:
        return text[: which.start] + text[there[1].start :]
    return text[: at + 1] + text[which.end :]


def _indent(text: str, position: int) -> str | None:
    """Return the blanks before `position` on its line, None when something else stands there."""
    before = text[text.rfind("\n", 0, position) + 1 : position]
    return before if not before.strip(" \t") and "\n" in text[:position] else None


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANK:
        position += 1
    return position


EVENTS = {  # with what the client matches of each, "" for all
    "UserPromptSubmit": "",
    "PreToolUse": "|".join(TOOLS),
    "SessionStart": "",
    "Stop": "",
    "PreCompact": "",
    "SessionEnd": "",
}
ISOLATED = ("-I", "-S", "-c")  # an interpreter that heeds no variables and no site's files, on these few words
ENTRY = """folder, script = {folder!r}, {script!r}
import sys
sys.path.append(folder)
try:
  from subcog_hooks.__main__ import main
except BaseException:
  import subprocess
  try: subprocess.call([script, *sys.argv[1:]], stderr=subprocess.DEVNULL)
  finally: sys.exit(0)
main()"""  # where the package has moved, as with a new Python, the console script knows the way; half an upgrade is silent
SECONDS = 5  # the client's time limit; the hook's own is 200 ms, or less
_FRESH_HEAD, _FRESH_TAIL = "{\n", "}"  # how a file that init made begins and ends: then uninstall knows that it may go


def isolated(python: str, folder: str, script: str) -> list[str]:
    """Return the command that runs the hook in an isolated interpreter, without the word `hook`.

    folder: where the package and its libraries are; script: the console script.
    """
    return [python, *ISOLATED, ENTRY.format(folder=folder, script=script)]


def places_of(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the folder of the package and the console script that an isolated command names; None for another command."""
    if [*words[1:4]] != [*ISOLATED] or len(words) < len(ISOLATED) + 2:
        return None
    first = words[4].partition("\n")[0]
    with suppress(ValueError, SyntaxError):
        folder, script = ast.literal_eval(first.partition(" = ")[2])
        return str(folder), str(script)
    return None


def registered(text: str | None, command: list[str]) -> str:
    """Return the settings file `text` (None: there is none) with the hook for every event.

    Raises ValueError when it is not JSON.
    """
    if text is None:
        hooks = {event: [_group(command, matcher)] for event, matcher in EVENTS.items()}
        return json.dumps({"hooks": hooks}, indent=2, ensure_ascii=False)
    for event, matcher in EVENTS.items():
        wanted = _group(command, matcher)
        for group in _groups(text, event):
            if any(_is_ours(hook) for hook in _hooks_of(group.value)) and group.value != wanted:
                return registered(unregistered(text), command)
        if not any(group.value == wanted for group in _groups(text, event)):
            text = _with_group(text, event, wanted)
    return text


def unregistered(text: str) -> str | None:
    """Return the settings file `text` without our hooks; None when `init` made the file.

    Raises ValueError when it is not JSON.
    """
    before = text
    made_by_init = text.startswith(_FRESH_HEAD) and text.endswith(_FRESH_TAIL)
    for event in registered_commands(text):
        while (found := _our_hook(text, event)) is not None:
            text = _without(text, event, found)
    root = start_of(text)
    return None if text != before and made_by_init and not members(text, root) else text


def registered_commands(text: str) -> dict[str, list[list[str]]]:
    """Return the commands of our hooks in a settings file by event, each as words. Raises ValueError when it is not JSON."""
    found: dict[str, list[list[str]]] = {}
    for event, groups in _events(text).items():
        for group in groups if isinstance(groups, list) else []:
            for hook in filter(_is_ours, _hooks_of(group)):
                found.setdefault(event, []).append(_words(hook))
    return found


def unserved(text: str) -> list[str]:
    """Return the events for which a settings file does not run our hook, or for less than all it answers. Raises ValueError."""
    missing = []
    for event, matcher in EVENTS.items():
        ours = [group.value for group in _groups(text, event) if any(map(_is_ours, _hooks_of(group.value)))]
        if not any(isinstance(group, dict) and group.get("matcher", "") in ("", "*", matcher) for group in ours):
            missing.append(event)
    return missing


def _group(command: list[str], matcher: str) -> dict[str, object]:
    hook = {"type": "command", "command": command[0], "args": [*command[1:], "hook"], "timeout": SECONDS}
    return {"matcher": matcher, "hooks": [hook]} if matcher else {"hooks": [hook]}


def _with_group(text: str, event: str, group: dict[str, object]) -> str:
    root = start_of(text)
    hooks = member(text, root, "hooks")
    if hooks is None:
        return insert(text, root, f'"hooks": {_dumped({event: [group]})}')
    if not isinstance(hooks.value, dict):
        raise ValueError("hooks is not an object")
    array = member(text, hooks.value_start, event)
    if array is None:
        return insert(text, hooks.value_start, f'"{event}": {_dumped([group])}')
    if not isinstance(array.value, list):
        raise ValueError(f"hooks.{event} is not a list")
    return insert(text, array.value_start, _dumped(group))


def _without(text: str, event: str, found: tuple[Member, Member]) -> str:
    """Return `text` without one of our hooks, and without the brackets that were made for it."""
    group, hook = found
    root = start_of(text)
    hooks = member(text, root, "hooks")
    assert hooks is not None
    array = member(text, hooks.value_start, event)
    assert array is not None
    inner = member(text, group.value_start, "hooks")
    assert inner is not None
    if len(members(text, inner.value_start)) > 1:
        return remove(text, inner.value_start, hook)
    if len(members(text, array.value_start)) > 1 or not _made_by_init(text, array.value_start):
        return remove(text, array.value_start, group)
    if len(members(text, hooks.value_start)) > 1 or not _made_by_init(text, hooks.value_start):
        return remove(text, hooks.value_start, array)
    return remove(text, root, hooks)


def _made_by_init(text: str, bracket: int) -> bool:
    """Return whether a bracket came with its first member: then a new line follows it (see settings_json.insert)."""
    return text[bracket + 1 : bracket + 3].lstrip("\r").startswith("\n")


def _our_hook(text: str, event: str) -> tuple[Member, Member] | None:
    """Return the first group and hook of an event that are ours."""
    for group in _groups(text, event):
        inner = member(text, group.value_start, "hooks") if isinstance(group.value, dict) else None
        if inner is not None and isinstance(inner.value, list):
            for hook in members(text, inner.value_start):
                if _is_ours(hook.value):
                    return group, hook
    return None


def _events(text: str) -> dict[str, object]:
    hooks = member(text, start_of(text), "hooks")
    return hooks.value if hooks is not None and isinstance(hooks.value, dict) else {}


def _groups(text: str, event: str) -> list[Member]:
    hooks = member(text, start_of(text), "hooks")
    if hooks is None or not isinstance(hooks.value, dict):
        return []
    array = member(text, hooks.value_start, event)
    return members(text, array.value_start) if array is not None and isinstance(array.value, list) else []


def _hooks_of(group: object) -> list[dict[str, object]]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return [hook for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []


def _is_ours(hook: object) -> bool:
    """Return whether a handler runs `subcog hook`, from whatever place and in either form."""
    if not isinstance(hook, dict) or not isinstance(hook.get("command"), str):
        return False
    words = _words(hook)
    name = words[0].replace("\\", "/").rpartition("/")[2].lower() if words else ""
    by_python = words[2:] if words[1:2] == ["-P"] else words[1:]
    if by_python[: len(ISOLATED)] == [*ISOLATED]:
        code, *rest = by_python[len(ISOLATED) :] or [""]
        return "from subcog_hooks.__main__ import main" in code and rest[:1] == ["hook"]
    return (name in ("subcog", "subcog.exe") and words[1:2] == ["hook"]) or by_python[:3] == ["-m", "subcog_hooks", "hook"]


def _words(hook: dict[str, object]) -> list[str]:
    """Return the words of a handler's command; without arguments it is a line for the shell."""
    command, arguments = str(hook["command"]), hook.get("args")
    if isinstance(arguments, list):
        return [command, *map(str, arguments)]
    try:
        return [word.strip('"') for word in shlex.split(command, posix="\\" not in command)]  # C:\... has no escapes
    except ValueError:
        return command.split()


def _dumped(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
