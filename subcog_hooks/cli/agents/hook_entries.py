"""Finds, adds and removes hook entries in the text of Claude Code's settings files, and of agents that keep theirs alike.

Some of those agents block a prompt or a tool when a hook fails or writes to stderr. So the line that runs our hook there stays
silent and ends with 0 even where subcog is gone.
"""

import ast
import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from subcog_hooks.cues.conditions import TOOLS

_DECODER = json.JSONDecoder(strict=False)
_BLANK = " \t\r\n"
# A string or a comment, whole or up to the end of the text: each character is looked at once.
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+"?|//[^\r\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_STRING_OR_FIRST_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{\[][ \t\r\n]*+,', re.DOTALL)
_STRING_OR_LAST_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+"?|,(?=[ \t\r\n]*+[}\]])', re.DOTALL)

_SILENT = "exec 2>/dev/null; "
_OR = " || "
_GUARD = "exit 0"
_IF_THERE = ["cmd", "/d", "/c", "if", "exist"]  # cmd.exe and PowerShell read it alike
_HOOK = re.compile(r" hook --client [a-z]{1,20}( \|\| exit 0)?\Z")
_MAX_HOOK = 60  # characters of it, so that a long command in a repository's settings takes no time


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object or array: its key (None in an array), and the spans of the member and of its value."""

    key: str | None
    start: int
    value_start: int
    end: int
    value: object


class Entry(NamedTuple):
    """An entry of our hook: its event, its group there, and itself, both with their index."""

    event: str
    group_index: int
    hook_index: int
    group: dict[str, object]
    hook: dict[str, object]


def blank_comments(text: str) -> str:
    """Return `text` with blanks instead of comments, so that every position stays.

    >>> blank_comments('{"a//b": 1} // c')
    '{"a//b": 1}     '
    """
    if "//" not in text and "/*" not in text:
        return text
    return _STRING_OR_COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else " " * len(match[0]), text)


def _blank_extras(text: str) -> str:
    """Return `text` with blanks instead of comments and of commas after the last member. Raises ValueError for `[,]`.

    >>> _blank_extras('{"a,}": [1, ], // c')
    '{"a,}": [1  ],     '
    """
    plain = blank_comments(text)
    if bare := next((match for match in _STRING_OR_FIRST_COMMA.finditer(plain) if match[0][0] != '"'), None):
        raise ValueError(f"expected a member at character {bare.end()}")
    return _STRING_OR_LAST_COMMA.sub(lambda match: " " if match[0] == "," else match[0], plain)


def parse_members(text: str, bracket: int) -> list[Member]:
    """Return the members of the object or array that begins at `text[bracket]`. Raises ValueError for invalid JSON."""
    text = _blank_extras(text)
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
    text = _blank_extras(text)
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
        end = members_there[position - 1].end
        return text[:end] + _comments_between(text, end, removed.start) + text[removed.end :]
    if len(members_there) > 1:
        start = members_there[1].start
        return text[: removed.start] + _comments_between(text, removed.end, start) + text[start:]
    comma = _skip(blank_comments(text), removed.end)
    after = text[removed.end : comma] + text[comma + 1 :] if text[comma] == "," else text[removed.end :]
    return text[: bracket + 1] + after


def _comments_between(text: str, start: int, end: int) -> str:
    """Return the text between two members without its comma, if it has comments; "" otherwise."""
    comma = blank_comments(text).index(",", start)
    comments = text[start:comma] + text[comma + 1 : end]
    return comments if comments.strip(_BLANK) else ""


def _indent(text: str, position: int) -> str | None:
    before = text[text.rfind("\n", 0, position) + 1 : position]
    return before if not before.strip(" \t") and "\n" in text[:position] else None


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANK:
        position += 1
    return position


_UNMATCHED = dict.fromkeys(("PostToolUseFailure", "SessionStart", "Stop", "PreCompact", "SessionEnd"), "")
EVENTS = {"UserPromptSubmit": "", "PreToolUse": "|".join(TOOLS), **_UNMATCHED}  # to the client's matcher, "" for all calls
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
_COMMAND_KEYS = ("command", "bash", "powershell")  # Copilot names the command by the shell that runs it.
_MAX_COMMAND = 20_000  # Characters, two longest paths. Words in quotes take shlex quadratic time: of 2 MB, minutes.
SECONDS = 5  # the client's time limit; the hook's own is at most 200 ms


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


def add_hook(text: str | None, command: list[str]) -> str:
    """Return the settings file `text` (None for no file) with the hook for every event. Raises ValueError for invalid JSON."""
    return add_groups(text, {event: _group(command, matcher) for event, matcher in EVENTS.items()})


def add_groups(
    text: str | None,
    groups: Mapping[str, dict[str, object]],
    *,
    has_comments: bool = False,
    beside: Mapping[str, object] = MappingProxyType({}),
) -> str:
    """Return the settings file `text` (None for no file) with a group for each event, instead of our earlier ones.

    A group may be a hook itself. has_comments: the client's JSON may have comments; beside: further members of a new file.
    Raises ValueError for invalid JSON.
    """
    if text is None:
        return dump_json({"hooks": {event: [group] for event, group in groups.items()}, **beside})
    check_comments(text, has_comments=has_comments)
    for event, wanted in groups.items():
        for group in _list_elements(text, "hooks", event):
            if any(is_ours(hook) for hook in _hooks_of(group.value)) and group.value != wanted:
                rest = remove_hook(text, has_comments=has_comments, beside=beside)
                return add_groups(rest, groups, has_comments=has_comments, beside=beside)
        if not any(group.value == wanted for group in _list_elements(text, "hooks", event)):
            text = _add_to_list(text, "hooks", event, wanted)
    return text


def remove_hook(text: str, *, has_comments: bool = False, beside: Mapping[str, object] = MappingProxyType({})) -> str | None:
    """Return the settings file `text` without our hooks; None when `init` made the file. Raises ValueError for invalid JSON."""
    before = text
    is_of_init = is_file_of_init(text, "hooks")
    for event in registered_commands(text, has_comments=has_comments):
        while (entry := _find_our_hook(text, event)) is not None:
            text = _remove_entry(text, event, entry)
    root = start_of(text)
    is_bare = {member.key: member.value for member in parse_members(text, root)} in ({}, beside)
    return None if text != before and is_of_init and is_bare else text


def registered_commands(text: str, *, has_comments: bool = False) -> dict[str, list[list[str]]]:
    """Return the commands of our hooks in a settings file by event, each as words. Raises ValueError for invalid JSON."""
    check_comments(text, has_comments=has_comments)
    by_event: dict[str, list[list[str]]] = {}
    for entry in find_entries(text):
        by_event.setdefault(entry.event, []).append(words_of(entry.hook))
    return by_event


def find_entries(text: str) -> Iterator[Entry]:
    """Yield the entries of our hook in a settings file. Raises ValueError for invalid JSON."""
    hooks = find_member(text, start_of(text), "hooks")
    events = hooks.value if hooks is not None and isinstance(hooks.value, dict) else {}
    for event, groups in events.items():
        for group_index, group in enumerate(groups if isinstance(groups, list) else []):
            for index, hook in enumerate(_hooks_of(group)):
                if is_ours(hook):
                    yield Entry(event, group_index, index, group, hook)


def find_unserved_events(text: str) -> list[str]:
    """Return the events that a settings file does not run our hook for, or not for all tools. Raises ValueError."""
    served = {(entry.event, str(entry.group.get("matcher", ""))) for entry in find_entries(text) if "hooks" in entry.group}
    return [event for event, matcher in EVENTS.items() if served.isdisjoint((event, name) for name in ("", "*", matcher))]


def check_comments(text: str, *, has_comments: bool) -> None:
    """Raise ValueError for comments, or a comma after a last member, where the client has none."""
    if not has_comments and blank_comments(text) != text:
        raise ValueError("comments are not allowed")
    if not has_comments and _blank_extras(text) != text:
        raise ValueError("a comma after the last member is not allowed")


def _group(command: list[str], matcher: str) -> dict[str, object]:
    hook = {"type": "command", "command": command[0], "args": [*command[1:], "hook"], "timeout": SECONDS}
    return {"matcher": matcher, "hooks": [hook]} if matcher else {"hooks": [hook]}


def _add_to_list(text: str, outer: str, key: str, value: object) -> str:
    """Return the settings with a value in the list `outer.key`. Raises ValueError where something else is there."""
    root = start_of(text)
    around = find_member(text, root, outer)
    if around is None:
        return insert(text, root, f'"{outer}": {dump_json({key: [value]})}')
    if not isinstance(around.value, dict):
        raise ValueError(f"{outer} is not an object")
    array = find_member(text, around.value_start, key)
    if array is None:
        return insert(text, around.value_start, f'"{key}": {dump_json([value])}')
    if not isinstance(array.value, list):
        raise ValueError(f"{outer}.{key} is not a list")
    return insert(text, array.value_start, dump_json(value))


def _remove_entry(text: str, event: str, entry: tuple[Member, Member]) -> str:
    group, hook = entry
    inner = find_member(text, group.value_start, "hooks")
    if inner is not None and len(parse_members(text, inner.value_start)) > 1:
        return remove(text, inner.value_start, hook)
    return _remove_from_list(text, "hooks", event, group)


def _remove_from_list(text: str, outer: str, key: str, element: Member) -> str:
    """Return the settings without an element of the list `outer.key`. An empty list or object of `init` goes, too."""
    root = start_of(text)
    around = find_member(text, root, outer)
    assert around is not None
    array = find_member(text, around.value_start, key)
    assert array is not None
    if len(parse_members(text, array.value_start)) > 1 or not is_made_by_init(text, array.value_start):
        return remove(text, array.value_start, element)
    if len(parse_members(text, around.value_start)) > 1 or not is_made_by_init(text, around.value_start):
        return remove(text, around.value_start, array)
    return remove(text, root, around)


PERMISSIONS = "permissions"


def add_rule(text: str | None, kind: str, rule: str) -> str:
    """Return the settings file `text` (None for no file) with a permission rule. Raises ValueError for invalid JSON.

    kind: the list of rules, `ask` or `deny`.
    """
    if text is None:
        return dump_json({PERMISSIONS: {kind: [rule]}})
    check_comments(text, has_comments=False)
    return text if _find_rule(text, kind, rule) else _add_to_list(text, PERMISSIONS, kind, rule)


def remove_rule(text: str, kind: str, rule: str) -> str | None:
    """Return the settings file `text` without a permission rule; None where `add_rule` made the file."""
    entry = _find_rule(text, kind, rule)
    if entry is None:
        return text
    after = _remove_from_list(text, PERMISSIONS, kind, entry)
    return after if parse_members(after, start_of(after)) or not is_file_of_init(text, PERMISSIONS) else None


def _find_rule(text: str, kind: str, rule: str) -> Member | None:
    return next((entry for entry in _list_elements(text, PERMISSIONS, kind) if entry.value == rule), None)


def is_file_of_init(text: str, key: str) -> bool:
    """Return whether `init` made a settings file: then `key` is its first member. `insert` adds it to a file as the last."""
    return text.startswith(f'{{\n  "{key}": {{\n') and text.endswith("}")


def is_made_by_init(text: str, bracket: int) -> bool:
    """Return whether a bracket was made with its first member: then a new line follows it (see `insert`)."""
    return text[bracket + 1 : bracket + 3].lstrip("\r").startswith("\n")


def _find_our_hook(text: str, event: str) -> tuple[Member, Member] | None:
    for group in _list_elements(text, "hooks", event):
        if is_ours(group.value):
            return group, group
        inner = find_member(text, group.value_start, "hooks") if isinstance(group.value, dict) else None
        if inner is not None and isinstance(inner.value, list):
            for hook in parse_members(text, inner.value_start):
                if is_ours(hook.value):
                    return group, hook
    return None


def _list_elements(text: str, outer: str, key: str) -> list[Member]:
    around = find_member(text, start_of(text), outer)
    array = find_member(text, around.value_start, key) if around and isinstance(around.value, dict) else None
    return parse_members(text, array.value_start) if array and isinstance(array.value, list) else []


def _hooks_of(group: object) -> list[dict[str, object]]:
    """Return the hooks of a group. Some clients have none: a hook stands in place of its group."""
    hooks = group.get("hooks", [group]) if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def is_ours(hook: object) -> bool:
    """Return whether a handler runs `subcog hook`, from any path and in either form."""
    if not isinstance(hook, dict) or not isinstance(_command_of(hook), str):
        return False
    words = words_of(hook)
    if is_line(words):
        return True
    name = words[0].replace("\\", "/").rpartition("/")[2].lower() if words else ""
    by_python = words[2:] if words[1:2] == ["-P"] else words[1:]
    if by_python[: len(ISOLATED)] == [*ISOLATED]:
        code, *arguments = by_python[len(ISOLATED) :] or [""]
        return "from subcog_hooks.__main__ import main" in code and arguments[:1] == ["hook"]
    return (name in ("subcog", "subcog.exe") and words[1:2] == ["hook"]) or by_python[:3] == ["-m", "subcog_hooks", "hook"]


def words_of(hook: dict[str, object]) -> list[str]:
    """Return the words of a handler's command; a command without arguments is a shell line."""
    command, arguments = str(_command_of(hook)), hook.get("args")
    if isinstance(arguments, list):
        return [command, *map(str, arguments)]
    if len(command) <= _MAX_COMMAND:
        try:
            return [word.strip('"') for word in shlex.split(command, posix="\\" not in command)]  # C:\... has no escapes
        except ValueError:
            pass
    return command.split()


