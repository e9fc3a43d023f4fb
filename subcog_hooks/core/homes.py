"""The home of a process whose variables a repository may have set: a hook, or a command that an agent runs.

A repository's settings for the client can set SUBCOG_HOME and HOME. A home inside of the repository at hand counts only where
the user has accepted it; else the user's own home counts.
"""

import os

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home, find_repository

IN_AN_AGENT = "CLAUDECODE"  # the client sets it for the commands of its agent, and for hooks
AGENTS = (  # variables that clients set for the commands of their agents
    *(IN_AN_AGENT, "GEMINI_CLI", "QWEN_CODE", "CODEX_THREAD_ID", "CODEX_SANDBOX_NETWORK_DISABLED", "OPENCODE"),
    *("CURSOR_AGENT", "COPILOT_CLI", "GOOSE_TERMINAL"),
)
STARTED_IN = "CLAUDE_PROJECT_DIR"  # the client sets it to the folder whose settings it has read


def find_agent() -> str:
    """Return the variable by which an agent's client marks this command, "" for a person's."""
    return next(filter(os.environ.get, AGENTS), "")


def find_home(folder: str = "") -> tuple[Home, str]:
    """Return the home, and a line about an ignored variable, "" for none. Raises StoreError where there is no home.

    folder: the session's folder, as the client reports it.
    """
    named = os.environ.get("SUBCOG_HOME", "")
    try:
        home = Home.find()
        if not may_come_from_repository(home, named, folder) or _is_accepted(home):
            return home, ""
        own = Home(os.path.join(os.path.expanduser("~"), ".subcog"))
        if not named or (may_come_from_repository(own, "", folder) and not _is_accepted(own)):
            from subcog_hooks.core.accepted_homes import account_folder  # where HOME leads into the repository, too

            own = Home(os.path.join(account_folder(), ".subcog"))
    except OSError as error:
        raise StoreError("the home cannot be told from a folder of this repository", "unset SUBCOG_HOME") from error
    variable = "SUBCOG_HOME" if named else "HOME"
    fault = f"{variable} leads into this repository, to a home that `subcog init` has not accepted"
    remedy = "; to accept it, run `subcog init` in a terminal of your own" if named else ""
    return own, f"{fault}, so it is ignored; the home is {own.root}{remedy}"


def _is_accepted(home: Home) -> bool:
    from subcog_hooks.core.accepted_homes import is_accepted_home  # homes in repositories are rare

    return is_accepted_home(home.root)


def may_come_from_repository(home: Home, named: str, folder: str = "") -> bool:
    """Return whether a home lies in the repository at hand, or its name is a relative path.

    named: the value of SUBCOG_HOME; folder: the session's, as the client reports it.
    """
    if named and not os.path.isabs(os.path.expanduser(named)):
        return True
    real = os.path.realpath(home.root)
    return any(_share_repository(real, os.path.realpath(at_hand)) for at_hand in {folder, *folders_at_hand()} - {""})


def folders_at_hand() -> set[str]:
    """Return the working folder of this process and the client's start folder, without removed ones."""
    return {working_folder(), os.environ.get(STARTED_IN, "")} - {""}


def working_folder() -> str:
    """Return the working folder, "" where it has been removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def _share_repository(path: str, folder: str) -> bool:
    """Return whether two real paths lie in one repository, or in one that holds the repository of either."""
    while not (path == folder or path.startswith(os.path.join(folder, ""))):
        parent = os.path.dirname(folder)
        if parent == folder:  # another drive
            return False
        folder = parent
    return bool(find_repository(folder))
