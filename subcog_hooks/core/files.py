"""Files and folders: regular files within a size, private ones, whole ones, and tables, `NAME.tsv` beside a module.

In a table a line is a row, a tab ends a cell, and a line that begins with `#` is a comment. Nothing is escaped. Reading 200
rows takes .1 ms, as long as importing them from a Python module with cached bytecode. A whole file is written beside its
target, under a unique name, then moved into its place.
"""

from __future__ import annotations

import os
import stat
import sys
import time

from subcog_hooks.core.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, TextIO


USERS_FILE = "/etc/passwd"  # the users of this machine
STARTED_IN = "CLAUDE_PROJECT_DIR"  # the client sets it to the folder whose settings it has read
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_EINVAL = 22  # on every system; `import errno` for one number


class NotRegular(OSError):
    """The path leads to a folder, a pipe, a device or a socket."""

    def __init__(self, path: str) -> None:
        super().__init__(_EINVAL, "it is not a regular file", path)


def open_regular(path: str) -> int:
    """Return a descriptor to read from, which the caller closes. Raises OSError; NotRegular for any other kind of path.

    A pipe without a writer is opened without waiting for one, and closed again.
    """
    descriptor = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotRegular(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: str, max_bytes: int) -> bytes:
    """Return the first `max_bytes` bytes of a file. Raises OSError, NotRegular."""
    descriptor = open_regular(path)
    try:
        data = piece = os.read(descriptor, max_bytes)
        while piece and len(data) < max_bytes:
            piece = os.read(descriptor, max_bytes - len(data))
            data += piece
    finally:
        os.close(descriptor)
    return data


def leads_out(path: str, folder: str) -> bool:
    """Return whether a path, all links followed, lies outside of a folder."""
    real, around = (os.path.join(os.path.normcase(os.path.realpath(name)), "") for name in (path, folder))
    return not real.startswith(around)


def make_private_folder(path: str) -> None:
    """Make `path` with mode 0700; an existing folder keeps its mode. Raises StoreError."""
    try:
        os.makedirs(path, 0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be made: {error.strerror}", "check the path and its permissions") from error


def create_private_file(path: str) -> None:
    """Make an empty file that only the user can read, where none is. Raises OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600))


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


def working_folder() -> str:
    """Return the working folder, "" where it has been removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def read_rows(module_file: str, name: str) -> list[list[str]]:
    """Return the cells of each row of the table `name`. module_file: the `__file__` of a module beside it."""
    with open(os.path.join(os.path.dirname(module_file), name), "rb", 0) as file:  # a text file takes twice as long
        return [line.split("\t") for line in file.read().decode().splitlines() if line and line[0] != "#"]


def read_words(module_file: str, name: str) -> dict[str, frozenset[str]]:
    """Return the words of each row by the row's name. Blanks separate them."""
    return {key: frozenset(words.split()) for key, words in read_rows(module_file, name)}


def read_weights(module_file: str, name: str) -> dict[str, tuple[float, ...]]:
    """Return the numbers of each row by the row's name."""
    return {key: tuple(map(float, cells)) for key, *cells in read_rows(module_file, name)}


_SUFFIX = ".subcog"  # the end of a temporary name, behind eight random letters
_REPLACE_TRIES = 20


class WholeFile:
    """A text file that replaces another at the end of a `with`; it is deleted where the block fails.

    target: the path to replace, with links resolved by the caller; path: the temporary path, for the user alone.
    """

    __slots__ = ("file", "path", "target")

    file: TextIO

    def __init__(self, target: str) -> None:
        self.target = target
        self.path = ""

    def __enter__(self) -> Self:
        """Begin the file. Raises OSError."""
        import tempfile  # 3 ms, and no hook writes a file so

        folder, name = os.path.split(self.target)
        descriptor, self.path = tempfile.mkstemp(_SUFFIX, f"{name}.", folder)
        self.file = open(descriptor, "w", encoding="utf-8", newline="")
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Put the file in place, or remove it. Raises OSError."""
        try:
            if kind is None:
                self.file.flush()
                os.fsync(self.file.fileno())
                if sys.platform == "win32":
                    self.file.close()  # or it cannot be moved
                replace_file(self.path, self.target)
        finally:
            self.file.close()
            if os.path.lexists(self.path):
                os.unlink(self.path)


def replace_file(source: str, target: str) -> None:
    """Move a file into the place of another. Windows refuses while a process reads it: then try for 0.2 s. Raises OSError."""
    for _ in range(_REPLACE_TRIES - 1):
        try:
            os.replace(source, target)
        except PermissionError:
            time.sleep(0.01)
        else:
            return
    os.replace(source, target)
