"""Reading files that another program may have put there: only regular ones, up to a size, without waiting for a writer."""

import os
import stat

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
