"""The hook or the server in the user's own settings of agents beside Claude Code: added, removed, and judged for `doctor`."""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import Protocol

from subcog_hooks.cli.agents import hook_entries, registration
from subcog_hooks.cli.agents.registration import BAD, GOOD, NOTE, Remark
from subcog_hooks.cli.state import missing_package
from subcog_hooks.cli.terminal.output import day, terminal, visible
from subcog_hooks.clients.description import ENTRIES, GROUPS, PLUGIN, SERVER, YAML, Client, list_clients
from subcog_hooks.core.errors import ConfigError, UsageError
from subcog_hooks.settings.defaults import CLAUDE

SERVER_NAME = "subcog"
_COMMAND = re.compile(r"""\bcmd["']?:[ \t]*["']?([^"'\n,]*\bsubcog(?:\.exe)?)["']?[ \t]*(?:,|$)""", re.MULTILINE)

Commands = Mapping[str, list[list[str]]]  # of our hook by event, each as words
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)  # in YAML

IS_WINDOWS = os.name == "nt"
# Imports the package from the folder that follows, in an interpreter that heeds no variables.
ISOLATED_CODE = "import sys; sys.path.append(sys.argv.pop(1)); from subcog_hooks.__main__ import main; main()"
_PLUGIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "opencode_plugin.js")
PLUGIN_COMMAND = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)


class ServerForm:
    """An object of servers of the Model Context Protocol, in a file with other settings. Ours is a member of it."""

    def add_hook(self, text: str | None, client: Client, command: list[str]) -> str:
        key, server = client.settings.key, {"command": command[0], "args": [*command[1:], "mcp"]}
        if text is None:
            return hook_entries.dump_json({key: {SERVER_NAME: server}})
        is_ours, present = bool(self.read_commands(text, client)), self._find_server(text, client)
        if present is not None:
            if not isinstance(present.value, dict) or not is_ours:
                raise ValueError(f"{key}.{SERVER_NAME} is another server")
            changed = {**present.value, **server}
            whole = text[: present.value_start] + hook_entries.dump_json(changed) + text[present.end :]
            return text if changed == present.value else whole
        root = hook_entries.start_of(text)
        servers = hook_entries.find_member(text, root, key)
        if servers is None:
            return hook_entries.insert(text, root, f'"{key}": {hook_entries.dump_json({SERVER_NAME: server})}')
        return hook_entries.insert(text, servers.value_start, f'"{SERVER_NAME}": {hook_entries.dump_json(server)}')

    def remove_hook(self, text: str, client: Client) -> str | None:
        is_ours, root = bool(self.read_commands(text, client)), hook_entries.start_of(text)
        servers, server = hook_entries.find_member(text, root, client.settings.key), self._find_server(text, client)
        if servers is None or server is None or not is_ours:
            return text
        is_alone = len(hook_entries.parse_members(text, servers.value_start)) == 1
        if not is_alone or not hook_entries.is_made_by_init(text, servers.value_start):
            return hook_entries.remove(text, servers.value_start, server)
        after, is_of_init = hook_entries.remove(text, root, servers), hook_entries.is_file_of_init(text, client.settings.key)
        return after if hook_entries.parse_members(after, root) or not is_of_init else None

    def read_commands(self, text: str, client: Client) -> Commands:
        hook_entries.check_comments(text, has_comments=client.settings.has_comments)
        server = self._find_server(text, client)
        value = server.value if server is not None else None
        words = hook_entries.words_of(value) if isinstance(value, dict) and "command" in value else []
        return {SERVER_NAME: [words]} if words[-1:] == ["mcp"] and "subcog" in " ".join(words) else {}

    def _find_server(self, text: str, client: Client) -> hook_entries.Member | None:
        servers = hook_entries.find_member(text, hook_entries.start_of(text), client.settings.key)
        if servers is not None and not isinstance(servers.value, dict):
            raise ValueError(f"{client.settings.key} is not an object")
        return hook_entries.find_member(text, servers.value_start, SERVER_NAME) if servers else None


class YamlForm:
    """YAML, which a person edits: nothing here could keep the rest of the file as it is."""

    def add_hook(self, text: str | None, client: Client, command: list[str]) -> str:
        if text is not None and self.read_commands(text, client):
            return text
        program, *arguments = [*command, "mcp"]
        fields = {"name": SERVER_NAME, "type": "stdio", "cmd": program, "args": arguments, "enabled": True, "timeout": 300}
        line = f"{SERVER_NAME}: {json.dumps(fields, ensure_ascii=False)}"
        raise UsageError(
            f"{client.settings.path} is YAML, which subcog leaves to you",
            f"add to it, below `{client.settings.key}:` and indented, `{line}`",
        )

    def remove_hook(self, text: str, client: Client) -> str | None:
        if self.read_commands(text, client):
            raise UsageError(
                f"{client.settings.path} is YAML, which subcog leaves to you",
                f"delete `{SERVER_NAME}:` below `{client.settings.key}:`",
            )
        return text

    def read_commands(self, text: str, client: Client) -> Commands:
        match = _COMMAND.search(_COMMENT.sub("", text)) if client.settings.key in text else None
        return {SERVER_NAME: [[match[1], "mcp"]]} if match else {}


