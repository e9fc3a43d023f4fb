"""Learning from sessions: transcripts that were not read yet become memories that wait for the person's word.

A transcript is one step: first its proposals are stored, then it is noted as read. Whoever is killed in between reads it again,
and what is there already is not stored twice, since ids follow from what was said when.
"""

from subcog_hooks.capture.sessions import comparing, files, fixes, proposals, transcript
from subcog_hooks.capture.sessions.kinds import COMMAND
from subcog_hooks.capture.sessions.places import Places
from subcog_hooks.capture.sessions.proposals import Proposal
from subcog_hooks.capture.sessions.storing import LearningOptions, LearningReport, store_new
from subcog_hooks.capture.sessions.turns import ACCEPTED, ANSWER
from subcog_hooks.capture.sessions.worth import ANSWER_BAR, REPEATED_BAR, Fit
from subcog_hooks.errors import SubcogError
from subcog_hooks.pace import FULL_PACE
from subcog_hooks.state import learned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from subcog_hooks.capture.sessions.files import TranscriptFile
    from subcog_hooks.capture.sessions.turns import TypedTurn
    from subcog_hooks.memory.store import Store
    from subcog_hooks.pace import Pace
    from subcog_hooks.state.connection import State

_NEVER = 2.0  # above any certainty
BARS = {ANSWER: ANSWER_BAR, ACCEPTED: _NEVER}  # what the client suggested comes only where a session says it, too
MOST_PROPOSED = 8  # of one session by themselves, the surest: a person reads them


def learn(
    found: "Sequence[TranscriptFile]",
    store: "Store | None",
    state: "State | None",
    options: LearningOptions,
    progress: "Callable[[int], None]",
    pace: "Pace" = FULL_PACE,
) -> LearningReport:
    """Read transcripts and store what they propose. `progress` is told how many bytes are done.

    store, state: None where there is none yet and nothing will be written. pace: asked before each reading whether to go on.
    Raises StoreError; what was stored before stays.
    """
    report = LearningReport()
    places = Places(options.left_out)
    was_compared = learned.is_compared(state) if state else True
    for file in found:
        has_more = True
        while has_more:
            if not pace.goes_on():
                report.is_cut_short = True
                return report
            try:
                has_more = _learn_from(file, store, state, options, places, report, pace)
            except SubcogError:
                raise
            except Exception as error:  # noqa: BLE001 - one file must not cost the others; it is told, and read again
                report.problems.append(f"{file.path} can not be read: an internal error: {type(error).__name__}: {error}")
                has_more = False
        progress(file.size)
    if report.turns or (state and not options.dry_run and not learned.is_compared(state)):
        if not pace.goes_on():
            report.is_cut_short = True
            return report
        gone = comparing.raise_repeated(store, state, options, places, report, pace, was_compared=was_compared)
        if state and not options.dry_run:
            state.begin()
            for one in gone:  # not before: what is heard then is the same when a run that was killed is done again
                learned.unhear(state, one)
            learned.note_compared(state)
            state.commit()
    report.proposed.sort(key=lambda one: (-one.sessions, -one.certainty))
    return report


def _learn_from(
    file: "TranscriptFile",
    store: "Store | None",
    state: "State | None",
    options: LearningOptions,
    places: Places,
    report: LearningReport,
    pace: "Pace",
) -> bool:
    """Read what is new in a transcript, as far as one reading goes, and store it. Return whether another one is to follow."""
    try:
        start = start_of(file, learned.find_read(state, file.path) if state else None)
        if start is None:
            report.unchanged += 1
            return False
        reading = transcript.read(file.path, start, pace)
        digest = files.digest_before(file.path, reading.end)
    except OSError as error:
        report.problems.append(f"{file.path} can not be read: {error.strerror}")
        return False
    report.read += 1
    report.damaged += reading.damaged
    report.turns += len(reading.turns)
    is_all = all(not turn.at or turn.at >= options.since for turn in reading.turns)
    found = list(_proposals_of(reading.turns, file.path, options, places, report, pace))
    sure = sorted((one for one in found if _is_sure(one, options.fit)), key=lambda one: -one.certainty)
    unsure = [one for one in found if not _is_sure(one, options.fit) and one.certainty >= REPEATED_BAR]
    sure, rest = sure[:MOST_PROPOSED], sure[MOST_PROPOSED:]
    new = store_new(sorted(sure, key=lambda one: one.turn.offset), store, options, places, report)
    report.proposed += new
    refuted = fixes.hold_against(reading.worked, places, state, report.fixes_seen)
    wanted = [one for one in reading.fixes if COMMAND not in options.never and one.at >= options.since]
    shown = fixes.hold_together(wanted, file.path, places, state, report.fixes_seen)
    report.fixes += store_new([one for one in shown if one.is_repeated], store, options, places, report)
    there = {one.id for one in new} | ({*store.by_ids([one.id for one in sure])} if store else set())
    repeats = [one for one in sure if one.id not in there]  # word for word what is stored already
    listened_to = (*unsure, *rest, *repeats)
    heard = [learned.Heard(file.path, one.turn.offset, one.turn.at, one.certainty) for one in listened_to]
    report.heard_now.update((one.path, one.place) for one in heard)
    if options.dry_run or not is_all:
        report.heard += heard  # what is too old for this run is read by one that goes further back
    if state and not options.dry_run:
        state.begin()
        for one in (one for one in sure if one.id in there):
            learned.note_proposed(state, one.id, learned.Said(one.certainty, 1, one.turn.at, one.certainty))
        if is_all:
            fixes.note_shown(state, shown, refuted)
            size = reading.end if reading.has_more else file.size
            learned.note_read(state, file.path, learned.ReadSoFar(size, reading.end, digest), heard)
        state.commit()
        return is_all and reading.has_more
    return False


def _proposals_of(
    turns: "Sequence[TypedTurn]",
    path: str,
    options: LearningOptions,
    places: Places,
    report: LearningReport,
    pace: "Pace",
) -> "Iterator[Proposal]":
    """Yield what turns may be worth: of the time, the places and the kinds that are wanted."""
    for turn in turns:
        pace.pause()
        owner = places.owner_of(turn.folder)
        if places.is_left_out(turn.folder, owner):
            report.left_out += 1
        elif not turn.at or turn.at >= options.since:
            one = proposals.propose(turn, path, owner, options.fit)
            if one and one.kind not in options.never:
                yield one


def _is_sure(one: Proposal, fit: Fit) -> bool:
    """Return whether a turn is proposed by itself: for its worth, or because it so probably corrects the agent."""
    corrects = one.worth.corrects and one.turn.kind not in BARS
    return corrects or one.certainty >= BARS.get(one.turn.kind, fit.bar)


def start_of(file: "TranscriptFile", before: learned.ReadSoFar | None) -> int | None:
    """Return where to read a transcript from, bytes, None where nothing is new since `before`. Raises OSError."""
    if before is None:
        return 0
    is_same = file.size >= before.end and files.digest_before(file.path, before.end) == before.digest
    if not is_same:
        return 0
    return before.end if file.size > before.size else None
