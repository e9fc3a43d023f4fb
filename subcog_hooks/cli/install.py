"""`subcog init` and `uninstall`: the hook in Claude Code's settings, every other byte of the file as it was."""

import difflib
import json
import os
import shutil
import sys
from typing import Annotated

import typer
from rich.text import Text

from subcog_hooks.cli.support import session, settings_json
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.cues.tools import TOOLS
from subcog_hooks.errors import EXIT_NOTHING_FOUND, ConfigError, UsageError
from subcog_hooks.paths import create_private_file

EVENTS = {  # with what the client matches of each, "" for all
    "UserPromptSubmit": "",
    "PreToolUse": "|".join(TOOLS),
    "SessionStart": "",
    "Stop": "",
    "PreCompact": "",
    "SessionEnd": "",
}
SECONDS = 5  # the client's time limit; the hook's own is 200 ms, or less
_FRESH_HEAD, _FRESH_TAIL = "{\n", "}"  # how a file that init made begins and ends: then uninstall knows that it may go


def register(app: typer.Typer) -> None:
    app.command()(init)
    app.command()(uninstall)


def init(
    user: Annotated[bool, typer.Option("--user", help="Your own settings, for every project (the default).")] = False,
    project: Annotated[
        bool, typer.Option("--project", help="This project's shared .claude/settings.json; runs `subcog` from the PATH.")
    ] = False,
    local: Annotated[bool, typer.Option("--local", help="This project's .claude/settings.local.json, yours alone.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change, and make none.")] = False,
) -> None:
    """Register the hook with Claude Code, show the change, keep everything else in the file.

    Example: subcog init --dry-run
    """
    path = _settings_file(user=user, project=project, local=local)
    before = _read(path)
    command = ["subcog"] if project else executable()  # a shared file names no one's own folders
    try:
        if before is not None and not before.strip():
            raise ConfigError(f"{path} is empty", "delete it, or write {} into it")
        after = registered(before, command)
    except ValueError as error:
        raise ConfigError(
            f"{path} is not a JSON object with hooks as Claude Code writes them: {error}", "correct it by hand"
        ) from error
    if after == before:
        terminal.say(f"{path} has the hook already")
        return
    _show_change(path, before or "", after)
    if not dry_run:
        session.home().create()
        _write(path, after)
        terminal.say(f"{path} written; new sessions of Claude Code use it (`subcog doctor` tries it out)")


def uninstall(
    user: Annotated[bool, typer.Option("--user", help="Your own settings, for every project (the default).")] = False,
    project: Annotated[
        bool, typer.Option("--project", help="This project's shared .claude/settings.json; runs `subcog` from the PATH.")
    ] = False,
    local: Annotated[bool, typer.Option("--local", help="This project's .claude/settings.local.json, yours alone.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change, and make none.")] = False,
) -> None:
    """Take the hook out of Claude Code's settings: the file is what it was before `init`. Memories stay.

    Example: subcog uninstall
    """
    path = _settings_file(user=user, project=project, local=local)
    before = _read(path)
    try:
        after = unregistered(before) if before is not None else before
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}", "correct it by hand") from error
    if after == before:
        terminal.say(f"{path} does not have the hook")
        raise typer.Exit(EXIT_NOTHING_FOUND)
    _show_change(path, before or "", after or "")
    if dry_run:
        return
    if after is None:
        os.unlink(os.path.realpath(path))
        terminal.say(f"{path} removed, as it was before; your memories stay in {session.home().root}")
    else:
        _write(path, after)
        terminal.say(f"{path} is as it was before; your memories stay in {session.home().root}")


def executable() -> list[str]:
    """The command that runs this installation, as words: the console script's full path, else the interpreter's."""
    script = os.path.abspath(sys.argv[0])
    name = os.path.basename(script).lower()
    if name in ("subcog", "subcog.exe") and os.path.isfile(script):
        return [script]
    beside = shutil.which("subcog", path=os.path.dirname(sys.executable))
    return [beside] if beside else [sys.executable, "-m", "subcog_hooks"]


