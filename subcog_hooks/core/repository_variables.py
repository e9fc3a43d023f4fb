"""The variables that a repository sets for agents and their commands, and the homes that the user has accepted.

A repository can set variables for the hook, and ship any file. A home that a repository may have named counts only where it is
on the user's record, which lies in the user's own `~/.subcog`; and `~` counts only where no repository can have named it.
"""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import STARTED_IN, account_folder, leads_out, make_private_folder, read_regular, working_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

JSON_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")  # their object `env` is set
MENTIONING = (  # files of agents, editors and shells: a variable mentioned in their text counts as set
    *(".env", ".gemini/.env", ".qwen/.env", ".gemini/settings.json", ".qwen/settings.json", ".vscode/settings.json"),
    *(".codex/config.toml", ".github/copilot/settings.json", ".github/copilot/settings.local.json"),
    *("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc", ".factory/settings.json"),
)
SERVERS = (  # files that set variables for servers such as `subcog mcp`, or for a container
    *(".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".factory/mcp.json", ".zed/settings.json", ".amp/settings.json"),
    ".devcontainer/devcontainer.json",
)
# An escape of an ASCII letter in JSON or TOML: a name written so is found by its reader alone.
LETTER_ESCAPE = r"\\(?:u00|U000000|x)[4-7]"
IGNORES_CASE = os.name == "nt"  # in the names of variables
MAX_SETTINGS = 1_000_000  # bytes
# The variables that name the person's folder.
USER_FOLDER = ("USERPROFILE", "HOMEDRIVE", "HOMEPATH") if os.name == "nt" else ("HOME",)
FOR_TLS = ("SSL_CERT_", "SSLKEYLOGFILE", "OPENSSL_")  # prefixes: whom a connection trusts, and who may read it


class ProjectVariables:
    """The variables that the repositories at hand set, by the file that sets each."""

    __slots__ = ("_folders", "_sets_all", "_setters", "_texts")

    def __init__(self, session_folder: str = "", mentioning: Sequence[str] = MENTIONING) -> None:
        """Read the settings in each folder up to the person's own. mentioning: the files that are searched for names."""
        self._folders: list[str] = []  # without a bare folder: the root has each folder of the PATH below it
        self._setters: dict[str, str] = {}
        self._sets_all = ""  # a file that no reader understands, though the agent may
        self._texts: list[tuple[str, str]] = []
        starts = _folders_at_hand(session_folder)
        for folder, is_in_repository in _folders_around(starts).items():
            paths = {os.path.join(folder, *name.split("/")): name in JSON_SETTINGS for name in (*JSON_SETTINGS, *mentioning)}
            present = [path for path in paths if os.path.lexists(path)]
            for path in present:
                self._read_settings(path, is_json=paths[path])
            if is_in_repository or (present and folder in starts):
                self._folders.append(folder)

    def _read_settings(self, path: str, *, is_json: bool) -> None:
        try:
            raw = read_regular(path, MAX_SETTINGS + 1)
            text = raw.decode("utf-8-sig")
            if len(raw) > MAX_SETTINGS:
                raise ValueError("too large")
            variables = _env_of(text) if is_json else ()
            if not is_json and not path.endswith(".env") and "\\" in text:
                import re  # few repositories have such files

                if re.search(LETTER_ESCAPE, text.replace("\\\\", "")):  # without escaped backslashes
                    raise ValueError("it may name any variable")
        except OSError:
            return  # the agent cannot read it either
        except (ValueError, RecursionError):
            self._sets_all = self._sets_all or path
            return
        for variable in variables:
            self._setters.setdefault(variable, path)
        if path.endswith(".env"):
            text = "\n".join(line.partition("=")[0] for line in text.splitlines() if "=" in line.partition("#")[0])
        if not is_json:
            self._texts.append((path, _fold(text)))

    def setter_of(self, variable: str) -> str:
        """Return the settings file that sets a variable, or may; "" when none does."""
        if setter := self._setters.get(_fold(variable), self._sets_all):
            return setter
        return next((path for path, text in self._texts if _mentions(text, _fold(variable))), "")

    def holds(self, path: str) -> bool:
        """Return whether a path, all links followed, lies in a repository at hand, or in a folder with its settings."""
        real = os.path.realpath(path)
        return any(real == folder or real.startswith(os.path.join(folder, "")) for folder in self._folders)


def find_setter(variable: str) -> str:
    """Return the first settings file around the folders at hand that sets a variable, or may; "" for none."""
    return ProjectVariables().setter_of(variable)


def drop_set_variables(*prefixes: str) -> list[str]:
    """Remove variables with these prefixes that a repository sets from the environment. Return a line for each."""
    candidates = [variable for variable in os.environ if variable.startswith(prefixes)]
    if not candidates:
        return []
    repository = ProjectVariables()
    lines = []
    for variable in candidates:
        if setter := repository.setter_of(variable):
            del os.environ[variable]
            lines.append(f"{variable} is ignored: {setter} can set it")
    return lines


def _folders_at_hand(session_folder: str) -> set[str]:
    """Return the real paths of the session's folder, the working folder of this process, and the client's start folder."""
    return {os.path.realpath(folder) for folder in {session_folder, working_folder(), os.environ.get(STARTED_IN, "")} - {""}}


def find_repository(path: str) -> str:
    """Return the nearest folder with `.git` among a path and those around it, "" for none."""
    while not os.path.lexists(os.path.join(path, ".git")):
        path, below = os.path.dirname(path), path
        if path == below:
            return ""
    return path


def _folders_around(starts: Iterable[str]) -> dict[str, bool]:
    """Return the folders from these up to the person's own, without it, each with whether it lies in a repository."""
    try:
        own = os.path.realpath(account_folder())
    except OSError:
        own = ""
    folders: dict[str, bool] = {}
    for start in starts:
        folder, below, top = start, "", find_repository(start)
        is_in_repository = bool(top)
        while folder not in (own, below):
            folders[folder] = folders.get(folder, False) or is_in_repository
            is_in_repository = is_in_repository and folder != top
            folder, below = os.path.dirname(folder), folder
    return folders


def _mentions(text: str, variable: str) -> bool:
    """Return whether a variable's name stands in a text, and not as a part of another name.

    >>> _mentions("export PGHOST=db", "PGHOST"), _mentions("DB_USER=ada", "USER")
    (True, False)
    """
    import re  # few repositories have such files

    return re.search(rf"\b{re.escape(variable)}\b", text) is not None


def _fold(text: str) -> str:
    return text.upper() if IGNORES_CASE else text


def _env_of(text: str) -> list[str]:
    """Return the names of the variables in the client's settings. Raises ValueError for an unknown form."""
    from subcog_hooks.core import light_json  # few repositories have such files

    settings = light_json.loads(text or "{}")
    variables = settings.get("env") or {} if isinstance(settings, dict) else None
    if not isinstance(variables, dict):
        raise ValueError("env is no object")
    return list(map(_fold, variables))


RECORD = "homes.json"  # a JSON list of full paths
MAX_RECORD = 64 * 1024  # bytes that are read
MAX_HOMES = 100  # the newest homes are kept; their paths are far below MAX_RECORD


def find_fault(home: str, folder: str, *, is_typed: bool) -> str:
    """Return why a repository may have chosen this home; "" where it cannot have, or where the user has accepted it."""
    named = os.environ.get("SUBCOG_HOME", "")
    fault = ""
    if not is_typed:
        real = os.path.realpath(home)
        is_relative = not os.path.isabs(os.path.expanduser(named or "~"))
        if is_relative or any(_share_repository(real, other) for other in _folders_at_hand(folder)):
            fault = f"{'SUBCOG_HOME' if named else 'HOME'} leads into this repository,"
    if not fault:
        repository = ProjectVariables(folder, (*MENTIONING, *SERVERS))
        variables = (*(["SUBCOG_HOME"] if named else []), *(() if os.path.isabs(named) else USER_FOLDER))  # `~` may name it.
        faults = (f"{setter} can set {variable}" for variable in variables if (setter := repository.setter_of(variable)))
        fault = next(faults, "")
    return "" if fault and is_accepted_home(home) else fault


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
        from subcog_hooks.core.files import WholeFile  # the hook only reads the record

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
