"""Stores of other sizes for the same prompts: a part of a set's memories, or all of them among others. No measuring here.

What is taken is ordered by hashes: a smaller store is a part of a larger one, and the same each time.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any  # of JSON

from tests.eval.collection import GateSet, Prompt, rows

RELEVANT_SHARE = 0.5  # of a part of the set: answers to prompts, at most
LONGEST = 400  # characters of a made memory, which a short paragraph has
KEPT = ("content", "namespace", "tags", "created_at")  # of a pad
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")

Memory = dict[str, Any]
Memories = list[Memory]


def sized(memories: Path, prompts: Sequence[Prompt], size: int, pads: Iterable[Path], kept: Path) -> GateSet:
    """The set with `size` memories, written to a folder in `kept`, and the prompts that can be judged by it.

    Fewer than the set has: answerable prompts and what answers them, up to half of the store, and memories that answer none;
    the other answerable prompts are left out. More: the memories of `pads` as if they were the user's own, then new ones of
    sentences of theirs and of the set's that answer none. No pad may answer a prompt.
    """
    own = rows(memories)
    others = [_as_pad(row) for pad in pads for row in rows(pad)]
    if size <= len(own):
        found, prompts = _part(own, prompts, size)
    else:
        answers = set[str]().union(*(prompt.relevant for prompt in prompts))
        idle = [row for row in own if row["id"] not in answers]
        found = [*own, *_by_hash(others)]
        found = [*found, *_made([idle, others] if others else [idle], size - len(found))][:size]
    folder = kept / f"{memories.parent.name}-of-{size}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "memories.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in found), encoding="utf-8")
    return GateSet(path, list(prompts))


def _part(own: Memories, prompts: Sequence[Prompt], size: int) -> tuple[Memories, list[Prompt]]:
    """`size` of the memories, and the prompts without those answerable ones whose answer is not there."""
    answers = set[str]().union(*(prompt.relevant for prompt in prompts))
    taken: set[str] = set()
    answered = []
    for prompt in sorted(prompts, key=lambda prompt: _hash(prompt.id)):
        if prompt.relevant and len(taken | prompt.relevant) <= max(size * RELEVANT_SHARE, size - len(own) + len(answers)):
            taken |= prompt.relevant
            answered.append(prompt.id)
    idle = _by_hash(row for row in own if row["id"] not in answers)
    inside = taken | {row["id"] for row in idle[: size - len(taken)]}
    return (
        [row for row in own if row["id"] in inside],
        [prompt for prompt in prompts if not prompt.relevant or prompt.id in answered],
    )


def _as_pad(row: Memory) -> Memory:
    """A memory of somebody else's, so that it competes: in the user's scope, under an id that is in no set."""
    return {"id": f"pad-{row['id']}"[:64]} | {name: value for name, value in row.items() if name in KEPT}


def _made(pools: Sequence[Memories], count: int) -> Iterator[Memory]:
    """New memories: some sentences each of two memories of one pool."""
    sentences = [[_SENTENCE.split(row["content"].strip()) for row in pool] for pool in pools]
    for number in range(count):
        chance = Random(f"memory {number}")
        which = number % len(pools)
        text = ""
        for _ in range(2):
            document = chance.choice(sentences[which])
            start = chance.randrange(len(document))
            text = f"{text} {' '.join(document[start : start + chance.randint(1, 3)])}".strip()[:LONGEST]
        like: Memory = chance.choice(pools[which])
        yield {**like, "id": f"made-{number}", "content": text}


def _by_hash(found: Iterable[Memory]) -> Memories:
    return sorted(found, key=lambda row: _hash(row["id"]))


def _hash(id: str) -> str:
    return hashlib.md5(id.encode()).hexdigest()
