"""Learning from sessions: new transcripts become memories that wait for the person.

The proposals of a transcript are stored before it is noted as read, under ids from a turn's text and time. Then a meaning that
several sessions repeat is proposed. Nothing that decides is changed before that ends, so a run after a kill has the same
result.
"""

from collections.abc import Callable, Sequence

from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import SubcogError
from subcog_hooks.learn import proposals, quoting, transcript, transcript_files
from subcog_hooks.learn.proposals import LearningOptions, LearningReport, LearningRun, Proposal, session_id
from subcog_hooks.learn.quoting import Utterance
from subcog_hooks.learn.transcript_files import TranscriptFile, database_of, name_session
from subcog_hooks.learn.turn_scores import ACCEPTED, ANSWER, ANSWER_BAR, PACKAGED_FIT, REPEATED_BAR, TypedTurn
from subcog_hooks.store import learned
from subcog_hooks.store.memory import PENDING, Memory
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audience_of

_UNREACHABLE = 2.0  # a certainty that no turn reaches
BARS = {ANSWER: ANSWER_BAR, ACCEPTED: _UNREACHABLE}  # a client's suggestion is proposed only if a session repeats it
MAX_SESSION_PROPOSALS = 8  # the surest turns of one session, since a person reads them
MAX_HEARD = 3_000  # the latest unsure turns, whose comparison takes three seconds
SUPERSEDED = "superseded"  # the status of a proposal that another one with its meaning replaces
_READING_ORDER = {"deleted": 0, "active": 1}  # memories that replace waiting ones, in this order


def learn(
    files: Sequence[TranscriptFile],
    store: Store | None,
    state: State | None,
    options: LearningOptions,
    progress: Callable[[int], None],
    pace: Pace = FULL_PACE,
) -> LearningReport:
    """Read transcripts and store their proposals. `progress` is called with the number of read bytes. Raises StoreError.

    store, state: None if there is none yet and nothing will be written. pace: asked before each reading whether to go on.
    """
    run = LearningRun(store, state, options)
    report = run.report
    for file in files:
        try:
            _read_file(run, file, pace)
        except SubcogError:
            raise
        except Exception as error:  # noqa: BLE001 - one file must not stop the others; it is reported, and read again
            report.problems.append(f"{file.path} cannot be read: an internal error: {type(error).__name__}: {error}")
        if report.is_cut_short:
            return report
        progress(file.size)
    is_due = report.turns or (state and not options.dry_run and learned.find_progress(state).is_uncompared)
    if is_due and _goes_on(run, pace):
        missing = propose_repeated(run, pace)
        if state and not options.dry_run:
            state.begin()
            for heard_turn in missing:  # only now, so that a run after a kill hears the same turns
                state.run("DELETE FROM heard WHERE path = ? AND place = ?", (heard_turn.path, heard_turn.position))
            learned.note_turns_compared(state)
            state.commit()
    report.proposed.sort(key=lambda proposal: (-proposal.sessions, -proposal.certainty))
    return report


def _goes_on(run: LearningRun, pace: Pace) -> bool:
    run.report.is_cut_short = not pace.goes_on()
    return not run.report.is_cut_short


def _read_file(run: LearningRun, file: TranscriptFile, pace: Pace) -> None:
    """Read the new part of a transcript in bounded readings, and store the proposals of each; problems go to the report."""
    report, options = run.report, run.options
    if not _goes_on(run, pace):
        return
    try:
        first = start = find_start(file, learned.find_position(run.state, learned.READ, file.path) if run.state else None)
        report.unchanged += start is None
        is_noted = not options.dry_run
        while start is not None:
            reading = transcript.read_transcript(file.path, start, pace)
            digest = transcript_files.compute_digest(file.path, reading.end)
            report.read += start == first
            # a run that goes further back reads the older turns and the rest of their file
            is_noted = is_noted and all(not turn.at_ms or turn.at_ms >= options.since for turn in reading.turns)
            size = 0 if reading.has_more else file.size  # 0: the next run goes on
            position = learned.ReadPosition(size, reading.end, digest) if is_noted else None
            report.damaged += reading.damaged
            report.turns += len(reading.turns)
            _store_turns(run, reading.turns, file.path, position, pace)
            start = reading.end if reading.has_more and _goes_on(run, pace) else None
    except OSError as error:
        named = f"{error.filename or file.path} cannot be read: "
        if not any(problem.startswith(named) for problem in report.problems):  # a database holds many sessions
            report.problems.append(f"{named}{error.strerror}")


