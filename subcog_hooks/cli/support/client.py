"""What Claude Code has on disk: its settings files, and which of their commands may be run here.

Nothing is changed here; `subcog init` and `uninstall` do that.
"""

import os
import shutil
import stat
import sys
from collections.abc import Sequence

from subcog_hooks.accepted_homes import is_inside
from subcog_hooks.cli.support import session
from subcog_hooks.cli.support.output import visible
from subcog_hooks.errors import ConfigError, UsageError

USER, PROJECT, LOCAL = "user", "project", "local"  # settings by the option that names them; a later one wins in the client
MAX_SETTINGS = 8 * 1024 * 1024  # bytes; the client itself stalls on more


def settings_files() -> dict[str, str]:
    """Return where Claude Code reads settings from, by the option that names each; the project's only inside of one."""
    files = {USER: os.path.join(_config_folder(), "settings.json")}
    at = session.here()
    if at is None:
        return files
    files[PROJECT] = os.path.join(at.root, ".claude", "settings.json")
    files[LOCAL] = os.path.join(at.root, ".claude", "settings.local.json")
    return files


def is_users(path: str) -> bool:
    """Return whether a settings file is the user's own. What lies in the repository at hand may be the repository's."""
    at = session.here()
    return path == settings_files()[USER] and (at is None or not is_inside(path, at.root))


def refuse_link_out(path: str) -> None:
    """Refuse settings of the project at hand that are a link out of it, or into `.git`. Raises UsageError."""
    at = session.here()
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


def on_path(name: str, folders: Sequence[str] | None = None) -> str | None:
    """Return the full path of a program in `folders`, else on the PATH; never in the folder at hand, as Windows would."""
    for folder in filter(os.path.isabs, os.get_exec_path() if folders is None else folders):
        for file in (f"{name}.exe", name) if os.name == "nt" else (name,):
            path = os.path.join(folder, file)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


def _config_folder() -> str:
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")
