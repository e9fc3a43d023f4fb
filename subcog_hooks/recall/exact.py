"""Ways to find a memory without a search, above all because its owner has said when it is wanted: triggers, conditions.

The channel of patterns matches the triggers of the scope against the whole prompt, that of states judges the conditions by what
is known of the session. They bring few memories and are sure of them: an intent that asks for nothing does not hold them back.
"""

from __future__ import annotations

import time

from subcog_hooks.recall.hits import PATTERN, STATE, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.cues.conditions import Scalar
    from subcog_hooks.recall.channel import Found
    from subcog_hooks.recall.hits import Eligibility
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store import Store

PATTERN_DEPTH, STATE_DEPTH = 5, 3  # memories that each brings; five is also how many may be pinned
MATCHED_HEAD, MATCHED_TAIL = 65_536, 16_384  # characters of a longer text that are matched: its beginning and its end
MAX_TRIED = 200  # triggers of which a literal stands in the text; a compiled one takes 30 to 100 µs
LEAST_MATCHING_MS = 40.0  # for patterns, where waiting for others has used up the rest: 400 that are compiled
MAX_JUDGED = 1_000  # memories with conditions, 5 µs each
MAX_MATCHING = 50  # matching memories that are looked at


class Exact:
    """The memories that such channels have brought, by the channel's name, the most urgent first; one may be in several.

    note: what was left undone, "" for nothing.
    """

    __slots__ = ("channels", "note")

    def __init__(self, channels: Mapping[str, Sequence[Memory]], note: str = "") -> None:
        self.channels = {name: tuple(memories) for name, memories in channels.items() if memories}
        self.note = note

    def __bool__(self) -> bool:
        return bool(self.channels)

    @property
    def memories(self) -> dict[int, Memory]:
        """All of them, by row number."""
        return {memory.seq: memory for memories in self.channels.values() for memory in memories}

    def is_news(self, given: AbstractSet[str]) -> bool:
        """Return whether any of these memories is new to the session. given: what it has been given."""
        return any(memory.id not in given for memories in self.channels.values() for memory in memories)

    def lists(self) -> list[Found]:
        """Return what each channel has found, in the form that a search gives it."""
        from subcog_hooks.recall.channel import Found  # with tantivy, which only a search has loaded

        return [
            Found(name, name, [(1.0 / rank, memory.seq) for rank, memory in enumerate(memories, 1)])
            for name, memories in self.channels.items()
        ]

    def hits(self) -> list[Hit]:
        """Return the memories as hits when no search ran: these channels are all that is known of them."""
        from subcog_hooks.recall import logit  # only where something was found

        of = {name: {memory.seq: rank for rank, memory in enumerate(found, 1)} for name, found in self.channels.items()}
        hits = []
        for seq, memory in self.memories.items():
            ranks = {name: ranks[seq] for name, ranks in of.items() if seq in ranks}
            terms = logit.terms_of_channels(ranks)
            hits.append(Hit(memory, 0.0, logit.probability(terms), ranks, {}, terms=terms))
        self.pin(hits)
        return hits

    def pin(self, hits: Sequence[Hit]) -> None:
        """Pin those that a trigger has found, and to which the user himself has given the priority for it."""
        found = self.channels.get(PATTERN, ())
        pinned = {memory.seq for memory in found if memory.is_pinnable}
        for hit in hits:
            hit.is_pinned = hit.memory.seq in pinned


