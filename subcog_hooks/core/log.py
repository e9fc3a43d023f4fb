"""The log that hooks write to, since they may say nothing. Facts only: never a prompt, a memory or the environment."""

import os
import time

from subcog_hooks.core.control_characters import escape_controls
from subcog_hooks.core.paths import Home, make_private_folder

MAX_MESSAGE = 500  # characters
MAX_BYTES = 1_000_000  # then the file becomes hook.log.1 and a new one begins
RESERVE_BYTES = 4_096  # one block of a file system, which holds some forty lines


def log_path(home: Home) -> str:
    return os.path.join(home.log, "hook.log")


def keep_reserve(home: Home) -> None:
    """Take disk space for some lines, which `write_line` uses on a full disk. Failures are ignored."""
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


def write_line(home: Home, message: str) -> None:
    """Write a line to the log. Failures are ignored."""
    try:
        make_private_folder(home.log)
        file = log_path(home)
        try:
            if os.stat(file).st_size > MAX_BYTES:
                os.replace(file, file + ".1")
        except FileNotFoundError:
            pass
        text = escape_controls(" ".join(message.split()))[:MAX_MESSAGE]
        line = time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()) + text + "\n"
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            _append(descriptor, line.encode("utf-8", "replace"), home)
        finally:
            os.close(descriptor)
    except Exception:  # noqa: BLE001, S110 - the log is the last resort; there is nowhere left to report to
        pass


def _append(descriptor: int, line: bytes, home: Home) -> None:
    """Write a line; on a full disk, use the space of the reserve. Raises OSError."""
    while line:
        try:
            line = line[os.write(descriptor, line) :]
        except OSError:
            os.unlink(_reserve(home))
