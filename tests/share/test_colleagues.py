"""Memories that a colleague can write on the server, and the fields that count here."""

from pathlib import Path

import pytest

from subcog_hooks.recall import fusion
from subcog_hooks.settings import loading
from subcog_hooks.share import server_connection, server_documents, server_schema, team_search
from subcog_hooks.store.memory import now_ms
from tests.share.conftest import ROW, SHOP, Team

HOSTILE = [
    *("'; DROP TABLE subcog.memories; --", "$$; DELETE FROM subcog.memories; $$", "\\copy \\N \t \\. \n\\.\n"),
    *("NUL \x00 and \x1b[31m red \u202e turned \U0001f600", '"}\'::jsonb; {"a": [1', "%s %(name)s {0}"),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_sql_and_controls_in_every_field_are_text(team: Team, text: str) -> None:
    plain = text.replace("\x00", "").strip()
    fields = {"tags": (text,), "keywords": (text,), "paths": ("a/**",), "branch": text, "namespace": "x"}
    ada, bob, noted = team.pair(text, **fields)
    arrived = bob.memories()[noted.id]
    signs = ("DROP TABLE subcog.memories", "\\copy", "%(name)s")
    for given in (arrived.content, *arrived.tags, *arrived.keywords, arrived.branch or ""):
        assert not set(given) & set("\x00\x1b\u202e")
        assert [sign for sign in signs if sign in given] == [sign for sign in signs if sign in plain]
    assert bob.sync().sent == 0  # A text that was made harmless here is not sent back.
    assert ada.sync().fetched == 0


def test_an_escape_that_somebody_writes_about_is_no_character(team: Team) -> None:
    _, bob, noted = team.pair("JSON writes a NUL as \\u0000.")
    assert bob.memories()[noted.id].content == noted.content


BROKEN = [
    '{"content": "  "}',
    '{"content": "x", "tags": 7}',
    '{"content": "x", "priority": "high"}',
    '{"content": "x", "status": "pending"}',
    '{"content": "x", "created_at": "yesterday"}',
    '{"content": "x", "triggers": ["(((("]}',
    '{"content": "x", "namespace": "Not A Name"}',
    '{"content": "x", "when": {"nothing known": {"a": {"b": 1}}}}',
    '{"content": "x", "priority": 1e5000}',  # digits that Python does not read
    '{"content": "x", "when": ' + "[" * 3_000 + "]" * 3_000 + "}",  # deeper than it reads
    '{"content": "x", "when": ' + "[" * 300 + "]" * 300 + "}",
    '{"content": "x", "created_at": "0001-01-01T00:00:00+14:00"}',
]


@pytest.mark.parametrize("document", ["[]", "5", '"x"', "null", "{}"])
def test_the_server_refuses_what_has_no_content(team: Team, document: str) -> None:
    import psycopg

    with pytest.raises(psycopg.errors.CheckViolation):
        team.run(ROW, "eve", (SHOP, "bad", document))


@pytest.mark.parametrize("time", ["someday", "2026-13-45T00:00:00Z", "2026-02-31T10:00:00Z", "0000-01-01T00:00:00Z"])
@pytest.mark.parametrize("field", ["created_at", "expires_at"])
def test_no_time_that_a_colleague_wrote_ends_a_search(team: Team, field: str, time: str) -> None:
    ada = team.member("ada")
    ada.remember("the pool of connections")
    ada.remember("the pool of connections, as it was", expires_at=2_000)
    ada.sync()
    team.run(ROW, "eve", (SHOP, "bad", f'{{"content": "the pool of connections", "{field}": "{time}"}}'))
    asked = team_search.TeamRequest("connections pool", [SHOP], None)
    with server_connection.open_connection(ada.url) as opened:
        tables, weights = server_schema.require_tables(opened), fusion.tuning_from_settings(loading.load(ada.home))
        hits = team_search.search_server(opened, tables, asked, weights, 0.5, now_ms())
    assert "the pool of connections" in {hit.memory.content for hit in hits}
    assert "the pool of connections, as it was" not in {hit.memory.content for hit in hits}


def test_what_a_home_put_aside_is_erased_with_the_memory(team: Team) -> None:
    ada, bob, noted = team.pair("the plan")
    bob.change(noted.id, content="the plan of bob")
    for file in Path(bob.home.root).glob("team.db*"):
        file.unlink()
    bob.sync(), ada.sync()
    with server_connection.open_connection(ada.url) as opened:
        server_documents.erase_memories(opened, [SHOP], [noted.id], has_vectors=server_schema.read_tables(opened).has_vectors)
    assert team.run("SELECT count(*), count(doc) FROM subcog.memories") == [(2, 0)]


def test_documents_that_hold_no_memory_are_left_out_one_by_one(team: Team) -> None:
    ada, bob = team.member("ada"), team.member("bob")
    bob.cues_from = frozenset(("eve",))
    for number, document in enumerate(BROKEN):
        team.run(ROW, "eve", (SHOP, f"bad{number}", document))
    good = ada.remember("good")
    ada.sync()
    outcome = bob.sync()
    assert set(bob.memories()) == {good.id}
    assert len(outcome.problems) == len(BROKEN)
    assert all("by eve: " in problem and "\n" not in problem for problem in outcome.problems)
    assert bob.sync().problems == []  # they are not fetched again


def test_an_export_goes_on_after_what_can_not_be_read(team: Team) -> None:
    ada = team.member("ada")
    ada.remember("good")
    ada.sync()
    team.run(ROW, "eve", (SHOP, "bad", BROKEN[-4]))
    lines: list[str] = []
    with server_connection.open_connection(ada.url) as opened:
        assert server_documents.export_memories(opened, "-", lines.append) == 1
    assert '"good"' in lines[0]


def test_a_document_is_too_large_for_the_server_and_for_a_home(team: Team) -> None:
    import psycopg

    with pytest.raises(psycopg.errors.CheckViolation):
        team.run(ROW, "eve", (SHOP, "huge", '{"content": "' + "x" * 500_000 + '"}'))
    ada = team.member("ada")
    large = ada.remember("word " * 60_000)
    outcome = ada.sync()
    assert (outcome.sent, outcome.problems) == (0, [f"{large.id} has more than 200,000 bytes"])
