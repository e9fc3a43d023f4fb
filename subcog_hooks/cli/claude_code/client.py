"""The files of Claude Code on disk: its settings files, the plugin in them, and which of their commands may be run here.

Nothing is changed here; `subcog init` and `uninstall` do that.
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

USER, PROJECT, LOCAL = "user", "project", "local"  # settings by the option that names them; a later one wins in the client
MAX_SETTINGS = 8 * 1024 * 1024  # bytes; the client itself stalls on more
PLUGIN = "subcog"
TRIAL = """import os, sys
sys.path.append({folder!r})
import apsw, re2, sqlite_vec, tantivy, subcog_hooks
print(os.path.samefile(subcog_hooks.__file__, {file!r}))"""
TRIAL_S = 20.0


class Plugin(NamedTuple):
    """Our plugin as the client knows it.

    id: `NAME@MARKETPLACE`; version: "" where nothing is installed by that name; switches: whether each settings file that names
    it switches it on.
    """

    id: str
    version: str
    switches: Mapping[str, bool]

    @property
    def enabled_by(self) -> str | None:
        """Return the settings that switch it on here; None when it is off."""
        name = next((name for name in (LOCAL, PROJECT, USER) if name in self.switches), None)
        return name if name is not None and self.switches[name] else None

    def runs_where(self, name: str) -> bool:
        """Return whether it runs wherever settings of this name hold; for the user's, what a repository says does not count."""
        return self.switches.get(USER, False) if name == USER else self.enabled_by is not None


def settings_files() -> dict[str, str]:
    """Return where Claude Code reads settings from, by the option that names each; the project's only inside of one."""
    files = {USER: os.path.join(config_folder(), "settings.json")}
    at = context.here()
    if at is None:
        return files
    files[PROJECT] = os.path.join(at.root, ".claude", "settings.json")
    files[LOCAL] = os.path.join(at.root, ".claude", "settings.local.json")
    return files


def skills_folder(name: str) -> str | None:
    """Return where Claude Code looks for skills beside the settings of this name; None where nothing is looked for there."""
    files = settings_files()
    if name == LOCAL or name not in files:
        return None
    return os.path.join(os.path.dirname(files[name]), "skills")


def is_users(path: str) -> bool:
    """Return whether a settings file is the user's own. What lies in the repository at hand may be the repository's."""
    at = context.here()
    return path == settings_files()[USER] and (at is None or not is_inside(path, at.root))


def refuse_link_out(path: str) -> None:
    """Refuse settings of the project at hand that are a link out of it, or into `.git`. Raises UsageError."""
    at = context.here()
    if at is None:
        return
    if is_inside(path, at.root) and not is_inside(path, os.path.join(at.root, ".git")):
        return
    raise UsageError(visible(f"{path} leads out of the repository, to {os.path.realpath(path)}"), "replace the link by a file")


def read(path: str) -> str | None:
    """Return a settings file as it is, line ends included; None when there is none. Raises ConfigError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))  # never waits
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
        raise ConfigError(f"{path} can not be read: {error}", "correct it by hand") from error


def plugins() -> list[Plugin]:
    """Return our plugin, once for each marketplace that it is installed or switched on from.

    A switch alone starts nothing: a repository can name a plugin of a marketplace that the user never added.
    """
    folder = os.path.join(config_folder(), "plugins")
    installed = _object(_json(os.path.join(folder, "installed_plugins.json")).get("plugins"))
    marketplaces = _json(os.path.join(folder, "known_marketplaces.json"))
    switches: dict[str, dict[str, bool]] = {id_: {} for id_ in installed if _is_ours(id_)}
    for name, path in settings_files().items():
        for id_, value in _object(_json(path).get("enabledPlugins")).items():
            if _is_ours(id_) and (id_ in installed or id_.partition("@")[2] in marketplaces):
                switches.setdefault(id_, {})[name] = bool(value)
    return [Plugin(id_, _version(installed.get(id_)), switches[id_]) for id_ in sorted(switches)]


def runnable(words: Sequence[str]) -> list[str] | None:
    """Return a command with the full path of its program; None when it is not there.

    A path that begins in the folder at hand is a repository's to fill, and is not taken.
    """
    program = words[0]
    if os.path.isabs(program):
        found = program if shutil.which(program) else None
    else:
        found = on_path(program) if os.path.basename(program) == program else None
    return [found, *words[1:]] if found else None


def executable() -> list[str]:
    """Return the command that runs this installation, as words: the console script's full path, else the interpreter's."""
    script = os.path.abspath(sys.argv[0])
    name = os.path.basename(script).lower()
    if name in ("subcog", "subcog.exe") and os.path.isfile(script):
        return [script]
    beside = on_path("subcog", [os.path.dirname(sys.executable)])
    return [beside] if beside else [sys.executable, "-P", "-m", "subcog_hooks"]  # -P: no module of the folder at hand


def hook_command() -> list[str]:
    """Return the command that runs this installation's hook, without the word `hook`.

    An interpreter that skips what a hook has no use for starts some milliseconds sooner than the console script, and no
    variable leads it elsewhere. Where it would not find all libraries beside the package, as in an editable installation, it is
    the script.
    """
    script = executable()
    folder = os.path.dirname(os.path.dirname(os.path.abspath(subcog_hooks.__file__)))
    if len(script) > 1 or not _runs_isolated(folder):
        return script
    return hook_entries.isolated(sys.executable, folder, script[0])


def _runs_isolated(folder: str) -> bool:
    """Return whether an isolated interpreter finds this package and what its hook needs in a folder."""
    command = [sys.executable, *hook_entries.ISOLATED, TRIAL.format(folder=folder, file=subcog_hooks.__file__)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TRIAL_S, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0 and done.stdout.strip() == b"True"


def on_path(name: str, folders: Sequence[str] | None = None) -> str | None:
    """Return the full path of a program in `folders`, else on the PATH; never in the folder at hand, as Windows would."""
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
    """Return the version of a plugin's first installation; each scope has one, of one version."""
    first = entries[0] if isinstance(entries, list) and entries else entries
    version = _object(first).get("version")
    return version if isinstance(version, str) else ""


def _json(path: str) -> Mapping[str, object]:
    """Return the object in a file of the client's; an empty one where it can not be read, which the client ignores, too."""
    try:
        text = read(path)
        return _object(json.loads((text or "{}").removeprefix("\ufeff")))
    except (ConfigError, ValueError, RecursionError):
        return {}


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
