"""Learning from sessions: transcripts that were not read yet become memories that wait for the person's word.

A transcript is one step: first its proposals are stored, then it is noted as read. Whoever is killed in between reads it again,
and what is there already is not stored twice, since ids follow from what was said when.
"""

from __future__ import annotations

from subcog_hooks.core.deadline import FULL_PACE
from subcog_hooks.core.errors import SubcogError
from subcog_hooks.learn import comparing, fixes, proposals, transcript, transcript_files
from subcog_hooks.learn.storing import LearningOptions, LearningReport, store_new
from subcog_hooks.learn.transcript_files import Places
from subcog_hooks.learn.turn_scores import ANSWER_BAR, COMMAND, REPEATED_BAR, Fit
from subcog_hooks.learn.turns import ACCEPTED, ANSWER
from subcog_hooks.store import learned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from subcog_hooks.core.deadline import Pace
    from subcog_hooks.learn.proposals import Proposal
    from subcog_hooks.learn.transcript_files import TranscriptFile
    from subcog_hooks.learn.turns import TypedTurn
    from subcog_hooks.store.state import State
    from subcog_hooks.store.store import Store

_NEVER = 2.0  # above any certainty
BARS = {ANSWER: ANSWER_BAR, ACCEPTED: _NEVER}  # what the client suggested comes only where a session says it, too
MOST_PROPOSED = 8  # of one session by themselves, the surest: a person reads them


def learn(
    found: Sequence[TranscriptFile],
    store: Store | None,
    state: State | None,
    options: LearningOptions,
    progress: Callable[[int], None],
    pace: Pace = FULL_PACE,
) -> LearningReport:
    """Read transcripts and store what they propose. `progress` is told how many bytes are done.

    store, state: None where there is none yet and nothing will be written. pace: asked before each reading whether to go on.
    Raises StoreError; what was stored before stays.
    """
    run = _Run(store, state, options, pace)
    for file in found:
        try:
            run.read(file)
        except SubcogError:
            raise
        except Exception as error:  # noqa: BLE001 - one file must not cost the others; it is told, and read again
            run.report.problems.append(f"{file.path} can not be read: an internal error: {type(error).__name__}: {error}")
        if run.report.is_cut_short:
            return run.report
        progress(file.size)
    if run.report.turns or (state and not options.dry_run and not learned.are_turns_compared(state)):
        run.compare()
    run.report.proposed.sort(key=lambda one: (-one.sessions, -one.certainty))
    return run.report


