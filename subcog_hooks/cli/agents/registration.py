"""Claude Code: where its settings lie, its version, and the hook registered there or by a plugin."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import subcog_hooks
from subcog_hooks.cli.agents import hook_entries, skills
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import visible
from subcog_hooks.core import child_environment
from subcog_hooks.core.errors import ConfigError, UsageError
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.core.whole_files import WholeFile
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.text.sanitise import cut

USER, PROJECT, LOCAL = "user", "project", "local"  # options for settings files; in the client a later one wins
MAX_SETTINGS = 8 * 1024 * 1024  # bytes; the client itself stalls on larger files
MAX_TRIES = 20  # to change settings that another program changes, too
PLUGIN = "subcog"
TRIAL = """import os, sys
sys.path.append({folder!r})
import apsw, re2, sqlite_vec, tantivy, subcog_hooks
print(os.path.samefile(subcog_hooks.__file__, {file!r}))"""
TRIAL_S = 20.0
VERSION_S = 10.0  # seconds for the client to print its version
MIN_VERSION = (2, 1, 197)  # An older client does not know PostToolUseFailure, and drops all hooks beside an unknown event.


class Plugin(NamedTuple):
    """Our plugin in the client's files.

    id: `NAME@MARKETPLACE`; version: "" where it is not installed; switches: by settings file, whether it enables the plugin.
    """

    id: str
    version: str
    switches: Mapping[str, bool]

    @property
    def enabled_by(self) -> str | None:
        """Return the settings that enable it here; None when it is disabled."""
        name = next((name for name in (LOCAL, PROJECT, USER) if name in self.switches), None)
        return name if name is not None and self.switches[name] else None

    def runs_where(self, name: str) -> bool:
        """Return whether it runs wherever settings of this name hold. For the user's, a repository's switch does not count."""
        return self.switches.get(USER, False) if name == USER else self.enabled_by is not None


def settings_files() -> dict[str, str]:
    """Return the paths of Claude Code's settings by option; a project's only inside of one."""
    files = {USER: os.path.join(config_folder(), "settings.json")}
    if project := context.here():
        files[PROJECT] = os.path.join(project.root, ".claude", "settings.json")
        files[LOCAL] = os.path.join(project.root, ".claude", "settings.local.json")
    return files


def skills_folder(name: str) -> str | None:
    """Return the folder of Claude Code's skills beside these settings; None where there is none."""
    files = settings_files()
    if name == LOCAL or name not in files:
        return None
    return os.path.join(os.path.dirname(files[name]), "skills")


def is_users_own(path: str) -> bool:
    """Return whether a settings file is the user's own. A file in the current repository may be the repository's."""
    project = context.here()
    return path == settings_files()[USER] and (project is None or leads_out(path, project.root))


def refuse_link_out(path: str, remedy: str = "replace the link by a file") -> None:
    """Raise UsageError for a file of the current project that is a link out of it, or into `.git`."""
    project = context.here()
    if project and (leads_out(path, project.root) or not leads_out(path, os.path.join(project.root, ".git"))):
        raise UsageError(visible(f"{path} leads out of the repository, to {os.path.realpath(path)}"), remedy)


def read_settings(path: str) -> str | None:
    """Return a settings file unchanged, line ends included; None when there is none. Raises ConfigError."""
    try:
        data = read_regular(path, MAX_SETTINGS + 1)
        if len(data) > MAX_SETTINGS:
            raise ConfigError(f"{path} is larger than {MAX_SETTINGS >> 20} MB", "correct it by hand")
        return data.decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "correct it by hand") from error


def change_settings(path: str, change: Callable[[str | None], str | None]) -> tuple[str | None, str | None]:
    """Change a settings file, and return its text before and after (None for no file). Raises ConfigError.

    change: returns the text after from that before. Where another program writes the file meanwhile, it gets the new text.
    """
    for tries_left in reversed(range(MAX_TRIES)):
        before = read_settings(path)
        after = change(before)
        try:
            if after != before:
                _write_settings(path, before, after)
            break
        except _SettingsChangedError:
            if not tries_left:
                raise
    return before, after


class _SettingsChangedError(ConfigError):
    """Another program has changed the settings since they were read."""


def _write_settings(path: str, before: str | None, after: str | None) -> None:
    """Write a settings file whole, with its mode, or remove it, if it still has the text `before`. Raises ConfigError."""
    target = os.path.realpath(path)  # a link into somebody's dotfiles stays a link
    try:
        if after is None:
            _refuse_change(path, before)
            os.unlink(target)
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with WholeFile(target) as whole:
            whole.file.write(after)
            if os.path.exists(target):
                shutil.copymode(target, whole.path)
            whole.file.flush()
            os.fsync(whole.file.fileno())  # A slow disk takes its time before the comparison, not after it.
            _refuse_change(path, before)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", "check its permissions and the disk") from error


def _refuse_change(path: str, before: str | None) -> None:
    if read_settings(path) != before:
        raise _SettingsChangedError(f"{path} is being changed by another program, and is left alone", "run the command again")


