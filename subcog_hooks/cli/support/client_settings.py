"""The hook in the user's own settings of coding agents beside Claude Code: added, removed, and judged for `doctor`."""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

from subcog_hooks.cli.claude_code import hook_entries, registration
from subcog_hooks.cli.claude_code.registration import BAD, GOOD, NOTE, Remark
from subcog_hooks.cli.support import hook_lines
from subcog_hooks.cli.support.output import day, terminal, visible
from subcog_hooks.core.errors import ConfigError, UsageError
from subcog_hooks.settings.defaults import CLAUDE

IS_WINDOWS = os.name == "nt"
MS = 5000  # the limit for one event; the hook's own is at most 200 ms
CODEX_SECONDS = 3  # Codex cuts a longer limit of SessionEnd to this, and its hash of the hook has the limit that counts.
COPILOT_SECONDS = 10
TRUST_IN_CODEX = "Codex runs it once you trust it: start `codex` in a terminal, which asks. `codex exec` does not ask"
# Imports the package from the folder that follows, in an interpreter that heeds no variables.
ISOLATED_CODE = "import sys; sys.path.append(sys.argv.pop(1)); from subcog_hooks.__main__ import main; main()"
_PLUGIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "opencode_plugin.js")
_PLUGIN_COMMAND = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)

Commands = Mapping[str, list[list[str]]]  # of our hook by event, each as words


class Form(Protocol):
    """The form of an agent's settings. Each method raises ValueError for text that the agent could not read."""

    @property
    def events(self) -> tuple[str, ...]:
        """The events that our hook is run for."""

    def add_hook(self, text: str | None, client: str) -> str:
        """Return the settings `text` (None for no file) with our hook."""

    def remove_hook(self, text: str) -> str | None:
        """Return the settings without our hook; None where nothing is left of a file that `init` made."""

    def read_commands(self, text: str) -> Commands:
        """Return the commands of our hook."""


class SharedForm(NamedTuple):
    """Claude Code's form, in a file with other settings. timeout: in the agent's unit, always an integer."""

    events: tuple[str, ...]
    timeout: int
    has_comments: bool = False

    def add_hook(self, text: str | None, client: str) -> str:
        hook = {"type": "command", "command": _make_line(client), "timeout": self.timeout}
        groups: dict[str, dict[str, object]] = {event: {"hooks": [hook]} for event in self.events}
        return hook_entries.add_groups(text, groups, has_comments=self.has_comments)

    def remove_hook(self, text: str) -> str | None:
        return hook_entries.remove_hook(text, has_comments=self.has_comments)

    def read_commands(self, text: str) -> Commands:
        return hook_entries.registered_commands(text, has_comments=self.has_comments)


class CopilotForm(NamedTuple):
    """A JSON file of our own among Copilot's hooks. An entry names the command by the shell that runs it."""

    events: tuple[str, ...]

    def add_hook(self, text: str | None, client: str) -> str:
        _check_owner(text, self)
        entry = {"type": "command", _copilot_shell(): _make_line(client), "timeoutSec": COPILOT_SECONDS}
        return json.dumps({"version": 1, "hooks": {event: [entry] for event in self.events}}, indent=2) + "\n"

    def remove_hook(self, text: str) -> str | None:
        return None if self.read_commands(text) else text

    def read_commands(self, text: str) -> Commands:
        commands: dict[str, list[list[str]]] = {}
        hooks = _get_object(json.loads(text), "hooks")
        for event, entries in hooks.items():
            for entry in entries if isinstance(entries, list) else []:
                hook = {"command": entry.get(_copilot_shell()) if isinstance(entry, dict) else None}
                if hook_entries.is_ours(hook):
                    commands.setdefault(event, []).append(hook_entries.words_of(hook))
        return commands


