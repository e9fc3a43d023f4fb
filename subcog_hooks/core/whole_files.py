"""Files that are written whole or not at all: first beside the target, under a unique name, then moved into its place.

The leftover of a killed writer is removed by the next write of the same file. A file that is being written is locked; on
Windows it is open, and so cannot be removed.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time

from subcog_hooks.core.files import open_regular

if sys.platform != "win32":
    import fcntl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, TextIO

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
        folder, name = os.path.split(self.target)
        _remove_left(folder, name)
        while True:
            descriptor, self.path = tempfile.mkstemp(_SUFFIX, f"{name}.", folder)
            self.file = open(descriptor, "w", encoding="utf-8", newline="")
            _lock(descriptor, waits=True)
            if os.path.exists(self.path):
                return self
            self.file.close()  # another process has removed it as a leftover, before it was locked

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


def _remove_left(folder: str, name: str) -> None:
    leftover = re.compile(rf"{re.escape(name)}\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}")
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return
    for path in (os.path.join(folder, entry) for entry in names if leftover.fullmatch(entry)):
        try:
            descriptor = open_regular(path)
            try:
                is_left = _lock(descriptor)
            finally:
                os.close(descriptor)
            if is_left:
                os.unlink(path)
        except OSError:
            continue  # it is gone by now, or another's


def _lock(descriptor: int, *, waits: bool = False) -> bool:
    """Take the lock of an open file until it is closed. Return whether no other process has it.

    waits: for another process, which has taken the file for a leftover.
    """
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        except OSError:
            return False
    return True


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
