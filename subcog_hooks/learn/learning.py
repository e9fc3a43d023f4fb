"""Learning from sessions: new transcripts become memories that wait for the person.

A transcript is one step: its proposals are stored before it is noted as read. After a kill it is read again. Nothing is stored
twice, since ids follow from a turn's text and time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import SubcogError
from subcog_hooks.learn import comparing, proposals, transcript, transcript_files
from subcog_hooks.learn.client_rows import database_of
from subcog_hooks.learn.proposals import LearningOptions, LearningReport, Proposal, store_new
from subcog_hooks.learn.signs import ACCEPTED, ANSWER, TypedTurn
from subcog_hooks.learn.transcript_files import SessionFolders, TranscriptFile
from subcog_hooks.learn.turn_scores import ANSWER_BAR, REPEATED_BAR, Fit
from subcog_hooks.store import learned
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store

_UNREACHABLE = 2.0  # a certainty that no turn reaches
BARS = {ANSWER: ANSWER_BAR, ACCEPTED: _UNREACHABLE}  # a client's suggestion is proposed only if a session repeats it
MAX_SESSION_PROPOSALS = 8  # the surest turns of one session, since a person reads them


def learn(
    files: Sequence[TranscriptFile],
    store: Store | None,
    state: State | None,
    options: LearningOptions,
    progress: Callable[[int], None],
    pace: Pace = FULL_PACE,
) -> LearningReport:
    """Read transcripts and store their proposals. `progress` is called with the number of read bytes.

    store, state: None if there is none yet and nothing will be written. pace: asked before each reading whether to go on.
    Raises StoreError; stored proposals stay.
    """
    run = _LearningRun(store, state, options, SessionFolders(options.left_out), pace)
    for file in files:
        try:
            run.read_file(file)
        except SubcogError:
            raise
        except Exception as error:  # noqa: BLE001 - one file must not stop the others; it is reported, and read again
            run.report.problems.append(f"{file.path} cannot be read: an internal error: {type(error).__name__}: {error}")
        if run.report.is_cut_short:
            return run.report
        progress(file.size)
    if run.report.turns or (state and not options.dry_run and learned.find_progress(state).is_uncompared):
        run.compare()
    run.report.proposed.sort(key=lambda proposal: (-proposal.sessions, -proposal.certainty))
    return run.report


@dataclass(slots=True)
class _LearningRun:
    _store: Store | None
    _state: State | None
    _options: LearningOptions
    _session_folders: SessionFolders
    _pace: Pace
    report: LearningReport = field(default_factory=LearningReport)

    def read_file(self, file: TranscriptFile) -> None:
        is_noted = not self._options.dry_run
        for number, (reading, progress) in enumerate(self._read_in_parts(file)):
            self.report.read += not number
            # a run that goes further back reads the older turns and the rest of their file
            is_noted = is_noted and all(not turn.at_ms or turn.at_ms >= self._options.since for turn in reading.turns)
            self._store_reading(reading, file.path, progress, is_noted=is_noted)

    def _read_in_parts(self, file: TranscriptFile) -> Iterator[tuple[transcript.TranscriptReading, learned.ReadPosition]]:
        """Yield the new part of a transcript in bounded readings, each with the progress to note; problems go to the report."""
        if not self._goes_on():
            return
        try:
            start = find_start(file, learned.find_read_position(self._state, file.path) if self._state else None)
            self.report.unchanged += start is None
            while start is not None:
                reading = transcript.read_transcript(file.path, start, self._pace)
                digest = transcript_files.compute_digest(file.path, reading.end)
                size = 0 if reading.has_more else file.size  # with 0 the next run goes on
                yield reading, learned.ReadPosition(size, reading.end, digest)
                start = reading.end if reading.has_more and self._goes_on() else None
        except OSError as error:
            named = f"{error.filename or file.path} cannot be read: "
            if not any(problem.startswith(named) for problem in self.report.problems):  # a database holds many sessions
                self.report.problems.append(f"{named}{error.strerror}")

    def _goes_on(self) -> bool:
        self.report.is_cut_short = not self._pace.goes_on()
        return not self.report.is_cut_short

    def _store_reading(
        self, reading: transcript.TranscriptReading, path: str, progress: learned.ReadPosition, *, is_noted: bool
    ) -> None:
        store, options, session_folders, report = self._store, self._options, self._session_folders, self.report
        report.damaged += reading.damaged
        report.turns += len(reading.turns)
        candidates = list(self._propose_turns(reading.turns, path))
        sure = [proposal for proposal in candidates if _is_sure(proposal, options.fit)]
        unsure = [proposal for proposal in candidates if proposal.certainty >= REPEATED_BAR and proposal not in sure]
        sure.sort(key=lambda proposal: -proposal.certainty)
        sure, rest = sure[:MAX_SESSION_PROPOSALS], sure[MAX_SESSION_PROPOSALS:]
        new = store_new(sorted(sure, key=lambda proposal: proposal.turn.offset), store, options, session_folders, report)
        report.proposed += new
        stored_ids = {proposal.id for proposal in new}
        if store:
            stored_ids |= {*store.by_ids([proposal.id for proposal in sure])}
        repeats = [proposal for proposal in sure if proposal.id not in stored_ids]  # their texts are stored already
        heard = [
            learned.HeardTurn(path, proposal.turn.offset, proposal.turn.at_ms, proposal.certainty)
            for proposal in (*unsure, *rest, *repeats)
        ]
        if not is_noted:
            report.heard += heard
        if state := None if options.dry_run else self._state:
            state.begin()
            for proposal in sure:
                if proposal.id in stored_ids:
                    evidence = learned.ProposalRecord(proposal.certainty, 1, proposal.turn.at_ms, proposal.certainty)
                    learned.note_proposed(state, proposal.id, evidence)
            if is_noted:
                learned.note_read_position(state, path, progress, heard)
            state.commit()

    def _propose_turns(self, turns: Sequence[TypedTurn], path: str) -> Iterator[Proposal]:
        for turn in turns:
            self._pace.pause()
            owner = self._session_folders.owner_of(turn.folder)
            if self._session_folders.is_excluded(turn.folder, owner):
                self.report.left_out += 1
            elif not turn.at_ms or turn.at_ms >= self._options.since:
                proposal = proposals.propose(turn, path, owner, self._options.fit)
                if proposal and proposal.kind not in self._options.never:
                    yield proposal

    def compare(self) -> None:
        """Propose turns that several sessions repeat, in this run or before it."""
        if not self._goes_on():
            return
        state = None if self._options.dry_run else self._state
        missing = comparing.propose_repeated(
            self._store, self._state, self._options, self._session_folders, self.report, self._pace
        )
        if state:
            state.begin()
            for heard_turn in missing:  # only now, so that a run after a kill hears the same turns
                learned.forget_heard_turn(state, heard_turn)
            learned.note_turns_compared(state)
            state.commit()


def _is_sure(proposal: Proposal, fit: Fit) -> bool:
    corrects = proposal.judgement.corrects and proposal.turn.kind not in BARS
    return corrects or proposal.certainty >= BARS.get(proposal.turn.kind, fit.bar)


def find_start(file: TranscriptFile, before: learned.ReadPosition | None) -> int | None:
    """Return the offset in bytes from which to read a transcript, None if nothing is new since `before`. Raises OSError."""
    is_same_size = before is not None and file.size == before.size
    if is_same_size and database_of(file.path):
        return None  # Writing out each session of a database would take long.
    if before is None or transcript_files.compute_digest(file.path, before.end) != before.digest:
        return 0
    return None if is_same_size else before.end
