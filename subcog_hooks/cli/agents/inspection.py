"""The hook and the skills as `doctor` sees them: in Claude Code's settings, by a plugin, and in other agents' settings."""

import hashlib
import json
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from subcog_hooks.cli.agents import claude_code, hook_entries, other_agents, skills
from subcog_hooks.cli.agents.claude_code import USER, Plugin
from subcog_hooks.cli.terminal.output import day, visible
from subcog_hooks.clients.description import Client
from subcog_hooks.core.errors import EXIT_CONFIG, EXIT_STORE, ConfigError
from subcog_hooks.core.files import working_folder
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.text.sanitise import cut

GOOD, NOTE, BAD = "ok", "note", "BAD"
MAX_COMMAND_SHOWN = 200  # characters of a command


class Remark(NamedTuple):
    """A finding of `doctor`, ready for a terminal.

    kind: GOOD, NOTE or BAD; exit_code: of `doctor` for a bad finding; silences: the hook is silent by it, not by the prompt.
    """

    kind: str
    text: str
    exit_code: int = 0
    silences: bool = False


def good(text: str) -> Remark:
    return Remark(GOOD, text)


def note(text: str, *, silences: bool = False) -> Remark:
    return Remark(NOTE, text, silences=silences)


def bad(text: str, exit_code: int = EXIT_STORE) -> Remark:
    return Remark(BAD, text, exit_code)


class Registration(NamedTuple):
    """The registrations of the hook with Claude Code.

    command: the working command in the user's own settings, None for none; is_running: settings or a plugin run the hook;
    double: the remark about a hook that runs more than once, "" for none.
    """

    remarks: list[Remark]
    command: list[str] | None
    is_running: bool
    double: str


def inspect_registration() -> Registration:
    """Read Claude Code's settings and plugins, and judge them without running a command."""
    remarks: list[Remark] = []
    command: list[str] | None = None
    running: dict[str, frozenset[tuple[str, ...]]] = {}  # commands of the settings that run the hook
    is_broken = False  # a command that cannot run: the hook is registered
    seen: set[str] = set()  # A repository may contain the user's own settings folder.
    for name, path in claude_code.settings_files().items():
        if os.path.realpath(path) in seen:
            continue
        seen.add(os.path.realpath(path))
        try:
            text = claude_code.read_settings(path)
            if text is None:
                continue
            hook_entries.refuse_comments(text)
            commands, missing = hook_entries.registered_commands(text), hook_entries.find_unserved_events(text)
        except (ConfigError, ValueError, RecursionError) as error:
            remarks.append(bad(visible(f"{path} cannot be read, by the client either: {error}"), EXIT_CONFIG))
            continue
        distinct = dict.fromkeys(tuple(words) for ours in commands.values() for words in ours)
        for words in distinct:
            remarks.append(_judge_command(name, path, words))
            is_broken = is_broken or remarks[-1].kind == BAD
            resolved = claude_code.resolve_command(words)
            if resolved and claude_code.is_users_own(path):
                command = command or resolved[: resolved.index("hook")]
        if commands:
            running[name] = frozenset(distinct)
            if missing:
                adds = f"`subcog init{scope_option(name)}` adds that"
                remarks.append(note(f"the {name} settings do not run it for all of {', '.join(missing)}; {adds}"))
    plugins = claude_code.list_plugins()
    is_running = bool(running) or any(plugin.enabled_by for plugin in plugins)
    remarks += _judge_plugins(plugins, is_registered=bool(running))
    double = _describe_double(plugins, running)
    remarks += [note(double)] if double else []
    remarks += _judge_skills()
    if running and (remark := path_remark()):
        remarks.append(note(remark))
    if not is_running and not is_broken:
        remarks.append(note("no settings file and no plugin runs the hook; `subcog init` registers it"))
    return Registration(remarks, command, is_running, double)


