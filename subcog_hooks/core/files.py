"""Reading files: regular ones within a size, and the tables of words, patterns and weights, `NAME.tsv` beside a module.

In a table a line is a row, a tab ends a cell, and a line that begins with `#` is a comment. Nothing is escaped. Reading 200
rows takes .1 ms, as long as importing them from a Python module with cached bytecode.
"""

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
