"""Reads Claude Code's files on disk: settings, plugins, and the commands in them.

This module changes no file; `subcog init` and `uninstall` do.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import subcog_hooks
from subcog_hooks.cli.claude_code import hook_entries
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import visible
from subcog_hooks.core.accepted_homes import is_inside
from subcog_hooks.core.errors import ConfigError, UsageError

USER, PROJECT, LOCAL = "user", "project", "local"  # options for settings files; in the client a later one wins
MAX_SETTINGS = 8 * 1024 * 1024  # bytes; the client itself stalls on larger files
PLUGIN = "subcog"
TRIAL = """import os, sys
sys.path.append({folder!r})
import apsw, re2, sqlite_vec, tantivy, subcog_hooks
print(os.path.samefile(subcog_hooks.__file__, {file!r}))"""
TRIAL_S = 20.0


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
    project = context.here()
    if project is None:
        return files
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
    return path == settings_files()[USER] and (project is None or not is_inside(path, project.root))


def refuse_link_out(path: str) -> None:
    """Raise UsageError for settings of the current project that are a link out of it, or into `.git`."""
    project = context.here()
    if project is None:
        return
    if is_inside(path, project.root) and not is_inside(path, os.path.join(project.root, ".git")):
        return
    raise UsageError(visible(f"{path} leads out of the repository, to {os.path.realpath(path)}"), "replace the link by a file")


def read_settings(path: str) -> str | None:
    """Return a settings file unchanged, line ends included; None when there is none. Raises ConfigError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))  # never blocks
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError(f"{path} is no regular file", "replace it")
            data = file.read(MAX_SETTINGS + 1)
        if len(data) > MAX_SETTINGS:
            raise ConfigError(f"{path} is larger than {MAX_SETTINGS >> 20} MB", "correct it by hand")
        return data.decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "correct it by hand") from error


def plugins() -> list[Plugin]:
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
    """Return the version of a plugin's first installation; all scopes have the same version."""
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
