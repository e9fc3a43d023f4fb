"""A database or a home that was restored from a backup: its lost memories come back, and no other is lost."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.share import sync
from tests.share.conftest import Team


def test_a_database_that_was_put_back_gets_what_it_lost(team: Team) -> None:
    ada, bob = team.member("ada"), team.member("bob")
    old, edited, deleted = (ada.remember(text) for text in ("old", "edited: before", "deleted later"))
    ada.sync(), bob.sync()
    backup = team.backup()
    bob.change(edited.id, content="edited: after")
    ada.change(deleted.id, status="deleted")
    new = bob.remember("new")
    bob.sync(), ada.sync(), bob.sync()
    team.put_back(backup)
    ada.remember("while it was put back")
    ada.sync(), bob.sync(), ada.sync(), bob.sync()
    for member in (ada, bob):
        there = {memory.content: memory.status for memory in member.memories().values()}
        assert (there.pop("edited: before", "") == "superseded") == (member is ada)  # Her version stays beside it.
        expected = dict.fromkeys(("old", "edited: after", "new", "while it was put back"), "active")
        assert there == {**expected, "deleted later": "deleted"}
    assert {old.id, edited.id, new.id} < {id_ for (id_,) in team.run("SELECT id FROM subcog.memories WHERE doc IS NOT NULL")}
    assert ada.sync().sent == 0


def test_memories_written_after_a_restore_are_kept_too(team: Team) -> None:
    ada, bob, shared = team.pair("first")
    backup = team.backup()
    before = {ada.remember(f"before {number}").content for number in range(3)}
    ada.change(shared.id, content="by ada, and sent")
    assert ada.sync().sent == 4
    team.put_back(backup)
    after = {bob.remember(f"after {number}").content for number in range(5)}
    bob.change(shared.id, content="by bob, and sent")
    assert bob.sync().sent == 6  # so the server has more revisions than before
    for _ in range(2):
        ada.sync(), bob.sync()
    for member, kept in ((ada, {"by ada, and sent"}), (bob, set())):
        there = member.memories()
        assert there[shared.id].content == "by bob, and sent"
        assert {memory.content for memory in there.values()} == {"by bob, and sent", *before, *after, *kept}


@pytest.mark.parametrize("kill", ["sent", "fetched"])
def test_a_restore_right_after_a_killed_synchronisation(team: Team, monkeypatch: pytest.MonkeyPatch, kill: str) -> None:
    monkeypatch.setattr(sync, "BATCH_MEMORIES", 2)
    ada, bob, _ = team.pair("old")
    backup = team.backup()
    noted = {ada.remember(f"new {number}").content for number in range(6)}
    who = ada
    if kill == "fetched":
        ada.sync()
        who = bob
        shutil.rmtree(ada.home.root)  # who wrote it is gone
    with pytest.raises(KeyboardInterrupt):
        who.sync(progress=ends_at(3 if kill == "sent" else 2))
    team.put_back(backup)
    here = {memory.content for memory in who.memories().values()}
    assert len(here) > 1
    who.sync()
    eve = team.member("eve")
    eve.sync()
    assert {memory.content for memory in eve.memories().values()} == here
    assert here <= noted | {"old"}


def ends_at(count: int) -> Callable[[int], None]:
    """Return a progress callback that ends a synchronisation at its `count`th batch."""
    left = iter(range(count - 1, -1, -1))

    def advance(_: int) -> None:
        if not next(left):
            raise KeyboardInterrupt

    return advance


def test_a_deletion_that_a_backup_took_back_is_sent_again(team: Team) -> None:
    ada, bob, shared = team.pair("before")
    backup = team.backup()
    ada.change(shared.id, status="deleted")
    ada.sync()
    team.put_back(backup)
    bob.sync(), ada.sync(), bob.sync()
    for member in (ada, bob):
        assert member.memories()[shared.id].status == "deleted"


def test_a_home_that_was_put_back_takes_the_teams_word(team: Team) -> None:
    ada, bob, shared = team.pair("before")
    backup = Path(ada.home.root).with_name("backup")
    shutil.copytree(ada.home.root, backup)
    ada.change(shared.id, content="after")
    later = ada.remember("later")
    ada.sync(), bob.sync()
    for name in ("memories.db", "memories.db-wal", "memories.db-shm"):  # the store alone, as a careful person saves it
        Path(ada.home.root, name).unlink(missing_ok=True)
    shutil.copy(backup / "memories.db", ada.home.root)
    ada.sync(), bob.sync()
    for member in (ada, bob):
        there = member.memories()
        assert there[shared.id].content == "after"
        assert there[later.id].status == "active"


def test_a_restored_server_whose_clock_is_behind_is_read_anew(team: Team) -> None:
    ada, bob, _ = team.pair("old")
    backup = team.backup()
    team.run("SELECT setval('subcog.revisions', (extract(epoch FROM now()) * 1000000)::bigint + 86400000000)")
    ada.remember("of a server ahead of the time")
    ada.sync(), bob.sync()
    team.put_back(backup)
    eve = team.member("eve")
    eve.remember("new")
    eve.sync(), bob.sync()
    assert {memory.content for memory in bob.memories().values()} == {"old", "of a server ahead of the time", "new"}
