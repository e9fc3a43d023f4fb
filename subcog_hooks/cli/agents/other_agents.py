"""The hook or the server in the user's own settings of agents beside Claude Code: added and removed."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec

from subcog_hooks.cli.agents import claude_code, hook_entries, skills
from subcog_hooks.cli.state import missing_package
from subcog_hooks.cli.terminal.output import terminal, visible
from subcog_hooks.clients.description import ENTRIES, GROUPS, PLUGIN, SERVER, YAML, Client, list_clients
from subcog_hooks.core.errors import ConfigError, UsageError
from subcog_hooks.settings.defaults import CLAUDE

Commands = Mapping[str, list[list[str]]]  # of our hook by event, each as words

SERVER_NAME = "subcog"
SIGN = "the skills "  # before the name of an agent's skill, which each calls in its own way
IS_WINDOWS = os.name == "nt"
# Imports the package from the folder that follows, in an interpreter that heeds no variables, or runs the script that follows.
ISOLATED_CODE = """import sys
folder, script = sys.argv.pop(1), sys.argv.pop(1)
sys.path.append(folder)
try:
  from subcog_hooks.__main__ import main
except BaseException:
  import subprocess
  try: subprocess.call([script, *sys.argv[1:]])
  finally: sys.exit(0)
main()"""
PLUGIN_COMMAND = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)
_PLUGIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "opencode_plugin.js")
_COMMAND_IN_YAML = re.compile(r"""\bcmd["']?:[ \t]*["']?([^"'\n,]*\bsubcog(?:\.exe)?)["']?[ \t]*(?:,|$)""", re.MULTILINE)
_COMMENT_IN_YAML = re.compile(r"^[ \t]*#.*$", re.MULTILINE)


class HooksForm:
    """Hooks as Claude Code has them, in groups; or (ENTRIES) each event's hooks alone, in a file that says its version.

    The methods of a form raise ValueError for text that the agent could not read.
    """

    def add_hook(self, text: str | None, client: Client, command: list[str]) -> str:
        """Return the settings `text` (None for no file) with our hook, which runs `command`."""
        settings = client.settings
        for key in settings.beside:
            if text is not None and not hook_entries.find_path(text, key):
                raise ValueError(f"{key} is missing")
        commands = [command]
        if places := hook_entries.paths_in_command(command):  # An isolated interpreter, and where it fails the console script.
            commands = [[command[0], *hook_entries.ISOLATED, ISOLATED_CODE, *places], [places[1]]]
        line = hook_entries.make_line(commands, client.name, is_windows=IS_WINDOWS)
        hook = {**settings.hook, settings.command_key: line}
        group = hook if settings.form == ENTRIES else {"hooks": [hook]}
        matchers = {event: {"matcher": tools} for event, tools in settings.matchers.items()}
        groups = {event: {**group, **matchers.get(event, {})} for event in events_of(client)}
        if text is not None and _is_bare(text, client):
            return _unwrap(hook_entries.add_groups(_wrap(text), groups))
        return hook_entries.add_groups(text, groups, settings.beside)

    def remove_hook(self, text: str, client: Client) -> str | None:
        """Return the settings without our hook; None where nothing is left of a file that `init` made."""
        if _is_bare(text, client):
            return _unwrap(hook_entries.remove_hook(_wrap(text)) or "")
        return hook_entries.remove_hook(text, client.settings.beside)

    def read_commands(self, text: str, client: Client) -> Commands:
        """Return the commands of our hook."""
        return hook_entries.registered_commands(_wrap(text) if _is_bare(text, client) else text)


_BEFORE, _AFTER = '{"hooks": ', "}"


def _is_bare(text: str, client: Client) -> bool:
    """Return whether settings are those hooks themselves that other files have as a member. Raises ValueError."""
    path = client.settings.path
    is_instead = bool(client.settings.instead) and path.endswith(os.path.join(os.sep, client.settings.instead))
    return is_instead and not hook_entries.find_path(text, "hooks")


def _wrap(text: str) -> str:
    return f"{_BEFORE}{text}{_AFTER}"


def _unwrap(text: str) -> str:
    return text.removeprefix(_BEFORE).removesuffix(_AFTER) if text.startswith(_BEFORE) else "{}"


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
        return {event: [words] for event in events_of(client)} if is_ours else {}


class ServerForm:
    """An object of servers of the Model Context Protocol, in a file with other settings. Ours is a member of it."""

    def add_hook(self, text: str | None, client: Client, command: list[str]) -> str:
        keys = (client.settings.key, SERVER_NAME)
        server = {**client.settings.beside, "command": command[0], "args": [*command[1:], "mcp"]}
        if text is None:
            return hook_entries.dump_json({keys[0]: {keys[1]: server}})
        path = self._find_server(text, client)
        if len(path) < len(keys):
            return hook_entries.add_member(text, keys, server)
        present = path[-1]
        if not isinstance(present.value, dict) or not self.read_commands(text, client):
            raise ValueError(f"{'.'.join(keys)} is another server")
        changed = {**present.value, **server}
        if changed == present.value:
            return text
        return text[: present.value_start] + hook_entries.dump_json(changed) + text[present.end :]

    def remove_hook(self, text: str, client: Client) -> str | None:
        if not self.read_commands(text, client):
            return text
        after = hook_entries.remove_last(text, self._find_server(text, client))
        return hook_entries.drop_emptied(text, after, client.settings.key)

    def read_commands(self, text: str, client: Client) -> Commands:
        server = self._find_server(text, client)[1:]
        value = server[0].value if server else None
        words = hook_entries.words_of(value) if isinstance(value, dict) and "command" in value else []
        return {SERVER_NAME: [words]} if words[-1:] == ["mcp"] and "subcog" in " ".join(words) else {}

    def _find_server(self, text: str, client: Client) -> list[hook_entries.Member]:
        """Return the path of our server, without its end where there is none."""
        path = hook_entries.find_path(text, client.settings.key, SERVER_NAME)
        if path and not isinstance(path[0].value, dict):
            raise ValueError(f"{client.settings.key} is not an object")
        return path