class PluginForm(NamedTuple):
    """A JavaScript file of our own among OpenCode's plugins. It calls the hook without a shell."""

    events: tuple[str, ...]

    def add_hook(self, text: str | None, client: str) -> str:
        _check_owner(text, self)
        with open(_PLUGIN, encoding="utf-8") as file:
            plugin = file.read()
        command = json.dumps([*registration.hook_command(), "hook", "--client", client])
        return _PLUGIN_COMMAND.sub(lambda _: f"const COMMAND = {command}", plugin)

    def remove_hook(self, text: str) -> str | None:
        return None if self.read_commands(text) else text

    def read_commands(self, text: str) -> Commands:
        match = _PLUGIN_COMMAND.search(text)
        words = json.loads(match[1]) if match else []
        is_ours = words and hook_entries.is_ours({"command": words[0], "args": words[1:]})
        return {event: [words] for event in self.events} if is_ours else {}


class Client(NamedTuple):
    """An agent beside Claude Code. name: its program, and the value of `--for`.

    variable: the environment variable for the folder of its settings, which lies `below` that; usual_folder: below the user's.
    """

    name: str
    title: str
    variable: str
    below: str
    usual_folder: str
    file: str
    form: Form
    next_step: str = ""  # for the person, after `init`

    @property
    def folder(self) -> str:
        """Return the folder of its settings."""
        if named := os.environ.get(self.variable):
            return os.path.join(os.path.abspath(named), self.below) if self.below else os.path.abspath(named)
        return os.path.join(os.path.expanduser("~"), *self.usual_folder.split("/"))

    @property
    def path(self) -> str:
        """Return the file with our hook."""
        return os.path.join(self.folder, *self.file.split("/"))

    @property
    def is_installed(self) -> bool:
        """Return whether its program is on the PATH, or has left a folder of settings."""
        return registration.find_program(self.name) is not None or os.path.isdir(self.folder)


_SESSION = ("SessionStart", "UserPromptSubmit")
_END = ("PreCompact", "SessionEnd")
CLIENTS = {
    client.name: client
    for client in (
        Client(
            "codex",
            "Codex CLI",
            "CODEX_HOME",
            "",
            ".codex",
            "hooks.json",
            SharedForm((*_SESSION, "PreToolUse", "Stop", *_END), CODEX_SECONDS),
            TRUST_IN_CODEX,
        ),
        Client(
            "gemini",
            "Gemini CLI",
            "GEMINI_CLI_HOME",
            ".gemini",
            ".gemini",
            "settings.json",
            SharedForm(("BeforeAgent", "AfterTool", "PreCompress", "SessionEnd"), MS, has_comments=True),
        ),
        Client(
            "qwen",
            "Qwen Code",
            "QWEN_HOME",
            "",
            ".qwen",
            "settings.json",
            SharedForm((*_SESSION, "PostToolUse", "PostToolUseFailure", *_END), MS, has_comments=True),
        ),
        Client(
            "copilot",
            "Copilot CLI",
            "COPILOT_HOME",
            "",
            ".copilot",
            "hooks/subcog.json",
            CopilotForm((*_SESSION, "PreToolUse", "PostToolUseFailure", *_END)),
        ),
        Client(
            "opencode",
            "OpenCode",
            "XDG_CONFIG_HOME",
            "opencode",
            ".config/opencode",
            "plugins/subcog.js",
            PluginForm(("chat.message", "tool.execute.after", "event")),
        ),
    )
}


def find_client(name: str) -> Client:
    """Return the agent of this name. Raises UsageError."""
    if name not in CLIENTS:
        raise UsageError(f"no agent {visible(name)}", f"give one of {', '.join((CLAUDE, *CLIENTS))}")
    return CLIENTS[name]


def complete_name(incomplete: str) -> list[str]:
    """Return the agents with this prefix that the hook can be registered with."""
    return [name for name in (CLAUDE, *CLIENTS) if name.startswith(incomplete)]


def find_clients(*, has_hook: bool) -> list[Client]:
    """Return the installed agents with or without our hook. Unreadable settings count as neither."""
    clients = []
    for client in CLIENTS.values():
        with suppress(ConfigError):
            if client.is_installed and bool(read_commands(client)) is has_hook:
                clients.append(client)
    return clients


def read_commands(client: Client) -> Commands:
    """Return the commands of our hook in an agent's settings, by event. Raises ConfigError."""
    text = registration.read_settings(client.path)
    try:
        return client.form.read_commands(text) if text is not None else {}
    except (ValueError, RecursionError) as error:
        raise _fault(client, error) from error


