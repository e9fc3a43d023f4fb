"""Learning from sessions: transcripts that were not read yet become memories that wait for the person's word.

A transcript is one step: first its proposals are stored, then it is noted as read. Whoever is killed in between reads it again,
and what is there already is not stored twice, since ids follow from what was said when.
"""

import os

from subcog_hooks.capture import importing
from subcog_hooks.capture.compose import Removed, total
from subcog_hooks.capture.import_report import Options
from subcog_hooks.capture.sessions import files, fixes, proposals, repetition, transcript
from subcog_hooks.capture.sessions.kinds import COMMAND
from subcog_hooks.capture.sessions.places import Places
from subcog_hooks.capture.sessions.proposals import Proposal
from subcog_hooks.capture.sessions.turns import ACCEPTED, ANSWER
from subcog_hooks.capture.sessions.worth import ANSWER_BAR, PACKAGED_FIT, REPEATED_BAR, Fit
from subcog_hooks.errors import SubcogError
from subcog_hooks.memory.model import PENDING, now_ms
from subcog_hooks.memory.store import audience_of
from subcog_hooks.pace import FULL_PACE
from subcog_hooks.state import learned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol, TypeVar

    from subcog_hooks.capture.jsonl import Row
    from subcog_hooks.capture.sessions.files import TranscriptFile
    from subcog_hooks.capture.sessions.fixes import FixProposal, Seen
    from subcog_hooks.capture.sessions.turns import TypedTurn
    from subcog_hooks.memory.model import Memory
    from subcog_hooks.memory.store import Store
    from subcog_hooks.pace import Pace
    from subcog_hooks.state.connection import State

    class Storable(Protocol):
        """A proposal, whoever makes it."""

        removed: Removed

        @property
        def id(self) -> str: ...
        @property
        def source(self) -> str: ...
        @property
        def folder(self) -> str: ...
        def row(self, root: str | None, now: int) -> Row: ...

    AnyProposal = TypeVar("AnyProposal", bound=Storable)

MOST_HEARD = 3_000  # the latest unsure ones that are compared with each other: three seconds
_NEVER = 2.0  # above any certainty
BARS = {ANSWER: ANSWER_BAR, ACCEPTED: _NEVER}  # what the client suggested comes only where a session says it, too
ASIDE = "superseded"  # the status of what another one of its meaning stands for
_READING_ORDER = {"deleted": 0, "active": 1}  # in which memories stand for others of their meaning, before all that waits
MOST_PROPOSED = 8  # of one session by themselves, the surest: a person reads them


class LearningOptions:
    """since: nothing said before is looked at, milliseconds since the epoch; left_out: projects and folders to which nobody
    listens; never: kinds that are not proposed; dry_run: nothing is stored or noted; fit: the weights that turns are judged by.
    """

    __slots__ = ("dry_run", "fit", "left_out", "never", "since")

    def __init__(
        self,
        *,
        since: int = 0,
        left_out: "Sequence[str]" = (),
        never: "Sequence[str]" = (),
        dry_run: bool = False,
        fit: Fit = PACKAGED_FIT,
    ) -> None:
        self.since = since
        self.left_out = tuple(left_out)
        self.never = frozenset(never)
        self.dry_run = dry_run
        self.fit = fit


class LearningReport:
    """The outcome of a run: how much was read, and the proposals that are new.

    is_cut_short: its pace ended it; what was read is noted, and the next run compares it with the rest.
    """

    __slots__ = (
        "damaged",
        "fixes",
        "fixes_seen",
        "heard",
        "heard_now",
        "is_cut_short",
        "left_out",
        "problems",
        "proposed",
        "read",
        "removed",
        "turns",
        "unchanged",
    )

    def __init__(self) -> None:
        self.read = 0  # transcripts
        self.unchanged = 0
        self.turns = 0
        self.damaged = 0  # rows
        self.left_out = 0  # turns, by the setting
        self.problems: list[str] = []
        self.proposed: list[Proposal] = []
        self.fixes: list[FixProposal] = []  # proposed, too
        self.fixes_seen: dict[str, Seen] = {}  # which sessions have shown each, by its key
        self.removed: Removed = ()
        self.heard: list[learned.Heard] = []  # in a run that notes nothing
        self.heard_now: set[tuple[str, int]] = set()  # the places of what was heard in this run
        self.is_cut_short = False


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
        gone = _raise_repeated(store, state, options, places, report, pace, was_compared=was_compared)
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


