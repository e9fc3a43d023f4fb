"""A repository's files and log, read through git."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, NamedTuple

from subcog_hooks.core import child_environment
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import leads_out, read_regular
from subcog_hooks.llm.lifeline import NOT_RUN, Lifeline
from subcog_hooks.store import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

MAX_HEAD = 1_000  # bytes
MAX_GIT_ENTRIES = 300_000  # files that are looked at; git packs loose objects from some 7,000 on
MAX_GIT_CONFIG = 1_000_000  # bytes of a configuration
MAX_INCLUDES = 100  # configurations; git itself goes ten deep

_REFERENCE = "ref: "
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]')
_PATH = re.compile(r'\s*path\s*=\s*(?:"([^"]*)|([^#;]*))', re.IGNORECASE)


def has_commits(root: str) -> bool:
    """Return whether the branch of a worktree has a commit, as far as that is known without reading one."""
    folders = project.git_folders(root)
    if not folders:
        return False
    git, common = folders
    try:
        head = read_regular(os.path.join(git, "HEAD"), MAX_HEAD).decode("utf-8", "replace").strip()
    except OSError:
        return False
    if not head.startswith(_REFERENCE):
        return bool(head)
    if os.path.isdir(os.path.join(common, "reftable")):
        return True
    return any(os.path.isfile(os.path.join(common, name)) for name in (head.removeprefix(_REFERENCE), "packed-refs"))


def find_pipe(root: str) -> str:
    """Return a named pipe or a device that git may open in a repository, and wait for without end; "" for none."""
    return next(filter(_is_waited_for, _odd_files(root)), "")


def _is_waited_for(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
        is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
        return stat.S_ISFIFO(mode) or (is_device and not os.path.samefile(path, os.devnull))
    except OSError:
        return False


def _odd_files(root: str) -> Iterator[str]:
    """Yield the entries of git's folders that are no plain files, and the included configurations."""
    folders = list(dict.fromkeys(project.git_folders(root)))
    configurations = [os.path.join(folder, name) for folder in folders for name in ("config", "config.worktree")]
    looked_at = 0
    while folders and looked_at < MAX_GIT_ENTRIES:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    looked_at += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif not entry.is_file(follow_symlinks=False):
                        yield entry.path
        except OSError:
            continue  # git says so itself
    for configuration in configurations:  # it grows meanwhile
        included = [file for file in _included_by(configuration) if file not in configurations]
        configurations += included[: MAX_INCLUDES - len(configurations)]
        yield from included


def _included_by(configuration: str) -> Iterator[str]:
    """Yield the files that a configuration of git includes, under any condition."""
    try:
        text = read_regular(configuration, MAX_GIT_CONFIG).decode("utf-8", "replace")
    except OSError:
        return
    section = ""
    for line in text.splitlines():
        rest = line
        while header := _SECTION.match(rest):
            section, rest = header[1].lower(), rest[header.end() :]
        found = _PATH.match(rest) if section in ("include", "includeif") else None
        if found and (name := (found[1] or found[2] or "").strip()):
            yield os.path.join(os.path.dirname(configuration), os.path.expanduser(name))


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
    if pipe := find_pipe(root):
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
            pass_fds=lifeline.descriptors,
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
