"""`doctor`, `config`, `pause` and `resume`: faults are named, sound parts are confirmed."""

import json
import os
import socketserver
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from subcog_hooks import __version__
from subcog_hooks.cli import embedding
from subcog_hooks.cli.agents import hook_entries
from subcog_hooks.core import database
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import detached
from subcog_hooks.llm import ask
from subcog_hooks.store import home_files, vector_store
from subcog_hooks.store.home_files import PUT_OFF, JobRecord, LastRun, ProcessLock
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import State, is_paused
from subcog_hooks.store.store_reader import SCHEMA
from subcog_hooks.store.vector_reader import vectors_path
from tests.cli.conftest import MonkeyPatch, Run

SCRIPT = Path(sys.executable).with_name("subcog")


@pytest.fixture
def with_hook(subcog: Run, monkeypatch: MonkeyPatch) -> Run:
    if not SCRIPT.exists():
        pytest.skip("subcog is not installed beside this interpreter")
    subcog("remember", "Berths are allocated by length overall", "-s", "decisions")
    subcog("init")
    return subcog


def test_a_new_home_has_nothing_wrong(subcog: Run) -> None:
    done = subcog("doctor")
    assert done.code == 0
    assert "no memories yet" in done.out
    assert "BAD" not in done.out
    assert "hook ran in" in done.out


def test_a_sound_home_is_shown(with_hook: Run) -> None:
    done = with_hook("doctor")
    assert done.code == 0
    assert "store sound: 1 active" in done.out
    assert "index of 1 memory in 1 segment" in done.out
    assert "hook in the user settings" in done.out
    assert "hook ran in" in done.out


def test_what_it_tries_is_no_prompt_of_the_users(with_hook: Run) -> None:
    assert with_hook("doctor").code == 0
    assert with_hook("why").code == 1
    record = with_hook("report", "--json").json
    assert (record["prompts"], sum(record["subcog_hook_decisions_total"].values())) == (0, 0)


def test_json_holds_the_findings_and_no_memory(with_hook: Run) -> None:
    with_hook("remember", "The lighthouse keeper signs releases on Friday")
    done = with_hook("doctor", "--json")
    report = done.json
    assert (report["version"], report["exit_code"]) == (__version__, done.code)
    assert {"ok"} <= {finding["level"] for finding in report["findings"]} <= {"ok", "note", "bad"}
    assert any(finding["text"].startswith("store sound: ") for finding in report["findings"])
    assert "lighthouse" not in done.out
    assert str(Path.home()) not in done.out
    assert with_hook("doctor", "--json", "--fix").code == 2


def test_a_hook_whose_executable_is_gone_is_named(with_hook: Run) -> None:
    settings = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "settings.json"
    command_line = next(line for line in settings.read_text().splitlines() if '"command": "/' in line)
    settings.write_text(settings.read_text().replace(command_line, '"command": "/nowhere/subcog",'))
    done = with_hook("doctor")
    assert done.code == 4
    assert "runs /nowhere/subcog, which is not there; run `subcog init` again" in done.out


