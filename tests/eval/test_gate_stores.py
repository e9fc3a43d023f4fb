"""Stores of other sizes hold what their prompts need, and are the same each time."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.eval.collection import Prompt, rows
from tests.eval.gate.stores import sized

PROMPTS = [
    *(Prompt(f"a{number}", "what", "answerable", frozenset({f"m{number}"})) for number in range(10)),
    Prompt("n", "what", "unanswerable", frozenset()),
]


def written(path: Path, ids: Sequence[str], **more: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    memories = [{"id": one, "content": f"First of {one}. Second of {one}. Third of {one}.", **more} for one in ids]
    path.write_text("".join(json.dumps(row) + "\n" for row in memories), encoding="utf-8")
    return path


@pytest.fixture
def memories(tmp_path: Path) -> Path:
    return written(tmp_path / "set" / "memories.jsonl", [f"m{number}" for number in range(40)])


def ids_of(path: Path) -> list[str]:
    return [str(row["id"]) for row in rows(path)]


@pytest.mark.parametrize(("size", "answerable"), [(4, 2), (12, 6), (20, 10), (32, 10), (40, 10)])
def test_a_part_of_a_set_has_the_answers_of_its_prompts(memories: Path, tmp_path: Path, size: int, answerable: int) -> None:
    part = sized(memories, PROMPTS, size, [], tmp_path)
    ids = ids_of(part.memories)
    kept = [prompt for prompt in part.prompts if prompt.relevant]
    assert (len(ids), len(kept)) == (size, answerable)
    assert all(prompt.relevant <= set(ids) for prompt in kept)
    assert {f"m{number}" for number in range(10)} & set(ids) == set().union(*(prompt.relevant for prompt in kept))
    assert "n" in {prompt.id for prompt in part.prompts}
    assert set(ids_of(sized(memories, PROMPTS, size - 2, [], tmp_path).memories)) < set(ids)


def test_a_larger_store_holds_the_set_and_idle_pads(memories: Path, tmp_path: Path) -> None:
    pad = written(tmp_path / "others.jsonl", [f"m{number}" for number in range(20)], project="theirs", scope="project")
    padded = sized(memories, PROMPTS, 200, [pad], tmp_path)
    found = rows(padded.memories)
    made = [row for row in found if row["id"].startswith("made-")]
    assert [row["id"] for row in found[:40]] == ids_of(memories)
    assert {row["id"] for row in found[40:60]} == {f"pad-{one}" for one in ids_of(pad)}
    assert (len(found), len(made), len({row["content"] for row in made}) > 100) == (200, 140, True)
    assert not any("project" in row or "scope" in row for row in found)
    ours = [row["content"] for row in made[::2]]  # every other one is made of the pads
    assert not any(f"of m{number}." in content for content in ours for number in range(10))
    once = padded.memories.read_bytes()
    assert sized(memories, PROMPTS, 200, [pad], tmp_path).memories.read_bytes() == once