def by_patterns(text: str, store: Store, eligible: Eligibility, deadline: Deadline) -> tuple[list[Memory], str]:
    """Return the eligible memories one of whose triggers matches the text, and what was left undone. Raises StoreError.

    Those that the session has not been given come first, then those of the highest priority, then the newest. Patterns get half
    of the time that is left, counted in what this thread works: a busy machine takes none of it.
    """
    from subcog_hooks.cues import triggers  # only where the store has some

    text = triggers.plain(matched_part(text))
    seqs: dict[int, int] = {}
    allowed_s = max(LEAST_MATCHING_MS, 0.5 * deadline.left_ms()) / 1000.0
    began_s = time.thread_time()
    data = text.encode("utf-8", "replace")
    note = ""
    candidates = store.triggers(triggers.keys_in(text), eligible.audiences, text, eligible.now_ms)
    for tried, trigger in enumerate(candidates):
        if trigger.seq in seqs:
            continue
        if tried >= MAX_TRIED or not deadline.work_left_ms() or time.thread_time() - began_s > allowed_s:
            note = f"patterns: of {len(candidates)} triggers that may match {tried} were tried"
            break
        if _matches(trigger.pattern, data):
            seqs[trigger.seq] = trigger.priority
    return _first(seqs, store, eligible, PATTERN_DEPTH, eligible.allows), note


def _matches(pattern: str, data: bytes) -> bool:
    from subcog_hooks.cues import triggers  # has been loaded

    try:
        return triggers.search(pattern, data) is not None
    except Exception:  # noqa: BLE001 - re2.error, of a pattern in a damaged file; it finds nothing
        return False


def by_states(
    facts: Mapping[str, Scalar], store: Store, eligible: Eligibility, naming: tuple[str, ...] = ()
) -> tuple[list[Memory], str]:
    """Return the eligible memories whose conditions hold by these facts, and what was left undone.

    They are in the order of `by_patterns`. One with triggers or paths waits for these; its conditions only hold it back.
    naming: of these facts one must be among the conditions; () for any. Raises StoreError.
    """
    from subcog_hooks.cues import conditions  # only where the store has some

    found = store.conditional(eligible.audiences, MAX_JUDGED + 1, eligible.now_ms)
    note = (
        f"state: of more than {MAX_JUDGED} memories with conditions the last were not judged" if len(found) > MAX_JUDGED else ""
    )
    held = [
        seq
        for seq, when in found[:MAX_JUDGED]
        if (not naming or any(name in when for name in naming)) and conditions.holds(when, facts)
    ]

    def waits_for_nothing_else(memory: Memory) -> bool:
        return eligible.includes(memory) and not (memory.triggers or memory.paths)

    return _first(held, store, eligible, STATE_DEPTH, waits_for_nothing_else), note


def matched_part(text: str) -> str:
    """Return the part of a text that is matched.

    >>> len(matched_part("x" * 1_000_000)) == MATCHED_HEAD + 1 + MATCHED_TAIL
    True
    """
    return text if len(text) <= MATCHED_HEAD + MATCHED_TAIL else f"{text[:MATCHED_HEAD]}\n{text[-MATCHED_TAIL:]}"


def _first(
    seqs: Iterable[int], store: Store, eligible: Eligibility, most: int, is_wanted: Callable[[Memory], bool]
) -> list[Memory]:
    """Return the first of these memories that are wanted, new ones before those that the session has been given."""
    wanted = list(seqs)
    if not wanted:
        return []
    if len(wanted) > MAX_MATCHING:
        had = set(store.seqs_of(eligible.given))
        wanted = [seq for seq in wanted if seq not in had][:MAX_MATCHING]
    live = [memory for memory in store.by_seqs(wanted).values() if is_wanted(memory)]
    now = eligible.now_ms  # what is dated ahead is no newer
    live.sort(key=lambda memory: (memory.id in eligible.given, -memory.priority, -min(memory.created_at, now), memory.id))
    return live[:most]


def match_prompt(
    text: str, facts: Mapping[str, Scalar] | None, store: Store, eligible: Eligibility, deadline: Deadline
) -> Exact:
    """Return what a prompt brings by triggers and conditions. Raises StoreError.

    facts: what is known of its session, None where no memory has conditions.
    """
    patterns, note = by_patterns(text, store, eligible, deadline) if text else ([], "")
    states, other = by_states(facts, store, eligible) if facts is not None else ([], "")
    return Exact({PATTERN: patterns, STATE: states}, "; ".join(filter(None, (note, other))))
