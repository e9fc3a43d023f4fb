"""Reading files that somebody else may have put there: regular ones alone, up to a size, and never waiting for a writer."""

import os
import stat

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_EINVAL = 22  # on every system; `import errno` for one number


class NotRegular(OSError):
    """The path leads to a folder, a pipe, a device or a socket."""

    def __init__(self, path: str) -> None:
        super().__init__(_EINVAL, "it is not a regular file", path)


def open_regular(path: str) -> int:
    """Return a descriptor to read from, which the caller closes. Raises OSError, NotRegular where `path` is something else.

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


def read_regular(path: str, most: int) -> bytes:
    """Return the first `most` bytes of a file, all of it where it is shorter. Raises OSError, NotRegular."""
    descriptor = open_regular(path)
    try:
        data = piece = os.read(descriptor, most)
        while piece and len(data) < most:
            piece = os.read(descriptor, most - len(data))
            data += piece
    finally:
        os.close(descriptor)
    return data


def leads_out(path: str, folder: str) -> bool:
    """Return whether a path leads to something outside of a folder."""
    real = os.path.join(os.path.realpath(folder), "")
    return not os.path.join(os.path.realpath(path), "").startswith(real)