@pytest.mark.skipif(os.name == "nt", reason="needs a shell script")
def test_a_command_that_prints_other_text_is_named(with_hook: Run, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    wrapper = tmp_path / "own" / "subcog"
    wrapper.write_text("#!/bin/sh\necho hello\n")
    wrapper.chmod(0o755)
    settings = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "settings.json"
    settings.write_text(settings.read_text().replace(json.dumps(str(SCRIPT)), json.dumps(str(wrapper))))
    done = with_hook("doctor")
    assert done.code == 4
    assert " BAD  the registered command prints more than the hook's JSON; `subcog init` registers it anew" in done.out
    assert "hook ran in" not in done.out


def test_settings_of_before_that_lack_an_event_are_named(with_hook: Run) -> None:
    settings = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "settings.json"
    whole = settings.read_text()
    for event in [*hook_entries.EVENTS][1:]:
        hooks = json.loads(whole)
        del hooks["hooks"][event]
        settings.write_text(json.dumps(hooks))
        note = f"note  the user settings do not run it for all of {event}; `subcog init` adds that"
        assert note in with_hook("doctor").out
    hooks = json.loads(whole)
    hooks["hooks"]["SessionStart"][0]["matcher"] = "compact"
    settings.write_text(json.dumps(hooks, indent=2))
    assert "do not run it for all of SessionStart; `subcog init` adds that" in with_hook("doctor").out
    with_hook("init")
    assert "do not run it" not in with_hook("doctor").out
    with_hook("uninstall")
    assert not settings.exists()


def test_a_damaged_store_is_exit_code_three(with_hook: Run, home: Home) -> None:
    with open(home.memories_db, "r+b") as file:
        file.write(b"\0" * 4096)
    done = with_hook("doctor")
    assert (done.code, "BAD" in done.out) == (3, True)


def test_an_index_that_has_another_number_of_memories_is_wrong(with_hook: Run, home: Home) -> None:
    connection = apsw.Connection(home.memories_db)
    connection.execute("DELETE FROM memories")
    connection.close()
    done = with_hook("doctor")
    assert done.code == 3
    assert "the index has 1 memory, the store 0; run `subcog doctor --fix`" in done.out


def test_damaged_past_sessions_are_named(with_hook: Run, home: Home) -> None:
    path = home.sessions.memories_db
    with closing(database.open_writer(path, database.Schema(SCHEMA.file, 1_000, "FULL"), 100)):
        assert f" BAD  {path} was written by a later version of subcog; upgrade subcog, or delete it" in with_hook("doctor").out
    Path(path).write_bytes(b"no database" * 100)
    done = with_hook("doctor")
    assert (done.code, f" BAD  {path}" in done.out) == (3, True)


def test_a_file_in_the_place_of_the_home_is_named(subcog: Run, home: Home) -> None:
    Path(home.root).write_text("")
    done = subcog("doctor")
    assert (done.code, f"{home.root} is not a folder; move it away, or set SUBCOG_HOME" in done.out) == (3, True)
    assert subcog("list").code == 3


def test_files_that_others_can_read_are_named(with_hook: Run, home: Home) -> None:
    Path(home.memories_db).chmod(0o644)
    assert f"{home.memories_db} can be read by others" in with_hook("doctor").out


def test_wrong_settings_are_exit_code_four(with_hook: Run, home: Home) -> None:
    Path(home.config).write_text("[surfacing]\nmin_relevance = 7\n")
    done = with_hook("doctor")
    assert done.code == 4
    assert "config.toml line 2: surfacing.min_relevance is 7, expected 0.0 to 1.0" in done.out
    assert with_hook("search", "berths").code == 4


def test_a_pause_begins_and_ends(subcog: Run, home: Home) -> None:
    assert subcog("pause", "2h").code == 0
    assert is_paused(State.open(home, 100), now_ms())
    assert (subcog("resume").code, subcog("resume").code) == (0, 1)
    for length in ("2", "h", "-1h", "2 weeks", "0m"):
        assert subcog("pause", "--", length).code == 2
    assert not is_paused(State.open(home, 100), now_ms())
    assert subcog("pause").code == 0
    assert is_paused(State.open(home, 100), 10**15)


def test_a_hook_that_is_switched_off_is_named(with_hook: Run) -> None:
    for switch, when in (
        ("surfacing.tools", " when a tool touches a file"),
        ("surfacing.session_start", " when a session begins"),
        ("search_intent.enabled", ""),
    ):
        with_hook("config", "set", switch, "false")
        done = with_hook("doctor")
        assert f"note  {switch} is false: the hook is silent{when}" in done.out
    assert "reason" not in done.err


@pytest.fixture
def project(subcog: Run, tmp_path: Path) -> Run:
    """Return the terminal in a repository."""
    (tmp_path / ".git").mkdir()
    return subcog


def test_a_project_that_ends_alike_is_named_with_its_command(project: Run, tmp_path: Path) -> None:
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = git@git.acme.io:acme/shop.git\n')
    for name in ("github.com/acme/shop", "github.com/bob/shop", "/old/shop", "git.acme.io/acme/shop"):
        project("remember", f"Something about {name}", "--project", name)
    lines = [line for line in project("doctor").out.splitlines() if "may be this project, too" in line]
    assert [line.split()[1] for line in lines] == ["/old/shop", "github.com/acme/shop"]
    command = "subcog edit $(subcog list --ids -n 1 --project /old/shop) --project here"
    assert lines[0].endswith(f" and has 1 memory; `{command}` moves all here")
    ids = project("list", "--ids", "-n", "1", "--project", "/old/shop").out.split()
    assert project("edit", *ids, "--project", "here").code == 0
    assert len([line for line in project("doctor").out.splitlines() if "may be this project, too" in line]) == 1


def test_a_project_that_was_renamed_is_named(project: Run, tmp_path: Path) -> None:
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme-inc/shop.git\n')
    for name in ("github.com/acme/shop", str(tmp_path / "gone"), str(tmp_path.parent)):
        project("remember", f"Something about {name}", "--project", name)
    names = [line.split()[1] for line in project("doctor").out.splitlines() if "may be this project, too" in line]
    assert names == [str(tmp_path / "gone"), "github.com/acme/shop"]
    assert project("list").err == "no memories; `subcog doctor` names projects that may be this one\n"
    assert project("list", "--project", "here").err.startswith("no memor")
    project("remember", "A first note of this project")
    assert "may be this project, too" not in project("doctor").out


def vectors_said(subcog: Run) -> list[str]:
    return [line for line in subcog("doctor").out.splitlines() if "vectors (" in line]


def change_vectors(home: Home, sql: str) -> None:
    connection = apsw.Connection(vectors_path(home, "minilm"))
    connection.execute(sql)
    connection.close()


@pytest.mark.parametrize(("switch", "by"), [("1", "the work at rest"), ("0", "`subcog doctor --fix`")])
def test_pending_vectors_are_counted_with_their_next_step(
    with_hook: Run, monkeypatch: MonkeyPatch, switch: str, by: str
) -> None:
    monkeypatch.setattr(embedding, "BRIEF_S", 0.0)
    monkeypatch.setenv(detached.SWITCH_OFF, switch)
    assert vectors_said(with_hook) == [f"note  vectors (minilm): 0 final, 1 pending; {by} goes on with it"]
    with_hook("doctor", "--fix")
    assert vectors_said(with_hook) == ["  ok  vectors (minilm): 1 final"]


def test_memories_that_embed_in_two_seconds_do_not_wait(
    with_hook: Run, home: Home, tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "BRIEF_S", 600.0)  # which they take on no machine
    notes = tmp_path / "notes.jsonl"
    notes.write_text("".join(json.dumps({"content": f"Buoy {number} is painted"}) + "\n" for number in range(57)))
    with_hook("import", str(notes))
    put_off = LastRun(now_ms(), 10, PUT_OFF, "the load was 9.0 by others, on 2 cores")
    home_files.write_record(home, JobRecord({"embedding": put_off}, 0, 0))
    done = with_hook("doctor")
    assert "  ok  vectors (minilm): 58 final\n" in done.out
    assert [line for line in done.out.splitlines() if "pending" in line or "at rest" in line] == []
    with_hook("remember", "The sluice is opened at ebb")
    with_hook("config", "set", "embedding.background", "false")
    assert vectors_said(with_hook) == ["note  vectors (minilm): 58 final, 1 pending; `subcog doctor --fix` goes on with it"]


def test_vectors_that_can_not_be_used_are_made_anew(with_hook: Run, home: Home) -> None:
    path = Path(vectors_path(home, "minilm"))
    for damage in (b"", b"garbage" * 2_000, None):
        path.unlink()
        if damage is not None:
            path.write_bytes(damage)
        done = with_hook("doctor")
        assert (done.code, "  ok  vectors (minilm): 1 final\n" in done.out) == (0, True)
    path.unlink()
    path.mkdir()
    done = with_hook("doctor")
    assert (done.code, [line[:4] for line in done.out.splitlines() if str(path) in line]) == (3, [" BAD"])


def test_vectors_of_another_number_of_memories_are_wrong(with_hook: Run, home: Home) -> None:
    change_vectors(home, "DELETE FROM codes; DELETE FROM vectors")
    done = with_hook("doctor")
    assert done.code == 3
    assert " BAD  vectors (minilm): 0 for 1 memory of the store; run `subcog doctor --fix`" in done.out
    with_hook("doctor", "--fix")
    assert vectors_said(with_hook) == ["  ok  vectors (minilm): 1 final"]


def test_vectors_that_another_process_follows_for_long_are_noted(with_hook: Run, home: Home, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(vector_store, "LOCK_WAIT_MS", 20)
    with ProcessLock(vector_store.lock_path(home, "minilm"), 0, "following"):
        with_hook("remember", "The sluice is opened at ebb")
        assert vectors_said(with_hook) == ["note  vectors (minilm): being brought up to date by another process"]
    assert vectors_said(with_hook) == ["  ok  vectors (minilm): 2 final"]


def test_without_sqlite_vec_it_is_a_note(with_hook: Run, monkeypatch: MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(apsw, "__file__", str(tmp_path / "apsw" / "__init__.py"))
    done = with_hook("doctor")
    assert "note  sqlite-vec is not installed; search is by words alone; pip install sqlite-vec" in done.out


KEY = "sk-hunter2"
LOCAL = ('provider = "openai"', 'model = "tiny"', 'base_url = "http://127.0.0.1:9/v1/"')


def llm_said(subcog: Run, home: Home, *lines: str, intent: str = "") -> tuple[int, str]:
    """Return the exit code and the line about the LLM, with these lines in the `llm` table.

    No line holds a key.
    """
    home.create()
    Path(home.config).write_text("\n".join(("[search_intent]", intent, "[llm]", *lines)))
    done = subcog("doctor")
    assert KEY not in done.out + done.err
    checked = done.out.partition("  ok  hook ran in ")[0]
    llm_lines = [line for line in checked.splitlines() if "LLM" in line or "llm." in line or "API_KEY" in line]
    assert len(llm_lines) == 1, done.out
    return done.code, llm_lines[0]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_an_llm_is_named_with_where_its_key_is_from(subcog: Run, home: Home, monkeypatch: MonkeyPatch) -> None:
    assert llm_said(subcog, home, *LOCAL) == (0, "  ok  LLM openai: tiny at http://127.0.0.1:9/v1, no key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert llm_said(subcog, home) == (0, "  ok  no LLM: the words of a prompt alone decide what it asks for")
    line_start = "  ok  LLM anthropic: claude-haiku-4-5 at https://api.anthropic.com, key from"
    assert llm_said(subcog, home, 'provider = "anthropic"') == (0, f"{line_start} ANTHROPIC_API_KEY")
    file = Path(home.root) / "key"
    file.write_text(KEY)
    file.chmod(0o600)
    assert llm_said(subcog, home, 'provider = "anthropic"', f'key_file = "{file}"') == (0, f"{line_start} {file}")


def test_an_llm_that_is_switched_off_or_rests_is_a_note(subcog: Run, home: Home) -> None:
    name = "note  LLM openai: tiny at http://127.0.0.1:9/v1, no key; "
    assert llm_said(subcog, home, *LOCAL, intent="use_llm = false") == (0, f"{name}not asked, search_intent.use_llm is false")
    state = State.open(home, 100)
    now = now_ms()
    for _ in range(ask.FAILURES):
        ask.record_call_failure(state, "llm.provider openai http://127.0.0.1:9/v1 tiny", now)
    code, line = llm_said(subcog, home, *LOCAL)
    assert (code, line.startswith(f"{name}it failed too often, and is not asked for ")) == (0, True)
    ask.record_call_success(state, "llm.provider openai http://127.0.0.1:9/v1 tiny")
    state.close()
    assert llm_said(subcog, home, *LOCAL)[1].startswith("  ok  ")


def test_nobody_is_called(with_hook: Run, home: Home) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        server.timeout = 0
        calls: list[object] = []
        server.finish_request = lambda *call: calls.append(call)  # type: ignore[method-assign]  # of this server alone
        Path(home.config).write_text(
            f'[llm]\nprovider = "openai"\nmodel = "tiny"\nbase_url = "http://127.0.0.1:{server.server_address[1]}/v1"\n'
        )
        done = with_hook("doctor")
        server.handle_request()
    assert (done.code, calls) == (0, [])
    assert "ok  hook ran in " in done.out
