"""The log that hooks write to, since they may say nothing. Facts only: never a prompt, a memory or the environment."""

import os
import time

from subcog_hooks.core.control_characters import escape_controls
from subcog_hooks.core.paths import Home, make_private_folder

MAX_MESSAGE = 500  # characters
MAX_BYTES = 1_000_000  # then the file becomes hook.log.1 and a new one begins
RESERVE_BYTES = 4_096  # a block, and what fits into it: some forty lines


def path(home: Home) -> str:
    return os.path.join(home.log, "hook.log")


def keep_reserve(home: Home) -> None:
    """Take the room of some lines, which `write` has where the disk is full by then. Failing to is never an error."""
    try:
        make_private_folder(home.log)
        descriptor = os.open(_reserve(home), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_size < RESERVE_BYTES:
                os.write(descriptor, os.urandom(RESERVE_BYTES))  # zeros take no room where files are compressed
        finally:
            os.close(descriptor)
    except OSError:
        pass  # the disk is full already


def _reserve(home: Home) -> str:
    return os.path.join(home.log, "reserve")


def write(home: Home, message: str) -> None:
    """Append one line, whatever characters the message has. Failing to log is never an error."""
    try:
        make_private_folder(home.log)
        file = path(home)
        try:
            if os.stat(file).st_size > MAX_BYTES:
                os.replace(file, file + ".1")
        except FileNotFoundError:
            pass
        said = escape_controls(" ".join(message.split()))[:MAX_MESSAGE]
        line = time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()) + said + "\n"
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            _append(descriptor, line.encode("utf-8", "replace"), home)
        finally:
            os.close(descriptor)
    except Exception:  # noqa: BLE001, S110 - the log is the last resort; there is nowhere left to report to
        pass


def _append(descriptor: int, line: bytes, home: Home) -> None:
    """Write a line, in the place of the reserve where there is none else. Raises OSError."""
    while line:
        try:
            line = line[os.write(descriptor, line) :]
        except OSError:
            os.unlink(_reserve(home))
