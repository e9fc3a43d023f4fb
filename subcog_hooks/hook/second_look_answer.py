"""The answer of a second look, handed over late: beside the next tool's result or with the next prompt, once or not at all.

It is dropped after a change of topic, or where the session has read the memory's file or been given the memory.
"""

from __future__ import annotations

from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.cues.conditions import READING
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

    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.hook.prompt_reading import PromptReading
    from subcog_hooks.hook.verdict import Verdict
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.second_looks import WaitingAnswer

MAX_SILENT_CALLS = 200  # latest silent calls that are searched for read files


class LateAnswer:
    """Memories of a second look that may be handed over now."""

    __slots__ = ("_call", "hits", "waiting")

    def __init__(self, call: HookCall, waiting: WaitingAnswer, hits: Sequence[Hit]) -> None:
        self._call = call
        self.waiting = waiting
        self.hits = tuple(hits)

    def add_to(self, offer: Offer | None, max_memories: int | None = None) -> Offer:
        """Return the offer with these memories behind its own; a new offer for None.

        max_memories: of both together; None: all of both, within the limit for a prompt.
        """
        settings = self._call.settings
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
            own = {hit.memory.id for hit in offer.hits if offer.threshold.is_reached(hit)}
            late = [hit for hit in self.hits if hit.memory.id not in own]
            ids = {hit.memory.id for hit in late}
            offer.hits = [*(hit for hit in offer.hits if hit.memory.id not in ids), *late]
            if max_memories is None:
                max_memories = min(int(settings["surfacing.max_memories"]), offer.max_memories + len(late))
            offer.max_memories = max_memories
        offer.when_given = self._note_given
        return offer

    def _distinct(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        if len(hits) < 2:
            return hits
        from subcog_hooks.recall import diversity  # It loads tantivy.

        return [hits[position] for position in diversity.distinct_positions([hit.memory.content for hit in hits])]

    def _note_given(self, ids: Sequence[str]) -> None:
        if any(finding.id in ids for finding in self.waiting.findings):
            second_looks.settle_look(self._call.state, self.waiting, HANDED_OVER, self._call.id)

    def drop_after(self, verdict: Verdict) -> None:
        """Drop the answer where its delivery has printed nothing, except for lack of time. Raises StoreError."""
        if not verdict.ids and verdict.outcome != OUT_OF_TIME:
            _settle_answer(self._call, self.waiting, verdict.outcome)


def find_late_answer(call: HookCall, touched_file: str = "") -> LateAnswer | None:
    """Return the waiting answer for the session of this call, None where none of it is still wanted. Raises StoreError.

    touched_file: the file that the call is about to put before the model, from the project's root.
    """
    waiting = second_looks.find_waiting_answer(call.state, call.session, call.now_ms)
    if waiting is None:
        return None
    if hook_traces.has_topic_left(call.home, call.session, waiting.at_ms):
        _settle_answer(call, waiting, "another topic")
        return None
    if call.settings[MODE] == NEVER:
        _settle_answer(call, waiting, f"{MODE} is {NEVER}")
        return None
    given = call.given_ids()
    memories = call.store.by_ids([finding.id for finding in waiting.findings if finding.id not in given])
    read_files = _read_files(call, waiting.at_ms)
    if touched_file:
        read_files.add(touched_file)
    hits = []
    for position, finding in enumerate(waiting.findings, 1):
        memory = memories.get(finding.id)
        if memory is not None and call.eligible.allows(memory) and _file_of(memory) not in read_files:
            hits.append(Hit(memory, 0.0, finding.relevance, {SECOND_LOOK: position}, {}))
    if any(is_loaded_by_client(hit.memory.source) for hit in hits):
        from subcog_hooks.hook import absent_files  # Few memories are the client's own.

        absent_files.mark_loaded(hits, call)
        hits = [hit for hit in hits if not hit.is_loaded]
    if not hits:
        _settle_answer(call, waiting, "the session has it")
        return None
    return LateAnswer(call, waiting, hits)


def add_late_answer(reading: PromptReading, verdict: Verdict) -> LateAnswer | None:
    """Add the answer that waits from the earlier prompt, if this prompt continues its topic.

    Return the answer where it was added. Raises StoreError.
    """
    call = reading.call
    if verdict.outcome in (NOMEM, PAUSED, OFF) or (verdict.examined and not _continues_topic(reading, verdict)):
        _drop_answer(call, "another topic" if verdict.examined else verdict.outcome)
        return None
    if verdict.examined is None or verdict.error is not None:
        return None
    late = find_late_answer(call)
    if late is not None:
        verdict.offer = late.add_to(verdict.offer)
        verdict.outcome = verdict.reason = ""
    return late


def _continues_topic(reading: PromptReading, verdict: Verdict) -> bool:
    """Return whether a prompt shares a topic with the earlier one, or has no topics of its own."""
    assert verdict.examined is not None
    own = verdict.examined.intent.topics
    if not own or verdict.borrowed:
        return True
    earlier = reading.earlier()
    return earlier is not None and not {word.casefold() for word in own}.isdisjoint(word.casefold() for word in earlier.topics)


def _read_files(call: HookCall, since_ms: int) -> set[str]:
    """Return the files that the session has read since then, as far as silent calls tell."""
    silent_calls = hook_traces.find_latest_silent_calls(call.home, MAX_SILENT_CALLS)
    return {
        file
        for silent_call in silent_calls
        if silent_call.session == call.session and silent_call.tool == READING and silent_call.at_ms >= since_ms
        for file in silent_call.about
    }


def _file_of(memory: Memory) -> str:
    """Return the file that a memory was imported from, from the project's root; "" for none.

    >>> from subcog_hooks.store.memory import Memory
    >>> _file_of(Memory(id="a", content="x", source="docs/adr/0001.md:12")), _file_of(Memory(id="a", content="x"))
    ('docs/adr/0001.md', '')
    """
    file, _, line = memory.source.rpartition(":")
    return file if line.isdigit() else ""


def _drop_answer(call: HookCall, reason: str) -> None:
    try:
        call.state.begin_briefly()
        second_looks.drop_session_looks(call.state, call.session, reason)
        call.state.commit()
    except StoreBusy:  # A note in a file lets the prompt's own memories come in time.
        hook_traces.note_topic_left(call.home, call.session, call.now_ms)


def _settle_answer(call: HookCall, waiting: WaitingAnswer, reason: str) -> None:
    try:
        call.state.begin_briefly()
        second_looks.settle_look(call.state, waiting, MOVED_ON, reason)
        call.state.commit()
    except StoreBusy:
        pass  # The next call does it.
