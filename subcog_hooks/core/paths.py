"""The paths of one user's home folder of memories."""

from __future__ import annotations

import os
import stat

from subcog_hooks.core.errors import StoreError

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


class Home:
    """The folder that holds everything subcog keeps: `SUBCOG_HOME`, else `~/.subcog`."""

    __slots__ = ("root",)

    def __init__(self, root: str) -> None:
        self.root = root

    @classmethod
    def find(cls) -> Home:
        """Return the home of this process. Raises StoreError when no folder can hold it, or its name is not UTF-8."""
        named = os.environ.get("SUBCOG_HOME")
        if named:
            return cls._home_at(os.path.abspath(os.path.expanduser(named)), "SUBCOG_HOME")
        user = os.path.expanduser("~")
        if not os.path.isabs(user):
            raise StoreError("there is no home folder for this user", "set HOME, or SUBCOG_HOME to a folder")
        return cls._home_at(os.path.join(user, ".subcog"), "HOME")

    @classmethod
    def _home_at(cls, root: str, variable: str) -> Home:
        """Return the home at this path.

        Raises StoreError for bytes that are not UTF-8: SQLite and tantivy take no such path.
        """
        try:
            root.encode()
        except UnicodeEncodeError as error:
            printable = root.encode("utf-8", "replace").decode()
            raise StoreError(f"{printable} is not UTF-8", f"set {variable} to a folder whose name is") from error
        return cls(root)

    @property
    def memories_db(self) -> str:
        return os.path.join(self.root, "memories.db")

    @property
    def state_db(self) -> str:
        return os.path.join(self.root, "state.db")

    @property
    def index(self) -> str:
        return os.path.join(self.root, "index")

    @property
    def config(self) -> str:
        return os.path.join(self.root, "config.toml")

    @property
    def trials(self) -> str:
        """The folder of throw-away copies, on which changes are tried."""
        return os.path.join(self.root, "trials")

    @property
    def edits(self) -> str:
        """The folder of memories that are being edited."""
        return os.path.join(self.root, "edits")

    @property
    def models(self) -> str:
        return os.path.join(self.root, "models")

    @property
    def log(self) -> str:
        return os.path.join(self.root, "log")

    @property
    def cut_offs(self) -> str:
        """The file of hook runs that ran out of time."""
        return os.path.join(self.root, "cut-offs")

    @property
    def silent_calls(self) -> str:
        """The file of the last tool calls at which the hook was silent."""
        return os.path.join(self.root, "silent-calls")

    @property
    def claude_notes(self) -> str:
        """The file with the time of the last look at Claude Code's own notes."""
        return os.path.join(self.root, "claude-notes")

    @property
    def stops(self) -> str:
        """The file of the person's stops: commands that notes ask about or deny."""
        return os.path.join(self.root, "stops.json")

    @property
    def imports(self) -> str:
        """The file of the imports that are repeated."""
        return os.path.join(self.root, "imports.json")

    @property
    def job_record(self) -> str:
        """The file with the results of the background jobs."""
        return os.path.join(self.root, "at-rest.json")

    @property
    def jobs_lock(self) -> str:
        """The lock file of the background jobs. Its mtime is the last time that somebody waited for an answer."""
        return os.path.join(self.root, "at-rest.lock")

    def pause_background_jobs(self) -> None:
        """Ask the background jobs to pause, since somebody waits for an answer. It takes 6 µs."""
        try:
            os.utime(self.jobs_lock)
        except OSError:
            pass  # there has been none yet

    def create(self) -> None:
        """Make the folder, for the user alone. Raises StoreError on failure."""
        make_private_folder(self.root)


def make_private_folder(path: str) -> None:
    """Make `path` with mode 0700; an existing folder keeps its mode. Raises StoreError."""
    try:
        os.makedirs(path, PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be made: {error.strerror}", "check the path and its permissions") from error


def create_private_file(path: str) -> None:
    """Make an empty file that only the user can read, where none is. Raises OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), PRIVATE_FILE))


def find_repository(path: str) -> str:
    """Return the nearest folder with `.git` among a path and those around it, "" for none."""
    while not os.path.lexists(os.path.join(path, ".git")):
        path, below = os.path.dirname(path), path
        if path == below:
            return ""
    return path


def is_open_to_others(path: str) -> bool:
    """Return whether group or others have any access to `path`. Always False where modes mean nothing (Windows)."""
    if os.name == "nt":
        return False
    return bool(stat.S_IMODE(os.stat(path).st_mode) & 0o077)