class YamlForm:
    """YAML, which a person edits. Our server is a line of JSON below its key; a person adds it to any other layout."""

    def add_hook(self, text: str | None, client: Client, command: list[str]) -> str:
        if text is not None and self.read_commands(text, client):
            return text
        program, *arguments = [*command, "mcp"]
        fields = {"name": SERVER_NAME, "type": "stdio", "cmd": program, "args": arguments, "enabled": True, "timeout": 300}
        line, key = f"{SERVER_NAME}: {json.dumps(fields, ensure_ascii=False)}", client.settings.key
        above = re.search(rf"^{key}:[ \t]*\n(?=( +)[^\s#-])", text or "", re.MULTILINE)
        if above:
            return f"{above.string[: above.end()]}{above[1]}{line}\n{above.string[above.end() :]}"
        if not text or (text.endswith("\n") and not re.search(rf"^[\"']?{key}\b|^[^\s#\w\"']", text, re.MULTILINE)):
            return f"{text or ''}{key}:\n  {line}\n"
        raise self._refusal(client, f"add to it, below `{key}:` and indented, `{line}`")

    def remove_hook(self, text: str, client: Client) -> str | None:
        if not self.read_commands(text, client):
            return text
        after = re.sub(rf'^ +{SERVER_NAME}: {{"name": "{SERVER_NAME}".*}}\n', "", text, count=1, flags=re.MULTILINE)
        if after == text:
            raise self._refusal(client, f"delete `{SERVER_NAME}:` below `{client.settings.key}:`")
        empty = f"{client.settings.key}:\n"
        after = after.removesuffix(empty) if after == empty or after.endswith(f"\n{empty}") else after
        return after or None

    def read_commands(self, text: str, client: Client) -> Commands:
        match = _COMMAND_IN_YAML.search(_COMMENT_IN_YAML.sub("", text)) if client.settings.key in text else None
        return {SERVER_NAME: [[match[1], "mcp"]]} if match else {}

    def _refusal(self, client: Client, remedy: str) -> UsageError:
        return UsageError(f"{client.settings.path} is YAML, which subcog leaves to you", remedy)


Form = HooksForm | PluginForm | ServerForm | YamlForm
FORMS: Mapping[str, Form] = {
    GROUPS: HooksForm(),
    ENTRIES: HooksForm(),
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
    return claude_code.find_program(client.name) is not None or os.path.isdir(client.settings.folder_path)


def find_clients(*, has_hook: bool) -> list[Client]:
    """Return the installed agents with or without our hook. Unreadable settings count as neither."""
    clients = []
    for client in CLIENTS.values():
        with suppress(ConfigError):
            if is_installed(client) and bool(read_commands(client)) is has_hook:
                clients.append(client)
    return clients


def events_of(client: Client) -> Iterable[str]:
    """Return the names of an agent's events that call the hook, none for an agent that only starts our server."""
    return client.contract.events if client.contract else ()


def command_for(client: Client) -> list[str]:
    """Return the command of this installation for an agent's hook or server, without its last words."""
    return claude_code.hook_command() if client.contract else claude_code.executable()


def read_commands(client: Client) -> Commands:
    """Return the commands of our hook in an agent's settings, by event. Raises ConfigError."""
    text = claude_code.read_settings(client.settings.path)
    with _form_of(client, text) as form:
        return form.read_commands(text, client) if text is not None else {}


def add_hook(client: Client, command: list[str], before: str | None) -> str:
    """Return an agent's settings with our hook, which runs `command`. Raises ConfigError."""
    with _form_of(client, before) as form:
        return form.add_hook(before, client, command)


def remove_hook(client: Client, before: str | None) -> str | None:
    """Return an agent's settings without our hook, None for no file. Raises ConfigError."""
    with _form_of(client, before) as form:
        return form.remove_hook(before, client) if before is not None else None


@contextmanager
def _form_of(client: Client, text: str | None) -> Iterator[Form]:
    """Yield the form of an agent's settings `text`. Raises ConfigError for a text that the agent could not read."""
    settings = client.settings
    with claude_code.faults_named(f"{settings.path} has no {client.kind}s as {client.title} reads them"):
        if text is not None and settings.form in (GROUPS, ENTRIES, SERVER) and not settings.has_comments:
            hook_entries.refuse_comments(text)
        yield FORMS[settings.form]


def find_skills(client: Client) -> list[skills.Skill]:
    """Return our skills beside an agent's settings, none for an agent that a server tells when to store. Raises ConfigError."""
    folder = os.path.join(client.settings.folder_path, "skills")
    return skills.find_skills(folder, skills.agent_command(), is_plain=True) if client.contract else []


def register(client: Client, command: list[str], all_skills: Sequence[skills.Skill]) -> None:
    """Add our hook and the skills to an agent, and say so. Raises ConfigError, UsageError, ExtraMissing."""
    if client.contract is None and find_spec("mcp") is None:
        raise missing_package()
    before, after = claude_code.change_settings(client.settings.path, partial(add_hook, client, command))
    skills.bring_skills(all_skills, SIGN, dry_run=False)
    if after == before:
        terminal.say(f"{client.settings.path} has the {client.kind} already")
        return
    fact = f"{client.settings.path}: has the {client.kind}; nothing else is changed"
    terminal.say(f"{fact}. New sessions of {client.title} use it")
    if client.settings.next_step:
        terminal.say(client.settings.next_step)
