"""`search --explain`, and the part of the JSON that says why: each hit's channels, ranks, scores, alpha, tags and age."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

EXPLAIN = ["read_as", "alpha", "alpha_reason", "agreement", "tag_matches", "recency_factor", "contributions", "factors"]
WORDS = {"lexical_exact", "lexical_relaxed"}
PINNED = (
    ("fusion.alpha", "0.7"),
    ("recency.decay", "0"),
    ("search.timeout_ms", "60000"),
)  # their defaults are for the eval to say
QUERY = "rathole tunnel restart"
ROWS: list[dict[str, object]] = [
    {"id": "pool", "content": "The timeout of idle connections in the pool is 30 seconds.", "tags": ["database"]},
    {"id": "hand", "content": "Restart it by hand when it hangs.", "tags": ["Rathole", "tunnel"], "created_at": "2020-01-01"},
    {"id": "beam", "content": "The leading beam is restarted by the tide sensor."},
]


@pytest.fixture
def with_memories(subcog: Run) -> Run:
    text = "".join(json.dumps({"created_at": "2026-03-02", **row}) + "\n" for row in ROWS)
    Path("rows.jsonl").write_text(text, encoding="utf-8")
    assert subcog("import", "rows.jsonl").code == 0
    for key, value in PINNED:
        subcog("config", "set", key, value)
    return subcog


def hits(subcog: Run, *arguments: str) -> dict[str, dict[str, Any]]:
    """Return the results of `--json` by id."""
    return {hit["id"]: hit for hit in subcog("search", *arguments, "--json").json["results"]}


@pytest.mark.parametrize("options", [[], ["--fast"]])
def test_each_result_says_what_found_it_where_and_how_well(with_memories: Run, options: list[str]) -> None:
    hit = hits(with_memories, QUERY, *options)["hand"]
    assert set(hit["found_by"]) == {*WORDS, "labels", "semantic"}
    assert hit["ranks"] == dict.fromkeys(hit["found_by"], 1)
    assert hit["scores"].keys() == hit["ranks"].keys()
    assert 0.0 < hit["scores"]["semantic"] < 1.0 < hit["scores"]["labels"] < 2.0
    assert all(1.0 < hit["scores"][name] < hit["scores"]["lexical_exact"] + 1e-9 for name in WORDS)
    assert list(hit["explain"]) == EXPLAIN
    assert (hit["explain"]["alpha"], hit["explain"]["alpha_reason"]) == (0.7, "fusion.alpha")
    assert hit["explain"]["tag_matches"] == ["Rathole", "tunnel"]
    assert (hit["explain"]["agreement"], hit["explain"]["recency_factor"]) == (1.0, 1.0)


@pytest.mark.parametrize("preset", ["fixed-70-30", "adaptive", "rrf", "vector-only", "lexical-only"])
def test_a_score_is_its_contributions_times_its_factors(with_memories: Run, preset: str) -> None:
    with_memories("remember", "Look at the tunnel first.", "--trigger", "rathole tunnel", "--tag", "tunnel")
    with_memories("config", "set", "fusion.alpha", "default")
    for key, value in (("fusion.preset", preset), ("recency.decay", "0.01")):
        with_memories("config", "set", key, value)
    for options in (["--fast"], ["--mode", "lexical"], ["--mode", "semantic"]):
        seen: set[str] = set()
        for hit in hits(with_memories, QUERY, *options).values():
            parts, factors = hit["explain"]["contributions"], hit["explain"]["factors"]
            score = sum(parts.values()) * factors["agreement"] * factors["recency"]
            assert hit["score"] == pytest.approx(score, abs=1e-9)
            assert all(amount > 0.0 for amount in parts.values())
            seen.update(parts)
        assert seen
        if options == ["--fast"] and preset == "fixed-70-30":
            assert seen == {"lexical", "semantic", "labels", "pattern"}
            assert hits(with_memories, QUERY, "--fast")["hand"]["explain"]["factors"]["recency"] < 1.0


@pytest.mark.usefixtures("usual_settings")
def test_an_adaptive_alpha_says_what_it_was_made_of(with_memories: Run) -> None:
    with_memories("config", "set", "fusion.alpha", "adaptive")
    reasons = {
        "how does the tunnel hang": (0.65, "conceptual asks for 0.8, a corpus of 3 for 0.5"),
        '"by hand when it hangs"': (0.3, "exact_quote asks for 0.1, a corpus of 3 for 0.5"),
        "tunnel restart": (0.6, "exploratory asks for 0.7, a corpus of 3 for 0.5"),
    }
    for query, expected in reasons.items():
        explain = hits(with_memories, query, "--fast")["hand"]["explain"]
        assert (explain["alpha"], explain["alpha_reason"]) == expected
        share, reason = expected
        assert f"query; meaning has a share of {share} ({reason})" in with_memories("search", query, "--fast", "--explain").out


def test_tags_that_the_query_names_are_shown(with_memories: Run) -> None:
    assert "tags in the query: Rathole, tunnel\n" in with_memories("search", QUERY, "--fast", "--explain").out


def test_the_lines_say_what_the_json_says(with_memories: Run) -> None:
    lines = with_memories("search", QUERY, "--fast", "--explain").out.splitlines()
    blocks = "\n".join(lines).split("\n    1. ")[1].split("\n")
    hit = hits(with_memories, QUERY, "--fast")["hand"]
    assert lines[0] == "hand  learnings  2020-01-01  Restart it by hand when it hangs."
    assert blocks[0] == f"score {hit['score']:g}, relevance {hit['relevance']:g}, confidence {hit['confidence']}"
    channels = dict(re.findall(r"(\w+) rank (\d+, [\d.]+)", blocks[1]))
    assert channels == {name: f"{hit['ranks'][name]}, {hit['scores'][name]:g}" for name in hit["found_by"]}
    assert blocks[2].strip() == "exploratory query; meaning has a share of 0.7 (fusion.alpha)"


@pytest.mark.parametrize("options", [[], ["--fast"]])
def test_rows_and_batches_carry_it_when_it_is_asked_for(with_memories: Run, options: list[str]) -> None:
    queries = {"tags": QUERY, "typo": "the timout of the pool", "near": "handful"}
    rows = "\n".join(json.dumps({"id": id_, "query": query}) for id_, query in queries.items()).encode()
    explained = {
        row["id"]: row["results"] for row in with_memories("search", "--batch", "-", "--explain", *options, stdin=rows).rows
    }
    plain = {row["id"]: row["results"] for row in with_memories("search", "--batch", "-", *options, stdin=rows).rows}
    for id_, query in queries.items():
        whole = list(hits(with_memories, query, *options, "--all-projects").values())
        assert whole
        assert explained[id_] == with_memories("search", query, "--jsonl", "--explain", *options).rows == whole
        for hit in whole:
            del hit["explain"]
        assert plain[id_] == with_memories("search", query, "--jsonl", *options).rows == whole