def store_new(
    found: "Sequence[AnyProposal]",
    store: "Store | None",
    options: LearningOptions,
    places: Places,
    report: LearningReport,
) -> "list[AnyProposal]":
    """Store the proposals that are not known yet, and return them; `report` has their faults then. Raises StoreError."""
    unknown = {one.id: one for one in found}
    if store and unknown:
        known = {*store.by_ids(list(unknown)), *store.purged_sections(list(unknown))}
        unknown = {id_: one for id_, one in unknown.items() if id_ not in known}
    if not unknown:
        return []
    now = now_ms()
    rows = [(one.source, one.row(places.root_of(one.folder), now)) for one in unknown.values()]
    rows = [(place, row) for place, row in rows if not (store and store.by_hash(row.memory.content_hash))]
    imported = importing.run_reading(
        rows, lambda _: False, frozenset(), store, Options(dry_run=options.dry_run), lambda _: None
    )
    report.problems += [f"{problem.place}: {problem.message}" for problem in imported.problems]
    ids = [row.memory.id for _, row in rows]
    if store and not options.dry_run:
        ids = [id_ for id_ in ids if id_ in store.by_ids(ids)]
    report.removed = total([report.removed, *(unknown[id_].removed for id_ in ids)])
    return [unknown[id_] for id_ in ids]


def _raise_repeated(
    store: "Store | None",
    state: "State | None",
    options: LearningOptions,
    places: Places,
    report: LearningReport,
    pace: "Pace",
    *,
    was_compared: bool,
) -> list[learned.Heard]:
    """Propose what several sessions said, however unsure each is, and let one proposal stand for all of its meaning.

    Return what was heard and is no longer there. was_compared: no run before this one was ended between reading and comparing.
    Then nothing comes of what was only heard before: it has been proposed already, and where it is gone the person has erased
    it.
    """
    heard = [*report.heard, *(learned.find_heard(state, MOST_HEARD) if state else [])]
    latest = sorted(heard, key=lambda one: (-one.at, one.path, one.place))[:MOST_HEARD]
    again, gone = _hear_again(latest, options, places, pace)
    unsure = {one.id: one for one in again}
    for erased in store.purged_sections(list(unsure)) if store else ():
        del unsure[erased]
    new = {one.id: one for one in report.proposed}
    stored = _said_before(store)
    # what was unsure keeps its place once it is proposed: whoever is killed over this comes to the same groups again
    known = [one for one in stored.values() if one.id not in unsure or one.status not in (PENDING, ASIDE)]
    fresh = sorted((one for one in new.values() if one.id not in stored), key=lambda one: (one.turn.at, one.id))
    said = [
        *(_utterance_of_memory(memory, state) for memory in known),
        *(_utterance(one) for one in fresh),
        *(_utterance(one) for one in sorted(unsure.values(), key=lambda one: (-one.certainty, one.id))),
    ]
    for group in repetition.find_repeated(said, pace):
        first = group.said[0].key
        if first in stored and stored[first].status == ASIDE:
            continue
        if first in stored and stored[first].status == "deleted":  # the person has dropped it, in whatever words
            if store and not options.dry_run:
                _set_aside(store, [other.key for other in group.said[1:]], first)
            dropped = {other.key for other in group.said}
            report.proposed = [other for other in report.proposed if other.id not in dropped]
            continue
        one = new.get(first) or unsure.get(first)
        if one and first not in new:
            if was_compared and not any(_is_heard_now(unsure.get(other.key), report) for other in group.said):
                continue
            one = _in_context(one, options)
            one.known_at = group.repeated_at
            report.proposed += store_new([one], store, options, places, report)
        if one:
            one.sessions, one.since, one.certainty = group.sessions, group.since, group.certainty
        if store and state and not options.dry_run:
            said_so_far = learned.Said(group.certainty, group.sessions, group.since, group.said[0].certainty)
            learned.note_proposed(state, first, said_so_far)
            _set_aside(store, [other.key for other in group.said[1:] if other.key in stored], first)
        repeats = {other.key for other in group.said[1:]}
        report.proposed = [other for other in report.proposed if other.id not in repeats]
    return gone


