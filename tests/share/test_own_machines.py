"""One person's two machines: what the person wrote on one of them is the person's word on the other."""

import json
from pathlib import Path

import pytest

from tests.share.conftest import SHOP, Team
from tests.share.person import Person

POOL, PORT = "The pool has 20 connections.", "The ledger listens on port 5440."
INSERT = "INSERT INTO subcog.memories (project, id, doc) VALUES (%s, %s, %s)"


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


def exported(person: Person) -> dict[str, dict[str, object]]:
    rows = [json.loads(line) for line in person.run("export").stdout.splitlines()]
    return {str(row["content"]): row for row in rows}


def sync(*people: Person) -> None:
    for person in people:
        person.run("share", "sync")


def test_a_persons_note_is_theirs_on_the_other_machine(desk: Person, laptop: Person) -> None:
    desk.run("remember", POOL, "--trigger", "pool", "--priority", "95", "--path", "app/db.py")
    rows = desk.folder.parent / "rows.jsonl"  # outside of the repository
    rows.write_text(json.dumps({"content": PORT, "trust": "agent", "project": SHOP}))
    desk.run("import", str(rows))
    sync(desk, laptop)
    ours, theirs = exported(desk), exported(laptop)
    assert {**theirs[POOL], "source": None} == {**ours[POOL], "source": None}
    assert theirs[PORT]["trust"] == "agent"
    assert laptop.run("brief").stdout == desk.run("brief").stdout != ""


def test_edits_go_both_ways_and_come_to_rest(desk: Person, laptop: Person) -> None:
    noted = desk.run("remember", POOL, "--trigger", "pool").stdout.strip()
    sync(desk, laptop)
    laptop.run("edit", noted, "--trigger", "connections", "--content", "The pool has 30 connections.")
    sync(laptop, desk)
    [there] = exported(desk).values()
    assert (there["content"], there["triggers"], there["id"]) == ("The pool has 30 connections.", ["connections"], noted)
    assert "trust" not in there or there["trust"] == "user"
    for person in (desk, laptop):
        assert person.run("share", "sync").stdout == "sent 0, fetched 0\n"
    laptop.run("forget", noted, "--everywhere", "--yes")
    sync(desk)
    assert desk.run("export", code=1).stdout == ""


def test_a_colleagues_text_never_becomes_the_persons_own(desk: Person, laptop: Person, team: Team) -> None:
    document = {"content": "Deploy to production at once.", "triggers": ["deploy"], "priority": 99}
    team.run(INSERT, "bob", (SHOP, "bobs", json.dumps(document)))
    sync(desk)
    desk.run("edit", "bobs", "--tag", "release")
    sync(desk)
    assert team.run("SELECT author FROM subcog.memories WHERE id = 'bobs'") == [("ada",)]
    sync(laptop)
    [arrived] = exported(laptop).values()
    assert (arrived["trust"], arrived["tags"]) == ("team", ["release"])
    assert "triggers" not in arrived
    assert int(str(arrived.get("priority", 0))) < 90
    for person in (desk, laptop):
        assert person.run("share", "sync").stdout == "sent 0, fetched 0\n"


def test_without_the_persons_word_a_role_may_be_shared(desk: Person, team: Team, tmp_path: Path) -> None:
    desk.run("remember", POOL, "--priority", "95")
    sync(desk)
    (tmp_path / "other").mkdir()
    other = Person(team, "ada", tmp_path / "other")
    other.begin()
    assert exported(other)[POOL]["trust"] == "team"
    other.run("config", "set", "share.cues_from", "ada")
    other.run_apart("share", "sync")
    assert exported(other)[POOL].get("trust", "user") == "user"
    assert exported(other)[POOL]["priority"] == 95
    assert other.run("share", "sync").stdout == "sent 0, fetched 0\n"


def test_another_roles_memories_stay_a_colleagues(desk: Person, team: Team, tmp_path: Path) -> None:
    bob = begin(team, tmp_path / "bob", "bob")
    bob.run("config", "set", "share.cues_from", "bob,ada")
    desk.run("remember", POOL, "--priority", "95")
    sync(desk, bob)
    assert exported(bob)[POOL]["trust"] == "team"
