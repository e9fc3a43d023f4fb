"""`subcog eval`: one's own queries on one's own store, and the sweep of fusion.alpha."""

import json
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store.store import Store
from tests.cli.conftest import Ask, Run

TEXTS = {
    "keys": "The signing keys of the release service are rotated every quarter.",
    "cookie": "The session cookie of the web client is renewed every hour.",
    "port": "The tunnel of the staging database listens on port 2333.",
}
NO_QUERY = 'standard input line 1: expected {"query", "ids", "project"?}; correct the line'
QUERIES = {
    "how often are signing keys rotated": "keys",
    "when is the cookie of the session renewed": "cookie",
    "tunnel port of the staging database": "port",
}


@pytest.fixture
def file(ask: Ask, tmp_path: Path) -> Path:
    ask.remember(**TEXTS)
    rows = [{"query": query, "ids": [id_]} for query, id_ in QUERIES.items()]
    path = tmp_path / "queries.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_each_measure_has_its_mean_and_an_interval(subcog: Run, file: Path) -> None:
    done = subcog("eval", str(file), "--fast", "--json")
    assert (done.code, done.err) == (0, "")
    record = done.json
    assert record["queries"] == 3
    assert list(record["measures"]) == ["hit rate@1", "hit rate@5", "hit rate@10", "MRR@10", "nDCG@10"]
    for measure in record["measures"].values():
        assert measure == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert list(record["ndcg@10 by fusion.alpha"]) == [f"{tenth / 10:.1f}" for tenth in range(11)]


def test_what_is_not_found_lowers_the_means(subcog: Run, file: Path) -> None:
    with file.open("a", encoding="utf-8") as more:
        more.write('{"query": "zzyzx qwrtp", "ids": ["keys"]}\n\n')
    record = subcog("eval", str(file), "--fast", "--json").json
    assert record["queries"] == 4
    assert record["measures"]["hit rate@10"]["mean"] == 0.75
    assert record["measures"]["nDCG@10"]["low"] < 0.75 < record["measures"]["nDCG@10"]["high"]


def test_a_rank_below_the_first_is_told_by_mrr(subcog: Run, file: Path) -> None:
    file.write_text('{"query": "how often are signing keys rotated", "ids": ["cookie"]}\n', "utf-8")
    measures = subcog("eval", str(file), "--fast", "--json").json["measures"]
    assert measures["hit rate@1"]["mean"] == 0.0
    assert 0.0 <= measures["MRR@10"]["mean"] < 1.0


def test_the_sweep_ends_where_search_with_that_share_does(subcog: Run, file: Path) -> None:
    by_share = subcog("eval", str(file), "--fast", "--json").json["ndcg@10 by fusion.alpha"]
    assert subcog("config", "set", "fusion.alpha", "0.2").code == 0
    record = subcog("eval", str(file), "--fast", "--json").json
    assert record["measures"]["nDCG@10"]["mean"] == by_share["0.2"]


def test_a_person_reads_a_table_and_what_it_says(subcog: Run, file: Path) -> None:
    lines = subcog("eval", str(file), "--fast").out.splitlines()
    assert lines[0].strip() == "3 queries"
    assert lines[1].split() == ["hit", "rate@1", "1.000", "[1.000,", "1.000]"]
    assert lines[-1] == "fusion.alpha is 0.7; no other share finds notably more of them"


def test_a_project_is_searched_by_itself(subcog: Run, ask: Ask, tmp_path: Path) -> None:
    ask.remember(project="git.example/one", keys=TEXTS["keys"])
    ask.remember(project="git.example/two", **{f"keys{i}": f"{TEXTS['keys']} See runbook {i}." for i in range(12)})
    path = tmp_path / "rows.jsonl"
    firsts = []
    for project in ("git.example/one", ""):
        path.write_text(json.dumps({"query": "signing keys runbook", "ids": ["keys"], "project": project}), "utf-8")
        record = subcog("eval", str(path), "--fast", "--json").json
        firsts.append(record["measures"]["hit rate@1"]["mean"])
    assert firsts == [1.0, 0.0]
    for project, shown in (("git.example/two", "git.example/two"), ("\ud800", "?")):
        path.write_text(json.dumps({"query": "keys", "ids": ["keys"], "project": project}), "utf-8")
        done = subcog("eval", str(path), "--fast")
        assert (done.code, done.err) == (1, f"subcog: keys is not of the project {shown}; correct the file\n")


def test_a_share_of_nothing_is_swept_too(subcog: Run, file: Path) -> None:
    assert subcog("config", "set", "fusion.alpha", "0").code == 0
    record = subcog("eval", str(file), "--fast", "--json").json
    by_share = record["ndcg@10 by fusion.alpha"]
    assert record["measures"]["nDCG@10"]["mean"] == by_share["0.0"]
    assert len(by_share) == 11


def test_an_expired_memory_can_not_be_found(subcog: Run, file: Path, home: Home) -> None:
    with Store.writer(home) as store:
        store.modify(["keys"], lambda memory: memory.with_changes(expires_at=1))
    done = subcog("eval", str(file), "--fast")
    assert (done.code, done.err) == (1, "subcog: no active memory has the id keys; correct the file\n")


@pytest.mark.usefixtures("file")
def test_a_file_that_does_not_hold_is_one_line(subcog: Run, subtests: pytest.Subtests) -> None:
    cases = [
        ("[", 2, NO_QUERY),
        ("[]", 2, NO_QUERY),
        ('{"query": "x"}', 2, NO_QUERY),
        ('{"query": "x", "ids": []}', 2, NO_QUERY),
        ('{"query": "x", "ids": [1]}', 2, NO_QUERY),
        ('{"query": " ", "ids": ["keys"]}', 2, NO_QUERY),
        ('{"query": "x", "ids": ["\\ud800"]}', 1, "no active memory has the id ?; correct the file"),
        ("", 2, 'standard input has no query; a line is {"query", "ids", "project"?}'),
        ('{"query": "x", "ids": ["nobody", "keys"]}', 1, "no active memory has the id nobody; correct the file"),
    ]
    for line, code, message in cases:
        with subtests.test(line=line):
            done = subcog("eval", "-", stdin=line.encode())
            assert (done.code, done.out, done.err) == (code, "", f"subcog: {message}\n")


def test_without_memories_it_says_so(subcog: Run) -> None:
    done = subcog("eval", "-", stdin=b'{"query": "x", "ids": ["keys"]}')
    assert (done.code, done.out) == (1, "")
    assert done.err == "subcog: there are no memories; `subcog remember` makes the first\n"


def test_nothing_is_changed(subcog: Run, file: Path, home: Home) -> None:
    with Store.reader(home) as store:
        before = store.revision()
    subcog("eval", str(file), "--fast")
    with Store.reader(home) as store:
        assert store.revision() == before
    assert not Path(home.state_db).exists()
