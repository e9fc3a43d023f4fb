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

from subcog_hooks.cues.conditions import CHANGES, POWERSHELL, SHOWS, TOOLS

_DECODER = json.JSONDecoder(strict=False)
_BLANK = " \t\r\n"
# A string or a comment, whole or up to the end of the text: each character is looked at once.
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+"?|//[^\r\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_STRING_OR_LAST_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+"?|,(?=[ \t\r\n]*+[}\]])', re.DOTALL)

_SILENT = "exec 2>/dev/null; "
_OR = " || "
_EXEC = "exec"
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
    """Return `text` with blanks instead of comments and of commas after the last member.

    >>> _blank_extras('{"a,}": [1, ], // c')
    '{"a,}": [1  ],     '
    """
    return _STRING_OR_LAST_COMMA.sub(lambda match: " " if match[0] == "," else match[0], blank_comments(text))


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


def find_path(text: str, *keys: str) -> list[Member]:
    """Return the members along a path of keys, as far as there are any. Raises ValueError for invalid JSON."""
    path: list[Member] = []
    bracket = start_of(text)
    for key in keys:
        member = find_member(text, bracket, key)
        if member is None:
            break
        path.append(member)
        if not isinstance(member.value, dict):
            break
        bracket = member.value_start
    return path


def list_elements(text: str, *keys: str) -> list[Member]:
    """Return the elements of the list at a path of keys, none where no list is there. Raises ValueError for invalid JSON."""
    path = find_path(text, *keys)
    return parse_members(text, path[-1].value_start) if len(path) == len(keys) and isinstance(path[-1].value, list) else []


def add_member(text: str, keys: Sequence[str], value: object) -> str:
    """Return `text` with a new member at a path of keys, and the objects that are missing on it. Raises ValueError."""
    path = find_path(text, *keys)
    if path and not isinstance(path[-1].value, dict):
        raise ValueError(f"{'.'.join(keys[: len(path)])} is not an object")
    for key in reversed(keys[len(path) + 1 :]):
        value = {key: value}
    return insert(text, path[-1].value_start if path else start_of(text), f'"{keys[len(path)]}": {dump_json(value)}')


def add_to_list(text: str, keys: Sequence[str], value: object) -> str:
    """Return `text` with a new element in the list at a path of keys. Raises ValueError where something else is there."""
    path = find_path(text, *keys)
    if len(path) < len(keys):
        return add_member(text, keys, [value])
    if not isinstance(path[-1].value, list):
        raise ValueError(f"{'.'.join(keys)} is not a list")
    return insert(text, path[-1].value_start, dump_json(value))


def remove_last(text: str, path: Sequence[Member]) -> str:
    """Return `text` without the last member of a path. Objects and lists of `init` that have nothing else go, too.

    They are known by the new line behind their bracket (see `insert`).
    """
    brackets = [start_of(text), *(member.value_start for member in path)]
    depth = len(path) - 1
    while depth and len(parse_members(text, brackets[depth])) == 1:
        if not text[brackets[depth] + 1 : brackets[depth] + 3].lstrip("\r").startswith("\n"):
            break
        depth -= 1
    bracket, removed = brackets[depth], path[depth]
    members = parse_members(text, bracket)
    position = next(i for i, member in enumerate(members) if member.start == removed.start)
    if position:
        end = members[position - 1].end
        return text[:end] + _comments_between(text, end, removed.start) + text[removed.end :]
    if len(members) > 1:
        start = members[1].start
        return text[: removed.start] + _comments_between(text, removed.end, start) + text[start:]
    comma = _skip(blank_comments(text), removed.end)
    after = text[removed.end : comma] + text[comma + 1 :] if text[comma] == "," else text[removed.end :]
    return text[: bracket + 1] + after


def drop_emptied(before: str, after: str, key: str, beside: Mapping[str, object] = MappingProxyType({})) -> str | None:
    """Return a file's text after a removal; None where nothing but `beside` is left of a file that `init` made.

    key: the first member of such a file. `insert` adds it to the files of others as the last.
    """
    is_of_init = before.startswith(f'{{\n  "{key}": {{\n') and before.endswith("}")
    left = {member.key: member.value for member in parse_members(after, start_of(after))}
    return None if after != before and is_of_init and left in ({}, beside) else after


def insert(text: str, bracket: int, added: str) -> str:
    """Return `text` with `added` (a member, without a comma) as the last member of the bracket at `text[bracket]`.

    In an empty bracket no new line is added: this tells `remove_last` that `init` did not make the bracket.
    """
    members = parse_members(text, bracket)
    if not members:
        return text[: bracket + 1] + added + text[bracket + 1 :]
    start, end = members[-1].start, members[-1].end
    line = "\r\n" if "\r\n" in text else "\n"
    line_start = text.rfind("\n", 0, start) + 1
    indent = text[line_start:start]
    if not line_start or indent.strip(" \t"):
        return text[:end] + ", " + added.replace("\n", line) + text[end:]
    return text[:end] + f",{line}{indent}" + added.replace("\n", line + indent) + text[end:]


def _comments_between(text: str, start: int, end: int) -> str:
    """Return the text between two members without its comma, if it has comments; "" otherwise."""
    comma = blank_comments(text).index(",", start)
    comments = text[start:comma] + text[comma + 1 : end]
    return comments if comments.strip(_BLANK) else ""


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _BLANK:
        position += 1
    return position