def list_plugins() -> list[Plugin]:
    """Return our plugin, once for each marketplace that it is installed or enabled from.

    A switch alone starts nothing: a repository can name a plugin of a marketplace that the user never added.
    """
    folder = os.path.join(config_folder(), "plugins")
    installed = _as_object(_read_object(os.path.join(folder, "installed_plugins.json")).get("plugins"))
    marketplaces = _read_object(os.path.join(folder, "known_marketplaces.json"))
    switches: dict[str, dict[str, bool]] = {id_: {} for id_ in installed if _is_ours(id_)}
    for name, path in settings_files().items():
        for id_, value in _as_object(_read_object(path).get("enabledPlugins")).items():
            if _is_ours(id_) and (id_ in installed or id_.partition("@")[2] in marketplaces):
                switches.setdefault(id_, {})[name] = bool(value)
    return [Plugin(id_, _version(installed.get(id_)), switches[id_]) for id_ in sorted(switches)]


def resolve_command(words: Sequence[str]) -> list[str] | None:
    """Return a command with the full path of its program; None where the program is missing.

    A relative path is rejected, as a repository could supply the file.
    """
    program = words[0]
    if os.path.isabs(program):
        path = program if shutil.which(program) else None
    else:
        path = find_program(program) if os.path.basename(program) == program else None
    return [path, *words[1:]] if path else None


def executable() -> list[str]:
    """Return the command of this installation, as words: the console script's full path, else the interpreter's."""
    script = os.path.abspath(sys.argv[0])
    name = os.path.basename(script).lower()
    if name in ("subcog", "subcog.exe") and os.path.isfile(script):
        return [script]
    beside = find_program("subcog", [os.path.dirname(sys.executable)])
    return [beside] if beside else [sys.executable, "-P", "-m", "subcog_hooks"]  # -P: do not import from the current folder


def describe_old_client() -> str:
    """Return a message if the client on the PATH is too old for the hook, "" otherwise. The client is asked its version."""
    program = find_program("claude")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, "--version"],
            capture_output=True,
            timeout=VERSION_S,
            stdin=subprocess.DEVNULL,
            check=False,
            env=child_environment.environment_of_client(),
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    numbers = done.stdout.decode("ascii", "replace").split(" ")[0].strip().split(".")
    version = tuple(int(number) for number in numbers if number.isdigit())
    if len(version) != len(MIN_VERSION) or version >= MIN_VERSION:
        return ""
    texts = [".".join(map(str, numbers)) for numbers in (version, MIN_VERSION)]
    return f"Claude Code {texts[0]} is too old to run the hook; subcog needs {texts[1]} or later"


def hook_command() -> list[str]:
    """Return the command of this installation's hook, without the word `hook`.

    An isolated interpreter starts some milliseconds sooner than the console script, and heeds no variables. Where it would miss
    libraries, as in an editable installation, the script is used.
    """
    script = executable()
    folder = os.path.dirname(os.path.dirname(os.path.abspath(subcog_hooks.__file__)))
    if len(script) > 1 or not _runs_isolated(folder):
        return script
    return hook_entries.isolated_command(sys.executable, folder, script[0])