def _store_turns(
    run: LearningRun, turns: Sequence[TypedTurn], path: str, position: learned.ReadPosition | None, pace: Pace
) -> None:
    """Propose the surest turns of a session, and note the others as heard. position: to note, None for none."""
    sure, unsure = [], []
    for turn in turns:
        pace.pause()
        if run.excludes(turn):
            run.report.left_out += 1
            continue
        proposal = run.propose(turn, path) if not turn.at_ms or turn.at_ms >= run.options.since else None
        if proposal is None:
            continue
        bar = BARS.get(turn.kind)
        if (proposal.corrects and bar is None) or proposal.certainty >= (run.options.fit.bar if bar is None else bar):
            sure.append(proposal)
        elif proposal.certainty >= REPEATED_BAR:
            unsure.append(proposal)
    sure.sort(key=lambda proposal: -proposal.certainty)
    sure, rest = sure[:MAX_SESSION_PROPOSALS], sure[MAX_SESSION_PROPOSALS:]
    new = run.store_new(sorted(sure, key=lambda proposal: proposal.turn.offset))
    run.report.proposed += new
    stored_ids = {proposal.id for proposal in new}
    if run.store:
        stored_ids |= {*run.store.by_ids([proposal.id for proposal in sure])}
    repeats = [proposal for proposal in sure if proposal.id not in stored_ids]  # their texts are stored already
    heard = [
        learned.HeardTurn(path, proposal.turn.offset, proposal.turn.at_ms, proposal.certainty)
        for proposal in (*unsure, *rest, *repeats)
    ]
    if not position:
        run.report.heard += heard
    if run.state and not run.options.dry_run:
        run.state.begin()
        for proposal in sure:
            if proposal.id in stored_ids:
                evidence = learned.ProposalRecord(proposal.certainty, 1, proposal.turn.at_ms, proposal.certainty)
                learned.note_proposed(run.state, proposal.id, evidence)
        if position:
            learned.note_read_position(run.state, path, position, heard)
        run.state.commit()


def find_start(file: TranscriptFile, before: learned.ReadPosition | None) -> int | None:
    """Return the offset in bytes from which to read a transcript, None if nothing is new since `before`. Raises OSError."""
    is_same_size = before is not None and file.size == before.size
    if is_same_size and database_of(file.path):
        return None  # Writing out each session of a database would take long.
    if before is None or transcript_files.compute_digest(file.path, before.end) != before.digest:
        return 0
    return None if is_same_size else before.end


def propose_repeated(run: LearningRun, pace: Pace) -> list[learned.HeardTurn]:
    """Propose the turns that several sessions repeat, and return the heard turns that are no longer in their transcripts.

    Turns that were compared already propose nothing: they were proposed, or the person has erased them.
    """
    store, report = run.store, run.report
    state = None if run.options.dry_run else run.state
    heard = [*report.heard, *(learned.find_heard_turns(run.state, MAX_HEARD) if run.state else [])]
    latest_heard = sorted(heard, key=lambda turn: (-turn.at_ms, turn.path, turn.position))[:MAX_HEARD]
    unsure, uncompared, missing = _reread_heard(run, latest_heard, pace)
    for erased in store.purged_sections(list(unsure)) if store else ():
        del unsure[erased]
    new_by_id = {proposal.id: proposal for proposal in report.proposed}
    stored = _session_memories(store) if store else {}
    # an unsure turn keeps its position once it is proposed, so a run after a kill makes the same groups
    waiting = (PENDING, SUPERSEDED)
    kept_memories = [memory for memory in stored.values() if memory.id not in unsure or memory.status not in waiting]
    fresh = [proposal for proposal in new_by_id.values() if proposal.id not in stored]
    fresh.sort(key=lambda proposal: (proposal.turn.at_ms, proposal.id))
    surest_first = sorted(unsure.values(), key=lambda proposal: (-proposal.certainty, proposal.id))
    utterances = []
    for memory in kept_memories:
        earlier = learned.find_proposal(run.state, memory.id) if run.state else None
        session, audience = session_id(memory), audience_of(memory.scope, memory.project)
        certainty = (earlier.alone if earlier else 0.0) or PACKAGED_FIT.bar
        utterances.append(Utterance(memory.id, memory.content, session, audience, memory.created_at, certainty))
    for new in (*fresh, *surest_first):
        session, audience = name_session(new.path), audience_of(new.scope, new.owner)
        utterances.append(Utterance(new.id, new.text, session, audience, new.turn.at_ms, new.certainty))
    for group in quoting.find_repeated(utterances, pace):
        first_id, *repeated = [utterance.key for utterance in group.utterances]
        status = stored[first_id].status if first_id in stored else ""
        if status == SUPERSEDED:
            continue
        if status == "deleted":  # The person has dropped this meaning.
            repeated.append(first_id)
        else:
            proposal = new_by_id.get(first_id) or unsure.get(first_id)
            if proposal and first_id not in new_by_id:
                if uncompared.isdisjoint((first_id, *repeated)) or not (group.is_repeated or {*repeated} - unsure.keys()):
                    continue
                proposal = _propose_in_context(run, proposal)
                report.proposed += run.store_new([proposal])
            if proposal:
                proposal.sessions, proposal.since, proposal.certainty = group.sessions, group.since, group.certainty
            if store and state:
                alone = group.utterances[0].certainty
                learned.note_proposed(
                    state, first_id, learned.ProposalRecord(group.certainty, group.sessions, group.since, alone)
                )
        if store and not run.options.dry_run:
            _mark_superseded(store, repeated, first_id)
        report.proposed = [other for other in report.proposed if other.id not in repeated]
    return missing


