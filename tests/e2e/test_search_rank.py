"""`search --rank`: the model of the user's choice orders the first results; without one, or where it fails, it is said."""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.machine import Machine, assert_one_line_error
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
        assert done.stderr.startswith(b"not ranked: openai: ")
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
