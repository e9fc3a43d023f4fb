"""The findings of `doctor` about who runs the hook: settings files, the plugin, and the command that may be tried here."""

import os
import shutil
from collections.abc import Mapping
from typing import NamedTuple

from subcog_hooks.cli.claude_code import client, hook_entries, skills
from subcog_hooks.cli.claude_code.client import Plugin
from subcog_hooks.cli.support.output import visible
from subcog_hooks.core.errors import ConfigError
from subcog_hooks.redaction.leaks import mask
from subcog_hooks.text.sanitise import cut

GOOD, NOTE, BAD = "good", "note", "bad"
MAX_COMMAND_SHOWN = 200  # characters of a command


class Remark(NamedTuple):
    """One line of the report, ready for a terminal; kind: GOOD, NOTE or BAD."""

    kind: str
    text: str


class Registration(NamedTuple):
    """Who runs the hook here. command: what runs it by the user's own settings, None where they name nothing that is there."""

    remarks: tuple[Remark, ...]
    command: list[str] | None


def look() -> Registration:
    """Read the client's settings and plugins, and judge them. Runs nothing."""
    remarks: list[Remark] = []
    command: list[str] | None = None
    running: list[str] = []  # settings that run the hook
    is_broken = False
    seen: set[str] = set()  # a repository around the user's own folder has the user's settings for its own
    for name, path in client.settings_files().items():
        if os.path.realpath(path) in seen:
            continue
        seen.add(os.path.realpath(path))
        try:
            commands, missing = _commands(path)
        except (ConfigError, ValueError, RecursionError) as error:
            remarks.append(Remark(BAD, visible(f"{path} can not be read, by the client either: {error}")))
            continue
        for words in dict.fromkeys(tuple(words) for ours in commands.values() for words in ours):
            remarks.append(_judged(name, path, words))
            is_broken = is_broken or remarks[-1].kind == BAD
            found = client.runnable(words)
            if found and client.is_users(path):
                command = command or found[: found.index("hook")]
        if commands:
            running.append(name)
            if missing:
                events = ", ".join(missing)
                adds = f"`subcog init{option(name)}` adds that"
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
    """Return a remark on how agents open a memory where the PATH does not lead to this installation; "" where it does."""
    command = skills.command_of(client.executable())
    if command == "subcog":
        return ""
    return f"subcog is not on the PATH: agents open memories by `{shown((command,))} show ID`; pipx or uv puts it there"


def option(name: str) -> str:
    """Return what `subcog init` and `uninstall` are told to change these settings."""
    return "" if name == client.USER else f" --{name}"


def shown(words: tuple[str, ...]) -> str:
    """Return a command for a terminal: one line, nothing that a terminal obeys, no secret, not endless."""
    whole = ["…" if "\n" in word else word for word in words]  # the few words that an isolated interpreter runs
    return cut(visible(mask(" ".join(whole))), MAX_COMMAND_SHOWN)


def _commands(path: str) -> tuple[Mapping[str, list[list[str]]], list[str]]:
    """Return the commands of our hook in a settings file by event, and the events without. Raises ConfigError, and
    ValueError or RecursionError for JSON that is wrong or nested too deeply.
    """
    text = client.read(path)
    if text is None:
        return {}, []
    return hook_entries.registered_commands(text), hook_entries.unserved(text)


def _judged(name: str, path: str, words: tuple[str, ...]) -> Remark:
    """Judge one command of a settings file. Only our own executable and what the user's settings name is ever run."""
    hook = f"hook in the {name} settings: {shown(words)}"
    program, found = words[0], client.runnable(words)
    if found is None and shutil.which(program) is None:
        gone = f"{visible(path)} runs {shown((program,))}, which is not there; run `subcog init{option(name)}` again"
        return Remark(BAD, gone)
    places = hook_entries.places_of(words)
    if places and not os.path.isdir(os.path.join(places[0], "subcog_hooks")):
        lost = f"{visible(path)} names {shown((places[0],))}, where subcog is no more; run `subcog init{option(name)}` again"
        return Remark(NOTE if os.path.isfile(places[1]) else BAD, lost)
    if found is not None and (client.is_users(path) or _is_this_installation(found)):
        return Remark(GOOD, hook)
    if client.is_users(path):
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
            how = f"`claude plugin enable {visible(plugin.id)}`" if plugin.version else "`claude plugin install subcog@subcog`"
            remarks.append(Remark(GOOD if running else NOTE, f"{name} is installed and disabled; {how} switches it on"))
            continue
        remarks.append(
            Remark(GOOD, f"{name}, enabled in the {plugin.enabled_by} settings: it runs `subcog hook` from the PATH")
        )
        if client.on_path("subcog") is None:
            advice = "install subcog with pipx or uv, or use `subcog init` instead"
            remarks.append(Remark(BAD, f"`subcog` is not on the PATH, where the plugin looks for it; {advice}"))
        for settings in running:
            away = f"`subcog uninstall{option(settings)}`, or `claude plugin disable {visible(plugin.id)}`"
            remarks.append(Remark(NOTE, f"the hook runs twice, by the plugin and the {settings} settings; {away}"))
    return remarks


def _judge_skills() -> list[Remark]:
    """Judge the skills in the user's own folder; none where `init` has brought none."""
    folder = client.skills_folder(client.USER)
    found = skills.find_skills(folder, skills.command_of(client.executable())) if folder else []
    names = {
        state: [skill.name for skill in found if skill.state == state] for state in (skills.SAME, skills.OLDER, skills.CHANGED)
    }
    remarks = []
    if kept := names[skills.SAME] + names[skills.CHANGED]:
        changed = f", changed by you: {', '.join(names[skills.CHANGED])}" if names[skills.CHANGED] else ""
        remarks.append(Remark(GOOD, visible(f"skills in {folder}: {', '.join(kept)}{changed}")))
    if names[skills.OLDER]:
        older = ", ".join(names[skills.OLDER])
        remarks.append(Remark(NOTE, visible(f"the skills {older} in {folder} are of another installation; run `subcog init`")))
    return remarks