def _session_memories(store: Store) -> dict[str, Memory]:
    """Return the memories from sessions, in the order in which they replace others; superseded ones with a successor count."""
    every = store.all((PENDING, SUPERSEDED, "active", "deleted"))
    memories = {memory.id: memory for memory in every if proposals.is_from_session(memory)}
    current = [
        memory
        for memory in memories.values()
        if memory.status != SUPERSEDED or (memory.superseded_by in memories and not proposals.is_outdated(memory, store))
    ]
    current.sort(key=lambda memory: (_READING_ORDER.get(memory.status, len(_READING_ORDER)), memory.created_at, memory.id))
    return {memory.id: memory for memory in current}


def _reread_heard(
    run: LearningRun, heard: Sequence[learned.HeardTurn], pace: Pace
) -> tuple[dict[str, Proposal], set[str], list[learned.HeardTurn]]:
    """Return the heard turns by id from the transcripts that still exist, the ids not compared yet, and the missing turns."""
    proposals_by_id: dict[str, Proposal] = {}
    uncompared, missing = set(), []
    for heard_turn in heard:
        pace.pause()
        try:
            turns = transcript.read_turns_at(heard_turn.path, heard_turn.position, 0)
            if not turns:  # an answer's call is in the rows before it
                turns = transcript.read_turns_at(heard_turn.path, heard_turn.position)
        except (FileNotFoundError, NotADirectoryError):
            turns = []
        except OSError:  # a locked database, a disk that is away: the next run reads them
            continue
        if not turns:
            missing.append(heard_turn)
        for turn in turns:
            if not run.excludes(turn) and (proposal := run.propose(turn, heard_turn.path)):
                proposal.certainty = heard_turn.certainty  # the certainty with the rows before it
                proposals_by_id[proposal.id] = proposal
                if not heard_turn.is_compared:
                    uncompared.add(proposal.id)
    return proposals_by_id, uncompared, missing


def _propose_in_context(run: LearningRun, proposal: Proposal) -> Proposal:
    """Return a proposal by the rows before its turn, too."""
    try:
        turns = transcript.read_turns_at(proposal.path, proposal.turn.offset)
    except OSError:
        return proposal
    candidates = (run.propose(turn, proposal.path) for turn in turns)
    return next((candidate for candidate in candidates if candidate and candidate.id == proposal.id), proposal)


def _mark_superseded(store: Store, ids: Sequence[str], successor_id: str) -> None:
    waiting = [id_ for id_, memory in store.by_ids(ids).items() if memory.status == PENDING and id_ != successor_id]
    if waiting and successor_id in store.by_ids([successor_id]):
        store.modify(waiting, lambda memory: memory.with_changes(status=SUPERSEDED, superseded_by=successor_id))
