"""Files that are written whole or not at all: first beside the target, under a unique name, then moved into its place."""

from __future__ import annotations

import os
import sys
import tempfile
import time

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
