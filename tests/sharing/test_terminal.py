"""`subcog share` as people run it: what it says and asks, what is never shown. README's lines run here."""

import io
import json
import os
import re
import subprocess
import sys
import sysconfig
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from subcog_hooks.cli import app
from subcog_hooks.sharing import connection, schema, sync, team_search
from tests.documents import README, blocks
from tests.sharing.conftest import SHOP, Server, Team, greeting, prepare

SUBCOG = str(Path(sysconfig.get_path("scripts")) / "subcog")


class Done(NamedTuple):
    """The streams of a command that has ended."""

    stdout: str
    stderr: str


class Person:
    """Somebody at a terminal that nobody watches, in a clone of the repository."""

    def __init__(self, team: Team, role: str, folder: Path) -> None:
        self.url = team.server.url(role, team.database)
        self.folder = folder / f"{role}-clone"
        self.home = folder / f"{role}-home"
        self.folder.mkdir()
        for words in (["init", "-q"], ["remote", "add", "origin", f"git@{SHOP.replace('/', ':', 1)}.git"]):
            subprocess.run(["git", *words], cwd=self.folder, check=True)

    def run(self, *words: str, code: int = 0, **variables: str) -> "Done":
        """Run a command in this process, as a person does there."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.folder)
            for name, value in {"SUBCOG_HOME": str(self.home), **variables}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["subcog", *words])
            with pytest.raises(SystemExit) as ended:
                app.run()
        done = Done(out.getvalue(), err.getvalue())
        assert ended.value.code == code, done.stderr
        return done

    def run_apart(self, *words: str, code: int = 0, **variables: str) -> "Done":
        """Run a command in a process of its own."""
        environment = {**os.environ, "SUBCOG_HOME": str(self.home), **variables}
        done = subprocess.run([SUBCOG, *words], cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return Done(done.stdout, done.stderr)

    def begin(self) -> None:
        self.run("share", "init", self.url, "--yes")
        self.run("share", "sync", "--yes")


@pytest.fixture
def ada(team: Team, tmp_path: Path) -> Person:
    return Person(team, "ada", tmp_path)


@pytest.fixture
def bob(team: Team, tmp_path: Path) -> Person:
    return Person(team, "bob", tmp_path)


def test_readmes_lines_bring_a_colleagues_note_into_ones_own_prompt(team: Team, tmp_path: Path) -> None:
    documented = blocks(README)
    [lines] = [block.lines for block in documented if block.needs == "PostgreSQL"]
    [remember] = [block.script for block in documented if block.script.startswith("ID=$(subcog remember")]
    [ask] = [block.lines[0] for block in documented if block.lines[0].startswith("ask() ")]
    at = lines.index("# a colleague, in a clone:")
    database = team.server.new_database()
    team.server.run(f"GRANT CREATE ON DATABASE {database} TO ada", database)
    if team.server.has_vectors:
        team.server.run("CREATE EXTENSION vector", database)  # an administrator's to make
    scripts = {"ada": [remember, *lines[:at]], "bob": [ask, *lines[at:]]}
    for role, script in scripts.items():
        person = Person(team, role, tmp_path)
        text = "\n".join(script).replace("share sync", "share sync --yes").replace(" --grant bob", " --grant bob --yes")
        for name in scripts:
            text = text.replace(f"postgresql://{name}@db.example.com/team", f"'{team.server.url(name, database)}'")
        path = f"{Path(SUBCOG).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "SUBCOG_HOME": str(person.home), "PATH": path}
        done = subprocess.run(
            ["sh", "-eu"], cwd=person.folder, env=environment, input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    given = json.loads(done.stdout.splitlines()[-1])["hookSpecificOutput"]["additionalContext"]
    assert re.search(
        r"by ada, a colleague\] The release service rotates its signing keys by a monthly job, never by hand\n", given
    )


def test_a_first_synchronisation_shows_what_leaves_and_needs_a_yes(ada: Person, team: Team) -> None:
    ada.run("remember", "The cache is warmed at start.")
    ada.run("remember", "--user", "Mine alone.")
    ada.run("share", "init", ada.url, "--yes")
    shown = ada.run("share", "sync", "--dry-run").stderr
    assert "1 memory would leave" in shown
    assert "The cache is warmed at start." in shown
    assert "Mine alone." not in shown
    refused = ada.run("share", "sync", code=2).stderr
    assert f"nobody can be asked: Share {SHOP} with localhost/{team.database}?; give --yes" in refused
    assert team.run("SELECT count(*) FROM subcog.memories") == [(0,)]
    assert ada.run("share", "sync", "--yes").stdout == "sent 1, fetched 0\n"
    assert ada.run("share", "sync").stdout == "sent 0, fetched 0\n"


def test_a_later_dry_run_shows_what_has_changed_alone(ada: Person, bob: Person) -> None:
    forgotten = ada.run("remember", "The cache is warmed at start.").stdout.strip()
    ada.begin()
    bob.begin()
    assert f"{SHOP}: 0 memories would leave, redacted once more\n" in bob.run("share", "sync", "--dry-run").stderr
    ada.run("forget", forgotten)
    ada.run("remember", "The queue is drained at the end.")
    shown = ada.run("share", "sync", "--dry-run").stderr
    assert f"{SHOP}: 1 memory would leave, redacted once more, and that 1 memory was forgotten or taken out" in shown
    assert "The queue is drained at the end." in shown
    assert "The cache" not in shown
    assert ada.run("share", "sync").stdout == "sent 1, fetched 0, deleted there 1\n"
    assert "0 memories would leave, redacted once more\n" in ada.run("share", "sync", "--dry-run").stderr


def test_what_waits_is_what_would_leave(ada: Person, bob: Person, team: Team, tmp_path: Path) -> None:
    def waits(who: Person) -> list[int]:
        return [row["waiting"] for row in json.loads(who.run("share", "status", "--json").stdout)["projects"]]

    kept = ada.run("remember", "The cache is warmed at start.").stdout.strip()
    ada.run("forget", ada.run("remember", "The pool has 20 connections.").stdout.strip())
    for number in range(6):
        ada.run("remember", f"The queue number {number} is drained at the end.")
    ada.run("share", "init", ada.url, "--yes")
    assert "and 2 more; `subcog share sync --dry-run --all` shows them" in ada.run("share", "sync", "--dry-run").stderr
    assert ada.run("share", "sync", "--dry-run", "--all").stderr.count("The queue number") == 6
    ada.run("share", "sync", "--all", code=2)
    assert waits(ada) == [7]
    ada.run("share", "sync", "--yes")
    ada.run("forget", kept)
    ada.run("forget", "--purge", ada.run("list", "--ids", "-n", "1").stdout.strip())
    assert waits(ada) == [2]
    ada.run("config", "set", "share.url", "postgresql://ada@127.0.0.1:1/team")
    assert waits(ada) == [5]  # another server has nothing yet
    ada.run("config", "set", "share.url", ada.url)
    reader = Person(team, "reader", tmp_path)
    reader.run("remember", "The lift is checked in May.")
    reader.begin()
    assert waits(reader) == [1]  # it can not be sent, and what was fetched need not be
    refused = reader.run("forget", "--everywhere", *reader.run("list", "--ids", "-n", "1").stdout.split(), code=5).stderr
    assert "your role may only read at" in refused
    assert "nothing was erased" in refused


def test_what_a_colleague_has_deleted_of_ones_own_is_named_until_it_is_settled(ada: Person, bob: Person) -> None:
    noted = ada.run("remember", "The pool has 20 connections.").stdout.strip()
    ada.begin()
    bob.begin()
    bob.run("forget", noted, "--as-user")
    bob.run("share", "sync")
    assert ada.run("share", "sync").stdout == "sent 0, fetched 0, deleted here 1\n"
    assert f"deleted by bob: {noted} The pool has 20 connections." in ada.run("share", "status").stdout
    assert json.loads(ada.run("share", "status", "--json").stdout)["deleted"] == [{"id": noted, "by": "bob", "erased": False}]
    ada.run("edit", noted, "--status", "active")
    assert "deleted by" not in ada.run("share", "status").stdout
    assert ada.run("share", "sync").stdout == "sent 1, fetched 0\n"
    bob.run("share", "sync")
    assert "The pool has 20" in bob.run("list").stdout
    time.sleep(0.002)  # the next millisecond
    ada.run("forget", noted)
    assert "deleted by" not in ada.run("share", "status").stdout


def test_what_a_colleague_has_erased_of_ones_own_is_said_to_be_gone_for_good(ada: Person, bob: Person) -> None:
    noted = ada.run("remember", "The pool has 20 connections.").stdout.strip()
    ada.begin()
    bob.begin()
    bob.run("forget", noted, "--everywhere", "--as-user")
    ada.run("share", "sync")
    ada.run("edit", noted, "--status", "active")
    ada.run("share", "sync")
    status = ada.run("share", "status")
    assert f"erased for all by bob: {noted} The pool" in status.stdout
    assert "remember it anew to keep it" in status.stderr
    assert "--status active" not in status.stderr


def test_what_one_has_deleted_on_another_machine_is_no_colleagues_doing(ada: Person, team: Team, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = Person(team, "ada", tmp_path / "second")
    noted = ada.run("remember", "The pool has 20 connections.").stdout.strip()
    ada.begin()
    second.begin()
    second.run("forget", noted, "--as-user")
    second.run("share", "sync")
    assert ada.run("share", "sync").stdout == "sent 0, fetched 0, deleted here 1\n"
    assert "deleted by" not in ada.run("share", "status").stdout


def test_a_role_or_a_database_that_is_not_there_is_not_to_be_tried_again(ada: Person, team: Team) -> None:
    for wrong in (team.server.url("nobody", team.database), team.server.url("ada", "nowhere")):
        refused = ada.run("share", "init", wrong, code=5).stderr
        assert "does not exist; correct the role or the database in the address" in refused
    address = "postgresql://ada@127.0.0.1:1/team?sslmode=verify-full&sslrootcert=/no/such.crt"
    assert "correct the role" not in ada.run("share", "init", address, code=5).stderr


def test_who_may_not_is_told_who_can_change_that(ada: Person, team: Team) -> None:
    ada.begin()
    if not team.server.run("SELECT 1 FROM pg_roles WHERE rolname = 'nobodys'"):
        team.server.run("CREATE ROLE nobodys LOGIN")
    refused = ada.run("share", "init", team.server.url("nobodys", team.database), "--yes", code=5).stderr
    assert "does not allow it: permission denied for" in refused
    assert "their owner lets you: `subcog share init --grant ROLE`" in refused
    refused = ada.run("share", "init", team.server.url("nobodys", team.server.new_database()), "--yes", code=5).stderr
    assert "permission denied for database" in refused
    assert "--grant" not in refused


def test_an_empty_name_is_refused(ada: Person) -> None:
    assert "an empty name is no role" in ada.run("share", "init", ada.url, "--grant", "", "--yes", code=2).stderr
    assert "an empty name is no project" in ada.run("share", "init", ada.url, "--project", "", "--yes", code=2).stderr
    ada.run("share", "init", ada.url, "--yes")
    assert "'' names no file" in ada.run("share", "export", "", code=2).stderr


def test_outside_any_project_nothing_is_shared_and_it_says_so(ada: Person, tmp_path: Path) -> None:
    (tmp_path / "nowhere").mkdir()
    ada.folder = tmp_path / "nowhere"
    assert (
        "no project is shared yet: `subcog share init` in the folder of one"
        in ada.run("share", "init", ada.url, "--yes").stderr
    )
    assert "nothing is shared" in ada.run("share", "status", code=1).stderr


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
    told = json.loads(ada.run("share", "status", "--json").stdout)
    assert told["failure"].startswith(f"localhost/{team.database} does not know it")
    assert told["projects"] == [{"project": SHOP, "sent": 0, "fetched": 2, "waiting": 0, "agreed": True}]
    ada.run("config", "set", "share.url", "postgresql://ada@127.0.0.1:1/team")
    status = ada.run("share", "status").stdout
    assert "waits for the first `subcog share sync`" in status  # nobody agreed to send anything there


def test_what_one_server_was_allowed_another_does_not_get(ada: Person, team: Team) -> None:
    ada.run("remember", "The cache is warmed at start.")
    ada.begin()
    other = team.server.new_database("team_template")
    there = ada.url.replace(team.database, other)
    ada.run("config", "set", "share.url", there)
    ada.run("share", "sync", "--quietly")
    asked = ada.run("share", "sync", code=2).stderr
    assert f"localhost/{other} is not the server that you agreed to share with, which was at host={team.server.folder}" in asked
    assert "1 memory would leave" in asked
    assert f"Share {SHOP} with localhost/{other}?; if it is meant, choose it with `subcog share init URL`" in asked
    assert "is not the server that you agreed to" in ada.run("share", "sync", "--yes", code=5).stderr  # a script's own word
    assert team.server.run("SELECT count(*) FROM subcog.memories", other) == [(0,)]
    ada.run("config", "set", "share.url", ada.url)
    ada.run("share", "sync")  # that one knows it already
    assert "it is another server than before" in ada.run("share", "init", there, "--yes").stderr
    assert f"Share {SHOP} with localhost/{other}?; give --yes" in ada.run("share", "sync", code=2).stderr
    assert ada.run("share", "sync", "--yes").stdout == "sent 1, fetched 0\n"


def test_another_database_at_the_address_that_was_agreed_to_gets_nothing(ada: Person, team: Team) -> None:
    ada.run("remember", "The cache is warmed at start.")
    ada.begin()
    team.run("UPDATE subcog.server SET id = gen_random_uuid()")
    team.run("TRUNCATE subcog.memories CASCADE")
    ada.run("share", "sync", "--quietly")
    assert "is not the one that you agreed to share with" in ada.run("share", "status").stdout
    asked = ada.run("share", "sync", code=2).stderr
    assert "1 memory would leave" in asked
    refused = ada.run("share", "sync", "--yes", code=5).stderr  # a script's own word
    assert "is not the one that you agreed to share with; if it is meant, choose it with `subcog share init URL`" in refused
    assert team.run("SELECT count(*) FROM subcog.memories") == [(0,)]
    assert "it is another server than before" in ada.run("share", "init", ada.url, "--yes").stderr
    assert ada.run("share", "sync", "--yes").stdout == "sent 1, fetched 0\n"


def test_status_tells_what_colleagues_have_changed_of_ones_own(ada: Person, bob: Person) -> None:
    noted = ada.run("remember", "Deploy on Mondays.", "--trigger", "deploy").stdout.strip()
    ada.begin()
    bob.begin()
    bob.run("edit", noted, "--path", "**", "--question", "what is to be done first?")
    bob.run("share", "sync")
    ada.run("share", "sync")
    line = f"{noted} is yours and comes by itself, so what bob has changed does not count here: paths, questions"
    assert line in ada.run("share", "status").stdout
    told = json.loads(ada.run("share", "status", "--json").stdout)
    assert told["kept"] == [{"id": noted, "by": "bob", "fields": ["paths", "questions"]}]
    bob.run("edit", noted, "--content", "Deploy now.")
    bob.run("share", "sync")
    ada.run("share", "sync")
    after = ada.run("share", "status").stdout
    assert line not in after
    assert re.search(rf"^lost to {noted}: lost-\w+ .*, triggers: Deploy on Mondays\.$", after, re.MULTILINE)


def test_status_tells_how_much_of_a_colleague_was_left_out(bob: Person, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "MAX_OF_AUTHOR", 1)
    monkeypatch.setattr(sync, "BATCH", 1)
    rows = "SELECT %s, 'spam' || number, '{\"content\": \"spam\"}' FROM generate_series(1, 5) AS number"
    team.run(f"INSERT INTO subcog.memories (project, id, doc) {rows}", "eve", (SHOP,))
    bob.begin()
    bob.run("share", "sync")
    line = "4 memories of eve were left out: they are too large, or too much\n"
    assert line in bob.run("share", "status").stdout
    assert json.loads(bob.run("share", "status", "--json").stdout)["left"] == {"eve": 4}


def test_a_project_that_is_refused_is_told_and_the_others_are_sent(ada: Person, team: Team) -> None:
    prepare(team.server, team.database, by_project=True)
    team.run("INSERT INTO subcog.members VALUES ('ada', 'github.com/acme/zoo')")
    ada.run("share", "init", ada.url, "--project", SHOP, "--project", "github.com/acme/zoo")
    ada.run("remember", "In the shop.")
    ada.run("remember", "In the zoo.", "--project", "github.com/acme/zoo")
    done = ada.run("share", "sync", "--yes", code=5)
    assert done.stdout == "sent 1, fetched 0\n"
    refusal = f"your role may write nothing of {SHOP} there"
    assert refusal in done.stderr
    assert f"the last time failed: {refusal}" in ada.run("share", "status").stdout


@pytest.fixture
def vectors(server: Server) -> None:
    if not server.has_vectors:
        pytest.skip("this server has no pgvector")


@pytest.mark.usefixtures("vectors")
def test_vectors_travel_and_the_server_is_searched_by_them(ada: Person, bob: Person, team: Team) -> None:
    noted = ada.run("remember", "Orders are frozen on the last Friday of a month.").stdout.strip()
    ada.run("remember", "The login page is blue.")
    ada.run("reindex")  # the final vectors
    ada.begin()
    bob.begin()
    assert team.run("SELECT count(*) FROM subcog.vectors WHERE part = 0") == [(2,)]
    assert "embedded" not in bob.run("reindex").stderr  # they came with the memories
    found = json.loads(bob.run("search", "--team", "--json", "when can no purchase be changed").stdout)
    best = found["results"][0]
    assert (best["id"], best["author"], best["project"]) == (noted, "ada", SHOP)
    explained = best["explain"]
    told = sum(explained["contributions"].values()) * explained["factors"]["agreement"] * explained["factors"]["recency"]
    assert best["score"] == pytest.approx(told, abs=1e-6)
    by_words = bob.run("search", "--team", "--mode", "lexical", "--ids", "login page").stdout
    assert by_words == team.run("SELECT id FROM subcog.memories WHERE doc ->> 'content' LIKE '%%login%%'")[0][0] + "\n"
    assert "by ada, a colleague" in bob.run("search", "--team", "--explain", "frozen orders").stdout
    assert bob.run("search", "--team", "--mode", "lexical", "zebra", code=1).stdout == ""


@pytest.mark.usefixtures("vectors")
def test_the_owner_of_many_vectors_is_offered_a_graph_of_them(
    ada: Person, bob: Person, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.run("remember", "Orders are frozen on the last Friday of a month.")
    ada.run("reindex")
    ada.begin()
    owner = team.server.url(database=team.database)
    options = "SELECT reloptions FROM pg_class WHERE oid = 'subcog.vectors_by_cosine'::regclass"
    assert "graph" not in bob.run("share", "init", owner, "--yes").stderr
    team.run("ANALYZE subcog.vectors")
    for module in (schema, team_search):
        monkeypatch.setattr(module, "MANY_VECTORS", 0)
    assert "graph" not in ada.run("share", "init", ada.url, "--yes").stderr  # it is not hers
    assert "nobody can be asked: Make it?" in bob.run("share", "init", owner, code=2).stderr
    assert team.run("SELECT to_regclass('subcog.vectors_by_cosine')") == [(None,)]
    slow = "the server compares each of 1 vectors; `subcog share init` of its owner makes a faster graph"
    assert slow in ada.run("search", "--team", "when can no purchase be changed").stderr
    assert "a graph of 1 vectors" in bob.run("share", "init", owner, "--yes").stderr
    assert team.run(options) == [([f"m={schema.LINKS}", f"ef_construction={schema.LINKS_LOOKED_AT}"],)]
    assert "graph" not in bob.run("share", "init", owner).stderr
    done = ada.run("search", "--team", "when can no purchase be changed")
    assert "Orders are frozen" in done.stdout
    assert slow not in done.stderr


@pytest.mark.usefixtures("vectors")
def test_a_vector_of_another_text_is_not_taken(ada: Person, bob: Person, team: Team) -> None:
    ada.run("remember", "Orders are frozen on the last Friday of a month.")
    ada.run("remember", "The login page is blue, its form has two fields and a link below.")
    ada.run("reindex")
    ada.begin()
    team.run(
        "UPDATE subcog.vectors AS one SET embedding = other.embedding FROM subcog.vectors AS other WHERE one.id <> other.id"
    )
    bob.begin()
    assert "embedded 2" in bob.run("reindex").stderr


@pytest.mark.usefixtures("vectors")
def test_vectors_that_a_backup_took_back_are_sent_again(ada: Person, team: Team) -> None:
    ada.run("remember", "Orders are frozen on the last Friday of a month.")
    ada.begin()
    count = "SELECT count(*) FROM subcog.vectors WHERE part = 0"
    assert team.run(count) == [(0,)]  # they are made at rest
    backup = team.backup()
    ada.run("reindex")
    ada.run("share", "sync")
    assert team.run(count) == [(1,)]
    team.put_back(backup)
    assert "was put back from a backup" in ada.run("share", "sync").stderr
    assert team.run(count) == [(1,)]
    assert "was put back" not in ada.run("share", "sync").stderr


def test_forget_everywhere_erases_it_on_the_server_and_at_colleagues(ada: Person, bob: Person, team: Team) -> None:
    noted = ada.run("remember", "The secret plan is to buy Acme.").stdout.strip()
    other = ada.run("remember", "Not erased.").stdout.strip()
    ada.begin()
    bob.begin()
    private = ada.run("remember", "--user", "Mine alone.").stdout.strip()
    assert "in no project that you share" in ada.run("forget", private, "--everywhere", code=2).stderr
    ada.run("forget", noted, "--everywhere")
    assert team.run("SELECT doc, words::text, erased FROM subcog.memories WHERE id = %s", values=(noted,)) == [(None, "", True)]
    bob.run("edit", noted, "--tag", "mine")  # meanwhile: it can not come back
    bob.run("share", "sync")
    bob.run("share", "sync")
    for person in (ada, bob):
        listed = person.run("list", "--status", "all", "--jsonl").stdout
        assert {json.loads(line)["id"] for line in listed.splitlines()} - {private} == {other}
        assert not any(b"secret plan" in file.read_bytes() for file in person.home.rglob("*") if file.is_file())


def test_forget_everywhere_erases_lost_versions_and_what_was_moved_here_alone(ada: Person, bob: Person, team: Team) -> None:
    noted = ada.run("remember", "The secret plan is to buy Acme.").stdout.strip()
    moved = ada.run("remember", "The secret plan is to sell.").stdout.strip()
    ada.run("share", "init", ada.url, "--project", SHOP, "--project", "github.com/acme/zoo")
    ada.run("share", "sync", "--yes")
    bob.begin()
    ada.run("edit", noted, "--content", "The secret plan is to buy Acme and Zoo.")
    bob.run("edit", noted, "--content", "The secret plan is off.")
    for person in (ada, bob, ada):
        person.run("share", "sync")
    assert "lost to" in ada.run("share", "status").stdout
    ada.run("edit", moved, "--project", "github.com/acme/zoo")
    assert "lost-" in ada.run("forget", noted, moved, "--everywhere", "--yes").stderr
    assert team.run("SELECT bool_and(erased), count(*) FROM subcog.memories") == [(True, 3)]
    for person in (bob, ada):
        person.run("share", "sync")
        assert not any(b"secret plan" in file.read_bytes() for file in person.home.rglob("*") if file.is_file())


def test_forget_everywhere_takes_no_other_database_for_the_teams(ada: Person, team: Team) -> None:
    noted = ada.run("remember", "The secret plan is to buy Acme.").stdout.strip()
    ada.begin()
    team.run("UPDATE subcog.server SET id = gen_random_uuid()")
    refused = ada.run("forget", noted, "--everywhere", code=5).stderr
    assert "is not the one that you agreed to share with" in refused
    assert "secret plan" in ada.run("list").stdout


def test_an_export_of_the_server_is_read_by_import(ada: Person, bob: Person, tmp_path: Path) -> None:
    ada.run("remember", "The cache is warmed at start.", "--tag", "cache")
    ada.begin()
    file = tmp_path / "team.jsonl"
    assert ada.run("share", "export", str(file)).stderr == "exported 1\n"
    assert bob.run("import", str(file)).stdout.startswith("added 1")
    assert "by ada, a colleague" in bob.run("list").stdout


def test_off_leaves_memories_and_stops(ada: Person, team: Team) -> None:
    ada.run("remember", "The cache is warmed at start.")
    ada.begin()
    ada.run("share", "off", "--yes")
    assert ada.run("share", "status", code=1).stdout == ""
    assert "no team's server is set" in ada.run("share", "sync", code=4).stderr
    assert "The cache is warmed" in ada.run("list").stdout
    assert team.run("SELECT count(*) FROM subcog.memories") == [(1,)]


def test_a_projects_file_and_an_agent_can_not_choose_the_server(ada: Person) -> None:
    (ada.folder / ".subcog.toml").write_text(f'[share]\nurl = "{ada.url}"\nprojects = "{SHOP}"\n', encoding="utf-8")
    told = ada.run("share", "status", code=1).stderr
    assert "share.url is left to your own config.toml" in told
    assert "share.projects is left to your own config.toml" in told
    for words in (["share", "init", ada.url, "--yes"], ["config", "set", "share.url", ada.url]):
        assert "--as-user" in ada.run(*words, code=2, CLAUDECODE="1").stderr


def test_a_password_is_kept_nowhere(ada: Person) -> None:
    for words in (["share", "init"], ["config", "set", "share.url"]):
        done = ada.run(*words, "postgresql://ada:hunter2@localhost/team", code=4)
        assert "has a password in it" in done.stderr
        assert "hunter2" not in done.stdout + done.stderr
    ada.home.mkdir(exist_ok=True)
    (ada.home / "config.toml").write_text('[share]\nurl = "postgresql://ada:hunter2@localhost/team"\n', encoding="utf-8")
    done = ada.run("share", "status", code=4)
    assert "hunter2" not in done.stdout + done.stderr


def test_init_waits_for_no_server_that_falls_silent(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SILENT_S", 0.4)
    monkeypatch.setattr(connection, "BUILDING_S", 60.0)  # for what takes long there
    with greeting([]) as url:
        assert "has said nothing for 0 seconds" in ada.run("share", "init", url, "--yes", code=5).stderr


def test_without_psycopg_one_line_says_what_to_install(ada: Person, tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "psycopg.py").write_text("raise ImportError('no psycopg here')\n", encoding="utf-8")
    done = ada.run_apart("share", "init", ada.url, "--yes", code=5, PYTHONPATH=str(tmp_path / "hidden"))
    assert done.stderr == 'subcog: sharing needs psycopg, which is not installed; install "subcog[share]"\n'


def test_a_service_and_a_password_file_are_libpqs(ada: Person, team: Team, tmp_path: Path) -> None:
    service = tmp_path / "services"
    service.write_text(f"[team]\nhost={team.server.folder}\ndbname={team.database}\nuser=ada\n", encoding="utf-8")
    ada.run("share", "init", "service=team", "--yes", PGSERVICEFILE=str(service))
    ada.run("remember", "By way of a service.")
    assert ada.run("share", "sync", "--yes", PGSERVICEFILE=str(service)).stdout == "sent 1, fetched 0\n"
    elsewhere = str(tmp_path / "none")
    assert "the server's service team is not found" in ada.run("share", "sync", code=4, PGSERVICEFILE=elsewhere).stderr
    assert "server: service=team\n" in ada.run("share", "status", PGSERVICEFILE=elsewhere).stdout


def test_a_new_memory_is_sent_at_once_where_that_is_chosen(ada: Person, team: Team) -> None:
    ada.begin()
    ada.run("config", "set", "share.after_remember", "true")
    ada.run_apart("remember", "Sent at once.", SUBCOG_BACKGROUND="1")
    until = time.monotonic() + 60
    while not (sent := team.run("SELECT doc ->> 'content' FROM subcog.memories")) and time.monotonic() < until:
        time.sleep(0.05)
    assert sent == [("Sent at once.",)]


def test_a_colleague_begins_without_the_right_to_make_anything(bob: Person, team: Team) -> None:
    if team.server.has_vectors:
        team.run("DROP TABLE subcog.vectors")
        team.run("DROP EXTENSION vector")
    told = bob.run("share", "init", bob.url).stderr  # nothing is to be made, so nothing is asked
    assert "the server has no pgvector" in told
    bob.run("remember", "Found by words.")
    bob.run("share", "sync", "--yes")
    assert "Found by words." in bob.run("search", "--team", "found words").stdout


def test_the_work_at_rest_synchronises_what_was_agreed_to(ada: Person, bob: Person, team: Team) -> None:
    ada.run("remember", "Comes by itself.")
    bob.run("share", "init", bob.url, "--yes")
    bob.run_apart("at-rest")  # nobody has agreed yet
    assert not (bob.home / "memories.db").exists() or bob.run("list", code=1).stdout == ""
    bob.run("share", "sync", "--yes")
    ada.begin()
    (bob.home / "at-rest.json").unlink()  # ten minutes later
    bob.run_apart("at-rest")
    assert "Comes by itself." in bob.run("list").stdout
    bob.run("config", "set", "share.at_rest", "false")
    ada.run("remember", "Does not.")
    ada.run("share", "sync")
    (bob.home / "at-rest.json").unlink()
    bob.run_apart("at-rest")
    assert "Does not." not in bob.run("list").stdout
    bob.run("share", "sync", "--quietly")
    assert "Does not." in bob.run("list").stdout


def test_the_path_of_a_folder_never_leaves_as_a_projects_name(team: Team, tmp_path: Path) -> None:
    ada = Person(team, "ada", tmp_path)
    ada.run("share", "init", ada.url, "--yes")
    path = str(tmp_path / "secret-client")
    ada.run("config", "set", "share.projects", f"{SHOP}, {path}")
    refused = ada.run("share", "sync", "--yes", code=2)
    assert f"{path} has no remote" in refused.stderr
    ada.run("remember", "kept here", "--project", path)
    ada.run("remember", "shared")
    ada.run("share", "sync", "--quietly")
    assert not [row for row in team.run("SELECT project FROM subcog.memories") if path in row[0]]


def test_what_was_exported_from_the_server_is_imported_without_cues(team: Team, tmp_path: Path) -> None:
    ada, bob = Person(team, "ada", tmp_path), Person(team, "bob", tmp_path)
    for person in (ada, bob):
        person.run("share", "init", person.url, "--yes")
    ada.run("remember", "Deploy with force.", "--trigger", "deploy", "--standing", "--priority", "95")
    ada.run("share", "sync", "--yes")
    file = str(tmp_path / "team.jsonl")
    bob.run("share", "export", file)
    assert "1 are a file's or a colleague's word" in bob.run("import", file).stderr
    [line] = bob.run("export").stdout.splitlines()
    imported = json.loads(line)
    assert (imported["trust"], imported["priority"]) == ("team", 89)
    assert not {"triggers", "standing"} & set(imported)
    bob.run("import", file, "--trust", "user", "--replace")
    assert json.loads(bob.run("export").stdout)["triggers"] == ["deploy"]
