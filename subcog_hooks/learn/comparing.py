"""Compare the turns of sessions: a meaning that several sessions repeat is proposed, however unsure each turn is.

One proposal then stands for all turns with its meaning, and replaces waiting ones with an older value. Nothing that decides
is changed before the comparison ends, so a run after a kill has the same result.
"""

from collections.abc import Sequence

from subcog_hooks.core.deadline import Pace
from subcog_hooks.learn import proposals, repetition, transcript
from subcog_hooks.learn.proposals import LearningOptions, LearningReport, Proposal, store_new
from subcog_hooks.learn.transcript_files import SessionFolders, name_session
from subcog_hooks.learn.turn_scores import PACKAGED_FIT
from subcog_hooks.store import learned
from subcog_hooks.store.memory import PENDING, Memory
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audience_of

MAX_HEARD = 3_000  # the latest unsure turns, whose comparison takes three seconds
SUPERSEDED = "superseded"  # the status of a proposal that another one with its meaning replaces
_READING_ORDER = {"deleted": 0, "active": 1}  # memories that replace waiting ones, in this order


def propose_repeated(
    store: Store | None,
    state: State | None,
    options: LearningOptions,
    session_folders: SessionFolders,
    report: LearningReport,
    pace: Pace,
) -> list[learned.HeardTurn]:
    """Propose the turns that several sessions repeat, and let one proposal stand for each meaning.

    Turns that were compared already propose nothing: they were proposed, or the person has erased them. Return the heard turns
    that are no longer in their transcripts.
    """
    heard = [*report.heard, *(learned.find_heard_turns(state, MAX_HEARD) if state else [])]
    latest_heard = sorted(heard, key=lambda turn: (-turn.at_ms, turn.path, turn.position))[:MAX_HEARD]
    unsure, uncompared, missing = _reread_heard(latest_heard, options, session_folders, pace)
    for erased in store.purged_sections(list(unsure)) if store else ():
        del unsure[erased]
    new_by_id = {proposal.id: proposal for proposal in report.proposed}
    stored = _session_memories(store)
    # an unsure turn keeps its position once it is proposed, so a run after a kill makes the same groups
    waiting = (PENDING, SUPERSEDED)
    kept_memories = [memory for memory in stored.values() if memory.id not in unsure or memory.status not in waiting]
    fresh = [proposal for proposal in new_by_id.values() if proposal.id not in stored]
    fresh.sort(key=lambda proposal: (proposal.turn.at_ms, proposal.id))
    surest_first = sorted(unsure.values(), key=lambda proposal: (-proposal.certainty, proposal.id))
    utterances = [_memory_utterance(memory, state) for memory in kept_memories]
    utterances += map(_proposal_utterance, [*fresh, *surest_first])
    for group in repetition.find_repeated(utterances, pace):
        first_id = group.utterances[0].key
        if first_id in stored and stored[first_id].status == SUPERSEDED:
            continue
        if first_id in stored and stored[first_id].status == "deleted":  # the person has dropped this meaning
            if store and not options.dry_run:
                _mark_superseded(store, [other.key for other in group.utterances[1:]], first_id)
            dropped = {other.key for other in group.utterances}
            report.proposed = [other for other in report.proposed if other.id not in dropped]
            continue
        proposal = new_by_id.get(first_id) or unsure.get(first_id)
        if proposal and first_id not in new_by_id:
            keys = {other.key for other in group.utterances}
            if keys.isdisjoint(uncompared) or not (group.is_repeated or keys - unsure.keys()):
                continue
            proposal = _propose_in_context(proposal, options)
            report.proposed += store_new([proposal], store, options, session_folders, report)
        if proposal:
            proposal.sessions, proposal.since, proposal.certainty = group.sessions, group.since, group.certainty
        if store and state and not options.dry_run:
            said_so_far = learned.ProposalRecord(group.certainty, group.sessions, group.since, group.utterances[0].certainty)
            learned.note_proposed(state, first_id, said_so_far)
            _mark_superseded(store, [other.key for other in group.utterances[1:] if other.key in stored], first_id)
        repeats = {other.key for other in group.utterances[1:]}
        report.proposed = [other for other in report.proposed if other.id not in repeats]
    return missing


def _session_memories(store: Store | None) -> dict[str, Memory]:
    """Return the memories from sessions, in the order in which they replace others; superseded ones with a successor count."""
    every = store.all((PENDING, SUPERSEDED, "active", "deleted")) if store else ()
    memories = {memory.id: memory for memory in every if proposals.is_from_session(memory)}
    current = [
        memory
        for memory in memories.values()
        if memory.status != SUPERSEDED or (memory.superseded_by in memories and not proposals.is_outdated(memory, store))
    ]
    current.sort(key=lambda memory: (_READING_ORDER.get(memory.status, len(_READING_ORDER)), memory.created_at, memory.id))
    return {memory.id: memory for memory in current}


def _reread_heard(
    heard: Sequence[learned.HeardTurn], options: LearningOptions, session_folders: SessionFolders, pace: Pace
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
            owner = session_folders.owner_of(turn.folder)
            if session_folders.is_excluded(turn.folder, owner):
                continue
            proposal = proposals.propose(turn, heard_turn.path, owner, options.fit)
            if proposal and proposal.kind not in options.never:
                proposal.certainty = heard_turn.certainty  # the certainty with the rows before it
                proposals_by_id[proposal.id] = proposal
                if not heard_turn.is_compared:
                    uncompared.add(proposal.id)
    return proposals_by_id, uncompared, missing


def _propose_in_context(proposal: Proposal, options: LearningOptions) -> Proposal:
    try:
        turns = transcript.read_turns_at(proposal.path, proposal.turn.offset)
    except OSError:
        return proposal
    candidates = (proposals.propose(turn, proposal.path, proposal.owner, options.fit) for turn in turns)
    return next((candidate for candidate in candidates if candidate and candidate.id == proposal.id), proposal)


def _mark_superseded(store: Store, ids: Sequence[str], successor_id: str) -> None:
    waiting = [id_ for id_, memory in store.by_ids(ids).items() if memory.status == PENDING and id_ != successor_id]
    if waiting and successor_id in store.by_ids([successor_id]):
        store.modify(waiting, lambda memory: memory.with_changes(status=SUPERSEDED, superseded_by=successor_id))


def _proposal_utterance(proposal: Proposal) -> repetition.Utterance:
    return repetition.Utterance(
        proposal.id,
        proposal.judgement.text,
        session=name_session(proposal.path),
        audience=audience_of(proposal.scope, proposal.owner),
        at_ms=proposal.turn.at_ms,
        certainty=proposal.certainty,
    )


def _memory_utterance(memory: Memory, state: State | None) -> repetition.Utterance:
    earlier = learned.find_proposal(state, memory.id) if state else None
    return repetition.Utterance(
        memory.id,
        memory.content,
        session=proposals.session_id(memory),
        audience=audience_of(memory.scope, memory.project),
        at_ms=memory.created_at,
        certainty=(earlier.alone if earlier else 0.0) or PACKAGED_FIT.bar,
    )