class _Run:
    """A run over transcripts: with what it is done, and its report."""

    __slots__ = ("_options", "_pace", "_places", "_state", "_store", "report")

    def __init__(self, store: Store | None, state: State | None, options: LearningOptions, pace: Pace) -> None:
        self._store = store
        self._state = state
        self._options = options
        self._pace = pace
        self._places = Places(options.left_out)
        self.report = LearningReport()

    def read(self, file: TranscriptFile) -> None:
        """Read what is new in a transcript, and store what it proposes."""
        is_noted = not self._options.dry_run
        for number, (reading, read) in enumerate(self._readings(file)):
            self.report.read += not number
            # what is too old for this run is read by one that goes further back, with all behind it
            is_noted = is_noted and all(not turn.at or turn.at >= self._options.since for turn in reading.turns)
            self._take(reading, file.path, read, is_noted=is_noted)

    def _readings(self, file: TranscriptFile) -> Iterator[tuple[transcript.TranscriptReading, learned.ReadPosition]]:
        """Yield what is new in a transcript, as much at a time as one reading takes, and how far it is read then.

        The report says where that ends early: the pace ended it, or the file can not be read.
        """
        if not self._goes_on():
            return
        try:
            start = start_of(file, learned.find_read_position(self._state, file.path) if self._state else None)
            self.report.unchanged += start is None
            while start is not None:
                reading = transcript.read(file.path, start, self._pace)
                digest = transcript_files.digest_before(file.path, reading.end)
                size = reading.end if reading.has_more else file.size
                yield reading, learned.ReadPosition(size, reading.end, digest)
                start = reading.end if reading.has_more and self._goes_on() else None
        except OSError as error:
            self.report.problems.append(f"{file.path} can not be read: {error.strerror}")

    def _goes_on(self) -> bool:
        """Return whether the pace lets it go on; the report has it where not."""
        self.report.is_cut_short = not self._pace.goes_on()
        return not self.report.is_cut_short

    def _take(self, reading: transcript.TranscriptReading, path: str, read: learned.ReadPosition, *, is_noted: bool) -> None:
        """Store what a reading proposes. is_noted: then so much of the transcript has been read."""
        store, options, places, report = self._store, self._options, self._places, self.report
        report.damaged += reading.damaged
        report.turns += len(reading.turns)
        found = list(self._proposals_of(reading.turns, path))
        sure = sorted((one for one in found if _is_sure(one, options.fit)), key=lambda one: -one.certainty)
        unsure = [one for one in found if not _is_sure(one, options.fit) and one.certainty >= REPEATED_BAR]
        sure, rest = sure[:MOST_PROPOSED], sure[MOST_PROPOSED:]
        new = store_new(sorted(sure, key=lambda one: one.turn.offset), store, options, places, report)
        report.proposed += new
        refuted = fixes.hold_against(reading.worked, places, self._state, report.fixes_seen)
        wanted = [one for one in reading.fixes if COMMAND not in options.never and one.at >= options.since]
        shown = fixes.hold_together(wanted, path, places, self._state, report.fixes_seen)
        report.fixes += store_new([one for one in shown if one.is_repeated], store, options, places, report)
        there = {one.id for one in new} | ({*store.by_ids([one.id for one in sure])} if store else set())
        repeats = [one for one in sure if one.id not in there]  # word for word what is stored already
        listened_to = (*unsure, *rest, *repeats)
        heard = [learned.HeardTurn(path, one.turn.offset, one.turn.at, one.certainty) for one in listened_to]
        if not is_noted:
            report.heard += heard
        if state := None if options.dry_run else self._state:
            state.begin()
            for one in (one for one in sure if one.id in there):
                learned.note_proposed(state, one.id, learned.ProposalRecord(one.certainty, 1, one.turn.at, one.certainty))
            if is_noted:
                fixes.note_shown(state, shown, refuted)
                learned.note_read_position(state, path, read, heard)
            state.commit()

    def _proposals_of(self, turns: Sequence[TypedTurn], path: str) -> Iterator[Proposal]:
        """Yield what turns may be worth: of the time, the places and the kinds that are wanted."""
        for turn in turns:
            self._pace.pause()
            owner = self._places.owner_of(turn.folder)
            if self._places.is_left_out(turn.folder, owner):
                self.report.left_out += 1
            elif not turn.at or turn.at >= self._options.since:
                one = proposals.propose(turn, path, owner, self._options.fit)
                if one and one.kind not in self._options.never:
                    yield one

    def compare(self) -> None:
        """Propose what was heard in several sessions, in this run or before it."""
        if not self._goes_on():
            return
        state = None if self._options.dry_run else self._state
        gone = comparing.raise_repeated(self._store, self._state, self._options, self._places, self.report, self._pace)
        if state:
            state.begin()
            for one in gone:  # not before: what is heard then is the same when a run that was killed is done again
                learned.forget_heard_turn(state, one)
            learned.note_turns_compared(state)
            state.commit()


def _is_sure(one: Proposal, fit: Fit) -> bool:
    """Return whether a turn is proposed by itself: for its worth, or because it so probably corrects the agent."""
    corrects = one.worth.corrects and one.turn.kind not in BARS
    return corrects or one.certainty >= BARS.get(one.turn.kind, fit.bar)


def start_of(file: TranscriptFile, before: learned.ReadPosition | None) -> int | None:
    """Return where to read a transcript from, bytes, None where nothing is new since `before`. Raises OSError."""
    if before is None:
        return 0
    is_same = file.size >= before.end and transcript_files.digest_before(file.path, before.end) == before.digest
    if not is_same:
        return 0
    return before.end if file.size > before.size else None