class Form(Protocol):
    """A form of settings. Each method raises ValueError for text that the agent could not read."""

    def add_hook(self, text: str | None, client: Client, command: list[str]) -> str:
        """Return the settings `text` (None for no file) with our hook, which runs `command`."""

    def remove_hook(self, text: str, client: Client) -> str | None:
        """Return the settings without our hook; None where nothing is left of a file that `init` made."""

    def read_commands(self, text: str, client: Client) -> Commands:
        """Return the commands of our hook."""


class GroupsForm:
    """Claude Code's form, in a file with other settings."""

    def add_hook(self, text: str | None, client: Client, command: list[str]) -> str:
        settings = client.settings
        groups = {event: self._make_group(_make_hook(client, command)) for event in _events_of(client)}
        return hook_entries.add_groups(text, groups, has_comments=settings.has_comments, beside=settings.beside)

    def _make_group(self, hook: dict[str, object]) -> dict[str, object]:
        return {"hooks": [hook]}

    def remove_hook(self, text: str, client: Client) -> str | None:
        settings = client.settings
        return hook_entries.remove_hook(text, has_comments=settings.has_comments, beside=settings.beside)

    def read_commands(self, text: str, client: Client) -> Commands:
        return hook_entries.registered_commands(text, has_comments=client.settings.has_comments)


class EntriesForm(GroupsForm):
    """A JSON file of hooks alone, without groups, which says its version."""

    def add_hook(self, text: str | None, client: Client, command: list[str]) -> str:
        for key in client.settings.beside:
            if text is not None and hook_entries.find_member(text, hook_entries.start_of(text), key) is None:
                raise ValueError(f"{key} is missing")
        return super().add_hook(text, client, command)

    def _make_group(self, hook: dict[str, object]) -> dict[str, object]:
        return hook


class PluginForm:
    """A JavaScript file of our own among OpenCode's plugins. It calls the hook without a shell."""

    def add_hook(self, text: str | None, client: Client, command: list[str]) -> str:
        if text is not None and not self.read_commands(text, client):
            raise ValueError("subcog did not write it")
        with open(_PLUGIN, encoding="utf-8") as file:
            plugin = file.read()
        words = json.dumps([*command, "hook", "--client", client.name])
        return PLUGIN_COMMAND.sub(lambda _: f"const COMMAND = {words}", plugin)

    def remove_hook(self, text: str, client: Client) -> str | None:
        return None if self.read_commands(text, client) else text

    def read_commands(self, text: str, client: Client) -> Commands:
        match = PLUGIN_COMMAND.search(text)
        words = json.loads(match[1]) if match else []
        is_ours = words and hook_entries.is_ours({"command": words[0], "args": words[1:]})
        return {event: [words] for event in _events_of(client)} if is_ours else {}


FORMS: Mapping[str, Form] = {
    GROUPS: GroupsForm(),
    ENTRIES: EntriesForm(),
    PLUGIN: PluginForm(),
    SERVER: ServerForm(),
    YAML: YamlForm(),
}
CLIENTS = {client.name: client for client in list_clients()}


def find_client(name: str) -> Client:
    """Return the agent of this name. Raises UsageError."""
    if name not in CLIENTS:
        raise UsageError(f"no agent {visible(name)}", f"give one of {', '.join((CLAUDE, *CLIENTS))}")
    return CLIENTS[name]


def is_installed(client: Client) -> bool:
    """Return whether an agent's program is on the PATH, or has left a folder of settings."""
    return registration.find_program(client.name) is not None or os.path.isdir(client.settings.folder_path)


def find_clients(*, has_hook: bool) -> list[Client]:
    """Return the installed agents with or without our hook. Unreadable settings count as neither."""
    clients = []
    for client in CLIENTS.values():
        with suppress(ConfigError):
            if is_installed(client) and bool(read_commands(client)) is has_hook:
                clients.append(client)
    return clients


def read_commands(client: Client) -> Commands:
    """Return the commands of our hook in an agent's settings, by event. Raises ConfigError."""
    text = registration.read_settings(client.settings.path)
    try:
        return FORMS[client.settings.form].read_commands(text, client) if text is not None else {}
    except (ValueError, RecursionError) as error:
        raise _fault(client, error) from error


def _events_of(client: Client) -> Iterable[str]:
    return client.contract.events if client.contract else ()


def command_for(client: Client) -> list[str]:
    """Return the command of this installation for an agent's hook or server, without its last words."""
    return registration.hook_command() if client.contract else registration.executable()


def add_hook(client: Client, command: list[str], before: str | None) -> str:
    """Return an agent's settings with our hook, which runs `command`. Raises ConfigError."""
    try:
        return FORMS[client.settings.form].add_hook(before, client, command)
    except (ValueError, RecursionError) as error:
        raise _fault(client, error) from error


