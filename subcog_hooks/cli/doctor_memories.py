"""The stored memories, counted and described. Memories that need attention come with a reason and a command.

Nothing is changed. Likeness is the cosine of document vectors, over all pairs in blocks: 2 s for 10,000 memories.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from subcog_hooks.capture import duplicates
from subcog_hooks.cli import embedding
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import ACCENT, DIM, day, pluralize, safe, terminal
from subcog_hooks.core.errors import ModelError, NoMemory, StoreError
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.store.memory import PENDING, STATUSES, Memory, now_ms
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from subcog_hooks.text.analysis import Analysers
from subcog_hooks.text.sanitise import cut

DUPLICATE, CONTRADICTION, EXPIRED = "duplicate", "contradiction", "expired"
UNUSED = "never used"
FINDING_KINDS = (DUPLICATE, CONTRADICTION, EXPIRED, UNUSED)  # in the order of the report
YEAR_MS = 365 * 86_400_000
SAME_STATEMENT = 0.82  # cosine: 22 of the 23 nearest pairs among 270 notes of real sessions reach it and say the same
SAME_DOCUMENT = 0.95  # cosine of texts longer than a note, which resemble each other by their form
NEAR_SUBJECT = 0.6  # cosine from which on two notes may contradict each other
MAX_NEAREST = 10  # memories that a memory is compared with
BLOCK = 512  # rows in one matrix product: 20 MB


class StoreFinding(NamedTuple):
    """A reason to look at memories. kind: one of FINDING_KINDS; why: a short reason; command: the remedy."""

    kind: str
    memories: tuple[Memory, ...]
    why: str
    command: str


class HandOvers(NamedTuple):
    """The sessions that were given a memory: their number, and the last time, milliseconds since the epoch."""

    sessions: int
    last_at: int


NEVER = HandOvers(0, 0)


class Use(NamedTuple):
    """The hand-overs of memories by id. since: start of the record, milliseconds since the epoch; None for no record."""

    by_id: Mapping[str, HandOvers]
    since: int | None

    def is_unused(self, memory: Memory, now: int) -> bool:
        """Return whether a memory is unchanged and was given to no session for a year. False while the record is shorter."""
        long_ago = now - YEAR_MS
        last_at = self.by_id.get(memory.id, NEVER).last_at
        return self.since is not None and max(self.since, memory.written_at, last_at) <= long_ago


class NearPair(NamedTuple):
    """Two memories that are near in meaning, the older one first. cosine: of the document model's vectors."""

    old: Memory
    new: Memory
    cosine: float


def compare_pairs(pairs: Sequence[NearPair]) -> list[StoreFinding]:
    """Return the duplicates and contradictions among pairs, the nearest first. A contradiction is no duplicate.

    A memory for all projects stays: a project that repeats or contradicts it cannot take it from the others.
    """
    analysers = Analysers()
    statements: dict[str, duplicates.Statement] = {}
    findings = []
    for pair in sorted(pairs, key=lambda near: (-near.cosine, near.old.id, near.new.id)):
        for memory in (pair.old, pair.new):
            if memory.id not in statements:
                statements[memory.id] = duplicates.parse_statement(memory.content, analysers.body_terms)
        difference = duplicates.find_difference(statements[pair.new.id], statements[pair.old.id])
        is_long = max(len(pair.old.content), len(pair.new.content)) > duplicates.MAX_NOTE
        is_exception = _is_for_all(pair.old) and not _is_for_all(pair.new)
        if difference and difference.is_contradiction:
            whom = "the older one, which is for all projects" if is_exception else "the older one"
            command = f"subcog edit {pair.old.id}" if is_exception else f"subcog supersede {pair.old.id} {pair.new.id}"
            why = f"it contradicts {whom}: {difference.description}"
            findings.append(StoreFinding(CONTRADICTION, (pair.new, pair.old), why, command))
        elif not difference and pair.cosine >= (SAME_DOCUMENT if is_long else SAME_STATEMENT):
            replaced, kept = (pair.new, pair.old) if is_exception else (pair.old, pair.new)
            why = f"{pair.cosine:.0%} alike in meaning"
            findings.append(StoreFinding(DUPLICATE, (pair.new, pair.old), why, f"subcog supersede {replaced.id} {kept.id}"))
    return findings


