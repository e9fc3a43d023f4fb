"""`search --rank`: the model of the user's choice orders the first results; without one, or where it fails, it is said."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.machine import Machine, assert_one_line_error, posix
from tests.e2e.screen import OnTerminal
from tests.llm_server import LlmServer, fails, says_text

ROPES = ("Ropes are replaced every spring.", "Ropes of the pilot boat are green.", "Ropes are bought from the chandler.")


@pytest.fixture
def server() -> Iterator[LlmServer]:
    with LlmServer(says_text('{"numbers": [3, 1, 99, 3]}')) as server:
        yield server


@pytest.fixture
def asking(bare: Machine, server: LlmServer) -> Machine:
    """A machine with memories about ropes, whose owner has chosen that server for the work at rest."""
    bare.imports(*({"id": f"rope-{number}", "content": text} for number, text in enumerate(ROPES)))
    settings = f'[llm]\nat_rest = "openai"\nbase_url = "{server.url_v1}"\nmodel = "small"\n'
    (bare.home / "config.toml").write_text(settings)
    return bare


def found(machine: Machine, *options: str) -> list[str]:
    done = machine.run("search", "ropes", "--fast", "--ids", *options)
    assert done.code == 0, done.stderr
    return done.stdout.decode().split()


def test_what_it_names_comes_first_and_that_is_said(asking: Machine, server: LlmServer) -> None:
    first, second, third = found(asking)
    assert found(asking, "--rank") == [third, first, second]
    assert found(asking, "--rank", "-n", "1") == [third]
    done = asking.run("search", "ropes", "--fast", "--rank", "--json")
    told = json.loads(done.stdout)
    assert told["ranked_by"] == "openai (small)"
    assert [one["rank_by_model"] for one in told["results"]] == [1, 2, None]
    assert b"openai (small) put 2 of these results first" in asking.run("search", "ropes", "--fast", "--rank").stderr
    sent = server.requests[-1].json["messages"][-1]["content"]
    assert sent.startswith("Query:\nropes\n\nNote 1:\n")
    server.play(says_text('Here you are:\n```json\n{"numbers": [3, 1]}\n```'))
    assert found(asking, "--rank") == [third, first, second]
    assert "ranked_by" not in json.loads(asking.run("search", "ropes", "--fast", "--json").stdout)


def test_where_it_fails_the_order_stays_and_why_is_said(asking: Machine, server: LlmServer) -> None:
    usual = found(asking)
    for behaviour, why in ((fails(500), "its own failure"), (says_text('{"numbers": "all"}'), "another form")):
        server.play(behaviour)
        done = asking.run("search", "ropes", "--fast", "--ids", "--rank")
        assert (done.code, done.stdout.decode().split()) == (0, usual)
        assert b"\nnot ranked: openai: " in done.stderr
        assert why in done.stderr.decode()
    asking.run("config", "set", "llm.calls_a_day", "0")
    assert b"the 0 calls of today are made" in asking.run("search", "ropes", "--fast", "--ids", "--rank").stderr
    assert len(server.requests) == 2


def test_ranking_asks_nobody_without_a_choice(asking: Machine, server: LlmServer) -> None:
    done = asking.run("search", "password=hunter2swordfish ropes", "--fast", "--ids", "--rank")
    assert b"not ranked: the query may hold a secret" in done.stderr
    assert_one_line_error(asking.run("search", "ropes", "--rank", "--page", "2"), 2)
    asking.environment["CLAUDECODE"] = "1"
    assert_one_line_error(asking.run("search", "ropes", "--rank"), 2)
    del asking.environment["CLAUDECODE"]
    (asking.home / "config.toml").unlink()
    assert_one_line_error(asking.run("search", "ropes", "--ids", "--rank"), 5)
    assert_one_line_error(asking.run("search", "ropes", "--rank"), 5)
    assert server.requests == []


ROWS: list[dict[str, object]] = [
    {"id": "migration", "content": "Every migration of the database is written so that it can be rolled back."},
    {"id": "hooks", "content": "Stripe calls our webhook twice when the first answer takes longer than ten seconds."},
    {"id": "cluster", "content": "The staging environment is rebuilt from scratch each night.", "tags": ["kubernetes"]},
    {"id": "cat", "content": "The office cat sleeps on the warm server rack in winter."},
    {"id": "cents", "content": "Invoices are rounded to whole cents per line, never on the total."},
    {"id": "pool", "content": "Idle connections are closed after 30 seconds because the load balancer drops them."},
]
NONSENSE = ["xyzzyplugh", "qwrtzpsdf", "glorbnak frimble", "zxcvbnm asdfgh", "wuggle snorfin plib"]
MODES = [[], ["--fast"]]


@pytest.fixture(scope="module")
def stored(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds the rows, to be copied."""
    machine = Machine(subcog_command, tmp_path_factory.mktemp("stored"))
    machine.imports(*({"created_at": "2026-03-02", **row} for row in ROWS))
    return machine.home


@pytest.fixture
def noted(bare: Machine, stored: Path) -> Machine:
    shutil.copytree(stored, bare.home)
    return bare


@pytest.mark.parametrize("options", MODES)
def test_nonsense_finds_nothing_and_gets_advice_alone(noted: Machine, options: list[str]) -> None:
    for text in NONSENSE:
        done = noted.run("search", *options, "--ids", text)
        assert (done.code, done.stdout) == (1, b""), text
        assert b"nothing found; try fewer or other words" in done.stderr
        assert b"the memories here are about: " in done.stderr
    told = json.loads(noted.run("search", *options, "--json", NONSENSE[0]).stdout)
    assert (told["confidence"], told["results"], bool(told["suggestions"])) == ("no_results", [], True)


def test_a_beginning_finds_words_and_tags(noted: Machine) -> None:
    for id_, query in (
        ("migration", "migrati"),
        ("hooks", "--fast webho"),
        ("cluster", "--fast kuber"),
        ("cluster", "--mode lexical kuber"),
    ):
        done = noted.run("search", "--ids", *query.split())
        assert (done.code, done.stdout.decode().split()[0]) == (0, id_)
    near = "Containers are scheduled on nodes by an orchestrator."  # a weak neighbour by meaning
    noted.imports({"id": "near", "content": near, "created_at": "2026-03-02"})
    for beginning in ("kuber", "kubern"):
        assert noted.run("search", "--ids", beginning).stdout.decode().split()[0] == "cluster"


def test_an_empty_store_is_answered_with_what_to_do_first(bare: Machine) -> None:
    for _ in range(2):
        done = bare.run("search", "--fast", "anything")
        assert (done.code, done.stdout) == (1, b"")
        assert b'remember something first: subcog remember "the text"' in done.stderr
        assert b"nothing found; try" not in done.stderr
        id_ = bare.run("remember", "A text.").stdout.decode().strip()
        assert bare.run("forget", "--purge", "--yes", id_).code == 0  # a store without memories is as empty as none


@posix
def test_a_terminal_shows_how_sure_each_result_is(noted: Machine) -> None:
    for query, label in (("invoicesque", "low"), ("invoices rounded to whole cents per line", "very high")):
        lines = OnTerminal.shown([noted.command, "search", "--fast", query], noted.folder, noted.environment)[1]
        line = next(line for line in lines if line.startswith("cents"))
        assert 0.0 <= float(line.split(label + " ")[1].split()[0]) <= 1.0
        assert noted.run("doctor", "--fix").code == 0  # while vectors are pending, no label is high
