"""The home of a process whose variables a repository may have set: the hook's, and those of the commands that an agent runs.

A repository's settings for the client can set SUBCOG_HOME and HOME. A home inside of the repository at hand counts only where
the user has accepted it; else the user's own is taken.
"""

import os

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home

IN_AN_AGENT = "CLAUDECODE"  # the client sets it for the commands of its agent, and for hooks
STARTED_IN = "CLAUDE_PROJECT_DIR"  # and this to the folder whose settings it has read


def find_home(folder: str = "") -> tuple[Home, str]:
    """Return the home, and in a line which variable was ignored, "" when none was. Raises StoreError where there is none.

    folder: where the session is, as the client says.
    """
    named = os.environ.get("SUBCOG_HOME", "")
    try:
        home = Home.find()
        if not _may_be_theirs(home, named, folder) or _is_accepted(home):
            return home, ""
        own = Home(os.path.join(os.path.expanduser("~"), ".subcog"))
        if not named or (_may_be_theirs(own, "", folder) and not _is_accepted(own)):
            from subcog_hooks.core.accepted_homes import account_folder  # where HOME leads into the repository, too

            own = Home(os.path.join(account_folder(), ".subcog"))
    except OSError as error:
        raise StoreError("the home can not be told from a folder of this repository", "unset SUBCOG_HOME") from error
    variable = "SUBCOG_HOME" if named else "HOME"
    fault = f"{variable} leads into this repository, to a home that `subcog init` has not accepted"
    remedy = "; to accept it, run `subcog init` in a terminal of your own" if named else ""
    return own, f"{fault}, so it is ignored; the home is {own.root}{remedy}"


def _is_accepted(home: Home) -> bool:
    from subcog_hooks.core.accepted_homes import is_accepted_home  # homes in repositories are rare

    return is_accepted_home(home.root)


def _may_be_theirs(home: Home, named: str, folder: str) -> bool:
    """Return whether a home lies in the repository at hand, or is named in relation to the folder that one is in."""
    if named and not os.path.isabs(os.path.expanduser(named)):
        return True
    real = os.path.realpath(home.root)
    return any(_share_repository(real, os.path.realpath(place)) for place in {folder, *places_at_hand()} - {""})


def places_at_hand() -> set[str]:
    """Return the folder that this process works in, and the one that the client was started in; a removed one is left out."""
    return {_working_folder(), os.environ.get(STARTED_IN, "")} - {""}


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # it has been removed
        return ""


def _share_repository(path: str, folder: str) -> bool:
    """Return whether two real paths lie in one repository, or in one that holds the repository of either."""
    while not (path == folder or path.startswith(os.path.join(folder, ""))):
        parent = os.path.dirname(folder)
        if parent == folder:  # another drive
            return False
        folder = parent
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent
    return True
