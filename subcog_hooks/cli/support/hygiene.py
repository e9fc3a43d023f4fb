"""The things in the store that a person should look at: each with the reason and the command that settles it.

Nothing is changed. Likeness is that of the document model's vectors, all pairs in blocks: 10,000 memories are two seconds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from subcog_hooks.capture import duplicates
from subcog_hooks.capture.sources import claude_context, claude_memory
from subcog_hooks.cli.claude_code import claude_notes
from subcog_hooks.cli.support import context, stale_files
from subcog_hooks.cli.support.output import day
from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.regular_files import read_regular
from subcog_hooks.store.ledger import HandedOver
from subcog_hooks.store.memory import Memory, is_loaded_by_client
from subcog_hooks.store.project import Project
from subcog_hooks.store.project import find as find_project
from subcog_hooks.store.store import Store, audience_of
from subcog_hooks.store.vector_store import VectorStore
from subcog_hooks.text.analysis import Analysers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DUPLICATE, CONTRADICTION, EXPIRED, GONE, UNUSED, IN_CONTEXT = (
    *("duplicate", "contradiction", "expired", "files gone"),
    *("never used", "in the client's context"),
)
FINDING_KINDS = (DUPLICATE, CONTRADICTION, EXPIRED, GONE, UNUSED, IN_CONTEXT)
YEAR_MS = 365 * 86_400_000
SAME_STATEMENT = 0.82  # cosine: of the 23 nearest pairs of 270 notes out of real sessions, 22 have it and say the same
SAME_DOCUMENT = 0.95  # of texts longer than a note, which are like each other by their form
NEAR_SUBJECT = 0.6  # cosine from which on two notes may contradict each other
MOST_ALIKE = 10  # of a memory that are looked at, the nearest
BLOCK = 512  # rows that are compared with all at a time: 20 MB
LEAST_SAID = 20  # characters of a memory that is looked for in the client's files
MOST_READ = 1_000_000  # bytes of one of these files
_NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")


class StoreFinding(NamedTuple):
    """A reason to look at memories. kind: one of FINDING_KINDS; why: in a few words; command: what settles it."""

    kind: str
    memories: tuple[Memory, ...]
    why: str
    command: str


class Inspection(NamedTuple):
    """The outcome of a look at the store. remarks: what could not be told, and why."""

    findings: list[StoreFinding]
    remarks: list[str]


class Use(NamedTuple):
    """The use of memories, by id, and since when it is known, milliseconds since the epoch; None for never."""

    by_id: Mapping[str, HandedOver]
    since: int | None


def inspect(store: Store, vectors: VectorStore | None, use: Use, now: int) -> Inspection:
    """Return all that a person should look at. vectors: None where there are none to be had. Raises StoreError, ConfigError."""
    every = list(store.all(("active",)))
    live = [memory for memory in every if memory.is_live(now)]
    remarks: list[str] = []
    findings: list[StoreFinding] = []
    if vectors is None:
        remarks.append("duplicates and contradictions are not looked for: there are no vectors (`subcog doctor` says why)")
    else:
        near, lacking = _near_pairs(live, vectors)
        findings += compare(near)
        if lacking:
            remarks.append(f"{lacking} have no final vector yet, and are not compared; `subcog reindex` makes them")
    findings += find_expired(every, now)
    findings += _gone(store, context.here(), remarks)
    findings += _unused(live, use, now, remarks)
    findings += in_context(live, _loaded_texts(remarks))
    return Inspection(sorted(findings, key=lambda one: FINDING_KINDS.index(one.kind)), remarks)


# ---- pairs ----------------------------------------------------------------------------------------------------------------


class NearPair(NamedTuple):
    """Two memories that are near in meaning, the older one first. cosine: of the document model's vectors."""

    old: Memory
    new: Memory
    cosine: float


