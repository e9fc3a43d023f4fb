"""The hook and the skills as `doctor` sees them: in Claude Code's settings, by a plugin, and in other agents' settings."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from subcog_hooks.cli.agents import claude_code, hook_entries, other_agents, skills
from subcog_hooks.cli.agents.claude_code import USER, Plugin
from subcog_hooks.cli.terminal.output import day, visible
from subcog_hooks.clients.description import GROUPS, Client
from subcog_hooks.core.errors import EXIT_CONFIG, EXIT_STORE, ConfigError
from subcog_hooks.core.files import working_folder
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.text.sanitise import cut

GOOD, NOTE, BAD = "ok", "note", "BAD"
MAX_COMMAND_SHOWN = 200  # characters of a command
SWITCH = "disableAllHooks"  # of Claude Code and of clients with its settings
SWITCH_OF_GEMINI = ("hooksConfig", "enabled")
SWITCHED_OFF, MISSING, UNTRUSTED = "switched off", "program missing", "not trusted yet"
GREETING = b"""{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", \
"capabilities": {}, "clientInfo": {"name": "subcog doctor", "version": "1"}}}
"""  # of a client to a server of the Model Context Protocol
SERVER_S = 20.0  # A server answers its client in half a second, on a loaded machine in some.


class Remark(NamedTuple):
    """A finding of `doctor`, ready for a terminal. kind: GOOD, NOTE or BAD; exit_code: of `doctor` for a bad finding."""

    kind: str
    text: str
    exit_code: int = 0


def good(text: str) -> Remark:
    return Remark(GOOD, text)


def note(text: str) -> Remark:
    return Remark(NOTE, text)


def bad(text: str, exit_code: int = EXIT_STORE) -> Remark:
    return Remark(BAD, text, exit_code)


class Registration(NamedTuple):
    """The registrations of the hook with Claude Code, and the remarks about them.

    command: in the user's own settings; double: the remark about a hook that runs twice; fault: why it does not run; or "".
    """

    remarks: list[Remark]
    command: list[str] | None
    is_running: bool
    double: str
    fault: str


def inspect_registration() -> Registration:
    """Read Claude Code's settings and plugins, and judge them without running a command."""
    remarks: list[Remark] = []
    command: list[str] | None = None
    running: dict[str, frozenset[tuple[str, ...]]] = {}  # commands of the settings that run the hook
    is_broken = has_working = False  # whether a registered command cannot run, and whether another can
    off_in = ""  # the settings that switch all hooks off
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
            off_in = {True: path, False: "", None: off_in}[_switch_in(text, SWITCH)]
        except (ConfigError, ValueError, RecursionError) as error:
            remarks.append(bad(visible(f"{path} cannot be read, by the client either: {error}"), EXIT_CONFIG))
            continue
        distinct = dict.fromkeys(tuple(words) for ours in commands.values() for words in ours)
        for words in distinct:
            remarks.append(_judge_command(name, path, words))
            is_broken = is_broken or remarks[-1].kind == BAD
            has_working = has_working or remarks[-1].kind != BAD
            resolved = claude_code.resolve_command(words)
            if resolved and claude_code.is_users_own(path):
                command = command or resolved[: resolved.index("hook")]
        if commands:
            running[name] = frozenset(distinct)
            if missing:
                adds = f"`subcog init{scope_option(name)}` adds that"
                remarks.append(note(f"the {name} settings do not run it for all of {', '.join(missing)}; {adds}"))
    plugins = claude_code.list_plugins()
    has_working = has_working or any(plugin.enabled_by for plugin in plugins)
    remarks += _judge_plugins(plugins, is_registered=bool(running))
    double = _describe_double(plugins, running)
    remarks += [note(double)] if double else []
    remarks += _judge_skills()
    if running and (remark := path_remark()):
        remarks.append(note(remark))
    fault = MISSING if is_broken and not has_working else ""
    if not has_working and not is_broken:
        remarks += _describe_absence()
    elif off_in:
        remarks.append(note(visible(f"{SWITCH} is true in {off_in}: Claude Code runs no hook")))
        fault = SWITCHED_OFF
    return Registration(remarks, command, has_working and not fault, double, fault)


def _describe_absence() -> Iterator[Remark]:
    """Yield a remark about Claude Code without the hook. Its absence is a fault where no other agent has it either."""
    if not other_agents.find_clients(has_hook=True):
        yield note("no agent runs the hook; `subcog init` registers it")
    elif claude_code.find_program("claude") is not None or os.path.isdir(claude_code.config_folder()):
        yield good("Claude Code does not have the hook; `subcog init` registers it")


def _switch_in(text: str, *keys: str) -> bool | None:
    """Return the value of the switch for all hooks in a settings file, None where it has none. Raises ValueError."""
    path = hook_entries.find_path(text, *keys)[len(keys) - 1 :]
    return path[0].value if path and isinstance(path[0].value, bool) else None


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
    """Return a remark about a hook that runs more than once, "" for none. running: the commands by settings."""
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
    installed = skills.find_skills(folder, skills.agent_command())
    same, changed = ([skill.name for skill in installed if skill.state == state] for state in (skills.SAME, skills.CHANGED))
    if same or changed:
        by_you = f", changed by you: {', '.join(changed)}" if changed else ""
        yield good(visible(f"skills in {folder}: {', '.join(same + changed)}{by_you}"))
    yield from _find_older_skills(installed, "subcog init")


def _find_older_skills(installed: list[skills.Skill], remedy: str) -> Iterator[Remark]:
    if older := [skill for skill in installed if skill.state == skills.OLDER]:
        names = ", ".join(skill.name for skill in older)
        yield note(visible(f"the skills {names} in {older[0].folder} are of another installation; run `{remedy}`"))


def path_remark() -> str:
    """Return a remark where the PATH does not lead to this installation, with the command for agents; "" otherwise."""
    command = skills.agent_command()
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
    """Yield a remark about the hook in each installed agent's settings. Of their commands, a server alone is started.

    last_activity: returns when a session of an agent was last active, in milliseconds since the epoch, None for never.
    """
    for client in other_agents.CLIENTS.values():
        if other_agents.is_installed(client):
            try:
                commands = other_agents.read_commands(client)
                yield _judge_client(client, commands, last_activity(client.name))
                yield from _find_older_skills(other_agents.find_skills(client), f"subcog init --for {client.name}")
                if client.settings.trust_file and commands and not trusts_folder(client):
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
    fault = find_client_fault(client, commands)
    if missing:
        text = f"{where} runs {command_text((missing[0],))}, which is not there; run {init} again"
        return bad(text, EXIT_CONFIG) if fault == MISSING else note(text)
    if absent := [event for event in other_agents.events_of(client) if event not in commands]:
        return note(f"{where} lacks {', '.join(absent)}; {init} adds that")
    if fault:
        return note(f"{where} is {fault}. {client.settings.next_step if fault == UNTRUSTED else ''}".rstrip())
    if client.contract is None:
        fault = _try_server(attempts[0])
        return bad(f"{where} does not start: {fault}", EXIT_CONFIG) if fault else good(f"{where}, and starts")
    return good(f"{where}, last at work on {day(last_ms)}" if last_ms else f"{where}, not seen at work yet")


def trusts_folder(client: Client) -> bool:
    """Return whether an agent that asks works in the folder at hand. The nearest folder that the person has judged decides."""
    text = claude_code.read_settings(client.settings.path) or "{}"
    switch = hook_entries.find_path(text, "security", "folderTrust", "enabled")[2:]
    if switch and switch[0].value is False:
        return True
    path = os.path.join(client.settings.folder_path, client.settings.trust_file)
    with claude_code.faults_named(f"{path} cannot be read"):
        rules = json.loads(claude_code.read_settings(path) or "{}")
    here, judged = os.path.join(os.path.realpath(working_folder()), ""), {"": "DO_NOT_TRUST"}
    for name, rule in rules.items() if isinstance(rules, dict) else ():
        folder = os.path.realpath(os.path.dirname(name) if rule == "TRUST_PARENT" else name)
        if here.startswith(os.path.join(folder, "")):
            judged[folder] = rule
    return judged[max(judged, key=len)] != "DO_NOT_TRUST"


def find_client_fault(client: Client, commands: other_agents.Commands) -> str:
    """Return why an agent does not run our hook or server, "" where it does. No command is run. Raises ConfigError."""
    attempts = [words for lines in commands.values() for line in lines for words in hook_entries.split_line(line)]
    if all(claude_code.resolve_command(words) is None for words in attempts):
        return MISSING
    if _has_switched_off(client):
        return SWITCHED_OFF
    return UNTRUSTED if client.settings.has_trust and not is_trusted_by_codex(client) else ""


class Agents(NamedTuple):
    """The titles of agents: running the hook, starting the server, and registered but at fault, by fault."""

    running: list[str]
    served: list[str]
    at_fault: dict[str, list[str]]


def find_agents() -> Agents:
    """Return the agents with our hook or server by their state. No command is run."""
    registration = inspect_registration()
    agents = Agents([], [], {})
    if registration.is_running or registration.fault:
        titles = agents.at_fault.setdefault(registration.fault, []) if registration.fault else agents.running
        titles.append("Claude Code")
    for client in other_agents.find_clients(has_hook=True):
        titles = agents.running if client.contract else agents.served
        if fault := find_client_fault(client, other_agents.read_commands(client)):
            titles = agents.at_fault.setdefault(fault, [])
        titles.append(client.title)
    return agents


def _has_switched_off(client: Client) -> bool:
    """Return whether an agent's own settings switch off all hooks. Raises ConfigError."""
    if client.settings.has_trust:
        return claude_code.object_in(_read_codex_settings(client), "features").get("hooks") is False
    if client.settings.form != GROUPS:
        return False
    with claude_code.faults_named(client.settings.path):
        text = claude_code.read_settings(client.settings.path) or "{}"
        return _switch_in(text, SWITCH) is True or _switch_in(text, *SWITCH_OF_GEMINI) is False


def _try_server(words: list[str]) -> str:
    """Greet a server in the user's own settings as its client would. Return why it does not answer, "" if it does."""
    try:
        done = subprocess.run(
            claude_code.resolve_command(words) or words, input=GREETING, capture_output=True, timeout=SERVER_S, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return visible(str(error))
    if done.stdout.startswith(b'{"jsonrpc"') and b'"result"' in done.stdout:
        return ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return cut(visible(lines[-1].removeprefix("subcog: ")), MAX_COMMAND_SHOWN) if lines else "it does not answer"


def _read_codex_settings(client: Client) -> Mapping[str, object]:
    try:
        with open(os.path.join(client.settings.folder_path, "config.toml"), "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError):
        return {}


def is_trusted_by_codex(client: Client) -> bool:
    """Return whether the user has let Codex run all of our hooks, each as it stands now. Codex keeps a hash of each."""
    states = claude_code.object_in(claude_code.object_in(_read_codex_settings(client), "hooks"), "state")
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