def registered(text: str | None, command: list[str]) -> str:
    """The settings file `text` (None: there is none) with the hook for every event. Raises ValueError when it is not JSON."""
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
    """The settings file `text` without our hooks; None when `init` made the file. Raises ValueError when it is not JSON."""
    before = text
    made_by_init = text.startswith(_FRESH_HEAD) and text.endswith(_FRESH_TAIL)
    for event in list(_events(text)):
        while (found := _our_hook(text, event)) is not None:
            text = _without(text, event, found)
    root = settings_json.start_of(text)
    return None if text != before and made_by_init and not settings_json.members(text, root) else text


def registered_commands(text: str) -> dict[str, list[list[str]]]:
    """The commands of our hooks in a settings file by event, each as words. Raises ValueError when it is not JSON."""
    found: dict[str, list[list[str]]] = {}
    for event in _events(text):
        for group in _groups(text, event):
            for hook in filter(_is_ours, _hooks_of(group.value)):
                found.setdefault(event, []).append(_words(hook))
    return found


def unserved(text: str) -> list[str]:
    """The events for which a settings file does not run our hook, or for less than all it answers. Raises ValueError."""
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
    """`text` without one of our hooks, and without the brackets that were made for it."""
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
    """Whether a bracket came with its first member: then a new line follows it (see json_edit.insert)."""
    return text[bracket + 1 : bracket + 3].lstrip("\r").startswith("\n")


def _our_hook(text: str, event: str) -> tuple[settings_json.Member, settings_json.Member] | None:
    """The first group and hook of an event that are ours."""
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
    """Whether a handler runs `subcog hook`, from whatever place and in either form."""
    if not isinstance(hook, dict) or not isinstance(hook.get("command"), str):
        return False
    arguments = hook.get("args") if isinstance(hook.get("args"), list) else None
    words = [hook["command"], *map(str, arguments)] if arguments is not None else hook["command"].split()
    name = words[0].replace("\\", "/").rpartition("/")[2].strip('"').lower() if words else ""
    return (name in ("subcog", "subcog.exe") and words[1:2] == ["hook"]) or words[1:4] == ["-m", "subcog_hooks", "hook"]


def _words(hook: dict[str, object]) -> list[str]:
    arguments = hook.get("args")
    return [str(hook["command"]), *map(str, arguments if isinstance(arguments, list) else [])]


def _dumped(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def settings_files() -> dict[str, str]:
    """Where Claude Code reads settings from, by the option that names each; the project's only inside of one."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
    files = {"user": os.path.join(folder, "settings.json")}
    at = session.here()
    if at is None:
        return files
    files["project"] = os.path.join(at.root, ".claude", "settings.json")
    files["local"] = os.path.join(at.root, ".claude", "settings.local.json")
    return files


def _settings_file(*, user: bool, project: bool, local: bool) -> str:
    if sum((user, project, local)) > 1:
        raise UsageError("--user, --project and --local exclude each other", "give one of them")
    name = "project" if project else "local" if local else "user"
    files = settings_files()
    if name not in files:
        raise UsageError("this folder is in no repository", "go to the project, or use --user")
    return files[name]


def _read(path: str) -> str | None:
    """The file as it is, line ends included; None when there is none."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can not be read: {error}", "correct it by hand") from error


def _write(path: str, text: str) -> None:
    target = os.path.realpath(path)  # a link into somebody's dotfiles stays a link
    partial = f"{target}.subcog"
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.exists(partial):
            os.unlink(partial)
        create_private_file(partial)  # settings may hold keys
        with open(partial, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, partial)
        os.replace(partial, target)
    except OSError as error:
        raise ConfigError(f"{path} can not be written: {error.strerror}", "check its permissions and the disk") from error


def _show_change(path: str, before: str, after: str) -> None:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=2)
    for line in lines:
        style = "green" if line.startswith("+") else "red" if line.startswith("-") else ""
        terminal.out.print(Text(line, style=style), soft_wrap=True)