def _judge_command(name: str, path: str, words: tuple[str, ...]) -> Remark:
    """Judge a command of a settings file. Only our own executable and commands in the user's settings are ever run."""
    hook = f"hook in the {name} settings: {command_text(words)}"
    again = f"run `subcog init{scope_option(name)}` again"
    program, resolved = words[0], claude_code.resolve_command(words)
    if resolved is None and shutil.which(program) is None:
        remedy = "pipx or uv puts it on the PATH" if program == "subcog" else again
        return bad(f"{visible(path)} runs {command_text((program,))}, which is not there; {remedy}", EXIT_CONFIG)
    places = hook_entries.paths_in_command(words)
    if places and not os.path.isdir(os.path.join(places[0], "subcog_hooks")):
        moved = f"{visible(path)} names {command_text((places[0],))}, where subcog is no more; {again}"
        return note(moved) if os.path.isfile(places[1]) else bad(moved, EXIT_CONFIG)
    if resolved is not None and (claude_code.is_users_own(path) or _is_this_installation(resolved)):
        return good(hook)
    if claude_code.is_users_own(path):
        return note(f"{hook}; not run, because its path begins in the folder at hand; run `subcog init` again")
    not_run = f"{hook}; not run, because the repository names it: doctor tries this installation"
    return good(not_run) if words == ("subcog", "hook") else note(not_run)


def _is_this_installation(words: list[str]) -> bool:
    return any(
        os.path.realpath(words[0]) == os.path.realpath(program) and words[1:] == [*arguments, "hook"]
        for program, *arguments in (claude_code.executable(), claude_code.hook_command())
    )


def _judge_plugins(plugins: list[Plugin], *, is_registered: bool) -> Iterator[Remark]:
    for plugin in plugins:
        name = visible(f"plugin {plugin.id} {plugin.version}".rstrip())
        if plugin.enabled_by is None:
            command = f"enable {visible(plugin.id)}" if plugin.version else "install subcog@subcog"
            disabled = f"{name} is installed and disabled; `claude plugin {command}` switches it on"
            yield good(disabled) if is_registered else note(disabled)
            continue
        yield good(f"{name}, enabled in the {plugin.enabled_by} settings: it runs `subcog hook` from the PATH")
        if claude_code.find_program("subcog") is None:
            advice = "install subcog with pipx or uv, or use `subcog init` instead"
            yield bad(f"`subcog` is not on the PATH, where the plugin looks for it; {advice}", EXIT_CONFIG)


def _describe_double(plugins: list[Plugin], running: Mapping[str, frozenset[tuple[str, ...]]]) -> str:
    """Return a remark about a hook that runs more than once, with the commands that end it; "" for none.

    running: the commands by settings.
    """
    enabled = [plugin for plugin in plugins if plugin.enabled_by]
    count = len(enabled) + len(set(running.values()))  # The client runs equal commands once.
    if count < 2:
        return ""
    remedies = {f"the {name} settings": f"`subcog uninstall{scope_option(name)}`" for name in running}
    remedies |= {visible(f"the plugin {plugin.id}"): visible(f"`claude plugin disable {plugin.id}`") for plugin in enabled}
    times = "twice" if count == 2 else f"{count} times"
    fact = f"the hook runs {times} at each event, and a brief comes {times}: by {' and '.join(remedies)}"
    return f"{fact}; {' or '.join(remedies.values())} ends that"


def _judge_skills() -> Iterator[Remark]:
    folder = claude_code.skills_folder(USER)
    installed = skills.find_skills(folder, skills.command_of(claude_code.executable())) if folder else []
    same, changed, older = (
        [skill.name for skill in installed if skill.state == state] for state in (skills.SAME, skills.CHANGED, skills.OLDER)
    )
    if same or changed:
        by_you = f", changed by you: {', '.join(changed)}" if changed else ""
        yield good(visible(f"skills in {folder}: {', '.join(same + changed)}{by_you}"))
    if older:
        names = ", ".join(older)
        yield note(visible(f"the skills {names} in {folder} are of another installation; run `subcog init`"))


def path_remark() -> str:
    """Return a remark where the PATH does not lead to this installation, with the command for agents; "" otherwise."""
    command = skills.command_of(claude_code.executable())
    if command == "subcog":
        return ""
    return f"subcog is not on the PATH: agents open memories by `{command_text((command,))} show ID`; pipx or uv puts it there"


def scope_option(name: str) -> str:
    """Return the option of `subcog init` and `uninstall` for these settings."""
    return "" if name == USER else f" --{name}"


