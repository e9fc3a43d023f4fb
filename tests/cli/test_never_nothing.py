"""`search` never prints nothing: looser matches with a label, corrected words, suggestions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

BLOG = "github.com/acme/blog"
ROWS: list[dict[str, object]] = [
    {"id": "pool", "content": "The timeout of idle connections in the pool is 30 seconds.", "tags": ["database"]},
    {"id": "bill", "content": "Invoices are rounded to whole cents per line, never on the total.", "tags": ["billing"]},
    {"id": "theirs", "content": "The zeppelin hangar is closed on mondays.", "project": BLOG, "tags": ["zeppelins"]},
]
NEAR = "nothing matches as it stands; these come near"
DISTANT = "nothing matches; these share pieces of words, or a distant meaning"
NOTHING = "nothing found; try fewer or other words, --all-projects, or --status all"
BEHIND = "there are no more results"
TAGS = "the memories here are about: billing, database"

BEGINS = ("invoicesque", "--mode", "lexical")  # as a word of `bill` does
INSIDE = ("voice", "--mode", "lexical")  # a word of `bill`
NOWHERE = ("xyzzyplugh", "--fast")


@pytest.fixture
def with_memories(subcog: Run) -> Run:
    text = "".join(json.dumps({"created_at": "2026-03-02", **row}) + "\n" for row in ROWS)
    Path("rows.jsonl").write_text(text, encoding="utf-8")
    assert subcog("import", "rows.jsonl", "--wait").code == 0
    return subcog


@pytest.mark.parametrize(
    ("query", "label", "ids", "messages", "suggestions"),
    [
        (BEGINS, "low", ["bill"], [NEAR], []),
        (INSIDE, "speculative", ["bill"], [DISTANT, TAGS], ["billing", "database"]),
        (NOWHERE, "no_results", [], [NOTHING, TAGS], ["billing", "database"]),
    ],
)
def test_looser_matching_is_labelled_and_said(
    with_memories: Run, query: tuple[str, ...], label: str, ids: list[str], messages: list[str], suggestions: list[str]
) -> None:
    record = with_memories("search", "--json", *query).json
    assert (record["confidence"], [hit["id"] for hit in record["results"]]) == (label, ids)
    assert {hit["confidence"] for hit in record["results"]} <= {label}
    assert (record["note"], record["suggestions"], record["degraded"]) == ("; ".join(messages), suggestions, False)
    assert record["query_type"] == "exploratory"
    done = with_memories("search", "--ids", *query)
    assert (done.code, done.out.split(), done.err.splitlines()) == (0 if ids else 1, ids, messages)
    assert with_memories("search", "--ids", "--quiet", *query).err == ""


def test_an_unsupported_answer_has_low_confidence(with_memories: Run) -> None:
    message = "low confidence: the first of these is near in meaning, and nothing else supports it"
    for query, label in (("precision of amounts charged", "low"), ("idle connections in the pool timeout", None)):
        confidence = with_memories("search", query, "--fast", "--json").json["confidence"]
        done = with_memories("search", query, "--fast", "--ids")
        assert (done.code, message in done.err.splitlines()) == (0, confidence == "low") == (0, label == "low")


def test_a_page_behind_the_last_is_empty(with_memories: Run) -> None:
    done = with_memories("search", "cents", "--mode", "lexical", "--json", "-n", "1", "--page", "2")
    assert (done.code, done.json["results"], done.json["confidence"]) == (1, [], "no_results")
    assert (done.json["note"], done.json["suggestions"]) == (BEHIND, [])
    assert with_memories("search", "cents", "--mode", "lexical", "--ids", "-n", "1", "--page", "2").err == BEHIND + "\n"
    done = with_memories("search", *BEGINS, "--json", "-n", "1", "--page", "2")
    assert (done.code, done.json["results"]) == (1, [])


@pytest.mark.parametrize("options", [["--fast"], [], ["--mode", "lexical"]])
def test_a_misspelt_word_is_taken_for_the_nearest_and_it_is_said(with_memories: Run, options: list[str]) -> None:
    record = with_memories("search", "timout", "--json", *options).json
    assert (record["results"][0]["id"], record["note"]) == ("pool", "taken as: timeout for timout")
    assert (record["query"], record["degraded"]) == ("timout", False)
    done = with_memories("search", "idle conections timout", "--ids", *options)
    message = "taken as: connections for conections, timeout for timout"
    assert (done.out.split()[0], done.err.splitlines()[0]) == ("pool", message)


def test_beginnings_come_before_a_correction(subcog: Run) -> None:
    notes = [f"Rathole forwards port {2333 + number}." for number in range(18)]
    notes += ["The rate limit of Rathole's API is 100 a minute.", "We take a break at noon."]
    Path("rows.jsonl").write_text("".join(json.dumps({"content": note}) + "\n" for note in notes), encoding="utf-8")
    assert subcog("import", "rows.jsonl", "--wait").code == 0
    record = subcog("search", "rath", "--json", "-n", "30").json
    found = [hit["content"] for hit in record["results"]]
    assert (record["note"], record["confidence"]) == ("taken as: rathole for rath", "low")
    assert all("Rathole" in content for content in found[:19])
    record = subcog("search", "banana bread recipe", "--json", "--fast").json
    assert (record["note"], record["confidence"]) == ("taken as: break for bread", "low")
    labels = [hit["confidence"] for hit in subcog("search", "rath 2340", "--json", "-n", "3").json["results"]]
    assert labels[0] != "low"  # `2340` is found as it stands
    assert set(labels[1:]) == {"low"}