def remove_hook(client: Client, before: str | None) -> str | None:
    """Return an agent's settings without our hook, None for no file. Raises ConfigError."""
    try:
        return FORMS[client.settings.form].remove_hook(before, client) if before is not None else None
    except (ValueError, RecursionError) as error:
        raise _fault(client, error) from error


def register(client: Client) -> None:
    """Add our hook to an agent's settings, and say so. Raises ConfigError, UsageError, ExtraMissing."""
    if client.contract is None and find_spec("mcp") is None:
        raise missing_package()
    command = command_for(client)  # Before the settings are read: it starts a program, and another may write them meanwhile.
    before, after = registration.change_settings(client.settings.path, partial(add_hook, client, command))
    if after == before:
        terminal.say(f"{client.settings.path} has the {client.kind} already")
        return
    fact = f"{client.settings.path}: has the {client.kind}; nothing else is changed"
    terminal.say(f"{fact}. New sessions of {client.title} use it")
    if client.settings.next_step:
        terminal.say(client.settings.next_step)


def inspect_clients(last_activity: Callable[[str], int | None]) -> Iterator[Remark]:
    """Yield a remark about the hook in each installed agent's settings. No command is run.

    last_activity: returns when a session of an agent was last active, in milliseconds since the epoch, None for never.
    """
    for client in CLIENTS.values():
        if is_installed(client):
            try:
                yield _judge(client, read_commands(client), last_activity(client.name))
            except ConfigError as error:
                yield Remark(NOTE, visible(error.message))


def _judge(client: Client, commands: Commands, last_ms: int | None) -> Remark:
    init = f"`subcog init --for {client.name}`"
    if not commands:
        remedy = f"{init} {'says how to add it' if client.settings.form == YAML else 'registers it'}"
        return Remark(GOOD, f"{client.title} does not have the {client.kind}; {remedy}")
    untried = "" if client.is_tried else " (not tried with the real client)"
    where = visible(f"{client.title}{untried}: {client.kind} in {client.settings.path}")
    attempts = [words for lines in commands.values() for line in lines for words in hook_entries.split_line(line)]
    missing = [words[0] for words in attempts if registration.resolve_command(words) is None]
    if missing:
        fault = f"{where} runs {registration.command_text((missing[0],))}, which is not there; run {init} again"
        return Remark(BAD if len(missing) == len(attempts) else NOTE, fault)
    if absent := [event for event in _events_of(client) if event not in commands]:
        return Remark(NOTE, f"{where} lacks {', '.join(absent)}; {init} adds that")
    if client.settings.has_trust and not is_trusted_by_codex(client):
        return Remark(NOTE, f"{where} is not trusted yet. {client.settings.next_step}")
    if client.contract is None:
        return Remark(GOOD, where)
    return Remark(GOOD, f"{where}, last at work on {day(last_ms)}" if last_ms else f"{where}, not seen at work yet")


def is_trusted_by_codex(client: Client) -> bool:
    """Return whether the user has let Codex run all of our hooks, each as it stands now."""
    try:
        with open(os.path.join(client.settings.folder_path, "config.toml"), "rb") as file:
            states = _get_object(_get_object(tomllib.load(file), "hooks"), "state")
    except (OSError, ValueError):
        return False
    paths = (client.settings.path, os.path.realpath(client.settings.path))
    for entry in hook_entries.find_entries(registration.read_settings(client.settings.path) or "{}"):
        event = re.sub(r"(?<!^)(?=[A-Z])", "_", entry.event).lower()
        keys = [f"{path}:{event}:{entry.group_index}:{entry.hook_index}" for path in paths]
        if _hash_for_codex(event, entry) not in [_get_object(states, key).get("trusted_hash") for key in keys]:
            return False
    return True


def _hash_for_codex(event: str, entry: hook_entries.Entry) -> str:
    """Return the hash by which Codex recognises a hook that the user has trusted. event: in snake case."""
    identity = {
        "event_name": event,
        "hooks": [{"async": False, **entry.hook}],
        **{key: value for key, value in entry.group.items() if key == "matcher"},
    }
    data = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(data.encode()).hexdigest()}"


def _make_hook(client: Client, command: list[str]) -> dict[str, object]:
    """Return the hook of an agent. Its line runs the hook in an isolated interpreter, else by the console script."""
    commands = [command]
    if places := hook_entries.paths_in_command(command):
        folder, script = places
        commands = [[command[0], *hook_entries.ISOLATED, ISOLATED_CODE, folder], [script]]
    line = hook_entries.make_line(commands, client.name, is_windows=IS_WINDOWS)
    return {**client.settings.hook, client.settings.command_key: line}


def _fault(client: Client, error: Exception) -> ConfigError:
    return ConfigError(
        f"{client.settings.path} has no {client.kind}s as {client.title} reads them: {error}", "correct it by hand"
    )


def _get_object(value: object, key: str) -> Mapping[str, object]:
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}
