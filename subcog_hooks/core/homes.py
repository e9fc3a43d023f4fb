"""Find the home of a hook or a command. A repository may have set the variables of its process.

A repository's settings for a client can set SUBCOG_HOME and HOME. A home in the repository at hand, or named by a file of it or
of a folder around it, counts only where the user has accepted it; else the user's own home counts.
"""

import os

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.paths import Home, account_folder

IN_AN_AGENT = "CLAUDECODE"  # the client sets it for the commands of its agent, and for hooks
ANY_AGENT = "AI_AGENT"  # several clients set it, Claude Code too
AGENTS = (  # variables that clients set for the commands of their agents
    *(IN_AN_AGENT, "GEMINI_CLI", "QWEN_CODE", "CODEX_THREAD_ID", "CODEX_SANDBOX_NETWORK_DISABLED", "OPENCODE"),
    *("CURSOR_AGENT", "COPILOT_CLI", "GOOSE_TERMINAL", "AMP_CURRENT_THREAD_ID", ANY_AGENT),
)


def find_agent() -> str:
    """Return the variable by which an agent's client marks this command, "" for a person's."""
    return next(filter(os.environ.get, AGENTS), "")


def find_home(folder: str = "", *, is_typed: bool = False) -> tuple[Home, str]:
    """Return the home, and a line about an ignored variable, "" for none. Raises StoreError where there is no home.

    folder: the session's folder, as the client reports it; is_typed: a person typed the command, so that a home in the
    repository counts, too, if no file sets the variable.
    """
    home = Home.find()
    try:
        if not os.environ.get("SUBCOG_HOME") and os.path.expanduser("~") == account_folder():
            return home, ""
    except OSError:
        pass  # The system does not know this user.
    from subcog_hooks.core.repository_variables import find_fault, usual_home  # Few people name a home.

    fault = find_fault(home.root, folder, is_typed=is_typed)
    if not fault:
        return home, ""
    own = usual_home()
    if not own:
        raise StoreError("the home cannot be told from a folder of this repository", "unset SUBCOG_HOME and HOME")
    line = f"{fault} to a home that `subcog init` has not accepted, so it is ignored; the home is {own}"
    return Home(own), f"{line}; to accept {home.root}, run `subcog init` in a terminal of your own"
