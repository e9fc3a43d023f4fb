"""Memories found without a search: by their triggers and their conditions.

The pattern channel matches the triggers of the scope against the whole prompt. The state channel judges conditions by the facts
of the session. Both bring few memories and are sure of them, so a vague intent does not hold these back.
"""

from __future__ import annotations

import time

from subcog_hooks.recall.hits import PATTERN, STATE, ChannelResult, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.cues.conditions import Scalar
    from subcog_hooks.recall.hits import Eligibility
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store_reader import StoreReader

PATTERN_DEPTH, STATE_DEPTH = 5, 3  # memories; five is also the limit of pinned memories
MATCHED_HEAD, MATCHED_TAIL = 65_536, 16_384  # characters at the beginning and the end of a longer text
MAX_TRIED = 200  # triggers with a literal in the text, or without any; matching a compiled trigger takes 30 to 100 µs
MIN_MATCHING_MS = 40.0  # enough for 400 compiled patterns, even where waiting has used up the deadline
MAX_JUDGED = 1_000  # memories with conditions, 5 µs each
MAX_MATCHING = 50  # matching memories that are read


class ExactMatches:
    """The memories that triggers, conditions and similar channels bring, by channel, most urgent first.

    One memory may be in several channels. note: a sentence on unfinished work, "" for none.
    """

    def __init__(self, channels: Mapping[str, Sequence[Memory]], note: str = "") -> None:
        self.channels = {name: tuple(memories) for name, memories in channels.items() if memories}
        self.note = note

    def __bool__(self) -> bool:
        return bool(self.channels)

    @property
    def memories(self) -> dict[int, Memory]:
        return {memory.seq: memory for memories in self.channels.values() for memory in memories}

    def lists(self) -> list[ChannelResult]:
        """Return the memories of each channel in the form of a search result."""
        return [
            ChannelResult(name, name, [(1.0 / rank, memory.seq) for rank, memory in enumerate(memories, 1)])
            for name, memories in self.channels.items()
        ]

    def hits(self) -> list[Hit]:
        """Return the memories as hits where no search ran, with only these channels as evidence."""
        from subcog_hooks.recall import logit  # needed only for a hit

        ranks_by_channel = {
            name: {memory.seq: rank for rank, memory in enumerate(memories, 1)} for name, memories in self.channels.items()
        }
        hits = []
        for seq, memory in self.memories.items():
            ranks = {name: ranks[seq] for name, ranks in ranks_by_channel.items() if seq in ranks}
            terms = logit.terms_of_channels(ranks)
            hits.append(Hit(memory, 0.0, logit.probability(terms), ranks, {}, terms=terms))
        self.pin(hits)
        return hits

    def pin(self, hits: Sequence[Hit]) -> None:
        """Pin the hits whose trigger matched and whose priority the user has set for that."""
        triggered = self.channels.get(PATTERN, ())
        pinned = {memory.seq for memory in triggered if memory.is_pinnable}
        for hit in hits:
            hit.is_pinned = hit.memory.seq in pinned


def match_triggers(text: str, store: StoreReader, eligible: Eligibility, deadline: Deadline) -> tuple[list[Memory], str]:
    """Return the eligible memories with a matching trigger, and a note on triggers left untried.

    Memories that are new to the session come first, then by priority, then the newest. Patterns get half of the time that is
    left, counted in this thread's own work. A busy machine takes none of it. Raises StoreError.
    """
    from subcog_hooks.cues import triggers  # needed only where the store has triggers
    from subcog_hooks.store import lookups

    text = triggers.plain_text(matched_part(text))
    seqs: dict[int, None] = {}
    allowed_s = max(MIN_MATCHING_MS, 0.5 * deadline.left_ms()) / 1000.0
    began_s = time.thread_time()
    data = text.encode("utf-8", "replace")
    note = ""
    candidates = lookups.find_triggers(store, triggers.keys_in_text(text), eligible.audiences, text, eligible.now_ms)
    for tried, trigger in enumerate(candidates):
        if trigger.seq in seqs:
            continue
        if tried >= MAX_TRIED or not deadline.work_left_ms() or time.thread_time() - began_s > allowed_s:
            note = f"patterns: of {len(candidates)} triggers that may match {tried} were tried"
            break
        try:
            is_match = triggers.search_trigger(trigger.pattern, data) is not None
        except Exception:  # noqa: BLE001 - re2.error, of a pattern in a damaged file; it finds nothing
            is_match = False
        if is_match:
            seqs[trigger.seq] = None
    return _most_urgent(seqs, store, eligible, PATTERN_DEPTH, eligible.allows), note


def match_conditions(
    facts: Mapping[str, Scalar], store: StoreReader, eligible: Eligibility, naming: tuple[str, ...] = ()
) -> tuple[list[Memory], str]:
    """Return the eligible memories whose conditions hold by these facts, and a note on unjudged memories.

    They have the order of `match_triggers`. A memory with triggers or paths waits for these; its conditions only hold it back.
    naming: the conditions must name one of these facts; () for any. Raises StoreError.
    """
    from subcog_hooks.cues import conditions
    from subcog_hooks.store import lookups  # Few stores have conditions.

    conditional = lookups.find_conditional(store, eligible.audiences, MAX_JUDGED + 1, eligible.now_ms)
    note = f"state: of more than {MAX_JUDGED} memories with conditions the last were not judged"
    matching = [
        seq
        for seq, when in conditional[:MAX_JUDGED]
        if (not naming or any(name in when for name in naming)) and conditions.conditions_hold(when, facts)
    ]

    def is_usable(memory: Memory) -> bool:
        return eligible.includes(memory) and not (memory.triggers or memory.paths)

    return _most_urgent(matching, store, eligible, STATE_DEPTH, is_usable), note if len(conditional) > MAX_JUDGED else ""


def matched_part(text: str) -> str:
    """Return the beginning and the end of a long text; a shorter text as it is.

    >>> len(matched_part("x" * 1_000_000)) == MATCHED_HEAD + 1 + MATCHED_TAIL
    True
    """
    return text if len(text) <= MATCHED_HEAD + MATCHED_TAIL else f"{text[:MATCHED_HEAD]}\n{text[-MATCHED_TAIL:]}"


def _most_urgent(
    seqs: Iterable[int], store: StoreReader, eligible: Eligibility, max_memories: int, is_usable: Callable[[Memory], bool]
) -> list[Memory]:
    """Return at most `max_memories` usable memories, those new to the session first."""
    candidates = list(seqs)
    if len(candidates) > MAX_MATCHING:
        had = set(store.seqs_of(eligible.given))
        candidates = [seq for seq in candidates if seq not in had][:MAX_MATCHING]
    live = [memory for memory in store.by_seqs(candidates).values() if is_usable(memory)]
    now_ms = eligible.now_ms  # a future date counts as now
    live.sort(key=lambda memory: (memory.id in eligible.given, -memory.priority, -min(memory.created_at, now_ms), memory.id))
    return live[:max_memories]


def match_prompt(
    text: str, facts: Mapping[str, Scalar] | None, store: StoreReader, eligible: Eligibility, deadline: Deadline
) -> ExactMatches:
    """Return the memories that a prompt brings by triggers and conditions. Raises StoreError.

    facts: of the session, None where no memory has conditions.
    """
    patterns, note = match_triggers(text, store, eligible, deadline) if text else ([], "")
    states, state_note = match_conditions(facts, store, eligible) if facts is not None else ([], "")
    return ExactMatches({PATTERN: patterns, STATE: states}, "; ".join(filter(None, (note, state_note))))
