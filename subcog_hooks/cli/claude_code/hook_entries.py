"""Finds, adds and removes hook entries in the text of Claude Code's settings files."""

import ast
import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from subcog_hooks.cues.conditions import TOOLS

_DECODER = json.JSONDecoder(strict=False)
_BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object or array: its key (None in an array), and the spans of the member and of its value."""

    key: str | None
    start: int
    value_start: int
    end: int
    value: object


def parse_members(text: str, bracket: int) -> list[Member]:
    """Return the members of the object or array that begins at `text[bracket]`. Raises ValueError for invalid JSON."""
    is_object = text[bracket] == "{"
    closing = "}" if is_object else "]"
    members: list[Member] = []
    position = _skip(text, bracket + 1)
    while position < len(text) and text[position] != closing:
        start, key = position, None
        if is_object:
            if text[position] != '"':
                raise ValueError(f"expected a key at character {position + 1}")
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        value, end = _DECODER.raw_decode(text, position)
        members.append(Member(key, start, position, end, value))
        position = _skip(text, end)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
    return members


def start_of(text: str) -> int:
    """Return the position of the document's only object. Raises ValueError for any other text."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    value, end = _DECODER.raw_decode(text, start)
    if not isinstance(value, dict) or text[end:].strip(_BLANK):
        raise ValueError("expected one JSON object")
    return start


def find_member(text: str, bracket: int, key: str) -> Member | None:
    """Return the member `key` of the object at `text[bracket]`; of duplicates the last, as JSON readers do."""
    entries = [entry for entry in parse_members(text, bracket) if entry.key == key]
    return entries[-1] if entries else None


def insert(text: str, bracket: int, added: str) -> str:
    """Return `text` with `added` (a member, without a comma) as the last member of the bracket at `text[bracket]`.

    In an empty bracket no new line is added: this tells `remove` that `init` did not make the bracket.
    """
    members_there = parse_members(text, bracket)
    if not members_there:
        return text[: bracket + 1] + added + text[bracket + 1 :]
    line = "\r\n" if "\r\n" in text else "\n"
    indent = _indent(text, members_there[-1].start)
    separator = f",{line}{indent}" if indent is not None else ", "
    end = members_there[-1].end
    return text[:end] + separator + added.replace("\n", line + (indent or "")) + text[end:]


def remove(text: str, bracket: int, removed: Member) -> str:
    """Return `text` without one member of the object or array at `text[bracket]`."""
    members_there = parse_members(text, bracket)
    position = next(i for i, entry in enumerate(members_there) if entry.start == removed.start)
    if position:
        return text[: members_there[position - 1].end] + text[removed.end :]
    if len(members_there) > 1:
        return text[: removed.start] + text[members_there[1].start :]
    return text[: bracket + 1] + text[removed.end :]


def _indent(text: str, position: int) -> str | None:
    before = text[text.rfind("\n", 0, position) + 1 : position]
    return before if not before.strip(" \t") and "\n" in text[:position] else None


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANK:
        position += 1
    return position


_UNMATCHED = dict.fromkeys(("SessionStart", "Stop", "PreCompact", "SessionEnd"), "")
EVENTS = {"UserPromptSubmit": "", "PreToolUse": "|".join(TOOLS), **_UNMATCHED}  # to the client's matcher, "" for all calls
# Events that a client may not know. Version 2.1.197 knows this one; with an event unknown to it, it drops all hooks.
FAILURE_EVENTS = {"PostToolUseFailure": ""}
FAILURES_SINCE = (2, 1, 197)
ISOLATED = ("-I", "-S", "-c")  # Python options: no environment variables, no site files, code on the command line
ENTRY = """folder, script = {folder!r}, {script!r}
import sys
sys.path.append(folder)
try:
  from subcog_hooks.__main__ import main
except BaseException:
  import subprocess
  try: subprocess.call([script, *sys.argv[1:]], stderr=subprocess.DEVNULL)
  finally: sys.exit(0)
main()"""  # After a move of the package, as with a new Python, the script is run. Half an upgrade stays silent.
SECONDS = 5  # the client's time limit; the hook's own is at most 200 ms
_FRESH_HEAD, _FRESH_TAIL = "{\n", "}"  # A file with these ends was made by `init`, so uninstall may delete it.


def isolated_command(python: str, folder: str, script: str) -> list[str]:
    """Return the command that runs the hook in an isolated interpreter, without the word `hook`.

    folder: of the package and its libraries; script: the console script.
    """
    return [python, *ISOLATED, ENTRY.format(folder=folder, script=script)]