def add_hook(client: Client, before: str | None) -> str:
    """Return an agent's settings with our hook. Raises ConfigError."""
    try:
        return client.form.add_hook(before, client.name)
    except (ValueError, RecursionError) as error:
        raise _fault(client, error) from error


def remove_hook(client: Client, before: str | None) -> str | None:
    """Return an agent's settings without our hook, None for no file. Raises ConfigError."""
    try:
        return client.form.remove_hook(before) if before is not None else None
    except (ValueError, RecursionError) as error:
        raise _fault(client, error) from error


def register(client: Client) -> None:
    """Add our hook to an agent's settings, and say so. Raises ConfigError."""
    before = registration.read_settings(client.path)
    after = add_hook(client, before)
    if after == before:
        terminal.say(f"{client.path} has the hook already")
        return
    registration.write_settings(client.path, after)
    terminal.say(f"{client.path}: has the hook; nothing else is changed. New sessions of {client.title} use it")
    if client.next_step:
        terminal.say(client.next_step)


def inspect_clients(last_activity: Callable[[str], int | None]) -> Iterator[Remark]:
    """Yield a remark about the hook in each installed agent's settings. No command is run.

    last_activity: returns when a session of an agent was last active, in milliseconds since the epoch, None for never.
    """
    for client in CLIENTS.values():
        if client.is_installed:
            try:
                yield _judge(client, read_commands(client), last_activity(client.name))
            except ConfigError as error:
                yield Remark(NOTE, visible(error.message))


def _judge(client: Client, commands: Commands, last_ms: int | None) -> Remark:
    init = f"`subcog init --for {client.name}`"
    if not commands:
        return Remark(GOOD, f"{client.title} does not have the hook; {init} registers it")
    where = visible(f"{client.title}: hook in {client.path}")
    attempts = [words for lines in commands.values() for line in lines for words in hook_lines.split_line(line)]
    missing = [words[0] for words in attempts if registration.resolve_command(words) is None]
    if missing:
        fault = f"{where} runs {registration.command_text((missing[0],))}, which is not there; run {init} again"
        return Remark(BAD if len(missing) == len(attempts) else NOTE, fault)
    if absent := [event for event in client.form.events if event not in commands]:
        return Remark(NOTE, f"{where} lacks {', '.join(absent)}; {init} adds that")
    if client.name == "codex" and not is_trusted_by_codex(client):
        return Remark(NOTE, f"{where} is not trusted yet. {TRUST_IN_CODEX}")
    return Remark(GOOD, f"{where}, last at work on {day(last_ms)}" if last_ms else f"{where}, not seen at work yet")


def is_trusted_by_codex(client: Client) -> bool:
    """Return whether the user has let Codex run all of our hooks, each as it stands now."""
    try:
        with open(os.path.join(client.folder, "config.toml"), "rb") as file:
            states = _get_object(_get_object(tomllib.load(file), "hooks"), "state")
    except (OSError, ValueError):
        return False
    paths = (client.path, os.path.realpath(client.path))
    for entry in hook_entries.find_entries(registration.read_settings(client.path) or "{}"):
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


def _make_line(client: str) -> str:
    """Return the line that runs the hook in an isolated interpreter, else by the console script."""
    command = registration.hook_command()
    commands = [command]
    if places := hook_entries.paths_in_command(command):
        folder, script = places
        commands = [[command[0], *hook_entries.ISOLATED, ISOLATED_CODE, folder], [script]]
    return hook_lines.make_line(commands, client, is_windows=IS_WINDOWS)


def _copilot_shell() -> str:
    return "powershell" if IS_WINDOWS else "bash"


def _check_owner(text: str | None, form: Form) -> None:
    if text is not None and not form.read_commands(text):
        raise ValueError("subcog did not write it")


def _fault(client: Client, error: Exception) -> ConfigError:
    return ConfigError(f"{client.path} has no hooks as {client.title} reads them: {error}", "correct it by hand")


def _get_object(value: object, key: str) -> Mapping[str, object]:
    """Return the object under a key; an empty one for anything else."""
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}
