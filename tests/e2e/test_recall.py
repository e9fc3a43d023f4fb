"""The installed executable: equal stores answer equally, settings and the environment reach search and hook, batches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.e2e.machine import DATA, Machine

ROWS: list[dict[str, object]] = [json.loads(line) for line in (DATA / "memories.jsonl").read_text("utf-8").splitlines()]


def tie(id_: str, content: str, date: str = "2026-01-15", **fields: object) -> dict[str, object]:
    return {"id": id_, "content": content, "created_at": date, **fields}


# Whatever is easily ordered by insertion: equal texts, texts of equal words, near repeats, equal dates.
TIES = [
    *(tie(f"tie-{i:02}", f"Ferry bell code {i:02}", "2026-01-01") for i in range(30)),
    *(tie(f"twin-{i}", "The ferry bell rings twice in fog.", tags=["fog", "bell"]) for i in range(4)),
    *(tie(f"near-{i}", "The ferry bell rings twice in fog" + "!" * i, "2026-02-01") for i in range(4)),
]
QUERIES = [
    "How do we store the session token in the browser?",
    '"exclusion constraint"',
    "ferry bell",
    "fog bell code",
    "bel of the fery",  # misspelt
    "bellwether",  # looser matching
    "xyzzyplugh",  # a distant meaning
    "src/berths/pontoons.py",
    "係留料金",
]


def without_time(done: bytes) -> bytes:
    return b"\n".join(line for line in done.split(b"\n") if b'"elapsed_ms"' not in line)


def answers(machine: Machine, *options: str) -> bytes:
    """The answers to QUERIES, of a fresh process each, without the time that they took."""
    return b"".join(without_time(machine.run("search", "--json", "--all-projects", *options, "--", q).stdout) for q in QUERIES)


def batch(machine: Machine, rows: Sequence[object], *options: str) -> dict[str, list[dict[str, Any]]]:
    """The results of a batch by id."""
    done = machine.run("search", "--batch", "-", *options, stdin="\n".join(map(json.dumps, rows)).encode())
    assert (done.code, done.stderr) == (0, b"")
    return {row["id"]: row["results"] for row in map(json.loads, done.stdout.splitlines())}


@pytest.fixture
def tied(bare: Machine) -> Machine:
    bare.imports(*ROWS, *TIES)
    return bare


def test_equal_queries_give_equal_bytes_in_fresh_processes(tied: Machine) -> None:
    found = []
    for seed in ("1", "2"):
        tied.environment["PYTHONHASHSEED"] = seed
        found.append(answers(tied, "--fast"))
    assert (found[0] == found[1], b'"twin-0"' in found[0], b'"no_results"' in found[0]) == (True, True, True)


def test_a_shared_script_or_no_word_brings_no_memory(machine: Machine) -> None:
    for prompt in ("なぜこのテストは失敗しますか", "どうやってログインを実装しますか？説明してください"):
        assert machine.recall(prompt) == []
    results = json.loads(machine.run("search", "\U0001f680", "--fast", "--json").stdout)["results"]
    assert [hit["id"] for hit in results if hit["relevance"] > 0.2] == []


def test_a_prompt_of_words_that_each_memory_has_is_answered(bare: Machine) -> None:
    texts = [f"The winch {i} keeps old ropes." for i in range(140)]
    statuses = ["active"] * 40 + ["pending"] * 100
    bare.imports(*({"id": f"w-{i}", "content": texts[i], "status": status} for i, status in enumerate(statuses)))
    bare.run("review", *(word for i in range(40, 140) for word in ("--accept", f"w-{i}")))  # The index counts them twice.
    assert "w-7" in bare.recall("What has the winch 7 to do with old ropes?")


def test_a_batch_says_what_single_searches_say(machine: Machine) -> None:
    rows = [{"id": query, "query": query} for query in (*QUERIES, "bellwether of sessions")]
    for id_, results in batch(machine, rows, "--fast", "--explain").items():
        alone = json.loads(machine.run("search", "--json", "--fast", "--all-projects", "--", id_).stdout)["results"]
        assert alone == results


def test_a_name_with_a_dot_finds_no_host_name_first(bare: Machine) -> None:
    net = "The api targets .NET 8 since March."
    for text in ("The build host is ci.shop.net and has 8 cores.", "The mail relay is mail.net in the cellar.", net):
        assert bare.run("remember", text).code == 0
    rows = {row["id"]: row["content"] for row in bare.rows("list", "--jsonl")}
    assert rows[bare.recall("how do we build the .NET solution?")[0]] == net
    assert net in bare.run("search", ".net").stdout.decode().splitlines()[0]