def compare(pairs: Sequence[NearPair]) -> list[StoreFinding]:
    """Return the duplicates and contradictions among pairs, the nearest first. A contradiction is no duplicate.

    No command takes from the other projects what one of them says again, or otherwise.
    """
    analysers = Analysers()
    claims: dict[str, list[duplicates.Claim]] = {}
    found = []
    for pair in sorted(pairs, key=lambda one: (-one.cosine, one.old.id, one.new.id)):
        for memory in (pair.old, pair.new):
            if memory.id not in claims:
                claims[memory.id] = duplicates.claims_of(memory.content, analysers.body_terms)
        new, old = claims[pair.new.id], claims[pair.old.id]
        difference = duplicates.contradiction_of_claims(new, old) if new and old else None
        if difference:
            is_exception = _is_for_all(pair.old) and not _is_for_all(pair.new)
            whom = "the older one, which is for all projects" if is_exception else "the older one"
            command = f"subcog edit {pair.old.id}" if is_exception else f"subcog supersede {pair.old.id} {pair.new.id}"
            found.append(StoreFinding(CONTRADICTION, (pair.new, pair.old), f"it contradicts {whom}: {difference}", command))
        elif _is_duplicate(pair):
            gone, kept = (pair.new, pair.old) if _is_for_all(pair.old) and not _is_for_all(pair.new) else (pair.old, pair.new)
            why = f"{pair.cosine:.0%} alike in meaning"
            found.append(StoreFinding(DUPLICATE, (pair.new, pair.old), why, f"subcog supersede {gone.id} {kept.id}"))
    return found


def _is_duplicate(pair: NearPair) -> bool:
    is_long = max(len(pair.old.content), len(pair.new.content)) > duplicates.MAX_NOTE
    if pair.cosine < (SAME_DOCUMENT if is_long else SAME_STATEMENT):
        return False
    numbers, others = (set(_NUMBERS.findall(memory.content)) for memory in (pair.old, pair.new))
    return not (numbers - others and others - numbers)  # each names another thing, or another version of it


