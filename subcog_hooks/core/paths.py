"""The paths of one user's home folder of memories, and the folders at hand."""

from __future__ import annotations

import os
import stat
import sys

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.records import record

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600
USERS_FILE = "/etc/passwd"  # the users of this machine
STARTED_IN = "CLAUDE_PROJECT_DIR"  # the client sets it to the folder whose settings it has read


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


def account_folder() -> str:
    """Return the user folder that the system has registered, independent of the environment. Raises OSError."""
    if sys.platform == "win32":
        import winreg  # only there, and only for this

        with winreg.OpenKey(winreg.HKEY_CURRENT_USER, "Volatile Environment") as key:
            return str(winreg.QueryValueEx(key, "USERPROFILE")[0])
    user = str(os.getuid()).encode()
    with open(USERS_FILE, "rb") as file:  # The library's function opens a socket, to a cache that few systems have.
        for fields in (line.rstrip(b"\n").split(b":") for line in file):
            if len(fields) > 5 and fields[2] == user:
                return os.fsdecode(fields[5])
    import pwd  # The user is known elsewhere: by a directory server, or on macOS.

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError as error:
        raise OSError("the system does not know this user") from error


def folders_at_hand() -> set[str]:
    """Return the working folder of this process and the client's start folder, without removed ones."""
    return {working_folder(), os.environ.get(STARTED_IN, "")} - {""}


def working_folder() -> str:
    """Return the working folder, "" where it has been removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


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
