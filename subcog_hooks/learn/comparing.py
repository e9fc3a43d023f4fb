"""Comparing what sessions said: what several of them say is proposed however unsure each is, and one stands for all of it.

Whoever is killed over it comes to the same when it is done again: nothing that decides is changed before all is compared.
"""

from __future__ import annotations

import os

from subcog_hooks.learn import fixes, proposals, repetition, transcript, transcript_files
from subcog_hooks.learn.storing import LearningOptions, LearningReport, store_new
from subcog_hooks.learn.turn_scores import PACKAGED_FIT
from subcog_hooks.store import learned
from subcog_hooks.store.memory import PENDING
from subcog_hooks.store.store import audience_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.core.deadline import Pace
    from subcog_hooks.learn.proposals import Proposal
    from subcog_hooks.learn.transcript_files import Places
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.state import State
    from subcog_hooks.store.store import Store

MOST_HEARD = 3_000  # the latest unsure ones that are compared with each other: three seconds
ASIDE = "superseded"  # the status of what another one of its meaning stands for
_READING_ORDER = {"deleted": 0, "active": 1}  # in which memories stand for others of their meaning, before all that waits


def raise_repeated(
    store: Store | None,
    state: State | None,
    options: LearningOptions,
    places: Places,
    report: LearningReport,
    pace: Pace,
) -> list[learned.HeardTurn]:
    """Propose what several sessions said, however unsure each is, and let one proposal stand for all of its meaning.

    Nothing comes of what is compared already: it has been proposed, and where it is gone the person has erased it. Return what
    was heard and is no longer there.
    """
    heard = [*report.heard, *(learned.find_heard_turns(state, MOST_HEARD) if state else [])]
    latest = sorted(heard, key=lambda one: (-one.at_ms, one.path, one.position))[:MOST_HEARD]
    unsure, uncompared, gone = _hear_again(latest, options, places, pace)
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
            if not any(other.key in uncompared for other in group.said):
                continue
            one = _in_context(one, options)
            one.known_at = group.repeated_at
            report.proposed += store_new([one], store, options, places, report)
        if one:
            one.sessions, one.since, one.certainty = group.sessions, group.since, group.certainty
        if store and state and not options.dry_run:
            said_so_far = learned.ProposalRecord(group.certainty, group.sessions, group.since, group.said[0].certainty)
            learned.note_proposed(state, first, said_so_far)
            _set_aside(store, [other.key for other in group.said[1:] if other.key in stored], first)
        repeats = {other.key for other in group.said[1:]}
        report.proposed = [other for other in report.proposed if other.id not in repeats]
    return gone


def _said_before(store: Store | None) -> dict[str, Memory]:
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
    heard: Sequence[learned.HeardTurn], options: LearningOptions, places: Places, pace: Pace
) -> tuple[dict[str, Proposal], set[str], list[learned.HeardTurn]]:
    """Return what was heard, by id, out of the transcripts that are still there; what is not compared yet; and what is gone."""
    found: dict[str, Proposal] = {}
    uncompared, gone = set(), []
    for one in heard:
        pace.pause()
        try:
            # which call an answer is about stands before it
            turns = transcript.read_row(one.path, one.position, 0) or transcript.read_row(one.path, one.position)
        except OSError:
            turns = []
        if not turns:
            gone.append(one)
        for turn in turns:
            owner = places.owner_of(turn.folder)
            again = None if places.is_left_out(turn.folder, owner) else proposals.propose(turn, one.path, owner, options.fit)
            if again and again.kind not in options.never:
                again.certainty = one.certainty  # with what stood before it
                found[again.id] = again
                if not one.is_compared:
                    uncompared.add(again.id)
    return found, uncompared, gone


def _in_context(one: Proposal, options: LearningOptions) -> Proposal:
    """Return a proposal made with what stood before it, which tells its kind and its files."""
    try:
        turns = transcript.read_row(one.path, one.turn.offset)
    except OSError:
        return one
    made = (proposals.propose(turn, one.path, one.owner, options.fit) for turn in turns)
    return next((again for again in made if again and again.id == one.id), one)


def _set_aside(store: Store, ids: Sequence[str], first: str) -> None:
    """Let one proposal stand for others of its meaning, as long as nobody has said anything about these."""
    waiting = [id_ for id_, memory in store.by_ids(ids).items() if memory.status == PENDING and id_ != first]
    if waiting and first in store.by_ids([first]):
        store.modify(waiting, lambda memory: memory.with_changes(status=ASIDE, superseded_by=first))


def _utterance(one: Proposal) -> repetition.Utterance:
    return repetition.Utterance(
        one.id,
        one.worth.text,
        session=os.path.basename(one.path).removesuffix(transcript_files.SUFFIX),
        audience=audience_of(one.scope, one.owner),
        at=one.turn.at,
        certainty=one.certainty,
    )


def _utterance_of_memory(memory: Memory, state: State | None) -> repetition.Utterance:
    known = learned.find_proposal(state, memory.id) if state else None
    return repetition.Utterance(
        memory.id,
        memory.content,
        session=proposals.session_of(memory),
        audience=audience_of(memory.scope, memory.project),
        at=memory.created_at,
        certainty=(known.alone if known else 0.0) or PACKAGED_FIT.bar,
    )