def paths_in_command(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the package's folder and the console script in an isolated command; None for another command."""
    if [*words[1:4]] != [*ISOLATED] or len(words) < len(ISOLATED) + 2:
        return None
    first = words[4].partition("\n")[0]
    with suppress(ValueError, SyntaxError):
        folder, script = ast.literal_eval(first.partition(" = ")[2])
        return str(folder), str(script)
    return None


def add_hook(text: str | None, command: list[str], further: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the settings file `text` (None for no file) with the hook for every event.

    further: events beside EVENTS, with their matchers. Raises ValueError for invalid JSON.
    """
    events = {**EVENTS, **further}
    if text is None:
        hooks = {event: [_group(command, matcher)] for event, matcher in events.items()}
        return json.dumps({"hooks": hooks}, indent=2, ensure_ascii=False)
    for event, matcher in events.items():
        wanted = _group(command, matcher)
        for group in _groups(text, event):
            if any(_is_ours(hook) for hook in _hooks_of(group.value)) and group.value != wanted:
                return add_hook(remove_hook(text), command, further)
        if not any(group.value == wanted for group in _groups(text, event)):
            text = _add_group(text, event, wanted)
    return text


def remove_hook(text: str) -> str | None:
    """Return the settings file `text` without our hooks; None when `init` made the file. Raises ValueError for invalid JSON."""
    before = text
    is_of_init = text.startswith(_FRESH_HEAD) and text.endswith(_FRESH_TAIL)
    for event in registered_commands(text):
        while (entry := _find_our_hook(text, event)) is not None:
            text = _remove_entry(text, event, entry)
    root = start_of(text)
    return None if text != before and is_of_init and not parse_members(text, root) else text


def registered_commands(text: str) -> dict[str, list[list[str]]]:
    """Return the commands of our hooks in a settings file by event, each as words. Raises ValueError for invalid JSON."""
    by_event: dict[str, list[list[str]]] = {}
    for event, groups in _events(text).items():
        for group in groups if isinstance(groups, list) else []:
            for hook in filter(_is_ours, _hooks_of(group)):
                by_event.setdefault(event, []).append(_words(hook))
    return by_event


def find_unserved_events(text: str) -> list[str]:
    """Return the events that a settings file does not run our hook for, or not for all tools. Raises ValueError."""
    missing = []
    for event, matcher in EVENTS.items():
        ours = [group.value for group in _groups(text, event) if any(map(_is_ours, _hooks_of(group.value)))]
        if not any(isinstance(group, dict) and group.get("matcher", "") in ("", "*", matcher) for group in ours):
            missing.append(event)
    return missing


def _group(command: list[str], matcher: str) -> dict[str, object]:
    hook = {"type": "command", "command": command[0], "args": [*command[1:], "hook"], "timeout": SECONDS}
    return {"matcher": matcher, "hooks": [hook]} if matcher else {"hooks": [hook]}


def _add_group(text: str, event: str, group: dict[str, object]) -> str:
    root = start_of(text)
    hooks = find_member(text, root, "hooks")
    if hooks is None:
        return insert(text, root, f'"hooks": {_dump({event: [group]})}')
    if not isinstance(hooks.value, dict):
        raise ValueError("hooks is not an object")
    array = find_member(text, hooks.value_start, event)
    if array is None:
        return insert(text, hooks.value_start, f'"{event}": {_dump([group])}')
    if not isinstance(array.value, list):
        raise ValueError(f"hooks.{event} is not a list")
    return insert(text, array.value_start, _dump(group))


def _remove_entry(text: str, event: str, entry: tuple[Member, Member]) -> str:
    group, hook = entry
    root = start_of(text)
    hooks = find_member(text, root, "hooks")
    assert hooks is not None
    array = find_member(text, hooks.value_start, event)
    assert array is not None
    inner = find_member(text, group.value_start, "hooks")
    assert inner is not None
    if len(parse_members(text, inner.value_start)) > 1:
        return remove(text, inner.value_start, hook)
    if len(parse_members(text, array.value_start)) > 1 or not _made_by_init(text, array.value_start):
        return remove(text, array.value_start, group)
    if len(parse_members(text, hooks.value_start)) > 1 or not _made_by_init(text, hooks.value_start):
        return remove(text, hooks.value_start, array)
    return remove(text, root, hooks)


def _made_by_init(text: str, bracket: int) -> bool:
    """Return whether a bracket was made with its first member: then a new line follows it (see `insert`)."""
    return text[bracket + 1 : bracket + 3].lstrip("\r").startswith("\n")


def _find_our_hook(text: str, event: str) -> tuple[Member, Member] | None:
    for group in _groups(text, event):
        inner = find_member(text, group.value_start, "hooks") if isinstance(group.value, dict) else None
        if inner is not None and isinstance(inner.value, list):
            for hook in parse_members(text, inner.value_start):
                if _is_ours(hook.value):
                    return group, hook
    return None


def _events(text: str) -> dict[str, object]:
    hooks = find_member(text, start_of(text), "hooks")
    return hooks.value if hooks is not None and isinstance(hooks.value, dict) else {}


def _groups(text: str, event: str) -> list[Member]:
    hooks = find_member(text, start_of(text), "hooks")
    array = find_member(text, hooks.value_start, event) if hooks and isinstance(hooks.value, dict) else None
    return parse_members(text, array.value_start) if array and isinstance(array.value, list) else []


def _hooks_of(group: object) -> list[dict[str, object]]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return [hook for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []


def _is_ours(hook: object) -> bool:
    """Return whether a handler runs `subcog hook`, from any path and in either form."""
    if not isinstance(hook, dict) or not isinstance(hook.get("command"), str):
        return False
    words = _words(hook)
    name = words[0].replace("\\", "/").rpartition("/")[2].lower() if words else ""
    by_python = words[2:] if words[1:2] == ["-P"] else words[1:]
    if by_python[: len(ISOLATED)] == [*ISOLATED]:
        code, *arguments = by_python[len(ISOLATED) :] or [""]
        return "from subcog_hooks.__main__ import main" in code and arguments[:1] == ["hook"]
    return (name in ("subcog", "subcog.exe") and words[1:2] == ["hook"]) or by_python[:3] == ["-m", "subcog_hooks", "hook"]


def _words(hook: dict[str, object]) -> list[str]:
    """Return the words of a handler's command; a command without arguments is a shell line."""
    command, arguments = str(hook["command"]), hook.get("args")
    if isinstance(arguments, list):
        return [command, *map(str, arguments)]
    try:
        return [word.strip('"') for word in shlex.split(command, posix="\\" not in command)]  # C:\... has no escapes
    except ValueError:
        return command.split()


def _dump(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
