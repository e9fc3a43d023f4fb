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


@pytest.fixture
def pad(tmp_path: Path) -> Path:
    return written(tmp_path / "others.jsonl", [f"m{number}" for number in range(20)], project="theirs", scope="project")


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


def test_a_smaller_part_is_within_a_larger_one(memories: Path, tmp_path: Path) -> None:
    small, large = (set(ids_of(sized(memories, PROMPTS, size, [], tmp_path).memories)) for size in (8, 16))
    assert small < large


def test_a_larger_store_holds_the_set_and_pads(memories: Path, pad: Path, tmp_path: Path) -> None:
    padded = sized(memories, PROMPTS, 50, [pad], tmp_path)
    found = rows(padded.memories)
    assert [row["id"] for row in found[:40]] == ids_of(memories)
    assert {row["id"] for row in found[40:]} < {f"pad-{one}" for one in ids_of(pad)}
    assert len(found) == 50
    assert not any("project" in row or "scope" in row for row in found)
    assert padded.prompts == PROMPTS


def test_pads_are_sentences_that_answer_nothing(memories: Path, pad: Path, tmp_path: Path) -> None:
    padded = sized(memories, PROMPTS, 200, [pad], tmp_path)
    made = [row for row in rows(padded.memories) if row["id"].startswith("made-")]
    assert len(made) == 140
    assert len({row["content"] for row in made}) > 100
    answers = {f"of m{number}." for number in range(10)}
    ours = [row["content"] for row in made[::2]]  # every other one is made of the pads
    assert not any(answer in content for content in ours for answer in answers)


def test_the_same_size_gives_the_same_bytes(memories: Path, pad: Path, tmp_path: Path) -> None:
    once = sized(memories, PROMPTS, 200, [pad], tmp_path).memories.read_bytes()
    assert sized(memories, PROMPTS, 200, [pad], tmp_path).memories.read_bytes() == once
