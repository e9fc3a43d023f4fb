"""`subcog report --past`: every earlier prompt is decided as the hook decides it, and nothing is recorded."""

import json
import os
from pathlib import Path
from typing import Any

from subcog_hooks.core.paths import Home
from subcog_hooks.learn import transcript_files
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.cli.conftest import Ask, MonkeyPatch, Run
from tests.cli.learned import AGAIN, RULE
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.transcripts import session

LOGIN = "Login uses OAuth2 with PKCE, the implicit flow was dropped after the audit of the SPA"
ASKED = "How does the login with OAuth2 and PKCE work in the SPA?"


def write_prompt_list(tmp_path: Path, *rows: dict[str, object]) -> None:
    (tmp_path / "claude").mkdir(exist_ok=True)
    (tmp_path / "claude" / transcript_files.HISTORY).write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )


def run_audit(subcog: Run, *options: str) -> dict[str, Any]:
    done = subcog("report", "--past", "--json", *options)
    assert done.code == 0, done.err
    record: dict[str, Any] = done.json
    return record


def test_it_speaks_like_the_hook_and_counts_the_cost(subcog: Run, sessions: Path, ask: Ask, tmp_path: Path) -> None:
    ask.remember(login=LOGIN, never="Cranes in the harbour are painted yellow")
    session(sessions, "one", ASKED, "make it blue")
    record = run_audit(subcog)
    assert (record["prompts"], record["sessions"], record["spoke"], record["injected"]) == (2, 1, 1, 1)
    (spoken,) = record["spoken"]
    assert (spoken["prompt"], spoken["memories"]) == (ASKED, ["login"])
    assert spoken["characters"] == record["characters"] > len(LOGIN)
    assert "never" in record["never"]
    assert "login" not in record["never"]
    assert ask(ASKED, cwd=str(tmp_path)) == ["login"]
    assert ask("make it blue", cwd=str(tmp_path)) == []


def test_a_session_is_given_a_memory_once(subcog: Run, sessions: Path, ask: Ask) -> None:
    ask.remember(login=LOGIN)
    session(sessions, "one", ASKED, ASKED)
    session(sessions, "two", ASKED, day="2026-03-05")
    record = run_audit(subcog)
    assert (record["spoke"], record["memories"]) == (2, [{"id": "login", "times": 2, "content": LOGIN}])
    assert record["outcomes"] == {"spoke": 2, "repeated": 1}
    (again,) = record["asked_again"]
    assert (again["text"], again["sessions"]) == (ASKED, 2)


def test_nothing_is_kept_of_it(subcog: Run, sessions: Path, ask: Ask, home: Home) -> None:
    ask.remember(login=LOGIN)
    State.open(home, 1_000).close()
    session(sessions, "one", ASKED)
    before = {path: (sessions / path).read_bytes() for path in os.listdir(sessions) if (sessions / path).is_file()}
    assert run_audit(subcog)["spoke"] == 1
    assert before == {path: (sessions / path).read_bytes() for path in before}
    state = State.open(home, 1_000)
    for table in ("ledger", "decisions", "sessions", "topics", "sought", "heard", "transcripts"):
        assert state.run(f"SELECT count(*) FROM {table}") == [(0,)], table
    state.close()
    assert run_audit(subcog)["spoke"] == 1  # as before: no session was given anything


def test_it_says_first_what_it_reads(subcog: Run, sessions: Path, ask: Ask, tmp_path: Path) -> None:
    ask.remember(login=LOGIN)
    session(sessions, "one", ASKED)
    write_prompt_list(tmp_path, {"display": "hello", "timestamp": 1_770_000_000_000, "project": "/home/dev/shop"})
    lines = subcog("report", "--past").err.splitlines()
    assert lines[0].startswith("reading what you typed in 1 session in 1 folder")
    assert "history.jsonl" in lines[1]


def test_the_list_of_prompts_tells_what_transcripts_no_longer_do(subcog: Run, sessions: Path, ask: Ask, tmp_path: Path) -> None:
    ask.remember(login=LOGIN)
    session(sessions, "one", ASKED)
    typed_ms = 1_772_445_600_000  # the same time as in the transcript
    write_prompt_list(
        tmp_path,
        {"display": ASKED, "timestamp": typed_ms, "project": "/home/dev/shop", "sessionId": "one"},
        {"display": ASKED, "timestamp": typed_ms + 5_000, "project": "/home/dev/shop"},  # the same again
        {"display": "/clear", "timestamp": typed_ms, "project": "/home/dev/shop"},
        {"display": ASKED, "timestamp": typed_ms - 40 * 86_400_000, "project": "/home/dev/shop", "sessionId": "swept"},
        {
            "display": "[Pasted text #1 +2 lines]",
            "timestamp": typed_ms - 41 * 86_400_000,
            "project": "/home/dev/shop",
            "pastedContents": {"1": {"id": 1, "type": "text", "content": ASKED}},
        },
    )
    record = run_audit(subcog)
    assert (record["prompts"], record["sessions"], record["spoke"]) == (3, 3, 3)
    assert run_audit(subcog, "--transcripts", str(sessions))["prompts"] == 1
    assert subcog("report", "--past", "--since", "1h").code == 1