def _runs_isolated(folder: str) -> bool:
    command = [sys.executable, *hook_entries.ISOLATED, TRIAL.format(folder=folder, file=subcog_hooks.__file__)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TRIAL_S, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0 and done.stdout.strip() == b"True"


def find_program(name: str, folders: Sequence[str] | None = None) -> str | None:
    """Return the full path of a program in `folders`, else on the PATH; never in the current folder, as Windows would."""
    for folder in filter(os.path.isabs, os.get_exec_path() if folders is None else folders):
        for file in (f"{name}.exe", name) if os.name == "nt" else (name,):
            path = os.path.join(folder, file)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


def config_folder() -> str:
    """Return the client's own folder."""
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")


def _is_ours(id_: str) -> bool:
    return id_.partition("@")[0] == PLUGIN


def _version(entries: object) -> str:
    first = entries[0] if isinstance(entries, list) and entries else entries
    version = _as_object(first).get("version")
    return version if isinstance(version, str) else ""


def _read_object(path: str) -> Mapping[str, object]:
    """Return the object in a client's file; an empty one for an unreadable file, which the client ignores, too."""
    try:
        text = read_settings(path)
        return _as_object(json.loads((text or "{}").removeprefix("\ufeff")))
    except (ConfigError, ValueError, RecursionError):
        return {}


def _as_object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


GOOD, NOTE, BAD = "good", "note", "bad"
MAX_COMMAND_SHOWN = 200  # characters of a command


class Remark(NamedTuple):
    """A line of the report, ready for a terminal. kind: GOOD, NOTE or BAD."""

    kind: str
    text: str


class Registration(NamedTuple):
    """The registrations of the hook.

    command: the working command in the user's own settings, None for none; is_running: settings or a plugin run the hook;
    double: the remark about a hook that runs more than once, "" for none.
    """

    remarks: tuple[Remark, ...]
    command: list[str] | None
    is_running: bool
    double: str


def inspect_registration() -> Registration:
    """Read the client's settings and plugins, and judge them without running a command."""
    remarks: list[Remark] = []
    command: list[str] | None = None
    running: dict[str, frozenset[tuple[str, ...]]] = {}  # commands of the settings that run the hook
    is_broken = False
    seen: set[str] = set()  # A repository may contain the user's own settings folder.
    for name, path in settings_files().items():
        if os.path.realpath(path) in seen:
            continue
        seen.add(os.path.realpath(path))
        try:
            commands, missing = _commands(path)
        except (ConfigError, ValueError, RecursionError) as error:
            remarks.append(Remark(BAD, visible(f"{path} cannot be read, by the client either: {error}")))
            continue
        distinct = dict.fromkeys(tuple(words) for ours in commands.values() for words in ours)
        for words in distinct:
            remarks.append(_judge_command(name, path, words))
            is_broken = is_broken or remarks[-1].kind == BAD
            resolved = resolve_command(words)
            if resolved and is_users_own(path):
                command = command or resolved[: resolved.index("hook")]
        if commands:
            running[name] = frozenset(distinct)
            if missing:
                events = ", ".join(missing)
                adds = f"`subcog init{scope_option(name)}` adds that"
                remarks.append(Remark(NOTE, f"the {name} settings do not run it for all of {events}; {adds}"))
    plugins = list_plugins()
    remarks += _judge_plugins(plugins, is_registered=bool(running))
    if double := _describe_double(plugins, running):
        remarks.append(Remark(NOTE, double))
    remarks += _judge_skills()
    if running and (remark := path_remark()):
        remarks.append(Remark(NOTE, remark))
    is_running = bool(running) or any(plugin.enabled_by for plugin in plugins)
    if not is_running and not is_broken:
        remarks.append(Remark(NOTE, "no settings file and no plugin runs the hook; `subcog init` registers it"))
    return Registration(tuple(remarks), command, is_running, double)


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


def path_remark() -> str:
    """Return a remark where the PATH does not lead to this installation, with the command for agents; "" otherwise."""
    command = skills.command_of(executable())
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


def _commands(path: str) -> tuple[Mapping[str, list[list[str]]], list[str]]:
    """Return the commands of our hook in a settings file by event, and the events without. Raises ConfigError, and
    ValueError or RecursionError for JSON that is wrong or nested too deeply.
    """
    text = read_settings(path)
    if text is None:
        return {}, []
    return hook_entries.registered_commands(text), hook_entries.find_unserved_events(text)


def _judge_command(name: str, path: str, words: tuple[str, ...]) -> Remark:
    """Judge a command of a settings file. Only our own executable and commands in the user's settings are ever run."""
    hook = f"hook in the {name} settings: {command_text(words)}"
    program, resolved = words[0], resolve_command(words)
    if resolved is None and shutil.which(program) is None:
        remedy = "pipx or uv puts it on the PATH" if program == "subcog" else f"run `subcog init{scope_option(name)}` again"
        return Remark(BAD, f"{visible(path)} runs {command_text((program,))}, which is not there; {remedy}")
    places = hook_entries.paths_in_command(words)
    if places and not os.path.isdir(os.path.join(places[0], "subcog_hooks")):
        fact = f"{visible(path)} names {command_text((places[0],))}, where subcog is no more"
        moved = f"{fact}; run `subcog init{scope_option(name)}` again"
        return Remark(NOTE if os.path.isfile(places[1]) else BAD, moved)
    if resolved is not None and (is_users_own(path) or _is_this_installation(resolved)):
        return Remark(GOOD, hook)
    if is_users_own(path):
        return Remark(NOTE, f"{hook}; not run, because its path begins in the folder at hand; run `subcog init` again")
    not_run = f"{hook}; not run, because the repository names it: doctor tries this installation"
    return Remark(GOOD if words == ("subcog", "hook") else NOTE, not_run)


def _is_this_installation(words: list[str]) -> bool:
    return any(
        os.path.realpath(words[0]) == os.path.realpath(program) and words[1:] == [*arguments, "hook"]
        for program, *arguments in (executable(), hook_command())
    )


def _judge_plugins(plugins: list[Plugin], *, is_registered: bool) -> list[Remark]:
    remarks = []
    for plugin in plugins:
        name = visible(f"plugin {plugin.id} {plugin.version}".rstrip())
        if plugin.enabled_by is None:
            command = f"enable {visible(plugin.id)}" if plugin.version else "install subcog@subcog"
            kind = GOOD if is_registered else NOTE
            remarks.append(Remark(kind, f"{name} is installed and disabled; `claude plugin {command}` switches it on"))
            continue
        enabled = f"{name}, enabled in the {plugin.enabled_by} settings"
        remarks.append(Remark(GOOD, f"{enabled}: it runs `subcog hook` from the PATH"))
        if find_program("subcog") is None:
            advice = "install subcog with pipx or uv, or use `subcog init` instead"
            remarks.append(Remark(BAD, f"`subcog` is not on the PATH, where the plugin looks for it; {advice}"))
    return remarks


def _judge_skills() -> list[Remark]:
    folder = skills_folder(USER)
    installed = skills.find_skills(folder, skills.command_of(executable())) if folder else []
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
