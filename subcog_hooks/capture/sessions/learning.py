"""Learning from sessions: transcripts that were not read yet become memories that wait for the person's word.

A transcript is one step: first its proposals are stored, then it is noted as read. Whoever is killed in between reads it again,
and what is there already is not stored twice, since ids follow from what was said when.
"""

import os

from subcog_hooks.capture import importing
from subcog_hooks.capture.compose import Removed
from subcog_hooks.capture.sessions import files, proposals, transcript
from subcog_hooks.capture.sessions.proposals import Proposal
from subcog_hooks.capture.sessions.worth import BAR, PACKAGED, REPEATED_BAR, Fit
from subcog_hooks.memory import project
from subcog_hooks.memory.model import now_ms
from subcog_hooks.state import learned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.capture.sessions.files import TranscriptFile
    from subcog_hooks.memory.store import Store
    from subcog_hooks.state.connection import State

MOST_PROPOSED = 8  # of one session by themselves, the surest: a person reads them


class LearningOptions:
    """since: nothing said before is looked at, milliseconds since the epoch; left_out: projects and folders to which nobody
    listens; dry_run: nothing is stored or noted; fit: the weights by which turns are judged."""

    __slots__ = ("dry_run", "fit", "left_out", "since")

    def __init__(self, *, since: int = 0, left_out: "Sequence[str]" = (), dry_run: bool = False, fit: Fit = PACKAGED) -> None:
        self.since = since
        self.left_out = tuple(left_out)
        self.dry_run = dry_run
        self.fit = fit


class LearningReport:
    """The outcome of a run: how much was read, and the proposals that are new."""

    __slots__ = ("damaged", "left_out", "problems", "proposed", "read", "removed", "turns", "unchanged")

    def __init__(self) -> None:
        self.read = 0  # transcripts
        self.unchanged = 0
        self.turns = 0
        self.damaged = 0  # rows
        self.left_out = 0  # turns, by the setting
        self.problems: list[str] = []
        self.proposed: list[Proposal] = []
        self.removed: Removed = ()


def learn(
    found: "Sequence[TranscriptFile]",
    store: "Store | None",
    state: "State | None",
    options: LearningOptions,
    progress: "Callable[[int], None]",
) -> LearningReport:
    """Read transcripts and store what they propose. `progress` is told how many bytes are done.

    store, state: None where there is none yet and nothing will be written. Raises StoreError; what was stored before stays.
    """
    report = LearningReport()
    places = _Places(options.left_out)
    for file in found:
        _learn_from(file, store, state, options, places, report)
        progress(file.size)
    return report


def _learn_from(
    file: "TranscriptFile",
    store: "Store | None",
    state: "State | None",
    options: LearningOptions,
    places: "_Places",
    report: LearningReport,
) -> None:
    try:
        start = _start_of(file, learned.find_read(state, file.path) if state else None)
        if start is None:
            report.unchanged += 1
            return
        reading = transcript.read(file.path, start)
        digest = files.digest_before(file.path, reading.end)
    except OSError as error:
        report.problems.append(f"{file.path} can not be read: {error.strerror}")
        return
    report.read += 1
    report.damaged += reading.damaged
    report.turns += len(reading.turns)
    sure: list[Proposal] = []
    unsure: list[Proposal] = []
    for turn in reading.turns:
        owner = places.owner_of(turn.folder)
        if places.is_left_out(turn.folder, owner):
            report.left_out += 1
            continue
        if turn.at and turn.at < options.since:
            continue
        one = proposals.propose(turn, file.path, owner, options.fit)
        if one and one.certainty >= REPEATED_BAR:
            (sure if one.certainty >= BAR else unsure).append(one)
    sure.sort(key=lambda one: -one.certainty)
    sure, rest = sure[:MOST_PROPOSED], sure[MOST_PROPOSED:]
    new = _store_new(sorted(sure, key=lambda one: one.turn.offset), store, options, places, report)
    report.proposed += new
    if state and not options.dry_run:
        heard = [learned.Heard(file.path, one.turn.offset, one.turn.at, one.certainty) for one in (*unsure, *rest)]
        state.begin()
        for one in sure:
            learned.note_proposed(state, one.id, learned.Said(one.certainty, 1, one.turn.at))
        learned.note_read(state, file.path, learned.ReadSoFar(file.size, reading.end, digest), heard)
        state.commit()


def _start_of(file: "TranscriptFile", before: learned.ReadSoFar | None) -> int | None:
    """Return where to read from, None where nothing is new. Raises OSError."""
    if before is None:
        return 0
    is_same = file.size >= before.end and files.digest_before(file.path, before.end) == before.digest
    if not is_same:
        return 0
    return before.end if file.size > before.size else None


def _store_new(
    found: "Sequence[Proposal]",
    store: "Store | None",
    options: LearningOptions,
    places: "_Places",
    report: LearningReport,
) -> list[Proposal]:
    """Store the proposals that are not known yet, and return them. Raises StoreError."""
    unknown = {one.id: one for one in found}
    if store and unknown:
        known = {*store.by_ids(list(unknown)), *store.purged_sections(list(unknown))}
        unknown = {id_: one for id_, one in unknown.items() if id_ not in known}
    if not unknown:
        return []
    now = now_ms()
    rows = [(one.source, one.row(places.root_of(one.turn.folder), now)) for one in unknown.values()]
    rows = [(place, row) for place, row in rows if not (store and store.by_hash(row.memory.content_hash))]
    imported = importing.run_reading(
        rows, lambda _: False, frozenset(), store, importing.Options(dry_run=options.dry_run), lambda _: None
    )
    report.problems += [f"{problem.place}: {problem.message}" for problem in imported.problems]
    if store and not options.dry_run:
        stored = store.by_ids([row.memory.id for _, row in rows])
        return [unknown[id_] for id_ in stored]
    return [unknown[row.memory.id] for _, row in rows]


class _Places:
    """The folders in which sessions ran, and whose they are."""

    __slots__ = ("_found", "_left_out")

    def __init__(self, left_out: "Sequence[str]") -> None:
        self._left_out = {project.identity_of(os.path.expanduser(name)) for name in left_out}
        self._found: dict[str, project.Project | None] = {}

    def owner_of(self, folder: str) -> str | None:
        """Return the identity of a folder's project; of one that is in no repository, or is gone, the folder itself."""
        if not folder:
            return None
        at = self._project(folder)
        return at.identity if at else os.path.normpath(folder)

    def root_of(self, folder: str) -> str | None:
        at = self._project(folder) if folder else None
        return at.root if at else None

    def is_left_out(self, folder: str, owner: str | None) -> bool:
        """Return whether the person wants nothing learned from what is said in a folder."""
        at = self._project(folder) if folder else None
        names = {owner, *(at.names if at else ())}
        path = os.path.join(os.path.normpath(folder), "") if folder else ""
        return bool(names & self._left_out) or any(path.startswith(os.path.join(name, "")) for name in self._left_out)

    def _project(self, folder: str) -> project.Project | None:
        if folder not in self._found:
            self._found[folder] = project.find(folder) if os.path.isdir(folder) else None
        return self._found[folder]
