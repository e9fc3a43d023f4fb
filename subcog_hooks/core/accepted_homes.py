"""The home folders that the user has accepted: `subcog init` records them, the hook asks where a repository may name one.

A repository can set variables for the hook, and ship any file. So the record lies in the user's own `~/.subcog`, and `~` counts
only where no repository can have named it.
"""

import os

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.core.paths import account_folder, find_repository, folders_at_hand, make_private_folder
from subcog_hooks.core.repository_variables import USER_FOLDER, find_home_setter, find_setter

RECORD = "homes.json"  # a JSON list of full paths
MAX_RECORD = 64 * 1024  # bytes that are read
MAX_HOMES = 100  # the newest homes are kept; their paths are far below MAX_RECORD


def find_fault(home: str, folder: str, *, is_typed: bool) -> str:
    """Return why a repository may have chosen this home, "" where it cannot have done so, or where the user has accepted it.

    folder, is_typed: as for `homes.find_home`.
    """
    named = os.environ.get("SUBCOG_HOME", "")
    fault = "" if is_typed else _find_repository_fault(home, named, folder)
    if not fault:
        setter, variable = find_home_setter(named, folder)
        fault = f"{setter} can set {variable}" if setter else ""
    return "" if fault and is_accepted_home(home) else fault


def _find_repository_fault(home: str, named: str, folder: str) -> str:
    real = os.path.realpath(home)
    at_hand = map(os.path.realpath, {folder, *folders_at_hand()} - {""})
    is_relative = not os.path.isabs(os.path.expanduser(named or "~"))
    if not is_relative and not any(_share_repository(real, other) for other in at_hand):
        return ""
    return f"{'SUBCOG_HOME' if named else 'HOME'} leads into this repository,"


def _share_repository(path: str, folder: str) -> bool:
    """Return whether two real paths lie in one repository, or in one that holds the repository of either."""
    while not (path == folder or path.startswith(os.path.join(folder, ""))):
        parent = os.path.dirname(folder)
        if parent == folder:  # another drive
            return False
        folder = parent
    return bool(find_repository(folder))


def is_accepted_home(path: str) -> bool:
    """Return whether the user has accepted this home folder; False where the record is unreadable.

    `~/.subcog` itself needs no record: a user whose `~` is a repository keeps the usual home.
    """
    return _real(path) in (_real(usual_home()), *map(os.path.normcase, _read_record()))


def remember_home(path: str) -> None:
    """Record that the user has accepted this home folder. The caller has the lock of the record. Raises StoreError."""
    folder = usual_home()
    if not folder:
        raise StoreError("there is no home folder for this user", "set HOME")
    record = record_path()
    make_private_folder(folder)
    accepted = [home for home in _read_record() if os.path.normcase(home) != _real(path)]
    homes = [*accepted, os.path.realpath(path)][-MAX_HOMES:]
    try:
        from subcog_hooks.core import light_json
        from subcog_hooks.core.whole_files import WholeFile  # the hook only reads the record

        with WholeFile(record) as whole:
            whole.file.write(light_json.dumps(homes) + "\n")
    except OSError as error:
        raise StoreError(f"{record} cannot be written: {error.strerror}", "check its permissions and the disk") from error


def usual_home() -> str:
    """Return `~/.subcog`, with the folder that the system has registered where a repository may have set `~`; "" for none."""
    user = os.path.expanduser("~")
    try:
        return os.path.join(user if is_users_own(user) else account_folder(), ".subcog")
    except OSError:  # The system does not know this user.
        return ""


def record_path() -> str:
    return os.path.join(usual_home(), RECORD)


def _read_record() -> list[str]:
    """Return the paths on record; none yet, or none where the file is too large or unreadable."""
    from subcog_hooks.core import light_json  # few homes are on record

    try:
        data = read_regular(record_path(), MAX_RECORD + 1)
        paths = light_json.loads(data.decode("ascii")) if len(data) <= MAX_RECORD else None
    except (OSError, ValueError, RecursionError):
        return []
    return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []


def is_users_own(folder: str, *variables: str) -> bool:
    """Return whether a folder is the user's: registered by the system, or outside of repositories and named by none.

    variables: those that may name it, if it is not `~`.
    """
    if not os.path.isabs(folder):
        return False
    try:
        if _real(folder) == _real(account_folder()):
            return True
        is_outside = leads_out(folder, os.getcwd()) and not find_repository(os.path.realpath(folder))
    except OSError:  # The system does not know this user, or the working folder is gone.
        return False
    return is_outside and not any(map(find_setter, variables or USER_FOLDER))


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))
