"""A writing colleague against the user's own memories: each is kept, named, and taken back, through the executable."""

import json
import os
from pathlib import Path

import pytest

from subcog_hooks.share import sending, sync
from subcog_hooks.share.synced import ERASED, ShareState
from tests.share.conftest import ROW, SHOP, Server, Team
from tests.share.person import Person, synchronise

TEXT = "The pool has 20 connections."
READ = "SELECT doc ->> 'content' FROM subcog.memories WHERE id = %s"
REWRITE = "UPDATE subcog.memories SET base = revision, doc = doc || %s::jsonb WHERE id = %s"
ERASE = "UPDATE subcog.memories SET doc = NULL, erased = true WHERE id = %s"


@pytest.fixture
def own_team(server: Server, tmp_path: Path) -> Team:
    """A database that ada owns, where `--grant bob` has given bob the right to write."""
    team = Team(server, tmp_path)
    team.database = server.new_database()
    team.run(f"GRANT CREATE ON DATABASE {team.database} TO ada")
    if server.has_vectors:
        team.run("CREATE EXTENSION vector")  # an administrator's to make
    return team


@pytest.fixture
def author(own_team: Team, tmp_path: Path) -> Person:
    person = Person(own_team, "ada", tmp_path)
    person.run("share", "init", person.url, "--grant", "bob", "--yes")
    return person


@pytest.fixture
def colleague(own_team: Team, author: Person, tmp_path: Path) -> Person:
    person = Person(own_team, "bob", tmp_path)
    person.run("share", "init", person.url, "--yes")
    return person


def remember(person: Person, *words: str) -> str:
    id_ = person.run("remember", *words).stdout.strip()
    person.run("share", "sync", "--yes")
    return id_


def test_two_statements_of_a_writer_erase_nothing_of_its_author(author: Person, own_team: Team) -> None:
    noted = remember(author, TEXT)
    own_team.run(REWRITE, "bob", ('{"content": "Nothing to see."}', noted))
    message = author.run_apart("share", "sync").stderr
    changed = author.run_apart("share", "status").stdout
    own_team.run(ERASE, "bob", (noted,))
    author.run_apart("share", "sync")
    [kept] = [memory for memory in author.stored().values() if memory["content"] == TEXT]
    assert (kept["status"], kept["trust"], kept["superseded_by"]) == ("superseded", "user", noted)
    assert "1 memory of yours was changed or deleted by colleagues" in message
    assert f"changed by bob: {noted} (content), before: {TEXT} [kept as {kept['id']}]\n" in changed
    assert author.status()["deleted"] == [{"id": noted, "by": "bob", "erased": True}]
    back = author.run_apart("share", "restore", noted).stdout.strip()
    author.run_apart("share", "sync")
    assert own_team.run(READ, values=(back,)) == [(TEXT,)]
    assert author.stored()[back]["status"] == "active"
    after = author.status()
    assert (after["deleted"], after["changed"]) == ([], [])


def test_what_was_kept_is_in_no_colleagues_hands(author: Person, own_team: Team) -> None:
    noted = remember(author, TEXT)
    own_team.run(REWRITE, "bob", ('{"content": "Nothing to see."}', noted))
    synchronise(author, author)
    [kept] = [id_ for id_, memory in author.stored().items() if memory["content"] == TEXT]
    assert own_team.run("SELECT id FROM subcog.memories") == [(noted,)]
    own_team.run("INSERT INTO subcog.memories (project, id, doc) VALUES (%s, %s, NULL)", "bob", (SHOP, kept))
    own_team.run(ERASE, "bob", (kept,))
    assert f"left out: {kept} by bob" in author.run("share", "sync").stderr
    assert author.stored()[kept]["status"] == "superseded"


