"""Transcript files on disk, and the projects of their folders."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from datetime import datetime

from subcog_hooks.store import project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SUFFIX = ".jsonl"
AGENT_PREFIX, AGENTS_FOLDER = "agent-", "subagents"  # names of transcripts and folders of subagents
IDLE_MS = 3 * 3_600_000  # ms; a session that was quiet this long is complete for now
_TAILS = 65_536, 4_194_304  # bytes at the end that are searched for the last row's time
_TIME = re.compile(rb'"timestamp": ?"([0-9T:.+Z-]{10,40})"')
_DIGESTED_BYTES = 4_096  # bytes at the beginning and before the end that identify a file


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A transcript. size: bytes; changed: when its last row was written, milliseconds since the epoch; latest: the later one
    of that time and the file's own.
    """

    path: str
    size: int
    changed: int
    latest: int


def find_transcripts(folder: str, report_error: Callable[[OSError], None] = lambda _: None) -> list[TranscriptFile]:
    """Return the transcripts in and below a folder, oldest first: the first utterance is proposed as such.

    Links in the folder itself are followed. report_error: called for each unreadable folder.
    """
    files = {
        file.path: file
        for top in _top_folders(folder)
        for path in _transcript_paths(top, report_error)
        if (file := transcript_at(path))
    }
    return sorted(files.values(), key=lambda file: (file.changed, file.path))


def transcript_at(path: str) -> TranscriptFile | None:
    """Return the transcript at a path, None if there is no regular file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not os.path.isfile(path):
        return None
    return TranscriptFile(path, status.st_size, *_last_change_ms(path, status))


def _last_change_ms(path: str, status: os.stat_result) -> tuple[int, int]:
    """Return when the last row was written, by its own time if the file was copied later; and the later of both."""
    changed = status.st_mtime_ns // 1_000_000
    try:
        with open(path, "rb") as file:
            times: list[bytes] = []
            for tail in _TAILS:
                file.seek(max(0, status.st_size - tail))
                times = times or _TIME.findall(file.read(tail))
        row_time = int(datetime.fromisoformat(times[-1].decode()).timestamp() * 1000) if times else changed
    except (OSError, ValueError, OverflowError):
        return changed, changed
    return min(changed, row_time), max(changed, row_time)


def compute_digest(path: str, end: int) -> str:
    """Return a digest of a file's beginning and of its bytes before `end`. Raises OSError.

    Transcripts only grow: equal digests mean that all bytes before `end` are the same.
    """
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        digest.update(file.read(min(end, _DIGESTED_BYTES)))
        file.seek(max(0, end - _DIGESTED_BYTES))
        digest.update(file.read(min(end, _DIGESTED_BYTES)))
    return digest.hexdigest()


def _top_folders(folder: str) -> Iterator[str]:
    yield folder
    whole = os.path.join(os.path.realpath(folder), "")
    try:
        with os.scandir(folder) as entries:
            links = sorted(entry.path for entry in entries if entry.is_symlink() and entry.is_dir())
    except OSError:
        return  # the walk reports it
    yield from (link for link in links if not whole.startswith(os.path.join(os.path.realpath(link), "")))


def _transcript_paths(folder: str, report_error: Callable[[OSError], None]) -> Iterator[str]:
    for parent, below, names in os.walk(folder, onerror=report_error):
        below[:] = sorted(name for name in below if name != AGENTS_FOLDER)
        for name in sorted(names):
            if name.endswith(SUFFIX) and not name.startswith(AGENT_PREFIX):
                yield os.path.join(parent, name)


class SessionFolders:
    """The folders of sessions, and their projects."""

    __slots__ = ("_ends", "_found", "_is_left_out", "_left_out")

    def __init__(self, left_out: Sequence[str]) -> None:
        named = [project.resolve_identity(os.path.expanduser(name)) for name in left_out]
        self._left_out = {*named, *(os.path.realpath(name) for name in named if os.path.isabs(name))}
        # a project's name can mean the end of a path
        ends = [os.path.normpath(name).casefold() for name in left_out if not os.path.isabs(os.path.expanduser(name))]
        self._ends = [os.path.join(os.sep, end, "") for end in ends]
        self._found: dict[str, project.Project | None] = {}
        self._is_left_out: dict[tuple[str, str | None], bool] = {}

    def owner_of(self, folder: str) -> str | None:
        """Return the identity of a folder's project; None outside of any, and the folder itself if it is missing.

        A missing folder in a project counts as the project's: a worktree for a task is soon removed.
        """
        if not folder:
            return None
        if owner := self._project(folder):
            return owner.identity
        return None if os.path.isdir(folder) else os.path.normpath(folder)

    def project_of(self, folder: str) -> project.Project | None:
        """Return a folder's project, None outside of any; for a missing folder a project without a root."""
        if known_project := self._project(folder) if folder else None:
            return known_project
        owner = self.owner_of(folder)
        return project.Project(owner, "", owner) if owner else None

    def included_project_of(self, folder: str) -> project.Project | None:
        """Return a folder's project as `project_of` does; None also for an excluded folder."""
        here = self.project_of(folder)
        return None if self.is_excluded(folder, here.identity if here else None) else here

    def root_of(self, folder: str) -> str | None:
        """Return the root of a folder's project, None outside of any or for a missing folder."""
        here = self._project(folder) if folder else None
        return here.root if here and os.path.isdir(folder) else None

    def is_excluded(self, folder: str, owner: str | None) -> bool:
        """Return whether the person excludes a folder from learning."""
        if not self._left_out:
            return False
        if (folder, owner) not in self._is_left_out:
            self._is_left_out[folder, owner] = self._lies_in_left_out(folder, owner)
        return self._is_left_out[folder, owner]

    def _lies_in_left_out(self, folder: str, owner: str | None) -> bool:
        here = self._project(folder) if folder else None
        names = {owner, *(here.names if here else ())}
        if names & self._left_out or not folder:
            return bool(names & self._left_out)
        paths = [os.path.join(path, "") for path in (os.path.normpath(folder), os.path.realpath(folder))]
        is_below = any(path.startswith(os.path.join(name, "")) for name in self._left_out for path in paths)
        return is_below or any(end in path.casefold() for end in self._ends for path in paths)

    def _project(self, folder: str) -> project.Project | None:
        if folder not in self._found:
            self._found[folder] = project.find_project(folder) if os.path.isabs(folder) else None
        return self._found[folder]