def test_what_was_noted_later_is_counted_apart(subcog: Run, sessions: Path, ask: Ask, home: Home) -> None:
    ask.remember(login=LOGIN)
    session(sessions, "one", ASKED)
    assert run_audit(subcog)["noted_later"] == 0
    with Store.writer(home) as store:
        store.modify(["login"], lambda memory: memory.with_changes(created_at=4_000_000_000_000))
    assert run_audit(subcog)["noted_later"] == 1


def test_a_typed_note_is_no_answer_to_the_prompt_that_typed_it(subcog: Run, sessions: Path, ask: Ask) -> None:
    ask.remember(login=LOGIN, short="PKCE login")
    glued = f"Before you begin: {LOGIN.upper()}. How does the login work?"
    session(sessions, "one", f"remember: {LOGIN}", "# PKCE login", "PKCE login", glued)
    record = run_audit(subcog)
    assert not [prompt for prompt in record["spoken"] if "login" in prompt["memories"]]
    assert [prompt["prompt"] for prompt in record["spoken"] if "short" in prompt["memories"]] in ([], [glued])
    session(sessions, "two", ASKED, day="2026-03-05")
    assert "login" in run_audit(subcog)["spoken"][-1]["memories"]


def test_a_learned_note_is_no_answer_in_the_turn_that_taught_it(
    subcog: Run, sessions: Path, ask: Ask, home: Home, make: Maker
) -> None:
    ask.remember()
    session(sessions, "one", ASKED, day="2026-03-02")
    session(sessions, "two", ASKED, day="2026-03-05")
    taught_ms = 1_772_445_600_000  # when session one was asked
    with Store.writer(home) as store:
        source = f"session:{sessions}/one.jsonl:one-r0"
        store.add([make(LOGIN, id="login", source=source, trust="transcript", created_at=taught_ms)])
        follow(home, store)
    assert [prompt["session"] for prompt in run_audit(subcog)["spoken"]] == ["two"]


def test_a_learned_rule_comes_to_later_sessions_only(subcog: Run, sessions: Path, home: Home) -> None:
    session(sessions, "one", "how do I use npm here, or is it pnpm?", RULE, day="2026-03-02")
    session(sessions, "two", "how do I use npm here, or is it pnpm?", day="2026-03-05")
    record = run_audit(subcog, "--learned")
    assert record["against"] == "learned"
    (spoken,) = record["spoken"]
    assert spoken["session"] == "two"
    assert [memory["content"] for memory in record["memories"]] == [RULE]
    assert not os.path.exists(home.memories_db)


def test_a_correction_given_twice_is_told(subcog: Run, sessions: Path) -> None:
    written = session(sessions, "one")
    written.call("Bash", command="npm install")
    written.refused(RULE)
    written = session(sessions, "two", day="2026-03-05")
    written.typed("install the types")
    written.call("Bash", command="npm install -D @types/node")
    written.refused(AGAIN)
    (again,) = run_audit(subcog, "--learned")["said_again"]
    assert (again["kind"], again["sessions"], again["said"]) == ("correction", 2, [RULE, AGAIN])


def test_a_project_can_be_left_out(subcog: Run, sessions: Path, ask: Ask) -> None:
    ask.remember(login=LOGIN)
    session(sessions, "one", ASKED)
    subcog("config", "set", "capture.sessions_except", "/home/dev")
    done = subcog("report", "--past", "--json")
    assert (done.json["prompts"], done.json["left_out"]) == (0, 1)
    assert "left out 1 prompt, by capture.sessions_except" in done.err


