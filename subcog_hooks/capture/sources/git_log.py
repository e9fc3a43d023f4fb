"""The history of a repository, read from `git log` piece by piece. Nothing that the repository names is run.

A repository's configuration can name programs for pages, signatures, differences, hooks and missing objects: each is switched
off. git gets no variables but those that a program needs to start. Git waits for ever where it opens a named pipe, so it is not
started on one; and it ends with us, however suddenly we do.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, NamedTuple

from subcog_hooks import child_environment
from subcog_hooks.capture.sources import git_files
from subcog_hooks.errors import UsageError
from subcog_hooks.llm.lifeline import NOT_RUN, Lifeline
from subcog_hooks.regular_files import leads_out

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

MAX_COMMITS = 100_000  # the newest; Linux has a million
LONGEST_MESSAGE = 20_000  # bytes of one message; the rest of it is passed over
LIMIT_S = 60.0  # for the whole history
PIECE = 1 << 16  # bytes that are read at once
LONGEST_COMPLAINT = 2_000  # bytes of what git says when it fails

_GIT = (*("--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never"),)
_LOG = (
    *("log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-patch", "--no-notes", "--no-color"),
    *("--no-mailmap", "--no-decorate", "--no-graph", "--encoding=UTF-8", "--format=%H%x00%ct%x00%an%x00%B"),
)
_FIELDS = 4  # of that format
_ENVIRONMENT = {  # no missing object is fetched, nobody is asked, nothing is written
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}


class Commit(NamedTuple):
    """One commit. at: when it was committed (milliseconds since the epoch)."""

    id: str
    at: int
    author: str
    message: str


def commits(root: str, since: str | None, environment: Mapping[str, str]) -> Generator[Commit, None, None]:
    """Yield the commits of a repository's branch, the newest first. since: a date as git reads it. Raises UsageError."""
    with Lifeline() as lifeline, _started(root, since, environment, lifeline) as process:
        assert process.stdout is not None
        fields: list[str] = []
        for field in _split_at_nul(process.stdout):
            fields.append(field)
            if len(fields) == _FIELDS:
                name, at, author, message = fields
                fields.clear()
                yield Commit(name.strip(), int(at) * 1000 if at.isdecimal() else 0, author, message)


@contextmanager
def _started(
    root: str, since: str | None, environment: Mapping[str, str], lifeline: Lifeline
) -> Iterator[subprocess.Popen[bytes]]:
    """Start `git log`, and end it. Raises UsageError where it fails or takes too long."""
    program = child_environment.find_program("git")
    if program is None or not leads_out(program, root):  # a repository can hold a program, too
        raise UsageError("git is not installed outside of this folder", "install it, or put it into PATH")
    if pipe := git_files.find_pipe(root):
        raise UsageError(f"{pipe} is a named pipe or a device, and git would wait for it", "remove it")
    words = [program, *_GIT, "-C", root, *_LOG, f"--max-count={MAX_COMMITS}", *([f"--since={since}"] if since else []), "HEAD"]
    try:
        process = subprocess.Popen(
            lifeline.words_for([*words, "--"]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**child_environment.environment_of_git(environment), **_ENVIRONMENT},
            start_new_session=True,
            pass_fds=lifeline.inherited,
        )
    except OSError as error:
        raise UsageError(f"git cannot be run: {error.strerror}", "look whether `git log` works here") from error
    assert process.stderr is not None
    complaint = bytearray()
    listener = threading.Thread(target=_listen, args=(process.stderr, complaint), daemon=True)
    listener.start()
    clock = threading.Timer(LIMIT_S, _end, (process,))
    clock.start()
    is_read = False
    try:
        yield process
        is_read = True
    finally:
        clock.cancel()
        if not is_read:
            _end(process)
        code = process.wait()
        listener.join(1.0)
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()
    if code == NOT_RUN and not complaint:
        raise UsageError("git cannot be run", "look whether `git log` works here")
    if code < 0:
        raise UsageError(f"the history was not read within {LIMIT_S:.0f} s", "give --since, such as --since 2025-01-01")
    if code:
        said = complaint.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(f"git log failed: {said[0] if said else f'exit code {code}'}", "look whether `git log` works here")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git, and the program that runs it."""
    if sys.platform == "win32":
        process.kill()
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended by itself


def _listen(stream: IO[bytes], complaint: bytearray) -> None:
    """Keep the beginning of what git complains about, and read on, so that it never waits."""
    while piece := stream.read(PIECE):
        complaint += piece[: LONGEST_COMPLAINT - len(complaint)]


def _split_at_nul(stream: IO[bytes]) -> Iterator[str]:
    """Yield the texts between NUL bytes, each at most LONGEST_MESSAGE bytes long, however long it is in the stream."""
    held = bytearray()
    while piece := stream.read(PIECE):
        first, *others = piece.split(b"\0")
        held += first[: LONGEST_MESSAGE - len(held)]
        for other in others:
            yield held.decode("utf-8", "replace")
            held = bytearray(other[:LONGEST_MESSAGE])
    if held:
        yield held.decode("utf-8", "replace")
