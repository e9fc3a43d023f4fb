"""Reading sessions into sessions.db: each transcript once, and again from its beginning when it has grown."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import InvalidMemory, SubcogError
from subcog_hooks.cues import globs
from subcog_hooks.episodes.episode import Episode, cut_episodes
from subcog_hooks.episodes.episode_store import FORGOTTEN, EpisodeDetails, EpisodeStore
from subcog_hooks.learn import transcript, transcript_files
from subcog_hooks.learn.learning import find_start
from subcog_hooks.learn.transcript_files import SessionFolders, TranscriptFile
from subcog_hooks.store.learned import ReadPosition
from subcog_hooks.store.memory import TRANSCRIPT, Memory, now_ms

if TYPE_CHECKING:
    from subcog_hooks.learn.turn_scores import TypedTurn

NAMESPACE = "sessions"
MAX_UNSTORED = 500  # episodes in one transaction
_MADE_FIELDS = ("content", "paths", "project")  # fields of a memory that a new reading may change


@dataclass(slots=True)
class ReadingReport:
    """The outcome of a reading: counts, and faults."""

    sessions: int = 0
    unchanged: int = 0
    episodes: int = 0
    projects: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    is_cut_short: bool = False


class SessionReader:
    """A reading of sessions. left_out: excluded projects and folders."""

    def __init__(self, store: EpisodeStore, left_out: Sequence[str]) -> None:
        self.report = ReadingReport()
        self._store = store
        self._folders = SessionFolders(left_out)
        self._episodes: dict[str, tuple[int, Episode]] = {}  # not yet stored, by id, with the numbers of their transcripts
        self._read: list[tuple[str, int, int, str]] = []  # transcripts whose episodes are among them

    def read(self, files: Sequence[TranscriptFile], progress: Callable[[int], None], pace: Pace = FULL_PACE) -> ReadingReport:
        """Read transcripts and store their episodes. `progress` is called with the number of read bytes. Raises StoreError."""
        for file in files:
            if not pace.goes_on():
                self.report.is_cut_short = True
                break
            try:
                self._read_file(file, pace)
            except SubcogError:
                raise
            except OSError as error:
                self.report.problems.append(f"{error.filename or file.path} cannot be read: {error.strerror}")
            except Exception as error:  # noqa: BLE001 - one file must not stop the others
                self.report.problems.append(f"{file.path} cannot be read: {type(error).__name__}: {error}")
            if len(self._episodes) >= MAX_UNSTORED:
                self._store_episodes()
            progress(file.size)
        self._store_episodes()
        return self.report

    def _read_file(self, file: TranscriptFile, pace: Pace) -> None:
        before = self._store.read_position(file.path)
        if before and (before[0] == FORGOTTEN or find_start(file, ReadPosition(*before)) is None):
            self.report.unchanged += 1
            return
        turns: list[TypedTurn] = []
        end, has_more = 0, True
        while has_more:
            reading = transcript.read_transcript(file.path, end, pace, with_work=True)
            turns += reading.turns
            end, has_more = reading.end, reading.has_more
        kept = [turn for turn in turns if not self._folders.is_excluded(turn.folder)]
        client = transcript_files.client_of(file.path)
        number = self._store.transcript_number(file.path)
        for episode in cut_episodes(kept, client, self._folders.owner_of, self._relative):
            self._episodes.setdefault(episode.id, (number, episode))  # a fork of a session repeats its turns
            self.report.episodes += 1
            self.report.projects.add(episode.project)
        self.report.sessions += 1
        self._read.append((file.path, file.size, end, transcript_files.compute_digest(file.path, end)))

    def _relative(self, folder: str, path: str) -> str:
        """Return a path from its project's root on, "" for one that no glob can be."""
        root = self._folders.root_of(folder) or folder
        below = os.path.relpath(path, root) if root and path.startswith(os.path.join(root, "")) else path
        below = below.replace("\\", "/")
        try:
            globs.check_glob(below)
        except InvalidMemory:
            return ""
        return below

    def _store_episodes(self) -> None:
        """Store the episodes of the transcripts that were read, and drop those that are no longer in them."""
        store = self._store
        stored = store.by_ids(list(self._episodes))
        owners = {id_: detail.transcript for id_, detail in store.details_of(list(stored)).items()}
        purged = store.purged_sections(list(self._episodes))
        own = {
            id_: (number, episode)
            for id_, (number, episode) in self._episodes.items()
            if id_ not in purged and owners.get(id_, number) == number
        }
        gone = [
            detail.id
            for path, *_ in self._read
            for detail in store.details_in(store.transcript_number(path))
            if detail.id not in own
        ]
        if gone:
            store.purge(gone)
            store.may_come_again(gone)
        store.put_details(
            [
                EpisodeDetails(episode.id, number, episode.session, episode.client, episode.position, episode.rows)
                for number, episode in own.values()
            ],
            [(key, id_, fix) for id_, (_, episode) in own.items() for key, fix in episode.failures.items()],
        )
        memories = {id_: _make_memory(episode) for id_, (_, episode) in own.items()}
        if new := [memory for id_, memory in memories.items() if id_ not in stored]:
            store.add(new)
        changed = [
            memory
            for id_, memory in memories.items()
            if id_ in stored and any(getattr(memory, name) != getattr(stored[id_], name) for name in _MADE_FIELDS)
        ]
        if changed:
            store.update(changed)
        for position in self._read:
            store.note_read(*position)
        self._episodes, self._read = {}, []


def _make_memory(episode: Episode) -> Memory:
    time_ms = episode.at_ms or now_ms()
    return Memory(
        id=episode.id,
        content=episode.content,
        namespace=NAMESPACE,
        scope="project",
        project=episode.project,
        paths=episode.files,
        standing=False,
        trust=TRANSCRIPT,
        created_at=time_ms,
        updated_at=time_ms,
    )


def find_gone(store: EpisodeStore, kept_ms: int, now: int) -> list[str]:
    """Return the ids of the episodes that go with their transcript. Raises StoreError.

    kept_ms: how long they stay without it, in milliseconds; 0 for not at all.
    """
    gone = []
    folders = [os.path.join(client.data.folder_path, "") for client in transcript_files.LEARNED_CLIENTS.values()]
    away = tuple(folder for folder in folders if not os.path.isdir(folder))  # A disk that is away takes nothing with it.
    for path, episodes in store.episodes_by_transcript().items():
        if not transcript_files.has_transcript(path) and not path.startswith(away):
            gone += [id_ for id_, at_ms in episodes if not kept_ms or at_ms < now - kept_ms]
    return gone
