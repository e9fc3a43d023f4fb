"""`subcog share status`: lost versions, and colleagues' changes, without a server."""

import re
import time
from pathlib import Path

from tests.share.conftest import SHOP, Team
from tests.share.person import Person


def test_a_dry_run_shows_what_would_leave(ada: Person, team: Team, tmp_path: Path) -> None:
    kept = ada.run("remember", "The cache is warmed at start.").stdout.strip()
    ada.run("forget", ada.run("remember", "The pool has 20 connections.").stdout.strip())
    for number in range(6):
        ada.run("remember", f"The queue number {number} is drained at the end.")
    ada.run("share", "init", ada.url, "--yes")
    assert ada.run("share", "sync", "--dry-run").stderr.count("The queue number") == 6
    assert "and 2 more; `subcog share sync --dry-run` shows them" in ada.run("share", "sync", "--yes").stderr
    ada.run("forget", kept)
    ada.run("forget", "--purge", "--yes", ada.run("list", "--ids", "-n", "1").stdout.strip())
    assert (
        "0 memories would leave, redacted once more, and that 2 memories were" in ada.run("share", "sync", "--dry-run").stderr
    )


def test_a_reader_erases_nothing(team: Team, tmp_path: Path) -> None:
    reader = Person(team, "reader", tmp_path)
    noted = reader.run("remember", "The lift is checked in May.").stdout.strip()
    reader.begin()
    refused = reader.run("forget", "--everywhere", "--yes", noted, code=5).stderr
    assert "your role may only read at" in refused
    assert "nothing was erased" in refused


def test_a_colleagues_deletion_is_named_until_it_is_settled(ada: Person, bob: Person) -> None:
    noted = ada.run("remember", "The pool has 20 connections.").stdout.strip()
    ada.begin()
    bob.begin()
    bob.run("forget", noted, "--as-user")
    bob.run("share", "sync")
    assert ada.run("share", "sync").stdout == "sent 0, fetched 0, deleted here 1\n"
    assert f"deleted by bob: {noted} The pool has 20 connections." in ada.run("share", "status").stdout
    assert ada.status()["deleted"] == [{"id": noted, "by": "bob", "erased": False}]
    ada.run("edit", noted, "--status", "active")
    assert "deleted by" not in ada.run("share", "status").stdout
    assert ada.run("share", "sync").stdout == "sent 1, fetched 0\n"
    bob.run("share", "sync")
    assert "The pool has 20" in bob.run("list").stdout
    time.sleep(0.002)  # the next millisecond
    ada.run("forget", noted)
    assert "deleted by" not in ada.run("share", "status").stdout


def test_status_tells_versions_that_lost_and_needs_no_server(ada: Person, bob: Person, team: Team) -> None:
    noted = ada.run("remember", "The pool has 20 connections.").stdout.strip()
    ada.begin()
    bob.begin()
    ada.run("edit", noted, "--content", "The pool has 30 connections.")
    bob.run("edit", noted, "--content", "The pool has 40 connections.")
    ada.run("share", "sync")
    assert "1 version lost to a later one" in bob.run("share", "sync").stderr
    ada.run("share", "sync")
    team.server.run(f"ALTER DATABASE {team.database} RENAME TO {team.database}_gone")
    status = ada.run("share", "status").stdout
    assert re.search(rf"^lost to {noted}: lost-\w+ .*: The pool has 30 connections\.$", status, re.MULTILINE)
    assert f"localhost/{team.database} does not know it" in ada.run("share", "sync", "--yes", code=5).stderr
    answer = ada.status()
    assert answer["failure"].startswith(f"localhost/{team.database} does not know it")
    assert answer["projects"] == [{"project": SHOP, "sent": 0, "fetched": 2, "agreed": True}]
    ada.run("config", "set", "share.url", "postgresql://ada@127.0.0.1:1/team")
    status = ada.run("share", "status").stdout
    assert "waits for the first `subcog share sync`" in status  # The person did not agree to this server.
