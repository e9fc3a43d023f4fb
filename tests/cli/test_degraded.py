"""A search with a broken channel still answers: it is marked, says why, and claims less."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from subcog_hooks.cli import search_sources, searching
from subcog_hooks.core.paths import Home
from subcog_hooks.embed import static_encoder
from subcog_hooks.embed.static_encoder import StaticEncoder
from subcog_hooks.store.vector_reader import vectors_path
from tests.cli.conftest import MonkeyPatch, Result, Run

BILL = "Invoices are rounded to whole cents per line, never on the total."
QUERY = "are invoices rounded to whole cents per line or on the total"
FAST = ("search", QUERY, "--fast", "--json")


@pytest.fixture
def with_memories(subcog: Run) -> Run:
    rows = [{"id": "bill", "content": BILL}, {"id": "cat", "content": "The office cat sleeps on the warm server rack."}]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    subcog("import", "rows.jsonl", "--wait")
    sound = subcog(*FAST).json
    assert (sound["confidence"], sound["degraded"], sound["note"]) == ("very_high", False, None)
    return subcog


def assert_words_answered(done: Result) -> str:
    """Assert that the first result is right and claims no more than words can; return the note."""
    record = done.json
    assert (done.code, record["degraded"]) == (0, True)
    assert record["results"][0]["id"] == "bill"
    assert {record["confidence"], *(hit["confidence"] for hit in record["results"])} <= {"medium", "low"}
    assert {name for hit in record["results"] for name in hit["found_by"]} <= {"lexical_exact", "lexical_relaxed"}
    assert record["results"][0]["explain"]["alpha_reason"] == "words alone ran"
    assert isinstance(record["note"], str)
    return record["note"]


def without_codes(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("DROP TABLE codes")
    connection.close()


def as_a_folder(path: str) -> None:
    for suffix in ("", "-wal", "-shm"):
        if os.path.exists(path + suffix):
            os.unlink(path + suffix)
    os.mkdir(path)


def with_vectors_cut_short(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("UPDATE vectors SET vector = substr(vector, 1, 100)")
    connection.close()


@pytest.mark.parametrize(
    "damage", [without_codes, as_a_folder, with_vectors_cut_short], ids=lambda damage: damage.__name__.replace("_", " ")
)
def test_vectors_that_can_not_be_read_leave_the_answer_to_words(
    with_memories: Run, home: Home, damage: Callable[[str], None]
) -> None:
    damage(vectors_path(home, static_encoder.SPACE))
    note = assert_words_answered(with_memories(*FAST))
    assert vectors_path(home, static_encoder.SPACE) in note
    assert note.count("\n") == 0
    done = with_memories("search", QUERY, "--fast", "--ids")
    assert (done.code, done.out.split()[0], done.err.splitlines()[0]) == (0, "bill", note)


def test_without_the_encoder_words_answer(with_memories: Run, monkeypatch: MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(StaticEncoder, "open", lambda: StaticEncoder(str(tmp_path / "nowhere.bin")))
    assert "nowhere.bin" in assert_words_answered(with_memories(*FAST))


def test_an_impossible_search_by_meaning_is_answered_by_words(with_memories: Run, home: Home) -> None:
    as_a_folder(vectors_path(home, static_encoder.SPACE))
    assert_words_answered(with_memories(*FAST, "--mode", "semantic"))
    by_words = with_memories(*FAST, "--mode", "lexical").json
    assert (by_words["degraded"], by_words["note"]) == (False, None)
    with_memories("config", "set", "fusion.preset", "lexical-only")
    record = with_memories(*FAST).json
    assert (record["results"][0]["id"], record["degraded"], record["note"]) == ("bill", False, None)
    with_memories("config", "set", "fusion.preset", "vector-only")
    assert_words_answered(with_memories(*FAST))


def test_each_row_of_a_batch_says_that_meaning_was_missing(with_memories: Run, home: Home) -> None:
    as_a_folder(vectors_path(home, static_encoder.SPACE))
    rows = "\n".join(json.dumps({"id": i, "query": QUERY}) for i in range(3)).encode()
    done = with_memories("search", "--batch", "-", "--fast", "--explain", stdin=rows)
    assert (done.code, done.out.count("\n"), done.err.count("\n")) == (0, 3, 0)
    for row in done.rows:
        assert (row["degraded"], vectors_path(home, static_encoder.SPACE) in row["note"]) == (True, True)
        first = row["results"][0]
        assert (first["id"], first["explain"]["alpha_reason"]) == ("bill", "words alone ran")
        assert first["confidence"] in ("medium", "low")


def test_channels_out_of_time_are_named_and_words_still_answer(with_memories: Run, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_search_ms", lambda _: 0.0)
    note = assert_words_answered(with_memories(*FAST))
    for channel in ("semantic", "lexical_exact"):
        assert f"{channel}: no time was left for it" in note
    assert "lexical_relaxed" not in note


def test_where_meaning_has_no_share_no_model_is_loaded(with_memories: Run, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(search_sources, "_open_space", lambda *_, **__: pytest.fail("a model was loaded"))
    for key, value in (("fusion.alpha", "0"), ("fusion.preset", "lexical-only")):
        with_memories("config", "set", key, value)
        record = with_memories("search", QUERY, "--json").json
        assert (record["results"][0]["id"], record["degraded"]) == ("bill", False)
        with_memories("config", "set", key, "default")
