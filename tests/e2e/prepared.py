"""Commands of the terminal in processes of their own, which an interpreter forks that has loaded their modules already.

Most of what a short command costs is to load its modules and to tear them down, and the tests of the executable run thousands.
SUBCOG_EVAL=1 starts the installed script for each of them.
"""

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FORKER = Path(__file__).with_name("fork_commands.py")
SCRIPT = os.path.join(os.path.dirname(sys.executable), "subcog")
IS_POSSIBLE = hasattr(os, "fork") and hasattr(socket, "send_fds") and os.environ.get("SUBCOG_EVAL") != "1"
BY_THEMSELVES = ("hook", "block", "statusline")  # what they load is what matters there

# Any other variable, or value, may be read where the interpreter starts, or where a library is loaded
HARMLESS = ("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
HARMLESS_BEGINNINGS = ("SUBCOG_", "CLAUDE", "DISABLE_")
HARMLESS_VALUES = {"LANG": "C.UTF-8", "TERM": "dumb"}  # as where they are not set


def run(
    words: Sequence[str], stdin: bytes, folder: Path, environment: Mapping[str, str], seconds: float
) -> tuple[int, bytes, bytes]:
    """Run any command to its end: its exit code, negative for a signal, and what it has written to stdout and to stderr.

    seconds: until it is killed, and subprocess.TimeoutExpired raised.
    """
    if can_be_forked(words, environment):
        return forker().run(words, stdin, folder, environment, seconds)
    done = subprocess.run(words, input=stdin, capture_output=True, cwd=folder, env=environment, timeout=seconds, check=False)
    return done.returncode, done.stdout, done.stderr


def can_be_forked(words: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a forked process does what this command line would do: one of the installed script, in a plain environment."""
    command = next((word for word in words[1:] if not word.startswith("-")), "")
    return (
        IS_POSSIBLE
        and words[0] == SCRIPT
        and command not in BY_THEMSELVES
        and all(
            name in HARMLESS or name.startswith(HARMLESS_BEGINNINGS) or HARMLESS_VALUES.get(name) == value
            for name, value in environment.items()
        )
    )


class Forker:
    """The interpreter that forks, for one command at a time. Raises subprocess.CalledProcessError when it has ended itself."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(FORKER), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd="/",
                env={"PATH": os.defpath, "HOME": "/nonexistent"},
                stdin=subprocess.PIPE,  # pipes, as a command has them
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )

    def run(
        self, words: Sequence[str], stdin: bytes, folder: Path, environment: Mapping[str, str], seconds: float
    ) -> tuple[int, bytes, bytes]:
        """Run a command of the installed script, as `run` does."""
        (their_stdin, to_stdin), (stdout, their_stdout), (stderr, their_stderr) = os.pipe(), os.pipe(), os.pipe()
        request = {"words": words, "folder": str(folder), "environment": dict(environment)}
        socket.send_fds(self._channel, [b"0"], [their_stdin, their_stdout, their_stderr])
        self._channel.sendall(json.dumps(request).encode() + b"\n")
        for descriptor in (their_stdin, their_stdout, their_stderr):
            os.close(descriptor)
        process = self._told()
        with ThreadPoolExecutor(3) as pool:
            pool.submit(_write, to_stdin, stdin)
            written = [pool.submit(_read, descriptor) for descriptor in (stdout, stderr)]
            has_ended, _, _ = select.select([self._channel], [], [], seconds)
            if not has_ended:
                os.kill(process, signal.SIGKILL)
            code = self._told()
        if not has_ended:
            raise subprocess.TimeoutExpired(list(words), seconds)
        return code, written[0].result(), written[1].result()

    def close(self) -> None:
        """Let it end."""
        self._channel.close()
        self._process.communicate()

    def _told(self) -> int:
        number = self._channel.recv(4)
        if not number:
            output, _ = self._process.communicate()
            raise subprocess.CalledProcessError(self._process.returncode, FORKER.name, output)
        return int.from_bytes(number, sys.byteorder, signed=True)


@functools.cache
def forker() -> Forker:
    """The one of this process, started for the first command and ended with this process."""
    started = Forker()
    atexit.register(started.close)
    return started


def _write(descriptor: int, data: bytes) -> None:
    try:
        with open(descriptor, "wb") as pipe:
            pipe.write(data)
    except BrokenPipeError:  # it has ended without reading all
        pass


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as pipe:
        return pipe.read()
