"""`search` by meaning: modes, models, forms of output, batches, pages, settings, missing models."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NoReturn

import apsw
import pytest

from subcog_hooks.cli.search_sources import PENDING
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import static_encoder
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.store.vector_reader import vectors_path
from tests.cli.conftest import MonkeyPatch, Result, Run

PARAPHRASE = "Where do kittens nap during cold months?"  # has no word of the memory that answers it
ANSWER = "cat"
WORDS = ["lexical_exact", "lexical_relaxed"]  # the channels of words
ALL = [*WORDS, "semantic"]
OTHER = "snowflake/snowflake-arctic-embed-xs"  # of the catalogue, with 384 dimensions too: the packaged files pass for it
SLUG = "snowflake-snowflake-arctic-embed-xs"
NOTES = {
    ANSWER: "The office cat sleeps on the warm server rack in winter.",
    "pool": "Database connections are recycled after 30 seconds because the load balancer drops idle sockets.",
    "bill": "Invoices are rounded to whole cents per line, never on the total.",
    "words": "Kittens: see months.csv of the ledger, sheet 9.",
}


def write(rows: dict[str, str]) -> str:
    text = "".join(
        json.dumps({"id": id_, "content": content, "created_at": "2026-03-02"}) + "\n" for id_, content in rows.items()
    )
    Path("rows.jsonl").write_text(text, encoding="utf-8")
    return "rows.jsonl"


@pytest.fixture
def with_memories(subcog: Run) -> Run:
    """Store the memories in NOTES, with provisional vectors."""
    assert subcog("import", write(NOTES)).code == 0
    return subcog


@pytest.fixture
def without_words(with_memories: Run) -> Run:
    with_memories("forget", "words")
    return with_memories


def not_wanted(*_: object) -> NoReturn:
    pytest.fail("the model was loaded")


def ids(done: Result) -> list[str]:
    return done.out.split()


def test_a_memory_without_a_word_of_the_query_is_found(without_words: Run) -> None:
    for final in (False, True):
        assert not final or without_words("doctor", "--fix").code == 0
        for options in ([], ["--fast"], ["--mode", "semantic"], ["--mode", "semantic", "--fast"]):
            answer = without_words("search", PARAPHRASE, "--json", *options).json
            first = answer["results"][0]
            assert (first["id"], first["found_by"], first["ranks"]) == (ANSWER, ["semantic"], {"semantic": 1})
            assert list(first["scores"]) == ["semantic"]
            assert answer["strategies_matched"] == ["semantic"]
            assert (answer["degraded"], answer["note"]) == ((False, None) if final else (True, PENDING))
    done = without_words("search", PARAPHRASE, "--mode", "lexical", "--json")
    assert (done.code, done.json["results"], done.json["confidence"]) == (1, [], "no_results")


def test_a_lexical_search_loads_no_model_and_makes_no_vectors(with_memories: Run, home: Home) -> None:
    os.unlink(vectors_path(home, static_encoder.SPACE))
    answer = with_memories("search", "months.csv", "--mode", "lexical", "--json").json
    assert [(hit["id"], hit["found_by"], list(hit["scores"])) for hit in answer["results"]] == [("words", WORDS, WORDS)]
    assert (answer["strategies_matched"], answer["degraded"]) == (WORDS, False)
    assert not os.path.exists(vectors_path(home, static_encoder.SPACE))


def test_a_batch_is_answered_in_every_mode(with_memories: Run) -> None:
    with_memories("config", "set", "fusion.alpha", "0.9")
    rows = [{"id": "m", "query": PARAPHRASE}, {"id": "w", "query": "kittens ledger sheet months.csv"}]
    for options, first, by in (
        ([], ANSWER, ALL),
        (["--fast"], ANSWER, ALL),
        (["--mode", "semantic"], ANSWER, ["semantic"]),
        (["--mode", "lexical"], "words", WORDS),
    ):
        done = with_memories("search", "--batch", "-", "-n", "3", *options, stdin="\n".join(map(json.dumps, rows)).encode())
        answers = {row["id"]: row["results"] for row in done.rows}
        assert {id_: results[0]["id"] for id_, results in answers.items()} == {"m": first, "w": "words"}
        assert answers["w"][0]["found_by"] == by
        for row in rows:
            alone = with_memories("search", row["query"], "-n", "3", "--jsonl", *options, "--all-projects").rows
            assert alone == answers[row["id"]]


def test_without_sqlite_vec_words_answer_and_it_is_said(with_memories: Run, monkeypatch: MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(apsw, "__file__", str(tmp_path / "apsw" / "__init__.py"))
    answer = with_memories("search", "months.csv", "--fast", "--json").json
    assert [hit["id"] for hit in answer["results"]] == ["words"]
    assert answer["degraded"] is True
    assert answer["note"] == "sqlite-vec is not installed; search is by words alone"
    assert answer["results"][0]["confidence"] in ("medium", "low")
    done = with_memories("search", "months.csv", "--fast", "--ids")
    assert (done.code, done.out, done.err.splitlines()[0]) == (0, "words\n", answer["note"])
    monkeypatch.setattr("subcog_hooks.embed.neural_encoder.DocumentEmbedder", not_wanted)
    assert with_memories("search", "months.csv", "--json").json["note"] == answer["note"]
    assert with_memories("remember", "a new one").err.splitlines()[1:] == []  # beside where it went


def test_without_the_neural_model_the_static_encoder_answers(
    without_words: Run, monkeypatch: MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(PACKAGED, "folder", str(tmp_path / "nowhere"))
    answer = without_words("search", PARAPHRASE, "--json").json
    assert [hit["id"] for hit in answer["results"]] == [ANSWER]
    assert answer["degraded"] is True
    assert answer["note"] == f"the model {PACKAGED.model} lacks model.onnx"
    assert without_words("search", PARAPHRASE, "--fast", "--json").json["note"] == PENDING


def test_the_packaged_model_answers_until_the_chosen_is_ready(without_words: Run) -> None:
    without_words("models", "pull", OTHER, "--from", PACKAGED.folder)
    without_words("models", "use", OTHER)
    for options in ((), ("--mode", "semantic")):
        answer = without_words("search", PARAPHRASE, "--json", *options).json
        assert [hit["id"] for hit in answer["results"]] == [ANSWER]
        assert answer["note"] == f"not embedded with {SLUG} yet: 3 of 3 memories"
    without_words("doctor", "--fix")
    answer = without_words("search", PARAPHRASE, "--json").json
    assert (answer["results"][0]["id"], answer["strategies_matched"], answer["note"]) == (ANSWER, ["semantic"], None)
    without_words("remember", "Berths are let by the week.")
    assert without_words("search", PARAPHRASE, "--json").json["note"] == f"not embedded with {SLUG} yet: 1 of 4 memories"
    assert without_words("search", PARAPHRASE, "--json", "--fast").json["note"] == PENDING