def _near_pairs(memories: Sequence[Memory], vectors: VectorStore) -> tuple[list[NearPair], int]:
    """Return the pairs of memories that are near, of one audience or one of them for all, and how many have no vector."""
    by_seq = {memory.seq: memory for memory in memories}
    rows = [(by_seq[seq], vector) for seq, vector in vectors.whole_vectors() if seq in by_seq]
    if not rows:
        return [], len(memories)
    import numpy as np  # 65 ms, for a command that compares all

    matrix = np.frombuffer(b"".join(vector for _, vector in rows), np.int8).reshape(len(rows), -1).astype(np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    names = {name: number for number, name in enumerate(dict.fromkeys(_audience(memory) for memory, _ in rows))}
    audiences = np.array([names[_audience(memory)] for memory, _ in rows])
    is_for_all = np.array([_is_for_all(memory) for memory, _ in rows])
    pairs = []
    for start in range(0, len(rows), BLOCK):
        likeness = matrix[start : start + BLOCK] @ matrix.T
        for place, nearest in _near_places(likeness, start, audiences, is_for_all):
            for other in nearest:
                ends = sorted((rows[place][0], rows[other][0]), key=lambda memory: (memory.created_at, memory.id))
                pairs.append(NearPair(ends[0], ends[1], float(likeness[place - start, other])))
    return pairs, len(memories) - len(rows)


def _near_places(
    likeness: NDArray[np.float32], start: int, audiences: NDArray[np.int64], is_for_all: NDArray[np.bool_]
) -> Iterator[tuple[int, list[int]]]:
    """Yield each row of a block with those behind it that are near, the MOST_ALIKE nearest.

    likeness: (rows of the block, all rows) cosines; start: the place of the block's first row.
    """
    import numpy as np

    for row in np.flatnonzero((likeness >= NEAR_SUBJECT).sum(axis=1) > 1):
        place = start + int(row)
        others = place + 1 + np.flatnonzero(likeness[row, place + 1 :] >= NEAR_SUBJECT)
        allowed = (audiences[others] == audiences[place]) | is_for_all[others] | is_for_all[place]
        others = others[allowed]
        nearest = others[np.argsort(-likeness[row, others], kind="stable")[:MOST_ALIKE]]
        yield place, [int(other) for other in nearest]


def _is_for_all(memory: Memory) -> bool:
    """Return whether a memory is for all projects."""
    return memory.scope != "project"


def _audience(memory: Memory) -> str:
    return audience_of(memory.scope, memory.project)


# ---- one by one -----------------------------------------------------------------------------------------------------------


def find_expired(memories: Iterable[Memory], now: int) -> list[StoreFinding]:
    """Return the memories whose time is over, the longest first."""
    over = [one for one in memories if one.expires_at is not None and one.expires_at <= now]
    return [
        StoreFinding(EXPIRED, (one,), f"it expired on {day(one.expires_at or 0)}", f"subcog forget {one.id}")
        for one in sorted(over, key=lambda one: (one.expires_at or 0, one.id))
    ]


def _gone(store: Store, here: Project | None, remarks: list[str]) -> list[StoreFinding]:
    """Return the memories of the project at hand none of whose files is there."""
    if here is None:
        remarks.append("whether files are gone is told in a project's folder, of that project")
        return []
    found = stale_files.find(store, here)
    if found.unknown:
        remarks.append(f"whether the files of {found.unknown} more are gone is not known: too many files are here")
    return [
        StoreFinding(GONE, (one,), f"no file matches {', '.join(one.paths)}", f"subcog edit {one.id} --path GLOB")
        for one in found.gone
    ]


def _unused(memories: Iterable[Memory], use: Use, now: int, remarks: list[str]) -> list[StoreFinding]:
    old = [one for one in memories if max(one.created_at, one.updated_at) <= now - YEAR_MS]
    if not old:
        return []
    if use.since is None or use.since > now - YEAR_MS:
        known = "nothing was handed over yet" if use.since is None else f"it is known since {day(use.since)} only"
        remarks.append(f"what was not used for a year is not told: {known}")
        return []
    return find_unused(old, use.by_id, now)


def find_unused(old: Iterable[Memory], by_id: Mapping[str, HandedOver], now: int) -> list[StoreFinding]:
    """Return those that no session was given for a year, the longest first."""
    found = []
    for one in old:
        last = by_id[one.id].last_at if one.id in by_id else 0
        if last <= now - YEAR_MS:
            why = f"last given to a session on {day(last)}" if last else f"noted on {day(one.created_at)}, given to no session"
            found.append((last or one.created_at, StoreFinding(UNUSED, (one,), why, f"subcog forget {one.id}")))
    return [finding for _, finding in sorted(found, key=lambda row: (row[0], row[1].memories[0].id))]


def in_context(memories: Iterable[Memory], texts: Sequence[tuple[str, frozenset[str] | None, str]]) -> list[StoreFinding]:
    """Return the memories that the client puts before the model anyway, word for word.

    texts: files that the client loads: each its name, the projects it is for (None for all), and its words in one line. What
    was taken over from them is told by its source, and left out: the hook knows it.
    """
    found = []
    for one in memories:
        words = _in_one_line(one.content)
        if len(words) < LEAST_SAID or is_loaded_by_client(one.source):
            continue
        for name, projects, text in texts:
            if (projects is None or one.project in projects) and words in text:
                found.append(StoreFinding(IN_CONTEXT, (one,), f"{name} says it word for word", f"subcog forget {one.id}"))
                break
    return found


def _loaded_texts(remarks: list[str]) -> list[tuple[str, frozenset[str] | None, str]]:
    try:
        config = claude_notes.config_folder()
    except ConfigError as error:
        remarks.append(f"the client's files are not looked at: {error.message}")
        return []
    files: list[tuple[str, frozenset[str] | None]] = [(path, None) for path in claude_context.persons_files(config)]
    for root in claude_memory.roots(config).values():
        at = find_project(root)
        files += [(path, frozenset(at.names if at else (root,))) for path in claude_context.files_of(root)]
    texts = []
    for path, projects in files:
        try:
            text = read_regular(path, MOST_READ).decode("utf-8", "replace")
        except OSError:
            continue
        texts.append((os.path.basename(path), projects, _in_one_line(text)))
    return texts


def _in_one_line(text: str) -> str:
    return " ".join(text.lower().split())
