"""The environment of child processes, without variables that a repository sets."""

from __future__ import annotations

import os
import sys

from subcog_hooks.core import light_json
from subcog_hooks.core.accepted_homes import account_folder
from subcog_hooks.core.homes import folders_at_hand
from subcog_hooks.core.paths import find_repository
from subcog_hooks.core.regular_files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JSON_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")  # their object `env` is set
MENTIONING = (  # files of other agents: a variable mentioned in their text counts as set
    *(".env", ".gemini/.env", ".qwen/.env", ".gemini/settings.json", ".qwen/settings.json"),
    *(".codex/config.toml", ".github/copilot/settings.json", ".github/copilot/settings.local.json"),
    *("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
)
# An escape of an ASCII letter in JSON or TOML: a name written so is found by its reader alone.
LETTER_ESCAPE = r"\\(?:u00|U000000|x)[4-7]"
IGNORES_CASE = os.name == "nt"  # in the names of variables
MAX_SETTINGS = 1_000_000  # bytes
FOR_TLS = ("SSL_CERT_", "SSLKEYLOGFILE", "OPENSSL_")  # prefixes: whom a connection trusts, and who may read it


class ProjectVariables:
    """The variables that the repositories at hand set, by the file that sets each."""

    __slots__ = ("_folders", "_sets_all", "_setters", "_texts")

    def __init__(self) -> None:
        """Read the settings in each folder from those at hand up to the top of its repository, the user's own folder aside."""
        self._folders: list[str] = []  # without a bare folder: the root has each folder of the PATH below it
        self._setters: dict[str, str] = {}
        self._sets_all = ""  # a file that no reader understands, though the agent may
        self._texts: list[tuple[str, str]] = []
        for folder, is_in_repository in _folders_with_settings():
            paths = {os.path.join(folder, *name.split("/")): name in JSON_SETTINGS for name in (*JSON_SETTINGS, *MENTIONING)}
            present = [path for path in paths if os.path.lexists(path)]
            for path in present:
                self._read_settings(path, is_json=paths[path])
            if is_in_repository or present:
                self._folders.append(folder)

    def _read_settings(self, path: str, *, is_json: bool) -> None:
        try:
            raw = read_regular(path, MAX_SETTINGS + 1)
            text = raw.decode("utf-8-sig")
            if len(raw) > MAX_SETTINGS:
                raise ValueError("too large")
            variables = _env_of(light_json.loads(text)) if is_json else ()
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


def _folders_with_settings() -> list[tuple[str, bool]]:
    """Return the folders with settings that an agent may read, each with whether it lies in a repository."""
    try:
        own = os.path.realpath(account_folder())
    except OSError:
        own = ""
    folders: dict[str, bool] = {}
    for start in folders_at_hand():
        folder = os.path.realpath(start)
        repository = find_repository(folder)
        folders[folder] = bool(repository)
        while repository and folder != repository:
            folder = os.path.dirname(folder)
            folders[folder] = True
    return [(folder, is_in) for folder, is_in in folders.items() if folder != own]


def _mentions(text: str, variable: str) -> bool:
    """Return whether a variable's name stands in a text, and not as a part of another name.

    >>> _mentions("export PGHOST=db", "PGHOST"), _mentions("DB_USER=ada", "USER")
    (True, False)
    """
    import re  # few repositories have such files

    return re.search(rf"\b{re.escape(variable)}\b", text) is not None


def _fold(text: str) -> str:
    return text.upper() if IGNORES_CASE else text


def _env_of(settings: object) -> list[str]:
    """Return the names of the variables in the client's settings. Raises ValueError for an unknown form."""
    variables = settings.get("env", {}) if isinstance(settings, dict) else None
    if not isinstance(variables, dict):
        raise ValueError("env is no object")
    return list(map(_fold, variables))


# A star at the end stands for any ending of a name.
SYSTEM = (  # variables that a program needs to start, and to know its user
    *("HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_*", "TERM", "TZ", "TMPDIR", "XDG_*", "LD_LIBRARY_PATH"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "USERDOMAIN"),
    *("HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES*", "PROCESSOR_*"),
)
PROXIES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
)
ACCOUNT = (  # Anthropic's address and the credentials for it: they count together or not at all
    *("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"),
    "CLAUDE_CODE_OAUTH_TOKEN",
)
PROVIDERS = (  # variables that log a person's own client in
    *("ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_*", "CLAUDE_CODE_SKIP_*"),
    *("CLAUDE_CODE_CLIENT_*", "CLAUDE_CODE_GIT_BASH_PATH", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"),
    *("AWS_*", "GOOGLE_*", "GCLOUD_*", "CLOUDSDK_*", "CLOUD_ML_*", "VERTEX_*", "AZURE_*"),
    *("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"),
)
OWN_WORK = (  # more variables for our own processes
    *("OPENAI_API_KEY", "PG*", "KRB5*"),
    *("CODEX_HOME", "COPILOT_HOME", "QWEN_HOME", "GEMINI_CLI_HOME"),  # the folders with sessions to learn from
)
TUNING = "SUBCOG_*"  # they only make our processes more silent, so child processes get a repository's too
NOT_TUNING = ("SUBCOG_BACKGROUND", "SUBCOG_HOME")
LEADING_PYTHON = (  # variables that lead an interpreter to code outside of the installation
    *("PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONWARNINGS", "PYTHONUSERBASE", "PYTHONPLATLIBDIR"),
    "PYTHONEXECUTABLE",
)
_ENTRY = """import sys
sys.path += {folders!r}
from subcog_hooks.__main__ import main
main()"""


def environment_of_client() -> dict[str, str]:
    """Return the environment in which the person's own client runs as a language model."""
    return _filter_environment(os.environ, (*SYSTEM, *PROXIES, *PROVIDERS))


def environment_of_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the part of an environment that git needs to read a history."""
    return _filter_environment(environment, SYSTEM)


def environment_of_own_work() -> dict[str, str]:
    """Return the environment of our own processes in the background."""
    return _filter_environment(os.environ, (*SYSTEM, *PROXIES, *PROVIDERS, *OWN_WORK, TUNING))


def find_program(name: str) -> str | None:
    """Return the full path of a program on the PATH, outside of the repositories at hand."""
    import shutil  # only where a program is started

    program = shutil.which(name, path=_path_outside(os.environ.get("PATH", os.defpath), ProjectVariables()))
    return program if program and os.path.isabs(program) else None  # Windows looks into the folder at hand first


def _filter_environment(environment: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Return the variables with these names that no repository at hand sets."""
    repository = ProjectVariables()
    exact, prefixes = frozenset(names), tuple(name[:-1] for name in names if name.endswith("*"))
    if any(repository.setter_of(name) for name in ACCOUNT):
        environment = {name: value for name, value in environment.items() if name not in ACCOUNT}
    variables = {
        name: value
        for name, value in environment.items()
        if (name in exact or name.startswith(prefixes))
        and ((name.startswith(TUNING[:-1]) and name not in NOT_TUNING) or not repository.setter_of(name))
    }
    if "HOME" in environment and "HOME" not in variables:
        try:
            variables["HOME"] = account_folder()
        except OSError:
            pass  # a system that does not know this user
    variables["PATH"] = _path_outside(environment.get("PATH", os.defpath), repository)
    return variables


def _path_outside(path: str, repository: ProjectVariables) -> str:
    """Return a PATH without the folders that a repository at hand can fill."""
    folders = [folder for folder in path.split(os.pathsep) if os.path.isabs(folder) and not repository.holds(folder)]
    return os.pathsep.join(folders) or os.defpath


def own_command(words: Sequence[str]) -> list[str]:
    """Return the command that runs `subcog` in an isolated interpreter, which ignores variables and site files.

    It keeps this process's module path, without folders that variables have added from a repository at hand.
    """
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    repository = ProjectVariables()
    variables = (os.environ.get(name, "") for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE"))
    led = tuple(os.path.join(os.path.abspath(root), "") for value in variables for root in value.split(os.pathsep) if root)
    folders = [
        folder
        for folder in sys.path
        if os.path.isabs(folder) and not (os.path.join(folder, "").startswith(led) and repository.holds(folder))
    ]
    return [sys.executable, "-I", "-S", "-c", _ENTRY.format(folders=list(dict.fromkeys((own, *folders)))), *words]


def restart_isolated() -> None:
    """Run this command anew in an isolated interpreter, where a variable may have changed the module path.

    The console script's own interpreter obeys such variables before our first line: a foreign `sitecustomize` has run by then.
    Foreign modules do not replace ours and the libraries' modules.
    """
    if sys.flags.isolated or not any(name in os.environ for name in LEADING_PYTHON):
        return
    command = own_command(sys.argv[1:])
    if os.name == "nt":  # there an exec ends the process that is waited for
        import subprocess

        sys.exit(subprocess.call(command))
    os.execv(command[0], command)  # noqa: S606 - our own interpreter, with our own words
