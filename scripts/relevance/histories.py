"""Play histories of people with an agent through the hook's recall: which notes it finds at each prompt. No fitting here.

A history is a JSON file: `part` ("A" or "B"), `memories` (id, session, memory, namespace, scope, created_at) and `prompts` (id,
session, prompt, helps, related: ids of memories of earlier sessions), both in the order of time. The notes of all the other
histories lie in the same project: each comes in together with one of the history's own, drawn at random.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scripts.relevance.evidence import Shelf
from subcog_hooks.recall.hits import Hit
from tests.eval.homes import home_of

Row = dict[str, Any]  # of JSON


class Played(NamedTuple):
    """A prompt of a history, and what the hook's recall finds for it.

    place: in its session, from 1; helps, related: ids of notes; hits: those that were compared by meaning.
    """

    person: str
    part: str
    session: str
    place: int
    prompt: str
    helps: frozenset[str]
    related: frozenset[str]
    hits: Sequence[Hit]


def play(folder: Path, cache: Path) -> Iterator[Played]:
    """Yield the prompts of all histories in a folder, in order. cache: where their homes are kept."""
    stories = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    for person, story in stories.items():
        others = [memory for name, other in stories.items() if name != person for memory in other["memories"]]
        yield from _play(person, story, others, cache)


def _play(person: str, story: Row, others: Sequence[Row], cache: Path) -> Iterator[Played]:
    since = _sessions_of(person, story, others)
    project = f"git.example/{person}"
    memories = [*story["memories"], *(other | {"scope": "project"} for other in others)]
    with Shelf(home_of(_written(memories, project, cache / "histories" / person), cache / "homes")) as shelf:
        places: dict[int, int] = {}
        for prompt in story["prompts"]:
            session = prompt["session"]
            places[session] = places.get(session, 0) + 1
            hidden = {memory for memory, first in since.items() if first > session}
            yield Played(
                person,
                story["part"],
                f"{person}-{session}",
                places[session],
                prompt["prompt"],
                frozenset(prompt["helps"]),
                frozenset(prompt["related"]),
                shelf.hits_of_needs(prompt["prompt"], (project,), hidden),
            )


def _sessions_of(person: str, story: Row, others: Sequence[Row]) -> dict[str, int]:
    """Return by id from which session on a memory is known: its own from the one after that in which it was stored."""
    own: list[Row] = story["memories"]
    chance = random.Random(person)
    since = {memory["id"]: memory["session"] + 1 for memory in own}
    return since | {other["id"]: chance.choice(own)["session"] + 1 for other in others}


def _written(memories: Sequence[Row], project: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "memories.jsonl"
    lines = []
    for memory in memories:
        row = {
            "id": memory["id"],
            "content": memory["memory"],
            "namespace": memory["namespace"],
            "created_at": memory["created_at"],
        }
        lines.append(json.dumps(row if memory["scope"] == "user" else row | {"project": project}) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path
