"""The variables that a repository sets for agents and their commands, by the files in which it does."""

from __future__ import annotations

import os

from subcog_hooks.core.files import read_regular
from subcog_hooks.core.paths import account_folder, find_repository, folders_at_hand

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
        """Read the settings in each folder around those at hand, up to the person's own folder.

        session_folder: the folder of the session, as the client reports it; mentioning: the files that are searched for names.
        """
        self._folders: list[str] = []  # without a bare folder: the root has each folder of the PATH below it
        self._setters: dict[str, str] = {}
        self._sets_all = ""  # a file that no reader understands, though the agent may
        self._texts: list[tuple[str, str]] = []
        starts = {os.path.realpath(folder) for folder in {session_folder, *folders_at_hand()} - {""}}
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


def find_setter(*variables: str) -> str:
    """Return the first settings file around the folders at hand that sets one of these variables, or may; "" for none."""
    repository = ProjectVariables()
    return next(filter(None, map(repository.setter_of, variables)), "")


def find_home_setter(named: str, session_folder: str) -> tuple[str, str]:
    """Return the file around these folders that sets the variable of the home, or may, and the variable; "" for none.

    named: the value of SUBCOG_HOME, which `~` makes depend on the person's folder.
    """
    repository = ProjectVariables(session_folder, (*MENTIONING, *SERVERS))
    variables = (*(["SUBCOG_HOME"] if named else []), *(() if os.path.isabs(named) else USER_FOLDER))
    setters = ((repository.setter_of(variable), variable) for variable in variables)
    return next(filter(lambda setter: setter[0], setters), ("", ""))


def drop_set_variables(*prefixes: str) -> list[str]:
    """Remove the variables with these prefixes that a repository at hand sets from this process's environment.

    Return a line for each.
    """
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
