"""A script's search, which typer does not read: it means the same as in the terminal, or is left to the terminal."""

from typing import Any

import pytest

from subcog_hooks.cli import commands, search_sources, searching
from tests.cli.conftest import MonkeyPatch, Run

FOR_SCRIPTS = [
    "token refresh --json",
    "--jsonl token -n 3 --page 2 refresh",
    "token --ids --limit=7 --namespace rules -s facts --tag=a -t b",
    "--json --path src/a.py --path b.py --since 2024-01-01 --status all -- -t --fast",
    "--json --mode lexical --fast --explain --all-projects - x",
    "--jsonl x --project other --state branch=main --state n=1 --progressive",
    "--batch - --jsonl --fast",
    "--batch=rows.jsonl --explain",
    "--json --limit 1000 --page 1000000 x",
    "--json --project= x",
]
FOR_THE_TERMINAL = [
    "x --team --json",
    "token refresh",
    "token --fast",
    "token --json --ids",
    "token --json --debug",
    "token --json --help",
    "token --json -h",
    "token --json --limit",
    "token --json --limit 0",
    "token --json --limit 1001",
    "token --json --limit ten",
    "token --json --page=-1",
    "token --json --limit " + "9" * 5_000,
    "token --jso",
    "token --json -n5",
    "token --json --fast=1",
    "token --json --unknown",
    "token --json -x",
]


def as_typer_reads(words: list[str], monkeypatch: MonkeyPatch) -> dict[str, Any]:
    read: list[search_sources.SearchOptions] = []

    def take(asked: search_sources.SearchOptions, *_: object) -> int:
        read.append(asked)
        return 0

    monkeypatch.setattr(searching, "run_search", take)
    assert commands.build_app("search")(args=["search", *words], prog_name="subcog", standalone_mode=False) in (0, None)
    return values_of(read[0])


def values_of(asked: search_sources.SearchOptions) -> dict[str, Any]:
    names = [name for name in vars(search_sources.SearchOptions) if not name.startswith("_")]
    given = {name: getattr(asked, name) for name in names}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def test_a_line_means_what_typer_takes_it_for(monkeypatch: MonkeyPatch, subtests: pytest.Subtests) -> None:
    for line in FOR_SCRIPTS:
        with subtests.test(line=line):
            asked = search_sources.parse_command_line(["search", *line.split()])
            assert asked is not None
            assert values_of(asked) == as_typer_reads(line.split(), monkeypatch)


def test_every_other_line_is_left_to_the_terminal() -> None:
    lines = [line for line in FOR_THE_TERMINAL if search_sources.parse_command_line(["search", *line.split()]) is not None]
    assert lines == []


def test_progressive_is_for_lines_of_one_query(subcog: Run) -> None:
    for line in (["x"], ["x", "--json"], ["--batch", "-", "--jsonl"]):
        done = subcog("search", *line, "--progressive")
        assert (done.code, done.out) == (2, "")
        assert "--progressive is for --jsonl and one query" in done.err
    done = subcog("search", "x", "--jsonl", "--progressive")  # without a store
    assert (done.code, [row["type"] for row in done.rows]) == (1, ["preliminary", "final"])


def test_progressive_tells_first_what_words_find(subcog: Run) -> None:
    subcog("remember", "Sessions are kept in a cookie called sid.")
    subcog("remember", "The login lives in the browser's local storage.")
    done = subcog("search", "where is the session cookie", "--jsonl", "--progressive", "--fast")
    first, last = done.rows
    assert [first["type"], last["type"]] == ["preliminary", "final"]
    assert first["confidence"] == "fts_only"
    assert first["note"] == "found by words; the search by meaning is pending"
    assert last["confidence"] != "fts_only"
    assert "explain" not in first["results"][0]
    assert {name for hit in first["results"] for name in hit["found_by"]} <= {"lexical_exact", "lexical_relaxed", "labels"}
    alone = subcog("search", "where is the session cookie", "--jsonl", "--fast")
    assert last["results"] == alone.rows
