"""The test collections: memories, queries, and which memories answer which query. Reading only; no searching, no measuring.

`ground_truth` is the project's own and always there. The development set of prompts lies outside of the repository, for
measuring only; where it is not, whatever needs it is left out.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
GROUND_TRUTH = "ground_truth"
GATE = "gate"
VOCABULARY_GAP = (
    "vocabulary-gap"  # the ground truth's queries that share no content word with their memory: beyond the promised ten
)
TUNING, REPORTING = "tuning", "reporting"  # the halves of a collection: numbers are chosen on one, told of the other
OWN = Path(__file__).parent / GROUND_TRUTH
SHARED = ROOT.parent / "shared" / "eval"


class Query(NamedTuple):
    """A query and the ids that answer it. expected_tags: of each answer, where the query names tags."""

    id: str
    text: str
    stratum: str
    relevant: frozenset[str]
    expected_tags: frozenset[str] = frozenset()


class Prompt(NamedTuple):
    """A prompt of the gate's collection. kind: answerable, unanswerable or unrelated; relevant: what would answer it."""

    id: str
    text: str
    kind: str
    relevant: frozenset[str]

    @property
    def half(self) -> str:
        """The half that the prompt belongs to, by its text: the same question stands in several sets, under other ids."""
        return half_of(self.text)


class GateSet(NamedTuple):
    """memories: the file that `subcog import` reads; prompts: those that they answer, and others."""

    memories: Path
    prompts: list[Prompt]


class Collection(NamedTuple):
    """memories: the file that `subcog import` reads."""

    name: str
    memories: Path
    queries: tuple[Query, ...]


def ground_truth() -> Collection:
    queries = [
        Query(
            row["id"],
            row["query"],
            row["stratum"],
            frozenset(row["relevant"]),
            expected_tags=frozenset(row.get("expected_tags", ())),
        )
        for row in rows(OWN / "queries.jsonl")
    ]
    return Collection(GROUND_TRUTH, OWN / "memories.jsonl", tuple(queries))


def gate_set(folder: Path) -> GateSet:
    """The set in a folder. Raises FileNotFoundError when there is none."""
    prompts = [
        Prompt(row["id"], row["prompt"], row["kind"], frozenset(row["relevant"])) for row in rows(folder / "prompts.jsonl")
    ]
    return GateSet(folder / "memories.jsonl", prompts)


def gate() -> GateSet | None:
    """The development set of prompts, None where it is not at hand."""
    return gate_set(SHARED / GATE) if (SHARED / GATE / "prompts.jsonl").is_file() else None


def half_of(name: str) -> str:
    return REPORTING if int(hashlib.md5(name.encode()).hexdigest(), 16) % 2 else TUNING


def rows(path: Path) -> list[dict[str, Any]]:  # Any: JSON
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]