def _near_pairs(memories: Sequence[Memory], vectors: VectorStore) -> list[NearPair]:
    """Return the pairs of near memories that one session may have."""
    by_seq = {memory.seq: memory for memory in memories}
    rows = [(by_seq[seq], vector) for seq, vector in vectors.whole_vectors() if seq in by_seq]
    if not rows:
        return []
    import numpy as np  # 65 ms

    matrix = np.frombuffer(b"".join(vector for _, vector in rows), np.int8).reshape(len(rows), -1).astype(np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    names = {name: number for number, name in enumerate(dict.fromkeys(context.audience(memory) for memory, _ in rows))}
    audiences = np.array([names[context.audience(memory)] for memory, _ in rows])
    is_for_all = np.array([_is_for_all(memory) for memory, _ in rows])
    pairs = []
    for start in range(0, len(rows), BLOCK):
        for row, cosines in enumerate(matrix[start : start + BLOCK] @ matrix.T, start):
            others = row + 1 + np.flatnonzero(cosines[row + 1 :] >= NEAR_SUBJECT)
            others = others[(audiences[others] == audiences[row]) | is_for_all[others] | is_for_all[row]]
            for other in others[np.argsort(-cosines[others], kind="stable")[:MAX_NEAREST]]:
                old, new = sorted((rows[row][0], rows[other][0]), key=lambda memory: (memory.created_at, memory.id))
                pairs.append(NearPair(old, new, float(cosines[other])))
    return pairs


def _is_for_all(memory: Memory) -> bool:
    return memory.scope != "project"


def find_unused(memories: Iterable[Memory], use: Use, now: int) -> list[StoreFinding]:
    """Return the memories that no session received for a year, the longest unused first."""
    unused = [(use.by_id.get(memory.id, NEVER).last_at, memory) for memory in memories if use.is_unused(memory, now)]
    findings = []
    for last, memory in sorted(unused, key=lambda row: (row[0] or row[1].created_at, row[1].id)):
        noted = f"noted on {day(memory.created_at)}, given to no session"
        why = f"last given to a session on {day(last)}" if last else noted
        findings.append(StoreFinding(UNUSED, (memory,), why, f"subcog forget {memory.id}"))
    return findings


class Group(NamedTuple):
    """Memories with a common project or namespace. given: active ones that a session received; waiting: for review."""

    name: str
    active: int
    waiting: int
    given: int


class Inventory:
    """The counts over a store. memories: all but deleted ones; use: of memories; now: milliseconds since the epoch."""

    def __init__(self, memories: Sequence[Memory], use: Use, now: int) -> None:
        self.memories = sorted(memories, key=lambda memory: (-memory.created_at, memory.id))
        self.use = use
        self.now = now

    @property
    def live(self) -> list[Memory]:
        return [memory for memory in self.memories if memory.is_live(self.now)]

    @property
    def waiting(self) -> list[Memory]:
        return [memory for memory in self.memories if memory.status == PENDING]

    def sessions_of(self, memory: Memory) -> int:
        """Return the number of sessions that received a memory."""
        return self.use.by_id.get(memory.id, NEVER).sessions

    def by_project(self) -> list[Group]:
        """Return the memories by project; shared memories by scope."""
        return self.group_by(lambda memory: memory.project or memory.scope)

    def stale(self) -> list[tuple[str, Memory]]:
        """Return the memories that are expired, superseded, archived or unused for a year, each with its reason."""
        stale = []
        for memory in self.memories:
            if memory.expires_at is not None and memory.expires_at <= self.now and memory.status == "active":
                stale.append(("expired", memory))
            elif memory.status in ("superseded", "archived"):
                stale.append((memory.status, memory))
            elif memory.status == "active" and self.use.is_unused(memory, self.now):
                stale.append(("not used for a year", memory))
        return stale

    def group_by(self, key: Callable[[Memory], str]) -> list[Group]:
        """Return the memories in groups of a common key, the largest group first."""
        by_name: dict[str, list[Memory]] = {}
        for memory in self.memories:
            by_name.setdefault(key(memory), []).append(memory)
        groups = []
        for name, members in by_name.items():
            active = [memory for memory in members if memory.is_live(self.now)]
            waiting = sum(memory.status == PENDING for memory in members)
            groups.append(Group(name, len(active), waiting, sum(memory.id in self.use.by_id for memory in active)))
        return sorted(groups, key=lambda group: (-group.active, -group.waiting, group.name))


def load_inventory() -> Inventory:
    """Return the inventory of all memories but deleted ones. Raises NoMemory, StoreError."""
    with context.reading() as store:
        if store is None:
            raise NoMemory("there are no memories", "`subcog remember` makes the first")
        return inventory_of(store)


def inventory_of(store: Store | None) -> Inventory:
    """Return the inventory of a store, an empty one for none. Raises StoreError."""
    return Inventory(list(store.all(STATUSES[:-1])) if store else [], load_use(), now_ms())


SHOWN_WORDS = 100  # characters of a memory


def print_findings() -> None:
    """Inspect the store and print the findings. Raises NoMemory, StoreError."""
    now, findings = now_ms(), []
    with context.reading() as store:
        if store is None:
            raise NoMemory("there are no memories", "`subcog remember` makes the first")
        active = list(store.all(("active",)))
        live = [memory for memory in active if memory.is_live(now)]
        expired = [
            (memory.expires_at, memory) for memory in active if memory.expires_at is not None and memory.expires_at <= now
        ]
        for at_ms, memory in sorted(expired, key=lambda row: (row[0], row[1].id)):
            findings.append(StoreFinding(EXPIRED, (memory,), f"it expired on {day(at_ms)}", f"subcog forget {memory.id}"))
        findings += find_unused(live, load_use(), now)
        try:
            if os.access(store.home.root, os.W_OK):
                embedding.embed_now(store)
            with context.vectors_of(store, PACKAGED) as vectors:
                findings += compare_pairs(_near_pairs(live, vectors))
        except (StoreError, ModelError) as error:
            terminal.say(f"duplicates and contradictions were not checked: {error.message}")
    for kind in FINDING_KINDS:
        of_kind = [finding for finding in findings if finding.kind == kind]
        if of_kind:
            terminal.pieces((f"{kind}: {len(of_kind)}", "bold"))
        for finding in of_kind:
            terminal.pieces((f"   {safe(finding.why)}", DIM))
            terminal.pieces((f"      {safe(finding.command)}", ACCENT))
            for memory in finding.memories:
                content = cut(safe(memory.content), SHOWN_WORDS)
                terminal.pieces((f"      {safe(memory.id)}", ACCENT), (f"  {content}", ""), indent=9)
    things = pluralize(len(findings), "thing")
    terminal.say(f"{things} to look at; nothing was changed" if findings else "nothing to tidy up")


def load_use() -> Use:
    """Return the recorded hand-overs of each memory."""
    with context.existing_state(context.home(), tell=terminal.say) as state:
        if state is None:
            return Use({}, None)
        session = "substr(session, 1, instr(session || '/', '/') - 1)"  # without the subagent
        rows = state.run(f"SELECT memory, count(DISTINCT {session}), max(at) FROM ledger GROUP BY memory")  # noqa: S608 - constant
        ((since,),) = state.run("SELECT min(at) FROM ledger")
        return Use({id_: HandOvers(count, last_ms) for id_, count, last_ms in rows}, since)
