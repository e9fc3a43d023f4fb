"""The home folders inside of repositories that the user has accepted: `subcog init` records them, the hook asks.

A repository can set variables for the hook, and ship any file. So the record lies in the user's own `~/.subcog`, and `~` counts
only where no repository can have named it.
"""

import os
import sys

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import find_repository, make_private_folder
from subcog_hooks.core.regular_files import leads_out, read_regular

RECORD = "homes.json"  # a JSON list of full paths
MAX_RECORD = 64 * 1024  # bytes that are read
MAX_HOMES = 100  # the newest homes are kept; their paths are far below MAX_RECORD


def is_accepted_home(path: str) -> bool:
    """Return whether the user has accepted this home folder; False where the record is unreadable.

    `~/.subcog` itself needs no record: a user whose `~` is a repository keeps the usual home.
    """
    home = _real(path)
    return is_users_own(os.path.expanduser("~")) and home in (_real(_default_home()), *map(os.path.normcase, _read_record()))


def remember_home(path: str) -> None:
    """Record that the user has accepted this home folder. The caller has the lock of the record. Raises StoreError."""
    folder = _default_home()
    if not os.path.isabs(folder):
        raise StoreError("there is no home folder for this user", "set HOME")
    record = record_path()
    make_private_folder(folder)
    accepted = [home for home in _read_record() if os.path.normcase(home) != _real(path)]
    homes = [*accepted, os.path.realpath(path)][-MAX_HOMES:]
    try:
        from subcog_hooks.core.whole_files import WholeFile  # the hook only reads the record

        with WholeFile(record) as whole:
            whole.file.write(light_json.dumps(homes) + "\n")
    except OSError as error:
        raise StoreError(f"{record} cannot be written: {error.strerror}", "check its permissions and the disk") from error


def record_path() -> str:
    return os.path.join(_default_home(), RECORD)


def _read_record() -> list[str]:
    """Return the paths on record; none yet, or none where the file is too large or unreadable."""
    try:
        data = read_regular(record_path(), MAX_RECORD + 1)
        paths = light_json.loads(data.decode("ascii")) if len(data) <= MAX_RECORD else None
    except (OSError, ValueError, RecursionError):
        return []
    return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []


def is_users_own(user: str) -> bool:
    """Return whether this user folder is safe: outside of any repository, or registered by the system too."""
    try:
        is_safe = os.path.isabs(user) and leads_out(user, os.getcwd()) and not find_repository(os.path.realpath(user))
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