def command_text(words: tuple[str, ...]) -> str:
    """Return a command for a terminal: one line, without control characters and secrets, of limited length."""
    whole = ["…" if "\n" in word else word for word in words]  # the code for an isolated interpreter
    return cut(visible(mask_secrets(" ".join(whole))), MAX_COMMAND_SHOWN)


def inspect_clients(last_activity: Callable[[str], int | None]) -> Iterator[Remark]:
    """Yield a remark about the hook in each installed agent's settings. No command is run.

    last_activity: returns when a session of an agent was last active, in milliseconds since the epoch, None for never.
    """
    for client in other_agents.CLIENTS.values():
        if other_agents.is_installed(client):
            try:
                yield _judge_client(client, other_agents.read_commands(client), last_activity(client.name))
                if client.settings.trust_file and other_agents.read_commands(client) and not trusts_folder(client):
                    yield note(f"{client.title} does not trust this folder yet. {client.settings.next_step}")
            except ConfigError as error:
                yield note(visible(error.message))


def _judge_client(client: Client, commands: other_agents.Commands, last_ms: int | None) -> Remark:
    init = f"`subcog init --for {client.name}`"
    if not commands:
        return good(f"{client.title} does not have the {client.kind}; {init} registers it")
    untried = "" if client.is_tried else " (not tried with the real client)"
    where = visible(f"{client.title}{untried}: {client.kind} in {client.settings.path}")
    attempts = [words for lines in commands.values() for line in lines for words in hook_entries.split_line(line)]
    missing = [words[0] for words in attempts if claude_code.resolve_command(words) is None]
    if missing:
        fault = f"{where} runs {command_text((missing[0],))}, which is not there; run {init} again"
        return bad(fault, EXIT_CONFIG) if len(missing) == len(attempts) else note(fault)
    if absent := [event for event in other_agents.events_of(client) if event not in commands]:
        return note(f"{where} lacks {', '.join(absent)}; {init} adds that")
    if client.settings.has_trust and not is_trusted_by_codex(client):
        return note(f"{where} is not trusted yet. {client.settings.next_step}")
    if client.contract is None:
        return good(where)
    return good(f"{where}, last at work on {day(last_ms)}" if last_ms else f"{where}, not seen at work yet")


def trusts_folder(client: Client) -> bool:
    """Return whether an agent that asks works in the folder at hand. The nearest folder that the person has judged decides."""
    text = claude_code.read_settings(client.settings.path) or "{}"
    switch = hook_entries.find_path(text, "security", "folderTrust", "enabled")[2:]
    if switch and switch[0].value is False:
        return True
    rules = json.loads(claude_code.read_settings(os.path.join(client.settings.folder_path, client.settings.trust_file)) or "{}")
    here, judged = os.path.join(os.path.realpath(working_folder()), ""), {"": "DO_NOT_TRUST"}
    for path, rule in rules.items() if isinstance(rules, dict) else ():
        folder = os.path.realpath(os.path.dirname(path) if rule == "TRUST_PARENT" else path)
        if here.startswith(os.path.join(folder, "")):
            judged[folder] = rule
    return judged[max(judged, key=len)] != "DO_NOT_TRUST"


def is_trusted_by_codex(client: Client) -> bool:
    """Return whether the user has let Codex run all of our hooks, each as it stands now. Codex keeps a hash of each."""
    try:
        with open(os.path.join(client.settings.folder_path, "config.toml"), "rb") as file:
            states = claude_code.object_in(claude_code.object_in(tomllib.load(file), "hooks"), "state")
    except (OSError, ValueError):
        return False
    paths = (client.settings.path, os.path.realpath(client.settings.path))
    for entry in hook_entries.find_entries(claude_code.read_settings(client.settings.path) or "{}"):
        event = re.sub(r"(?<!^)(?=[A-Z])", "_", entry.event).lower()
        hashed: dict[str, object] = {"event_name": event, "hooks": [{"async": False, **entry.hook}]}
        if "matcher" in entry.group:
            hashed["matcher"] = entry.group["matcher"]
        data = json.dumps(hashed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        trusted_hash = f"sha256:{hashlib.sha256(data.encode()).hexdigest()}"
        keys = [f"{path}:{event}:{entry.group_index}:{entry.hook_index}" for path in paths]
        if trusted_hash not in [claude_code.object_in(states, key).get("trusted_hash") for key in keys]:
            return False
    return True
