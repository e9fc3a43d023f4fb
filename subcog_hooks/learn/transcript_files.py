"""Transcripts found on disk, and the project of each."""

from __future__ import annotations

import hashlib
import os
import re
from datetime import datetime

from subcog_hooks.store import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SUFFIX = ".jsonl"
OF_AGENTS, AGENTS_FOLDER = "agent-", "subagents"  # begin the names of what nobody typed
IDLE_MS = 3 * 3_600_000  # a session that is quiet for so long is over, or waits: what is said in it is said
_TAILS = 65_536, 4_194_304  # bytes at the end in which the time of the last row is looked for
_TIME = re.compile(rb'"timestamp": ?"([0-9T:.+Z-]{10,40})"')
_COMPARED = 4_096  # bytes at the beginning, and before the end, by which a file is known again


class TranscriptFile:
    """A transcript. size: bytes; changed: when its last row was written, milliseconds since the epoch; latest: the same, where
    its own time and the file's disagree the later of them.
    """

    __slots__ = ("changed", "latest", "path", "size")

    def __init__(self, path: str, size: int, changed: int, latest: int) -> None:
        self.path = path
        self.size = size
        self.changed = changed
        self.latest = latest


def find(folder: str, tell: Callable[[OSError], None] = lambda _: None) -> list[TranscriptFile]:
    """Return the transcripts in a folder and those below it, the oldest first: what was said first is proposed as such.

    Links that lie in the folder itself are followed. tell: called for each folder that can not be read.
    """
    found = {one.path: one for top in _tops(folder) for path in _paths(top, tell) if (one := at_path(path))}
    return sorted(found.values(), key=lambda one: (one.changed, one.path))


def at_path(path: str) -> TranscriptFile | None:
    """Return the transcript at a path, None where there is no regular file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not os.path.isfile(path):
        return None
    return TranscriptFile(path, status.st_size, *_last_change(path, status))


def _last_change(path: str, status: os.stat_result) -> tuple[int, int]:
    """Return when the last row was written: by its own time where the file was copied since then; and the later of the two."""
    changed = status.st_mtime_ns // 1_000_000
    try:
        with open(path, "rb") as file:
            times: list[bytes] = []
            for tail in _TAILS:
                file.seek(max(0, status.st_size - tail))
                times = times or _TIME.findall(file.read(tail))
        said = int(datetime.fromisoformat(times[-1].decode()).timestamp() * 1000) if times else changed
    except (OSError, ValueError, OverflowError):
        return changed, changed
    return min(changed, said), max(changed, said)


def digest_before(path: str, end: int) -> str:
    """Return a digest of the beginning of a file, and of what stands before `end`. Raises OSError.

    Transcripts are only added to: with equal digests, all before `end` is what it was.
    """
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        digest.update(file.read(min(end, _COMPARED)))
        file.seek(max(0, end - _COMPARED))
        digest.update(file.read(min(end, _COMPARED)))
    return digest.hexdigest()


def _tops(folder: str) -> Iterator[str]:
    """Yield a folder, and those elsewhere that links in it lead to."""
    yield folder
    whole = os.path.join(os.path.realpath(folder), "")
    try:
        with os.scandir(folder) as entries:
            links = sorted(entry.path for entry in entries if entry.is_symlink() and entry.is_dir())
    except OSError:
        return  # walking there tells it
    yield from (link for link in links if not whole.startswith(os.path.join(os.path.realpath(link), "")))


def _paths(folder: str, tell: Callable[[OSError], None]) -> Iterator[str]:
    for parent, below, names in os.walk(folder, onerror=tell):
        below[:] = sorted(name for name in below if name != AGENTS_FOLDER)
        for name in sorted(names):
            if name.endswith(SUFFIX) and not name.startswith(OF_AGENTS):
                yield os.path.join(parent, name)


class Places:
    """The folders in which sessions ran, and whose they are."""

    __slots__ = ("_ends", "_found", "_is_left_out", "_left_out")

    def __init__(self, left_out: Sequence[str]) -> None:
        named = [project.resolve_identity(os.path.expanduser(name)) for name in left_out]
        self._left_out = {*named, *(os.path.realpath(name) for name in named if os.path.isabs(name))}
        # a project's name may have been meant as the end of a path
        ends = [os.path.normpath(name).casefold() for name in left_out if not os.path.isabs(os.path.expanduser(name))]
        self._ends = [os.path.join(os.sep, end, "") for end in ends]
        self._found: dict[str, project.Project | None] = {}
        self._is_left_out: dict[tuple[str, str | None], bool] = {}

    def owner_of(self, folder: str) -> str | None:
        """Return the identity of a folder's project; None outside of any, and the folder itself where that is gone.

        A folder that is gone is taken for the project's that it would lie in: a worktree for a task is soon removed.
        """
        if not folder:
            return None
        if at := self._project(folder):
            return at.identity
        return None if os.path.isdir(folder) else os.path.normpath(folder)

    def project_of(self, folder: str) -> project.Project | None:
        """Return a folder's project, None outside of any; of a folder that is gone what its path tells, without a root."""
        if at := self._project(folder) if folder else None:
            return at
        owner = self.owner_of(folder)
        return project.Project(owner, "", owner) if owner else None

    def heard_project_of(self, folder: str) -> project.Project | None:
        """Return a folder's project as `project_of` does; None also where nobody is to listen."""
        at = self.project_of(folder)
        return None if self.is_left_out(folder, at.identity if at else None) else at

    def root_of(self, folder: str) -> str | None:
        """Return the root of a folder's project, None outside of any, and of a folder that is gone."""
        at = self._project(folder) if folder else None
        return at.root if at and os.path.isdir(folder) else None

    def is_left_out(self, folder: str, owner: str | None) -> bool:
        """Return whether the person wants nothing learned from what is said in a folder."""
        if not self._left_out:
            return False
        if (folder, owner) not in self._is_left_out:
            self._is_left_out[folder, owner] = self._lies_in_left_out(folder, owner)
        return self._is_left_out[folder, owner]

    def _lies_in_left_out(self, folder: str, owner: str | None) -> bool:
        at = self._project(folder) if folder else None
        names = {owner, *(at.names if at else ())}
        if names & self._left_out or not folder:
            return bool(names & self._left_out)
        paths = [os.path.join(path, "") for path in (os.path.normpath(folder), os.path.realpath(folder))]
        is_below = any(path.startswith(os.path.join(name, "")) for name in self._left_out for path in paths)
        return is_below or any(end in path.casefold() for end in self._ends for path in paths)

    def _project(self, folder: str) -> project.Project | None:
        if folder not in self._found:
            self._found[folder] = project.find_project(folder) if os.path.isabs(folder) else None
        return self._found[folder]
