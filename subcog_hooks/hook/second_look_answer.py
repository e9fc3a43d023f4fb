"""The answer of a second look, handed over late: beside the next tool's result, or with the next prompt. Once, or not at all.

It is dropped where the session has moved on: to another topic, to the memory's own file, or because the memory came meanwhile.
"""

from __future__ import annotations

from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.cues.tools import READING
from subcog_hooks.hook import choose
from subcog_hooks.hook.verdict import Offer
from subcog_hooks.recall.hits import Hit
from subcog_hooks.settings.defaults import NEVER
from subcog_hooks.settings.defaults import SECOND_LOOK as MODE
from subcog_hooks.store import hook_traces, second_looks
from subcog_hooks.store.decision import HANDED_OVER, MOVED_ON, NOMEM, OFF, OUT_OF_TIME, PAUSED, SECOND_LOOK
from subcog_hooks.store.memory import is_loaded_by_client

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.hook.call import Occasion
    from subcog_hooks.hook.deliver import Delivery
    from subcog_hooks.hook.reading import Turn
    from subcog_hooks.hook.verdict import Verdict
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.second_looks import Waiting

CALLS = 200  # silent ones that are looked through for the files that were read


class LateAnswer:
    """Memories that a second look has found and that may be handed over now."""

    __slots__ = ("_occasion", "hits", "waiting")

    def __init__(self, occasion: Occasion, waiting: Waiting, hits: Sequence[Hit]) -> None:
        self._occasion = occasion
        self.waiting = waiting
        self.hits = tuple(hits)

    def added_to(self, offer: Offer | None, most: int | None = None) -> Offer:
        """Return an offer with these behind its own memories. None: these alone.

        most: so many come in all; None: as many as the offer has and these, within what a prompt may be given.
        """
        settings = self._occasion.settings
        if offer is None:
            offer = Offer(
                self.hits,
                choose.Threshold(0.0, 0.0),
                len(self.hits),
                int(settings["surfacing.max_characters"]),
                self._distinct,
                tells_relevance=True,
            )
        else:
            own = {hit.memory.id for hit in offer.hits if offer.least.is_reached(hit)}
            late = [hit for hit in self.hits if hit.memory.id not in own]
            ids = {hit.memory.id for hit in late}
            offer.hits = [*(hit for hit in offer.hits if hit.memory.id not in ids), *late]
            offer.most = min(int(settings["surfacing.max_memories"]), offer.most + len(late)) if most is None else most
        offer.when_given = self._note_given
        return offer

    def _distinct(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        if len(hits) < 2:
            return hits
        from subcog_hooks.recall import diversity  # with tantivy, for its words

        return [hits[place] for place in diversity.distinct([hit.memory.content for hit in hits])]

    def _note_given(self, ids: Sequence[str]) -> None:
        if any(finding.id in ids for finding in self.waiting.findings):
            second_looks.settle(self._occasion.state, self.waiting, HANDED_OVER, self._occasion.id)

    def drop_after(self, delivery: Delivery) -> None:
        """Note that it is not wanted any more where a delivery that it was added to has brought nothing. Raises StoreError.

        It goes on waiting where only the time was over.
        """
        if not delivery.ids and delivery.outcome != OUT_OF_TIME:
            _settle(self._occasion, self.waiting, delivery.outcome)


def waiting_for(occasion: Occasion, reads: str = "") -> LateAnswer | None:
    """Return what a second look has found for the session of this call, None where nothing of it is wanted. Raises StoreError.

    reads: the file that the call is about to put before the model, from the project's root.
    """
    waiting = second_looks.find(occasion.state, occasion.session, occasion.at)
    if waiting is None:
        return None
    if hook_traces.has_topic_left(occasion.home, occasion.session, waiting.at):
        _settle(occasion, waiting, "another topic")
        return None
    if occasion.settings[MODE] == NEVER:
        _settle(occasion, waiting, f"{MODE} is {NEVER}")
        return None
    given = occasion.given()
    memories = occasion.store.by_ids([finding.id for finding in waiting.findings if finding.id not in given])
    read = _files_read(occasion, waiting.at)
    if reads:
        read.add(reads)
    hits = []
    for place, finding in enumerate(waiting.findings, 1):
        memory = memories.get(finding.id)
        if memory is not None and occasion.eligible.allows(memory) and _file_of(memory) not in read:
            hits.append(Hit(memory, 0.0, finding.relevance, {SECOND_LOOK: place}, {}))
    if any(is_loaded_by_client(hit.memory.source) for hit in hits):
        from subcog_hooks.hook import absent_files  # few are the client's own

        absent_files.note_loaded(hits, occasion)
        hits = [hit for hit in hits if not hit.is_loaded]
    if not hits:
        _settle(occasion, waiting, "the session has it")
        return None
    return LateAnswer(occasion, waiting, hits)


def join_prompt(turn: Turn, verdict: Verdict) -> LateAnswer | None:
    """Add what was found late for the prompt before to what is handed over with this one, if it is still about that.

    Return it where it was added. Raises StoreError.
    """
    occasion = turn.occasion
    if verdict.outcome in (NOMEM, PAUSED, OFF) or (verdict.examined is not None and not _goes_on(turn, verdict)):
        _leave(occasion, "another topic" if verdict.examined else verdict.outcome)
        return None
    if verdict.examined is None or verdict.error is not None:
        return None
    late = waiting_for(occasion)
    if late is not None:
        verdict.offer = late.added_to(verdict.offer)
        verdict.outcome = verdict.reason = ""
    return late


def _goes_on(turn: Turn, verdict: Verdict) -> bool:
    """Return whether a prompt goes on with what the one before was about: it names some of that, or nothing of its own."""
    assert verdict.examined is not None
    own = verdict.examined.intent.topics
    if not own or verdict.borrowed:
        return True
    earlier = turn.earlier()
    return earlier is not None and not {word.casefold() for word in own}.isdisjoint(word.casefold() for word in earlier.topics)


def _files_read(occasion: Occasion, since: int) -> set[str]:
    """Return the files that the session has read since then, as far as the calls tell at which nothing was handed over."""
    calls = hook_traces.latest_silent_calls(occasion.home, CALLS)
    return {
        file
        for call in calls
        if call.session == occasion.session and call.tool == READING and call.at >= since
        for file in call.about
    }


def _file_of(memory: Memory) -> str:
    """Return the file that a memory was imported from, from the project's root; "" for none.

    >>> from subcog_hooks.store.memory import Memory
    >>> _file_of(Memory(id="a", content="x", source="docs/adr/0001.md:12")), _file_of(Memory(id="a", content="x"))
    ('docs/adr/0001.md', '')
    """
    file, _, line = memory.source.rpartition(":")
    return file if line.isdigit() else ""


def _leave(occasion: Occasion, why: str) -> None:
    try:
        occasion.state.begin_briefly()
        second_looks.leave(occasion.state, occasion.session, why)
        occasion.state.commit()
    except StoreBusy:  # somebody writes: rather a note beside the file than none of the prompt's own memories
        hook_traces.note_topic_left(occasion.home, occasion.session, occasion.at)


def _settle(occasion: Occasion, waiting: Waiting, why: str) -> None:
    try:
        occasion.state.begin_briefly()
        second_looks.settle(occasion.state, waiting, MOVED_ON, why)
        occasion.state.commit()
    except StoreBusy:
        pass  # the next call does it
