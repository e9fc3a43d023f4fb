"""The home folders inside of repositories that the user has accepted: `subcog init` records them, the hook asks.

A repository can set variables for the hook, and ship any file. So the record lies in the user's own `~/.subcog`, and `~` counts
only where no repository can have named it.
"""

import os
import stat
import sys

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import make_private_folder

RECORD = "homes.json"  # a JSON list of full paths
MAX_RECORD = 64 * 1024  # bytes that are read
MAX_HOMES = 100  # the newest homes are kept; their paths are far below MAX_RECORD


def is_accepted_home(path: str) -> bool:
    """Return whether the user has accepted this home folder; False where the record is unreadable.

    `~/.subcog` itself needs no record: a user whose `~` is a repository keeps the usual home.
    """
    try:
        if not is_users_own(os.path.expanduser("~")):
            return False
        home = _real(path)
        return home == _real(_default_home()) or home in map(os.path.normcase, _read_record())
    except (OSError, ValueError, RecursionError):
        return False


def remember_home(path: str) -> None:
    """Record that the user has accepted this home folder. Raises StoreError when the record cannot be written."""
    folder = _default_home()
    if not os.path.isabs(folder):
        raise StoreError("there is no home folder for this user", "set HOME")
    record = os.path.join(folder, RECORD)
    make_private_folder(folder)
    try:
        accepted = [homes for homes in _read_record() if os.path.normcase(homes) != _real(path)]
    except (OSError, ValueError, RecursionError):
        accepted = []  # none yet, or nothing that could be used
    homes = [*accepted, os.path.realpath(path)][-MAX_HOMES:]
    try:
        from subcog_hooks.core.whole_files import WholeFile  # the hook only reads the record

        with WholeFile(record) as whole:
            whole.file.write(light_json.dumps(homes) + "\n")
    except OSError as error:
        raise StoreError(f"{record} cannot be written: {error.strerror}", "check its permissions and the disk") from error


def find_repository(path: str) -> str:
    """Return the nearest repository that a path is or lies in, "" outside of any. Links are not followed."""
    folder, parent = "", path
    while folder != parent:
        folder, parent = parent, os.path.dirname(parent)
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
    return ""


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path, all links followed, is a folder or lies in it."""
    real, around = _real(path), _real(folder)
    return real == around or real.startswith(os.path.join(around, ""))


def _read_record() -> list[str]:
    """Return the paths on record. Raises OSError; ValueError for a file that is not regular or is too large."""
    descriptor = os.open(os.path.join(_default_home(), RECORD), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # never waits
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("no regular file")
        data = file.read(MAX_RECORD + 1)
    if len(data) > MAX_RECORD:
        raise ValueError("too large")
    paths = light_json.loads(data.decode("ascii"))
    return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []


def is_users_own(user: str) -> bool:
    """Return whether this user folder is safe: outside of any repository, or registered by the system too."""
    try:
        is_safe = os.path.isabs(user) and not is_inside(user, os.getcwd()) and not find_repository(os.path.realpath(user))
        return is_safe or (os.path.isabs(user) and _real(user) == _real(account_folder()))
    except OSError:  # The system does not know this user.
        return False


def account_folder() -> str:
    """Return the user folder that the system has registered, independent of the environment. Raises OSError."""
    if sys.platform == "win32":
        import winreg  # only there, and only for this

        with winreg.OpenKey(winreg.HKEY_CURRENT_USER, "Volatile Environment") as key:
            return str(winreg.QueryValueEx(key, "USERPROFILE")[0])
    import pwd  # a user folder inside a repository is rare

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError as error:
        raise OSError("the system does not know this user") from error


def _default_home() -> str:
    return os.path.join(os.path.expanduser("~"), ".subcog")


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))
