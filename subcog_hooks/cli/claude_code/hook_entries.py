"""Our hook in the text of a settings file of Claude Code: put in, taken out, and found, every other byte as it was."""

import ast
import json
import shlex
from collections.abc import Sequence
from contextlib import suppress

from subcog_hooks.cli.claude_code import settings_json
from subcog_hooks.cues.tools import TOOLS

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
    root = settings_json.start_of(text)
    return None if text != before and made_by_init and not settings_json.members(text, root) else text


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
    root = settings_json.start_of(text)
    hooks = settings_json.member(text, root, "hooks")
    if hooks is None:
        return settings_json.insert(text, root, f'"hooks": {_dumped({event: [group]})}')
    if not isinstance(hooks.value, dict):
        raise ValueError("hooks is not an object")
    array = settings_json.member(text, hooks.value_start, event)
    if array is None:
        return settings_json.insert(text, hooks.value_start, f'"{event}": {_dumped([group])}')
    if not isinstance(array.value, list):
        raise ValueError(f"hooks.{event} is not a list")
    return settings_json.insert(text, array.value_start, _dumped(group))


def _without(text: str, event: str, found: tuple[settings_json.Member, settings_json.Member]) -> str:
    """Return `text` without one of our hooks, and without the brackets that were made for it."""
    group, hook = found
    root = settings_json.start_of(text)
    hooks = settings_json.member(text, root, "hooks")
    assert hooks is not None
    array = settings_json.member(text, hooks.value_start, event)
    assert array is not None
    inner = settings_json.member(text, group.value_start, "hooks")
    assert inner is not None
    if len(settings_json.members(text, inner.value_start)) > 1:
        return settings_json.remove(text, inner.value_start, hook)
    if len(settings_json.members(text, array.value_start)) > 1 or not _made_by_init(text, array.value_start):
        return settings_json.remove(text, array.value_start, group)
    if len(settings_json.members(text, hooks.value_start)) > 1 or not _made_by_init(text, hooks.value_start):
        return settings_json.remove(text, hooks.value_start, array)
    return settings_json.remove(text, root, hooks)


def _made_by_init(text: str, bracket: int) -> bool:
    """Return whether a bracket came with its first member: then a new line follows it (see settings_json.insert)."""
    return text[bracket + 1 : bracket + 3].lstrip("\r").startswith("\n")


def _our_hook(text: str, event: str) -> tuple[settings_json.Member, settings_json.Member] | None:
    """Return the first group and hook of an event that are ours."""
    for group in _groups(text, event):
        inner = settings_json.member(text, group.value_start, "hooks") if isinstance(group.value, dict) else None
        if inner is not None and isinstance(inner.value, list):
            for hook in settings_json.members(text, inner.value_start):
                if _is_ours(hook.value):
                    return group, hook
    return None


def _events(text: str) -> dict[str, object]:
    hooks = settings_json.member(text, settings_json.start_of(text), "hooks")
    return hooks.value if hooks is not None and isinstance(hooks.value, dict) else {}


def _groups(text: str, event: str) -> list[settings_json.Member]:
    hooks = settings_json.member(text, settings_json.start_of(text), "hooks")
    if hooks is None or not isinstance(hooks.value, dict):
        return []
    array = settings_json.member(text, hooks.value_start, event)
    return settings_json.members(text, array.value_start) if array is not None and isinstance(array.value, list) else []


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