def test_left_out_projects_have_no_memories_that_never_came(
    subcog: Run, sessions: Path, ask: Ask, home: Home, make: Maker
) -> None:
    ask.remember(login=LOGIN)
    with Store.writer(home) as store:
        for name in ("shop", "secret"):
            store.add([make(f"The {name} is closed", id=name, scope="project", project=f"/home/dev/{name}")])
    session(sessions, "one", ASKED)
    session(sessions, "two", ASKED, folder="/home/dev/secret", day="2026-03-05")
    assert {"secret", "shop"} < {*run_audit(subcog)["never"]}
    subcog("config", "set", "capture.sessions_except", "/home/dev/secret")
    assert "shop" in (never := run_audit(subcog)["never"])
    assert "secret" not in never


def test_a_damaged_record_is_told(subcog: Run, sessions: Path, ask: Ask, home: Home) -> None:
    ask.remember(login=LOGIN)
    session(sessions, "one", ASKED)
    Path(home.state_db).write_bytes(b"no database at all" * 100)
    done = subcog("report", "--past", "--json")
    assert done.json["spoke"] == 1
    assert "put aside" in done.err


def test_a_prompt_without_a_time_was_not_typed_before_anything(subcog: Run, ask: Ask, home: Home, tmp_path: Path) -> None:
    ask.remember(login=LOGIN)
    with Store.writer(home) as store:
        store.modify(["login"], lambda memory: memory.with_changes(created_at=4_000_000_000_000))
    write_prompt_list(tmp_path, {"display": ASKED, "project": "/home/dev/shop"})
    record = run_audit(subcog)
    assert (record["spoke"], record["noted_later"]) == (1, 0)
    assert "undated" in subcog("report", "--past").out


def test_secrets_of_prompts_are_not_shown(subcog: Run, sessions: Path, ask: Ask) -> None:
    ask.remember(login=LOGIN)
    key = "AKIA" + "IOSFODNN7" + "EXAMPLE"
    session(sessions, "one", f"{ASKED} My key is {key}")
    done = subcog("report", "--past", "--json")
    assert done.json["spoke"] == 1
    assert key not in done.out
    assert key not in subcog("report", "--past").out


def test_secrets_of_the_thorough_scan_are_shown_nowhere(subcog: Run, sessions: Path, ask: Ask, tmp_path: Path) -> None:
    ask.remember(login=LOGIN)
    session(sessions, "one", f"{ASKED} password = Hunter2secretX9")
    shown = subcog("report", "--past", "--json").out, subcog("report", "--past").out
    assert subcog("report", "--past", "--html", "audit.html").code == 0
    for text in (*shown, (tmp_path / "audit.html").read_text(encoding="utf-8")):
        assert "How does the login" in text
        assert "Hunter2" not in text


def test_half_a_character_costs_no_audit(subcog: Run, sessions: Path, ask: Ask) -> None:
    ask.remember(login=LOGIN)
    session(sessions, "one", ASKED, "and now \ud800 make it blue")
    written = session(sessions, "two", folder="/home/\ud800/shop", day="2026-03-05")
    written.typed(ASKED, fields={"sessionId": "\ud800"})
    assert run_audit(subcog)["prompts"] == 3
    assert subcog("report", "--past", "--learned").code == 0
    assert subcog("report", "--past", "--html", "audit.html").code == 0
    assert subcog("report", "--past").code == 0


def test_without_memories_it_says_what_can_be_asked(subcog: Run, sessions: Path) -> None:
    session(sessions, "one", ASKED)
    done = subcog("report", "--past")
    assert done.code == 1
    assert "--learned" in done.err
    assert subcog("report", "--past", "--learned", "--transcripts", "/nowhere").code == 2


def test_an_agent_does_not_read_all_sessions(subcog: Run, sessions: Path, monkeypatch: MonkeyPatch) -> None:
    session(sessions, "one", ASKED)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "--as-user" in subcog("report", "--past", "--learned").err


def test_a_damaged_list_costs_its_lines(subcog: Run, ask: Ask, tmp_path: Path) -> None:
    ask.remember(login=LOGIN)
    write_prompt_list(tmp_path, {"display": ASKED, "timestamp": 1_770_000_000_000, "project": "/home/dev/shop"})
    with (tmp_path / "claude" / transcript_files.HISTORY).open("a", encoding="utf-8") as file:
        file.write('{"display": "half of a\n[]\n{"display": 7}\n')
    done = subcog("report", "--past", "--json")
    assert done.json["spoke"] == 1
    assert "2 rows cannot be read" in done.err


def test_the_terminal_has_all_of_it_in_short(subcog: Run, sessions: Path, ask: Ask, store: Store) -> None:
    ask.remember(login=LOGIN)
    session(sessions, "one", ASKED)
    out = subcog("report", "--past").out
    assert "1 (100%)" in out
    assert LOGIN[:40] in out
    assert "never came, the oldest" in out
