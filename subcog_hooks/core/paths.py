"""The home of a hook or a command, and the paths in it. A repository may have set the variables of its process."""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import account_folder, make_private_folder
from subcog_hooks.core.records import record


class _Inside:
    """The path of a file or folder in the home."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, home: Home, _: type[Home]) -> str:
        return os.path.join(home.root, self._name)


@record
class Home:
    """The folder that holds everything subcog keeps: `SUBCOG_HOME`, else `~/.subcog`."""

    memories_db = _Inside("memories.db")
    state_db = _Inside("state.db")
    index = _Inside("index")
    config = _Inside("config.toml")
    edits = _Inside("edits")  # memories that are being edited
    models = _Inside("models")
    log = _Inside("log")
    cut_offs = _Inside("cut-offs")  # hook runs that ran out of time
    silent_calls = _Inside("silent-calls")  # the last tool calls at which the hook was silent
    claude_notes = _Inside("claude-notes")  # the time of the last look at Claude Code's own notes
    rules = _Inside("rules.json")  # the permission rules of Claude Code that notes own
    imports = _Inside("imports.json")  # the imports that are repeated
    job_record = _Inside("at-rest.json")  # the results of the background jobs
    jobs_lock = _Inside("at-rest.lock")  # its mtime is the last time that somebody waited for an answer

    root: str

    @classmethod
    def find(cls) -> Home:
        """Return the home of this process. Raises StoreError when no folder can hold it, or its name is not UTF-8."""
        named = os.environ.get("SUBCOG_HOME")
        user = os.path.expanduser("~")
        if not named and not os.path.isabs(user):
            raise StoreError("there is no home folder for this user", "set HOME, or SUBCOG_HOME to a folder")
        root = os.path.abspath(os.path.expanduser(named)) if named else os.path.join(user, ".subcog")
        try:
            root.encode()  # SQLite and tantivy take no other path.
        except UnicodeEncodeError as error:
            printable, variable = root.encode("utf-8", "replace").decode(), "SUBCOG_HOME" if named else "HOME"
            raise StoreError(f"{printable} is not UTF-8", f"set {variable} to a folder whose name is") from error
        return cls(root)

    def pause_background_jobs(self) -> None:
        """Ask the background jobs to pause, since somebody waits for an answer. It takes 6 µs."""
        try:
            os.utime(self.jobs_lock)
        except OSError:
            pass  # there has been none yet

    def create(self) -> None:
        """Make the folder, for the user alone. Raises StoreError on failure."""
        make_private_folder(self.root)

    @property
    def sessions(self) -> SessionsHome:
        """The home in which the modules of notes find past sessions instead."""
        return SessionsHome(self.root)


class SessionsHome(Home):
    """The same folder, but its store and index hold what past sessions were about."""

    memories_db = _Inside("sessions.db")
    index = _Inside("index-sessions")


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
