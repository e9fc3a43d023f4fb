"""Reports for `doctor` which settings and plugins run the hook, and which command it may try."""

import os
import shutil
from collections.abc import Mapping
from typing import NamedTuple

from subcog_hooks.cli.claude_code import client, hook_entries, skills
from subcog_hooks.cli.claude_code.client import Plugin
from subcog_hooks.cli.support.output import visible
from subcog_hooks.core.errors import ConfigError
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.text.sanitise import cut

GOOD, NOTE, BAD = "good", "note", "bad"
MAX_COMMAND_SHOWN = 200  # characters of a command


class Remark(NamedTuple):
    """A line of the report, ready for a terminal. kind: GOOD, NOTE or BAD."""

    kind: str
    text: str


class Registration(NamedTuple):
    """The registrations of the hook. command: the working command in the user's own settings, None for none."""

    remarks: tuple[Remark, ...]
    command: list[str] | None


def inspect_registration() -> Registration:
    """Read the client's settings and plugins, and judge them without running a command."""
    remarks: list[Remark] = []
    command: list[str] | None = None
    running: list[str] = []  # settings that run the hook
    is_broken = False
    seen: set[str] = set()  # A repository may contain the user's own settings folder.
    for name, path in client.settings_files().items():
        if os.path.realpath(path) in seen:
            continue
        seen.add(os.path.realpath(path))
        try:
            commands, missing = _commands(path)
        except (ConfigError, ValueError, RecursionError) as error:
            remarks.append(Remark(BAD, visible(f"{path} cannot be read, by the client either: {error}")))
            continue
        for words in dict.fromkeys(tuple(words) for ours in commands.values() for words in ours):
            remarks.append(_judge_command(name, path, words))
            is_broken = is_broken or remarks[-1].kind == BAD
            resolved = client.resolve_command(words)
            if resolved and client.is_users_own(path):
                command = command or resolved[: resolved.index("hook")]
        if commands:
            running.append(name)
            if missing:
                events = ", ".join(missing)
                adds = f"`subcog init{scope_option(name)}` adds that"
                remarks.append(Remark(NOTE, f"the {name} settings do not run it for all of {events}; {adds}"))
    plugins = client.plugins()
    remarks += _judge_plugins(plugins, running)
    remarks += _judge_skills()
    if running and (remark := path_remark()):
        remarks.append(Remark(NOTE, remark))
    if not running and not is_broken and not any(plugin.enabled_by for plugin in plugins):
        remarks.append(Remark(NOTE, "no settings file and no plugin runs the hook; `subcog init` registers it"))
    return Registration(tuple(remarks), command)


def path_remark() -> str:
    """Return a remark where the PATH does not lead to this installation, with the command for agents; "" otherwise."""
    command = skills.command_of(client.executable())
    if command == "subcog":
        return ""
    return f"subcog is not on the PATH: agents open memories by `{command_text((command,))} show ID`; pipx or uv puts it there"


def scope_option(name: str) -> str:
    """Return the option of `subcog init` and `uninstall` for these settings."""
    return "" if name == client.USER else f" --{name}"


def command_text(words: tuple[str, ...]) -> str:
    """Return a command for a terminal: one line, without control characters and secrets, of limited length."""
    whole = ["…" if "\n" in word else word for word in words]  # the code for an isolated interpreter
    return cut(visible(mask_secrets(" ".join(whole))), MAX_COMMAND_SHOWN)


def _commands(path: str) -> tuple[Mapping[str, list[list[str]]], list[str]]:
    """Return the commands of our hook in a settings file by event, and the events without. Raises ConfigError, and
    ValueError or RecursionError for JSON that is wrong or nested too deeply.
    """
    text = client.read_settings(path)
    if text is None:
        return {}, []
    return hook_entries.registered_commands(text), hook_entries.find_unserved_events(text)


def _judge_command(name: str, path: str, words: tuple[str, ...]) -> Remark:
    """Judge a command of a settings file. Only our own executable and commands in the user's settings are ever run."""
    hook = f"hook in the {name} settings: {command_text(words)}"
    program, resolved = words[0], client.resolve_command(words)
    if resolved is None and shutil.which(program) is None:
        missing = (
            f"{visible(path)} runs {command_text((program,))}, which is not there; run `subcog init{scope_option(name)}` again"
        )
        return Remark(BAD, missing)
    places = hook_entries.paths_in_command(words)
    if places and not os.path.isdir(os.path.join(places[0], "subcog_hooks")):
        fact = f"{visible(path)} names {command_text((places[0],))}, where subcog is no more"
        moved = f"{fact}; run `subcog init{scope_option(name)}` again"
        return Remark(NOTE if os.path.isfile(places[1]) else BAD, moved)
    if resolved is not None and (client.is_users_own(path) or _is_this_installation(resolved)):
        return Remark(GOOD, hook)
    if client.is_users_own(path):
        return Remark(NOTE, f"{hook}; not run, because its path begins in the folder at hand; run `subcog init` again")
    not_run = f"{hook}; not run, because the repository names it: doctor tries this installation"
    return Remark(GOOD if words == ("subcog", "hook") else NOTE, not_run)


def _is_this_installation(words: list[str]) -> bool:
    for program, *arguments in (client.executable(), client.hook_command()):
        if os.path.realpath(words[0]) == os.path.realpath(program) and words[1:] == [*arguments, "hook"]:
            return True
    return False


def _judge_plugins(plugins: list[Plugin], running: list[str]) -> list[Remark]:
    remarks = []
    for plugin in plugins:
        name = visible(f"plugin {plugin.id} {plugin.version}".rstrip())
        if plugin.enabled_by is None:
            remedy = (
                f"`claude plugin enable {visible(plugin.id)}`" if plugin.version else "`claude plugin install subcog@subcog`"
            )
            remarks.append(Remark(GOOD if running else NOTE, f"{name} is installed and disabled; {remedy} switches it on"))
            continue
        remarks.append(
            Remark(GOOD, f"{name}, enabled in the {plugin.enabled_by} settings: it runs `subcog hook` from the PATH")
        )
        if client.find_program("subcog") is None:
            advice = "install subcog with pipx or uv, or use `subcog init` instead"
            remarks.append(Remark(BAD, f"`subcog` is not on the PATH, where the plugin looks for it; {advice}"))
        for settings in running:
            away = f"`subcog uninstall{scope_option(settings)}`, or `claude plugin disable {visible(plugin.id)}`"
            remarks.append(Remark(NOTE, f"the hook runs twice, by the plugin and the {settings} settings; {away}"))
    return remarks


def _judge_skills() -> list[Remark]:
    folder = client.skills_folder(client.USER)
    installed = skills.find_skills(folder, skills.command_of(client.executable())) if folder else []
    names = {
        state: [skill.name for skill in installed if skill.state == state]
        for state in (skills.SAME, skills.OLDER, skills.CHANGED)
    }
    remarks = []
    if kept := names[skills.SAME] + names[skills.CHANGED]:
        changed = f", changed by you: {', '.join(names[skills.CHANGED])}" if names[skills.CHANGED] else ""
        remarks.append(Remark(GOOD, visible(f"skills in {folder}: {', '.join(kept)}{changed}")))
    if names[skills.OLDER]:
        older = ", ".join(names[skills.OLDER])
        remarks.append(Remark(NOTE, visible(f"the skills {older} in {folder} are of another installation; run `subcog init`")))
    return remarks
