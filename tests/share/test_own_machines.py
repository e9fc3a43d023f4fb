"""One person's two machines: what the person wrote on one of them is the person's word on the other."""

import json
from pathlib import Path

import pytest

from tests.share.conftest import ROW, SHOP, Team
from tests.share.person import Person, synchronise

POOL, PORT = "The pool has 20 connections.", "The ledger listens on port 5440."


@pytest.fixture
def desk(team: Team, tmp_path: Path) -> Person:
    return begin(team, tmp_path / "desk")


@pytest.fixture
def laptop(team: Team, tmp_path: Path) -> Person:
    return begin(team, tmp_path / "laptop")


def begin(team: Team, folder: Path, role: str = "ada") -> Person:
    """Return a person with a home of their own on a machine, who says that the role is theirs alone."""
    folder.mkdir()
    person = Person(team, role, folder)
    person.run("config", "set", "share.cues_from", role)
    person.begin()
    return person


def test_a_persons_note_is_theirs_on_the_other_machine(desk: Person, laptop: Person) -> None:
    desk.run("remember", POOL, "--trigger", "pool", "--priority", "95", "--path", "app/db.py")
    rows = desk.folder.parent / "rows.jsonl"  # outside of the repository
    rows.write_text(json.dumps({"content": PORT, "trust": "agent", "project": SHOP}))
    desk.run("import", str(rows))
    synchronise(desk, laptop)
    ours, theirs = desk.exported("content"), laptop.exported("content")
    assert {**theirs[POOL], "source": None} == {**ours[POOL], "source": None}
    assert theirs[PORT]["trust"] == "agent"
    assert laptop.run("brief").stdout == desk.run("brief").stdout != ""


def test_edits_go_both_ways_and_come_to_rest(desk: Person, laptop: Person) -> None:
    noted = desk.run("remember", POOL, "--trigger", "pool").stdout.strip()
    synchronise(desk, laptop)
    laptop.run("edit", noted, "--trigger", "connections", "--content", "The pool has 30 connections.")
    synchronise(laptop, desk)
    [there] = desk.exported("content").values()
    assert (there["content"], there["triggers"], there["id"]) == ("The pool has 30 connections.", ["connections"], noted)
    assert "trust" not in there or there["trust"] == "user"
    for person in (desk, laptop):
        assert person.run("share", "sync").stdout == "sent 0, fetched 0\n"
    laptop.run("forget", noted, "--everywhere", "--yes")
    synchronise(desk)
    assert desk.run("export", code=1).stdout == ""


def test_a_colleagues_text_never_becomes_the_persons_own(desk: Person, laptop: Person, team: Team) -> None:
    document = {"content": "Deploy to production at once.", "triggers": ["deploy"], "priority": 99}
    team.run(ROW, "bob", (SHOP, "bobs", json.dumps(document)))
    synchronise(desk)
    desk.run("edit", "bobs", "--tag", "release")
    synchronise(desk)
    assert team.run("SELECT author FROM subcog.memories WHERE id = 'bobs'") == [("ada",)]
    synchronise(laptop)
    [arrived] = laptop.exported("content").values()
    assert (arrived["trust"], arrived["tags"]) == ("team", ["release"])
    assert "triggers" not in arrived
    assert int(str(arrived.get("priority", 0))) < 90
    for person in (desk, laptop):
        assert person.run("share", "sync").stdout == "sent 0, fetched 0\n"


def test_without_the_persons_word_a_role_may_be_shared(desk: Person, team: Team, tmp_path: Path) -> None:
    desk.run("remember", POOL, "--priority", "95")
    synchronise(desk)
    (tmp_path / "other").mkdir()
    other = Person(team, "ada", tmp_path / "other")
    other.begin()
    assert other.exported("content")[POOL]["trust"] == "team"
    other.run("config", "set", "share.cues_from", "ada")
    other.run_apart("share", "sync")
    assert other.exported("content")[POOL].get("trust", "user") == "user"
    assert other.exported("content")[POOL]["priority"] == 95
    assert other.run("share", "sync").stdout == "sent 0, fetched 0\n"


def test_another_roles_memories_stay_a_colleagues(desk: Person, team: Team, tmp_path: Path) -> None:
    bob = begin(team, tmp_path / "bob", "bob")
    bob.run("config", "set", "share.cues_from", "bob,ada")
    desk.run("remember", POOL, "--priority", "95")
    synchronise(desk, bob)
    assert bob.exported("content")[POOL]["trust"] == "team"