def refuse_comments(text: str) -> None:
    """Raise ValueError for comments, or a comma after a last member, which not all clients read."""
    if blank_comments(text) != text:
        raise ValueError("comments are not allowed")
    if _blank_extras(text) != text:
        raise ValueError("a comma after the last member is not allowed")


def dump_json(value: object) -> str:
    """Return a value as the text that `init` adds."""
    return json.dumps(value, indent=2, ensure_ascii=False)


_UNMATCHED = dict.fromkeys(("PostToolUseFailure", "SessionStart", "SubagentStart", "Stop", "PreCompact", "SessionEnd"), "")
_OTHER_TOOLS = f"mcp__.*({'|'.join((*CHANGES, *SHOWS))}).*"
_MATCHER = f"^({'|'.join((*TOOLS, POWERSHELL, _OTHER_TOOLS))})$"
EVENTS = {"UserPromptSubmit": "", "PreToolUse": _MATCHER, **_UNMATCHED}  # to the client's matcher, "" for all calls
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
SECONDS = 5  # the client's time limit; the hook's own is at most 3


def isolated_command(python: str, folder: str, script: str) -> list[str]:
    """Return the command of the hook in an isolated interpreter, without the word `hook`. folder: of package and libraries."""
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
    """Return Claude Code's settings `text` (None for no file) with the hook for every event. Raises ValueError."""
    if text is not None:
        refuse_comments(text)
    hook = {"type": "command", "command": command[0], "args": [*command[1:], "hook"], "timeout": SECONDS}
    groups = {
        event: {"matcher": matcher, "hooks": [hook]} if matcher else {"hooks": [hook]} for event, matcher in EVENTS.items()
    }
    return add_groups(text, groups)


def add_groups(
    text: str | None, groups: Mapping[str, Mapping[str, object]], beside: Mapping[str, object] = MappingProxyType({})
) -> str:
    """Return the settings file `text` (None for no file) with a group for each event, instead of our earlier ones.

    A group may be a hook itself. beside: further members of a new file. Raises ValueError for invalid JSON.
    """
    if text is None:
        return dump_json({"hooks": {event: [group] for event, group in groups.items()}, **beside})
    for event, wanted in groups.items():
        present = [group.value for group in list_elements(text, "hooks", event)]
        if any(group != wanted and any(map(is_ours, _hooks_of(group))) for group in present):
            return add_groups(remove_hook(text, beside), groups, beside)
        if wanted not in present:
            text = add_to_list(text, ("hooks", event), wanted)
    return text


def remove_hook(text: str, beside: Mapping[str, object] = MappingProxyType({})) -> str | None:
    """Return the settings file `text` without our hooks; None when `init` made the file. Raises ValueError for invalid JSON."""
    before = text
    while entry := next(find_entries(text), None):
        path = find_path(text, "hooks", entry.event)
        group = parse_members(text, path[-1].value_start)[entry.group_index]
        path.append(group)
        if len(_hooks_of(group.value)) > 1:  # The group has others, too.
            inner = next(member for member in reversed(parse_members(text, group.value_start)) if member.key == "hooks")
            path += [inner, parse_members(text, inner.value_start)[entry.hook_index]]
        text = remove_last(text, path)
    return drop_emptied(before, text, "hooks", beside)


def registered_commands(text: str) -> dict[str, list[list[str]]]:
    """Return the commands of our hooks in a settings file by event, each as words. Raises ValueError for invalid JSON."""
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


def make_line(commands: Sequence[Sequence[str]], client: str, *, is_windows: bool) -> str:
    """Return the shell line for the first command with an existing program; on Windows for the last command.

    Each but the last takes the place of the shell: a client that ends a late hook ends the shell alone.

    >>> make_line([["/opt/subcog"]], "codex", is_windows=False)
    "sh -c 'exec 2>/dev/null; /opt/subcog hook --client codex || exit 0'"
    >>> make_line([["/py", "-I"], ["/opt/subcog"]], "qwen", is_windows=False).partition("; ")[2]
    "[ -x /py ] && exec /py -I hook --client qwen; /opt/subcog hook --client qwen || exit 0'"
    >>> make_line([["C:\\\\x\\\\subcog.exe"]], "codex", is_windows=True)
    'cmd /d /c if exist C:\\\\x\\\\subcog.exe C:\\\\x\\\\subcog.exe hook --client codex'
    """
    whole = [[*command, "hook", "--client", client] for command in commands]
    if is_windows:
        return subprocess.list2cmdline([*_IF_THERE, whole[-1][0], *whole[-1]])
    earlier = [f"[ -x {shlex.quote(words[0])} ] && {_EXEC} {shlex.join(words)}; " for words in whole[:-1]]
    return f"sh -c {shlex.quote(''.join([_SILENT, *earlier, shlex.join(whole[-1]), _OR, _GUARD]))}"


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
        lexer = shlex.shlex(words[2].removeprefix(_SILENT).removesuffix(_OR + _GUARD), posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        commands: list[list[str]] = [[]]
        for word in lexer:
            if word in (";", _EXEC):
                commands += [[]]
            else:
                commands[-1].append(word)
        return [command for command in commands if command[:1] != ["["]]
    return [[*words[len(_IF_THERE) + 1 :]]]