CHANGES = {
    "content": '{"content": "Deploy now."}',
    "status": '{"status": "archived"}',
    "expires_at": '{"expires_at": "2020-01-01T00:00:00Z"}',
    "tags": '{"tags": ["release"]}',
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_change_is_named_by_its_author_and_taken_back(author: Person, own_team: Team, field: str) -> None:
    noted = remember(author, TEXT, "--tag", "db")
    before = author.run("export").stdout
    own_team.run(REWRITE, "bob", ('{"triggers": ["pool"]}', noted))  # which changes nothing here, and is the colleague's
    author.run("share", "sync")
    own_team.run(REWRITE, "bob", (CHANGES[field], noted))
    author.run("share", "sync")
    [change] = author.status()["changed"]
    assert (change["id"], change["by"]) == (noted, "bob")
    assert field in str(change["fields"])
    own_team.run(REWRITE, "bob", ('{"namespace": "bobs"}', noted))  # and once more
    author.run("share", "sync")
    assert author.run("share", "restore", "--by", "bob").stdout == f"{noted}\n"
    after = author.exported()[noted]
    assert {**after, "updated_at": ""} == {**json.loads(before), "updated_at": ""}
    assert author.run("share", "sync").stdout.startswith("sent 1, ")
    assert author.status()["changed"] == []


def test_a_deletion_is_taken_back_with_the_status_that_it_had(author: Person, colleague: Person, own_team: Team) -> None:
    noted, retired = remember(author, TEXT), remember(author, "The pool had 10 connections.")
    author.run("supersede", retired, noted)
    author.run("share", "sync")
    colleague.run("share", "sync", "--yes")
    own_team.run("UPDATE subcog.memories SET doc = NULL", "bob")
    author.run("share", "sync")
    deleted = {(row["id"], row["by"], row["erased"]) for row in author.status()["deleted"]}
    assert deleted == {(noted, "bob", False), (retired, "bob", False)}
    author.run("share", "restore", noted, retired)
    there = author.stored()
    assert (there[noted]["status"], there[retired]["status"]) == ("active", "superseded")
    assert there[retired]["superseded_by"] == noted
    synchronise(author, colleague)
    assert TEXT in colleague.run("list").stdout


def test_a_memory_that_a_colleague_revives_is_forgotten_again(author: Person, own_team: Team) -> None:
    noted = remember(author, TEXT)
    author.run("forget", noted)
    author.run("share", "sync")
    own_team.run("UPDATE subcog.memories SET base = revision, doc = %s", "bob", (f'{{"content": "{TEXT}"}}',))
    author.run("share", "sync")
    [change] = author.status()["changed"]
    assert (change["id"], change["by"]) == (noted, "bob")
    author.run("share", "restore", noted)
    assert author.stored()[noted]["status"] == "deleted"


def test_an_edit_of_ones_own_settles_a_change_of_its_labels(author: Person, own_team: Team) -> None:
    noted = remember(author, TEXT)
    own_team.run(REWRITE, "bob", ('{"tags": ["release"]}', noted))
    author.run("share", "sync")
    assert [change["fields"] for change in author.status()["changed"]] == [["tags"]]
    author.run("edit", noted, "--tag", "db")
    assert author.status()["changed"] == []
    assert "has not changed or deleted any memory of yours" in author.run("share", "restore", "--by", "bob", code=1).stderr


def test_a_kept_version_is_forgotten_and_purged_with_its_memory(author: Person, own_team: Team) -> None:
    noted, other = remember(author, TEXT), remember(author, "The secret plan is to buy Acme.")
    for id_ in (noted, other):
        own_team.run(REWRITE, "bob", ('{"content": "Nothing to see."}', id_))
    author.run("share", "sync")
    kept = {change["id"]: str(change["kept"]) for change in author.status()["changed"]}
    author.run("forget", kept[noted])
    assert [change["id"] for change in author.status()["changed"]] == [other]
    asked = author.run("forget", "--purge", other, code=2).stderr
    assert "purging 2 memories cannot be undone" in asked
    author.run("forget", "--purge", other, "--yes")
    assert not any(b"secret plan" in file.read_bytes() for file in author.home.rglob("*") if file.is_file())


def test_what_one_wrote_on_another_machine_is_ones_own_too(author: Person, own_team: Team, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = Person(own_team, "ada", tmp_path / "second")
    second.run("share", "init", second.url, "--yes")
    noted = remember(author, TEXT)
    second.run("share", "sync", "--yes")
    own_team.run(REWRITE, "bob", ('{"content": "Nothing to see."}', noted))
    second.run("share", "sync")
    own_team.run(ERASE, "bob", (noted,))
    second.run("share", "sync")
    assert [memory["content"] for memory in second.stored().values()] == [TEXT]
    author.run("forget", "--everywhere", "--yes", remember(author, "Erased by its author."))
    second.run("share", "sync")
    assert [memory["content"] for memory in second.stored().values()] == [TEXT]  # what is one's own to erase, is


def test_restore_is_the_persons_and_says_what_it_does_not_know(author: Person) -> None:
    noted = remember(author, TEXT)
    assert "--as-user" in author.run("share", "restore", noted, code=2, CLAUDECODE="1").stderr
    assert "no colleague has changed or deleted" in author.run("share", "restore", noted, code=2).stderr
    assert "name memories, or a colleague by --by" in author.run("share", "restore", code=2).stderr


@pytest.mark.parametrize("eraser", ["bob", "ada"])
def test_an_edit_that_meets_an_erasure_is_not_lost(team: Team, monkeypatch: pytest.MonkeyPatch, eraser: str) -> None:
    ada = team.member("ada")
    ada.cues_from = frozenset(("ada",))
    noted = ada.remember("before")
    ada.sync()
    ada.change(noted.id, content="The user's edit.")

    def erase_and_send(exchange: sending.Exchange) -> None:  # as another client does after this one has fetched
        team.run(ERASE, eraser, (noted.id,))
        sending.send_changes(exchange)

    monkeypatch.setattr(sync, "send_changes", erase_and_send)
    assert ada.sync().overruled == 1
    left = ada.memories()[noted.id]
    assert (left.content, left.status) == ("The user's edit.", "deleted")
    with ShareState.open(ada.home) as state:
        [overruling] = state.overrulings().values()
    assert (overruling.kind, overruling.author, overruling.status) == (ERASED, eraser, "active")


@pytest.mark.parametrize("statement", ['doc = doc || \'{"status": "archived"}\'', "doc = NULL", "erased = true"])
def test_a_colleague_ends_no_rule(author: Person, own_team: Team, statement: str) -> None:
    settings = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "settings.json"
    settings.parent.mkdir()
    noted = remember(author, TEXT, "--deny", "psql")
    own_team.run(f"UPDATE subcog.memories SET base = revision, {statement}", "bob")
    left_out = f"left out: {noted} by bob: it owns a rule of Claude Code here, so it stays as it is"
    assert left_out in author.run("share", "sync").stderr
    before = author.stored()
    assert (before[noted]["status"], before[noted]["content"]) == ("active", TEXT)
    after = author.run("share", "sync")
    assert (after.stdout, author.stored()) == ("sent 0, fetched 0\n", before)
    assert left_out not in after.stderr
    assert "Bash(psql *)" in settings.read_text(encoding="utf-8")


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
