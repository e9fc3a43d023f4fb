"""`subcog share` as people run it: its messages and questions, and no secrets. README's lines run here."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from subcog_hooks.share import server_connection
from tests.documents import README, blocks
from tests.share.conftest import SHOP, Server, Team, greeting
from tests.share.person import SUBCOG, Person, synchronise


def test_readmes_lines_bring_a_colleagues_note_into_a_prompt(team: Team, tmp_path: Path) -> None:
    documented = blocks(README)
    [lines] = [block.lines for block in documented if block.needs == "PostgreSQL"]
    [remember] = [block.script for block in documented if block.script.startswith("ID=$(subcog remember")]
    colleague_start = lines.index("# a colleague, in a clone:")
    database = team.server.new_database()
    team.server.run(f"GRANT CREATE ON DATABASE {database} TO ada", database)
    if team.server.has_vectors:
        team.server.run("CREATE EXTENSION vector", database)  # an administrator's to make
    scripts = {"ada": [remember, *lines[:colleague_start]], "bob": lines[colleague_start:]}
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
    assert "by ada, a colleague] Signing keys are rotated by a monthly job, never by hand\n" in done.stdout


def test_a_first_synchronisation_lists_memories_and_needs_a_yes(ada: Person, team: Team) -> None:
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


def test_outside_any_project_nothing_is_shared_and_it_says_so(ada: Person, tmp_path: Path) -> None:
    (tmp_path / "nowhere").mkdir()
    ada.folder = tmp_path / "nowhere"
    message = ada.run("share", "init", ada.url, "--yes").stderr
    assert "no project is shared yet: `subcog share init` in its folder" in message
    assert "nothing is shared" in ada.run("share", "status", code=1).stderr


def rest(person: Person) -> None:
    """Do the work at rest, as ten minutes after the last time."""
    (person.home / "at-rest.json").unlink(missing_ok=True)
    person.run_apart("at-rest")


def test_what_one_server_was_allowed_another_does_not_get(ada: Person, team: Team) -> None:
    ada.run("remember", "The cache is warmed at start.")
    ada.begin()
    other = team.server.new_database("team_template")
    there = ada.url.replace(team.database, other)
    ada.run("config", "set", "share.url", there)
    rest(ada)
    asked = ada.run("share", "sync", code=2).stderr
    assert f"the database at localhost/{other} is not the one that you agreed to share with" in asked
    assert "1 memory would leave" in asked
    assert f"Share {SHOP} with localhost/{other}?; if it is meant, choose it with `subcog share init URL`" in asked
    assert "is not the one that you agreed to" in ada.run("share", "sync", "--yes", code=5).stderr  # a script's own word
    assert team.server.run("SELECT count(*) FROM subcog.memories", other) == [(0,)]
    ada.run("config", "set", "share.url", ada.url)
    ada.run("share", "sync")  # This home knows it already.
    assert "this is another server: nothing is sent" in ada.run("share", "init", there, "--yes").stderr
    assert f"Share {SHOP} with localhost/{other}?; give --yes" in ada.run("share", "sync", code=2).stderr
    assert ada.run("share", "sync", "--yes").stdout == "sent 1, fetched 0\n"


def test_another_database_at_an_agreed_address_gets_nothing(ada: Person, team: Team) -> None:
    ada.run("remember", "The cache is warmed at start.")
    ada.begin()
    team.run("UPDATE subcog.server SET id = gen_random_uuid()")
    team.run("TRUNCATE subcog.memories CASCADE")
    rest(ada)
    assert "is not the one that you agreed to share with" in ada.run("share", "status").stdout
    asked = ada.run("share", "sync", code=2).stderr
    assert "1 memory would leave" in asked
    refused = ada.run("share", "sync", "--yes", code=5).stderr  # a script's own word
    assert "is not the one that you agreed to share with; if it is meant, choose it with `subcog share init URL`" in refused
    assert team.run("SELECT count(*) FROM subcog.memories") == [(0,)]
    assert "this is another server: nothing is sent" in ada.run("share", "init", ada.url, "--yes").stderr
    assert ada.run("share", "sync", "--yes").stdout == "sent 1, fetched 0\n"


@pytest.fixture
def vectors(server: Server) -> None:
    if not server.has_vectors:
        pytest.skip("this server has no pgvector")


@pytest.mark.usefixtures("vectors")
def test_vectors_that_a_server_lost_come_again_from_their_author(ada: Person, bob: Person, team: Team) -> None:
    ada.run("remember", "Orders are frozen on the last Friday of a month.")
    ada.run("doctor", "--fix")  # the final vectors
    ada.begin()
    bob.begin()
    team.run("DELETE FROM subcog.vectors")
    team.run("DELETE FROM subcog.memories")  # as a restore from an older backup does
    for person in (bob, ada):  # The colleague sends the text, before its author has seen the loss.
        person.run("share", "sync")
    assert team.run("SELECT count(*) FROM subcog.vectors WHERE part = 0") == [(1,)]


@pytest.mark.usefixtures("vectors")
def test_the_server_is_searched_by_words_and_vectors(ada: Person, bob: Person, team: Team) -> None:
    noted = ada.run("remember", "Orders are frozen on the last Friday of a month.").stdout.strip()
    ada.run("remember", "The login page is blue.")
    ada.run("doctor", "--fix")  # the final vectors
    ada.begin()
    bob.begin()
    assert team.run("SELECT count(*) FROM subcog.vectors WHERE part = 0") == [(2,)]
    answer = json.loads(bob.run("search", "--team", "--json", "when can no purchase be changed").stdout)
    best = answer["results"][0]
    assert (best["id"], best["author"], best["project"]) == (noted, "ada", SHOP)
    explained = best["explain"]
    score = sum(explained["contributions"].values()) * explained["factors"]["agreement"] * explained["factors"]["recency"]
    assert best["score"] == pytest.approx(score, abs=1e-6)
    by_words = bob.run("search", "--team", "--mode", "lexical", "--ids", "login page").stdout
    assert by_words == team.run("SELECT id FROM subcog.memories WHERE doc ->> 'content' LIKE '%%login%%'")[0][0] + "\n"
    by_meaning = bob.run("search", "--team", "--mode", "semantic", "--ids", "when can no purchase be changed").stdout
    assert by_meaning.splitlines()[0] == noted
    assert "by ada, a colleague" in bob.run("search", "--team", "frozen orders").stdout
    assert "explains its scores in JSON alone" in bob.run("search", "--team", "--explain", "frozen orders", code=2).stderr
    assert bob.run("search", "--team", "--mode", "lexical", "zebra", code=1).stdout == ""


def test_an_undated_memory_counts_as_old_on_the_server(ada: Person, bob: Person, tmp_path: Path) -> None:
    row = {"content": "Orders are frozen on the last Friday of a month.", "project": SHOP}
    rows = (
        {**row, "id": "undated", "created_at": None},
        {**row, "id": "dated", "content": "Frozen orders are thawed on Mondays."},
    )
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ada.run("import", str(tmp_path / "rows.jsonl"))
    ada.begin()
    bob.begin()
    answer = json.loads(bob.run("search", "--team", "--mode", "lexical", "--json", "frozen orders").stdout)
    recency = {result["id"]: result["explain"]["factors"]["recency"] for result in answer["results"]}
    assert recency["undated"] < recency["dated"] == 1.0, recency


def test_forget_everywhere_erases_at_the_server_and_colleagues(ada: Person, bob: Person, team: Team) -> None:
    noted = ada.run("remember", "The secret plan is to buy Acme.").stdout.strip()
    other = ada.run("remember", "Not erased.").stdout.strip()
    ada.begin()
    bob.begin()
    private = ada.run("remember", "--user", "Mine alone.").stdout.strip()
    assert "in no project that you share" in ada.run("forget", private, "--everywhere", "--yes", code=2).stderr
    ada.run("forget", noted, "--everywhere", "--yes")
    assert team.run("SELECT doc, words::text, erased FROM subcog.memories WHERE id = %s", values=(noted,)) == [(None, "", True)]
    bob.run("edit", noted, "--tag", "mine")  # It cannot come back.
    synchronise(bob, bob)
    for person in (ada, bob):
        listed = person.run("list", "--status", "all", "--jsonl").stdout
        assert {json.loads(line)["id"] for line in listed.splitlines()} - {private} == {other}
        assert not any(b"secret plan" in file.read_bytes() for file in person.home.rglob("*") if file.is_file())


def test_forget_everywhere_erases_lost_and_moved_versions(ada: Person, bob: Person, team: Team) -> None:
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
    refused = ada.run("forget", noted, "--everywhere", "--yes", code=5).stderr
    assert "is not the one that you agreed to share with" in refused
    assert "secret plan" in ada.run("list").stdout


def test_off_leaves_memories_and_stops(ada: Person, team: Team) -> None:
    ada.run("remember", "The cache is warmed at start.")
    ada.begin()
    ada.run("share", "off", "--yes")
    assert ada.run("share", "status", code=1).stdout == ""
    assert "no team's server is set" in ada.run("share", "sync", code=4).stderr
    assert "The cache is warmed" in ada.run("list").stdout
    assert team.run("SELECT count(*) FROM subcog.memories") == [(1,)]


def test_a_projects_file_and_an_agent_cannot_choose_the_server(ada: Person) -> None:
    (ada.folder / ".subcog.toml").write_text(f'[share]\nurl = "{ada.url}"\nprojects = "{SHOP}"\n', encoding="utf-8")
    message = ada.run("share", "status", code=1).stderr
    assert "share.url is left to your own config.toml" in message
    assert "share.projects is left to your own config.toml" in message
    for words in (["share", "init", ada.url, "--yes"], ["config", "set", "share.url", ada.url]):
        assert "--as-user" in ada.run(*words, code=2, CLAUDECODE="1").stderr


def test_a_password_is_kept_nowhere(ada: Person) -> None:
    for words in (["share", "init"], ["config", "set", "share.url"]):
        done = ada.run(*words, "postgresql://ada:hunter2@localhost/team", code=4)
        assert "without a password" in done.stderr
        assert "hunter2" not in done.stdout + done.stderr
    ada.home.mkdir(exist_ok=True)
    (ada.home / "config.toml").write_text('[share]\nurl = "postgresql://ada:hunter2@localhost/team"\n', encoding="utf-8")
    done = ada.run("share", "status", code=4)
    assert "hunter2" not in done.stdout + done.stderr


def test_init_waits_for_no_server_that_falls_silent(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_connection, "SILENT_S", 0.4)
    with greeting([]) as url:
        assert "has said nothing for 0 seconds" in ada.run("share", "init", url, "--yes", code=5).stderr


def test_without_psycopg_one_line_says_what_to_install(ada: Person, tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "psycopg.py").write_text("raise ImportError('no psycopg here')\n", encoding="utf-8")
    done = ada.run_apart("share", "init", ada.url, "--yes", code=5, PYTHONPATH=str(tmp_path / "hidden"))
    assert done.stderr.startswith("subcog: sharing needs psycopg, which is not installed; in your clone run `uv tool install ")


def test_a_service_and_a_password_file_are_libpqs(ada: Person, team: Team, tmp_path: Path) -> None:
    service = tmp_path / "services"
    service.write_text(f"[team]\nhost={team.server.folder}\ndbname={team.database}\nuser=ada\n", encoding="utf-8")
    ada.run("share", "init", "service=team", "--yes", PGSERVICEFILE=str(service))
    ada.run("remember", "By way of a service.")
    assert ada.run("share", "sync", "--yes", PGSERVICEFILE=str(service)).stdout == "sent 1, fetched 0\n"
    elsewhere = str(tmp_path / "none")
    assert "the server's service team is not found" in ada.run("share", "sync", code=4, PGSERVICEFILE=elsewhere).stderr
    assert "server: service=team\n" in ada.run("share", "status", PGSERVICEFILE=elsewhere).stdout


def test_a_colleague_begins_without_the_right_to_make_anything(bob: Person, team: Team) -> None:
    if team.server.has_vectors:
        team.run("DROP TABLE subcog.vectors")
        team.run("DROP EXTENSION vector")
    message = bob.run("share", "init", bob.url).stderr  # nothing is to be made, so nothing is asked
    assert "the server has no pgvector" in message
    bob.run("remember", "Found by words.")
    bob.run("share", "sync", "--yes")
    assert "Found by words." in bob.run("search", "--team", "found words").stdout


def test_the_work_at_rest_synchronises_what_was_agreed_to(ada: Person, bob: Person, team: Team) -> None:
    ada.run("remember", "Comes by itself.")
    bob.run("share", "init", bob.url, "--yes")
    rest(bob)  # The person has not agreed yet.
    assert not (bob.home / "memories.db").exists() or bob.run("list", code=1).stdout == ""
    bob.run("share", "sync", "--yes")
    ada.begin()
    rest(bob)
    assert "Comes by itself." in bob.run("list").stdout
    bob.run("config", "set", "share.at_rest", "false")
    ada.run("remember", "Does not.")
    ada.run("share", "sync")
    rest(bob)
    assert "Does not." not in bob.run("list").stdout
    bob.run("share", "sync")
    assert "Does not." in bob.run("list").stdout


def test_the_path_of_a_folder_never_leaves_as_a_projects_name(ada: Person, team: Team, tmp_path: Path) -> None:
    ada.run("share", "init", ada.url, "--yes")
    path = str(tmp_path / "secret-client")
    ada.run("config", "set", "share.projects", f"{SHOP}, {path}")
    refused = ada.run("share", "sync", "--yes", code=2)
    assert f"{path} has no remote" in refused.stderr
    ada.run("remember", "kept here", "--project", path)
    ada.run("remember", "shared")
    rest(ada)
    assert not [row for row in team.run("SELECT project FROM subcog.memories") if path in row[0]]
