"""The environment of child processes, without variables that a repository sets."""

from __future__ import annotations

import os
import sys

from subcog_hooks.core.files import account_folder
from subcog_hooks.core.repository_variables import ProjectVariables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A star at the end stands for any ending of a name.
SYSTEM = (  # variables that a program such as git needs to start, and to know its user
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
TUNING = "SUBCOG_*"  # they only make our processes more silent, so child processes get a repository's too
NOT_TUNING = ("SUBCOG_BACKGROUND", "SUBCOG_HOME")
LEADING_PYTHON = (  # variables that lead an interpreter to code outside of the installation
    *("PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONWARNINGS", "PYTHONUSERBASE", "PYTHONPLATLIBDIR"),
    "PYTHONEXECUTABLE",
)
LEADING_SHELL = (  # variables that lead a shell, the loader or OpenSSL to other code
    *("BASH_ENV", "BASH_FUNC_*", "BASHOPTS", "SHELLOPTS", "PROMPT_COMMAND", "ENV", "ZDOTDIR", "CLAUDE_CODE_SHELL*"),
    *("LD_*", "DYLD_*", "GCONV_PATH", "OPENSSL_*", "PYTHONSTARTUP"),
)
FOR_CLIENT = (*SYSTEM, *PROXIES, *PROVIDERS)  # the person's own client as a language model
FOR_OWN_WORK = (  # our own processes in the background, and the folders with sessions to learn from
    *(*FOR_CLIENT, TUNING, "OPENAI_API_KEY", "PG*", "KRB5*"),
    *("CODEX_HOME", "COPILOT_HOME", "QWEN_HOME", "GEMINI_CLI_HOME"),
)
_ENTRY = """import sys
sys.path += {folders!r}
from subcog_hooks.__main__ import main
main()"""


def find_program(name: str) -> str | None:
    """Return the full path of a program on the PATH, outside of the repositories at hand."""
    import shutil  # only where a program is started

    program = shutil.which(name, path=_path_outside(os.environ.get("PATH", os.defpath), ProjectVariables()))
    return program if program and os.path.isabs(program) else None  # Windows looks into the folder at hand first


def may_run_other_code() -> bool:
    """Return whether a variable may make an agent's shell run other code before our command, or in it."""
    if any(_is_among(name, (*LEADING_PYTHON, *LEADING_SHELL)) for name in os.environ):
        return True
    repository = ProjectVariables()
    return any(repository.setter_of(name) for name in ("HOME", "SHELL"))


def _is_among(name: str, names: tuple[str, ...]) -> bool:
    """Return whether a variable is one of these names; a star at the end stands for any ending.

    >>> _is_among("LD_PRELOAD", ("ENV", "LD_*")), _is_among("ENVIRONMENT", ("ENV", "LD_*"))
    (True, False)
    """
    return name in names or name.startswith(tuple(prefix[:-1] for prefix in names if prefix.endswith("*")))


def filter_environment(names: tuple[str, ...], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables with these names that no repository at hand sets."""
    repository = ProjectVariables()
    if any(repository.setter_of(name) for name in ACCOUNT):
        environment = {name: value for name, value in environment.items() if name not in ACCOUNT}
    variables = {
        name: value
        for name, value in environment.items()
        if _is_among(name, names)
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
