"""The test collections: memories, queries, and which memories answer which query. Reading only; no searching, no measuring.

`ground_truth` is the project's own and always there. The development collections lie outside of the repository, for measuring
only; where they are not, whatever needs them is left out.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
GROUND_TRUTH = "ground_truth"
DEVELOPMENT = ("devmem", "locomo")
GATE = "gate"
VOCABULARY_GAP = (
    "vocabulary-gap"  # the ground truth's queries that share no content word with their memory: beyond the ten
)
TUNING, REPORTING = "tuning", "reporting"  # the halves of a collection: numbers are chosen on one, told of the other
SHARED = ROOT.parent / "shared" / "eval"


class Query(NamedTuple):
    """A query and the ids that answer it. project: whose memories are searched, None for all."""

    id: str
    text: str
    stratum: str
    relevant: frozenset[str]
    project: str | None = None

    @property
    def half(self) -> str:
        """The half that the query belongs to, whatever else is in the collection."""
        return REPORTING if int(hashlib.md5(self.id.encode()).hexdigest(), 16) % 2 else TUNING


class Prompt(NamedTuple):
    """A prompt of the gate's collection. kind: answerable, unanswerable or unrelated; relevant: what would answer it."""

    id: str
    text: str
    kind: str
    relevant: frozenset[str]


class Collection(NamedTuple):
    """memories: the file that `subcog import` reads."""

    name: str
    memories: Path
    queries: tuple[Query, ...]

    def half(self, name: str | None) -> tuple[Query, ...]:
        """The queries of one half, all for None."""
        return tuple(query for query in self.queries if name in (None, query.half))


def ground_truth() -> Collection:
    folder = Path(__file__).parent / GROUND_TRUTH
    queries = [
        Query(row["id"], row["query"], row["stratum"], frozenset(row["relevant"])) for row in rows(folder / "queries.jsonl")
    ]
    return Collection(GROUND_TRUTH, folder / "memories.jsonl", tuple(queries))


def development(name: str) -> Collection | None:
    """A development collection, None where it is not at hand."""
    folder = SHARED / name
    if not (folder / "queries.jsonl").is_file():
        return None
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, memory, _ = line.split("\t")
        relevant.setdefault(query, set()).add(memory)
    queries = [
        Query(row["id"], row["query"], row["category"], frozenset(relevant[row["id"]]), row.get("project"))
        for row in rows(folder / "queries.jsonl")
    ]
    return Collection(name, folder / "memories.jsonl", tuple(queries))


def gate() -> tuple[Path, list[Prompt]] | None:
    """The gate's memories and its prompts, None where they are not at hand."""
    folder = SHARED / GATE
    if not (folder / "prompts.jsonl").is_file():
        return None
    prompts = [
        Prompt(row["id"], row["prompt"], row["kind"], frozenset(row["relevant"])) for row in rows(folder / "prompts.jsonl")
    ]
    return folder / "memories.jsonl", prompts


def as_prompts(queries: Iterable[Query]) -> list[Prompt]:
    """Queries of a collection, all of which its memories answer, as prompts to the hook."""
    return [Prompt(query.id, query.text, "answerable", query.relevant) for query in queries]


def named(names: Iterable[str]) -> list[Collection]:
    """The collections of these names that are at hand."""
    found = (ground_truth() if name == GROUND_TRUTH else development(name) for name in names)
    return [collection for collection in found if collection is not None]


def rows(path: Path) -> list[dict[str, Any]]:  # Any: JSON
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]
