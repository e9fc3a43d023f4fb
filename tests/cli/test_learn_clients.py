"""`subcog learn` with sessions of other agents: typed words alone, each can be left out."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from subcog_hooks.cli.proposals import learning_runs
from subcog_hooks.core.deadline import FULL_PACE
from subcog_hooks.core.paths import Home
from subcog_hooks.store.store import Store
from tests import client_sessions
from tests.cli.conftest import MonkeyPatch, Run
from tests.cli.learned import AGAIN, RULE, waiting
from tests.client_sessions import FOLDER, INJECTED, WRITERS
from tests.transcripts import session

pytestmark = pytest.mark.usefixtures("hooks_are_over")


@pytest.fixture(autouse=True)
def _work_folder(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Work in a folder that does not hold the user folder, as a repository would."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.mark.parametrize("client", WRITERS)
def test_a_typed_rule_alone_is_proposed_and_the_session_goes_on(client: str, subcog: Run, home: Home, tmp_path: Path) -> None:
    path = WRITERS[client](tmp_path, "hello there", RULE)
    done = subcog("learn", "--jsonl")
    assert "read 2 prompts of 1 session; proposed 1" in done.err
    (proposed,) = done.rows
    assert (proposed["memory"], proposed["scope"], INJECTED in done.out) == (RULE, "project", False)
    (memory,) = waiting(subcog)
    assert (memory["content"], memory["project"]) == (RULE, FOLDER)
    assert str(memory["source"]).startswith(f"session:{path}:")
    assert "1 unchanged; proposed 0" in subcog("learn").err
    WRITERS[client](tmp_path, "hello there", RULE, "look at the log")
    assert "read 1 prompt of 1 session; proposed 0" in subcog("learn").err
    with Store.reader(home) as store:
        turn = learning_runs.find_turn(store.by_ids([str(memory["id"])])[str(memory["id"])])
    assert turn is not None
    assert turn.text == RULE


def test_what_several_agents_were_told_is_one_proposal(subcog: Run, sessions: Path, tmp_path: Path) -> None:
    session(sessions, "one", RULE)
    for number, write in enumerate(WRITERS.values()):
        write(tmp_path, AGAIN if number % 2 else RULE)
    done = subcog("learn", "--dry-run")
    assert "said 6 times" in done.out
    assert len(done.out.splitlines()) == 1


def test_agents_can_be_left_out(subcog: Run, sessions: Path, tmp_path: Path) -> None:
    session(sessions, "one", RULE)
    for write in WRITERS.values():
        write(tmp_path, RULE)
    assert subcog("config", "set", "capture.clients_except", "claude, codex,opencode").code == 0
    assert "of 3 sessions" in subcog("learn", "--dry-run").err
    assert subcog("config", "set", "capture.clients_except", "claude,codex,gemini,qwen,opencode,copilot").code == 0
    assert "has no session" in subcog("learn", "--dry-run").err
    refused = subcog("config", "set", "capture.clients_except", "emacs")
    assert refused.code == 4
    assert "claude, codex, gemini" in refused.err


def test_a_damaged_database_is_one_line_in_the_log(subcog: Run, home: Home, tmp_path: Path) -> None:
    subcog("config", "set", "capture.sessions", "on")
    client_sessions.codex(tmp_path, RULE)
    database = client_sessions.opencode(tmp_path, RULE).parent
    database.write_bytes(b"SQLite format 3\0" + b"\xff" * 8_000)
    assert learning_runs.learn_in_background(home, FULL_PACE) == "1 proposed, of 1 prompt in 1 session"
    assert subcog("learn").err.count(str(database)) == 2  # its path, and SQLite's message
    lines = [line for file in Path(home.log).iterdir() for line in file.read_text(encoding="utf-8").splitlines()]
    (line,) = [line for line in lines if "opencode.db" in line]
    assert "is damaged" in line


def test_damaged_sessions_of_one_database_are_one_line(subcog: Run, tmp_path: Path) -> None:
    paths = [client_sessions.opencode(tmp_path, RULE, name=f"ses_{number}") for number in range(3)]
    with closing(sqlite3.connect(paths[0].parent)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'part_session'")
        database.commit()
    done = subcog("learn", "--dry-run")
    assert done.code == 0
    assert done.err.count("is damaged") == 1


def test_a_prompt_behind_undone_ones_is_learned(subcog: Run, tmp_path: Path) -> None:
    path = client_sessions.opencode(tmp_path, "hello there", "look at the log and say in a few words what is wrong with it")
    subcog("learn")
    with closing(sqlite3.connect(path.parent)) as database:
        for table, column in (("part", "message_id"), ("message", "id")):
            database.execute(f"DELETE FROM {table} WHERE {column} LIKE '%msg_1%'")
        database.commit()
    client_sessions.opencode(tmp_path, "hello there", RULE)
    subcog("learn")
    assert [memory["content"] for memory in waiting(subcog)] == [RULE]
