"""Files that are written whole or not at all: beside their place, under a name of the writer's own, then put in place.

What a killed writer has left beside a file goes with the next one that is written there. One that is being written is locked;
on Windows it is open, and so cannot be removed.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile

from subcog_hooks.core.regular_files import open_regular

if sys.platform != "win32":
    import fcntl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self, TextIO

_SUFFIX = ".subcog"  # of what is being written, behind eight letters drawn by lot


class WholeFile:
    """A text file that takes the place of another at the end of a `with`; nothing is left of it where the block fails.

    target: that place, whose links the caller has followed; path: where it is until then, for the user alone.
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
            _lock(descriptor)
            if os.path.exists(self.path):
                return self
            self.file.close()  # somebody has taken it for one that was left, before it was locked

    def __exit__(self, kind: object, *_: object) -> None:
        """Put the file in place, or remove it. Raises OSError."""
        try:
            if kind is None:
                self.file.flush()
                os.fsync(self.file.fileno())
                if sys.platform == "win32":
                    self.file.close()  # or it cannot be moved
                os.replace(self.path, self.target)
        finally:
            self.file.close()
            if os.path.lexists(self.path):
                os.unlink(self.path)


def _remove_left(folder: str, name: str) -> None:
    """Remove what killed processes have left of a file, as far as that can be done."""
    left = re.compile(rf"{re.escape(name)}\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}")
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return
    for path in (os.path.join(folder, found) for found in names if left.fullmatch(found)):
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


def _lock(descriptor: int) -> bool:
    """Take the lock of an open file, which lasts until it is closed. Return whether nobody else has it."""
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True
