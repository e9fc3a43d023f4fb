"""Variables that a repository sets: its settings for an agent put them into the environment of hooks and commands."""

import os

from subcog_hooks import wire
from subcog_hooks.accepted_homes import account_folder
from subcog_hooks.homes import places_at_hand
from subcog_hooks.regular_files import read_regular

JSON_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")  # their object `env` is set
MENTIONING = (  # files of other agents: a variable that such a text mentions counts as set
    *(".env", ".gemini/.env", ".qwen/.env", ".gemini/settings.json", ".qwen/settings.json"),
    *(".codex/config.toml", ".github/copilot/settings.json", ".github/copilot/settings.local.json", "opencode.json"),
)
MAX_SETTINGS = 1_000_000  # bytes
FOR_TLS = ("SSL_CERT_", "SSLKEYLOGFILE", "OPENSSL_")  # prefixes: whom a connection trusts, and who may read it


class ProjectVariables:
    """The variables that the repositories at hand set, by the file that sets each."""

    __slots__ = ("_folders", "_sets_all", "_setters", "_texts")

    def __init__(self) -> None:
        """Read the settings in each folder from those at hand up to the top of its repository, the user's own folder aside."""
        self._folders = _folders_at_hand()
        self._setters: dict[str, str] = {}
        self._sets_all = ""  # a file that no reader understands, though the agent may
        self._texts: list[tuple[str, str]] = []
        for folder in self._folders:
            for name in (*JSON_SETTINGS, *MENTIONING):
                path = os.path.join(folder, *name.split("/"))
                if os.path.lexists(path):
                    self._read_settings(path, is_json=name in JSON_SETTINGS)

    def _read_settings(self, path: str, *, is_json: bool) -> None:
        try:
            raw = read_regular(path, MAX_SETTINGS + 1)
            text = raw.decode("utf-8-sig")
            if len(raw) > MAX_SETTINGS:
                raise ValueError("too large")
            variables = _env_of(wire.loads(text)) if is_json else ()
        except OSError:
            return  # the agent cannot read it either
        except (ValueError, RecursionError):
            self._sets_all = self._sets_all or path
            return
        for variable in variables:
            self._setters.setdefault(variable, path)
        if not is_json:
            self._texts.append((path, text))

    def setter_of(self, variable: str) -> str:
        """Return the settings file that sets a variable, or may; "" when none does."""
        if setter := self._setters.get(variable, self._sets_all):
            return setter
        return next((path for path, text in self._texts if _mentions(text, variable)), "")

    def holds(self, path: str) -> bool:
        """Return whether a path, all links followed, lies in a folder of the repositories at hand."""
        real = os.path.realpath(path)
        return any(real == folder or real.startswith(os.path.join(folder, "")) for folder in self._folders)


def find_setter(variable: str) -> str:
    """Return the settings file of the repository at hand that sets a variable, or may; "" when none does."""
    return ProjectVariables().setter_of(variable)


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


def _folders_at_hand() -> list[str]:
    try:
        own = os.path.realpath(account_folder())
    except OSError:
        own = ""
    found: dict[str, None] = {}
    for place in places_at_hand():
        folder, parents = os.path.realpath(place), [os.path.realpath(place)]
        while not os.path.lexists(os.path.join(folder, ".git")) and os.path.dirname(folder) != folder:
            folder = os.path.dirname(folder)
            parents.append(folder)
        is_repository = os.path.lexists(os.path.join(folder, ".git"))
        found.update(dict.fromkeys(parents if is_repository else parents[:1]))
    return [folder for folder in found if folder != own]


def _mentions(text: str, variable: str) -> bool:
    """Return whether a variable's name stands in a text, and not as a part of another name.

    >>> _mentions("export PGHOST=db", "PGHOST"), _mentions("DB_USER=ada", "USER")
    (True, False)
    """
    before, name, rest = text.partition(variable)
    while name:
        if not (before[-1:].isidentifier() or before[-1:].isdigit() or rest[:1].isidentifier() or rest[:1].isdigit()):
            return True
        before, name, rest = rest.partition(variable)
    return False


def _env_of(settings: object) -> list[str]:
    """Return the names of the variables in the client's settings. Raises ValueError for a form that is unknown here."""
    variables = settings.get("env", {}) if isinstance(settings, dict) else None
    if not isinstance(variables, dict):
        raise ValueError("env is no object")
    return [name.upper() if os.name == "nt" else name for name in variables]