def _command_of(hook: Mapping[str, object]) -> object:
    return next((hook[key] for key in _COMMAND_KEYS if key in hook), None)


def dump_json(value: object) -> str:
    """Return a value as the text that `init` adds."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def make_line(commands: Sequence[Sequence[str]], client: str, *, is_windows: bool) -> str:
    """Return the line that runs the first command that works; on Windows the last one, if its program is there.

    >>> make_line([["/opt/subcog"]], "codex", is_windows=False)
    "sh -c 'exec 2>/dev/null; /opt/subcog hook --client codex || exit 0'"
    >>> make_line([["C:\\\\x\\\\subcog.exe"]], "codex", is_windows=True)
    'cmd /d /c if exist C:\\\\x\\\\subcog.exe C:\\\\x\\\\subcog.exe hook --client codex'
    """
    whole = [[*command, "hook", "--client", client] for command in commands]
    if is_windows:
        return subprocess.list2cmdline([*_IF_THERE, whole[-1][0], *whole[-1]])
    return f"sh -c {shlex.quote(_SILENT + _OR.join([*map(shlex.join, whole), _GUARD]))}"


def is_line(words: Sequence[str]) -> bool:
    """Return whether the words of a command are such a line, of any installation."""
    text = " ".join(words)
    is_guarded = [*words[:2]] == ["sh", "-c"] or [*words[: len(_IF_THERE)]] == _IF_THERE
    return is_guarded and "subcog" in text.lower() and _HOOK.search(text[-_MAX_HOOK:]) is not None


def split_line(words: Sequence[str]) -> list[list[str]]:
    """Return the commands that a line tries in turn; for another command that one alone."""
    if not is_line(words):
        return [[*words]]
    if words[0] == "sh":
        return [shlex.split(part) for part in words[2].removeprefix(_SILENT).removesuffix(_OR + _GUARD).split(_OR)]
    return [[*words[len(_IF_THERE) + 1 :]]]