def _said_before(store: "Store | None") -> "dict[str, Memory]":
    """Return what came from sessions in the person's words, in the order in which it stands for others, by id.

    What was set aside counts as long as that is there which stands for it: a session has said it.
    """
    found = {
        memory.id: memory
        for memory in (store.all((PENDING, ASIDE, "active", "deleted")) if store else ())
        if proposals.is_from_session(memory) and memory.trust != fixes.TOOL_TRUST
    }
    counting = [one for one in found.values() if one.status != ASIDE or one.superseded_by in found]
    counting.sort(key=lambda one: (_READING_ORDER.get(one.status, len(_READING_ORDER)), one.created_at, one.id))
    return {one.id: one for one in counting}


def _hear_again(
    heard: "Sequence[learned.Heard]", options: LearningOptions, places: Places, pace: "Pace"
) -> tuple[list[Proposal], list[learned.Heard]]:
    """Return what was heard, out of the transcripts that are still there; and what of it is not."""
    found, gone = [], []
    for one in heard:
        pace.pause()
        try:
            # which call an answer is about stands before it
            turns = transcript.read_row(one.path, one.place, 0) or transcript.read_row(one.path, one.place)
        except OSError:
            turns = []
        if not turns:
            gone.append(one)
        for turn in turns:
            owner = places.owner_of(turn.folder)
            again = None if places.is_left_out(turn.folder, owner) else proposals.propose(turn, one.path, owner, options.fit)
            if again and again.kind not in options.never:
                again.certainty = one.certainty  # with what stood before it
                found.append(again)
    return found, gone


def _is_heard_now(one: Proposal | None, report: LearningReport) -> bool:
    """Return whether this run has read what was said."""
    return one is not None and (one.path, one.turn.offset) in report.heard_now


def _in_context(one: Proposal, options: LearningOptions) -> Proposal:
    """Return a proposal made with what stood before it, which tells its kind and its files."""
    try:
        turns = transcript.read_row(one.path, one.turn.offset)
    except OSError:
        return one
    made = (proposals.propose(turn, one.path, one.owner, options.fit) for turn in turns)
    return next((again for again in made if again and again.id == one.id), one)


def _set_aside(store: "Store", ids: "Sequence[str]", first: str) -> None:
    """Let one proposal stand for others of its meaning, as long as nobody has said anything about these."""
    waiting = [id_ for id_, memory in store.by_ids(ids).items() if memory.status == PENDING and id_ != first]
    if waiting and first in store.by_ids([first]):
        store.modify(waiting, lambda memory: memory.replaced(status=ASIDE, superseded_by=first))


def _utterance(one: Proposal) -> repetition.Utterance:
    return repetition.Utterance(
        one.id,
        one.worth.text,
        session=os.path.basename(one.path).removesuffix(files.SUFFIX),
        audience=audience_of(one.scope, one.owner),
        at=one.turn.at,
        certainty=one.certainty,
    )


def _utterance_of_memory(memory: "Memory", state: "State | None") -> repetition.Utterance:
    known = learned.find_said(state, memory.id) if state else None
    return repetition.Utterance(
        memory.id,
        memory.content,
        session=proposals.session_of(memory),
        audience=audience_of(memory.scope, memory.project),
        at=memory.created_at,
        certainty=(known.alone if known else 0.0) or PACKAGED_FIT.bar,
    )
