"""`subcog learn`: prompts of sessions are proposed once, wait for the person, and can be taken back."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from subcog_hooks.cli.proposals import learning_runs as support
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.paths import Home
from subcog_hooks.learn import learning, transcript
from subcog_hooks.learn.proposals import LearningOptions
from subcog_hooks.store import learned
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store
from tests.cli.conftest import MonkeyPatch, Run
from tests.cli.learned import RULE, STAGING, waiting
from tests.transcripts import Writer, session

pytestmark = pytest.mark.usefixtures("hooks_are_over")

LATELY = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 3 * 86_400))
KEY = "AKIA" + "IOSFODNN7" + "EXAMPLE"


def touched_lately(written: Writer) -> None:
    modified_s = time.time() - 3 * 86_400
    os.utime(written.path, (modified_s, modified_s))


def test_what_was_typed_waits_for_review_and_is_proposed_once(subcog: Run, sessions: Path) -> None:
    session(sessions, "one", "hello there", RULE, "fix this")
    first = subcog("learn")
    assert first.code == 0
    assert "read 3 prompts of 1 session" in first.err
    assert RULE in first.out
    (memory,) = waiting(subcog)
    assert (memory["content"], memory["status"], memory["trust"]) == (RULE, "pending", "transcript")
    assert memory["project"] == "/home/dev/shop"
    assert str(memory["source"]).endswith("one.jsonl:one-r2")
    again = subcog("learn")
    assert again.out == ""
    assert "1 unchanged; proposed 0" in again.err
    assert len(waiting(subcog)) == 1


def test_a_session_that_goes_on_is_read_from_where_it_was(subcog: Run, sessions: Path) -> None:
    written = session(sessions, "one", RULE)
    subcog("learn")
    written.typed(STAGING)
    done = subcog("learn")
    assert "read 1 prompt of 1 session" in done.err
    assert [memory["content"] for memory in waiting(subcog)] == [RULE, STAGING]


def test_a_file_that_is_another_by_now_is_read_anew(subcog: Run, sessions: Path) -> None:
    written = session(sessions, "one", "hello")
    subcog("learn")
    written.path.unlink()
    session(sessions, "one", RULE, "and a longer one that makes the file grow")
    subcog("learn")
    assert [memory["content"] for memory in waiting(subcog)] == [RULE]


def test_jsonl_has_the_documented_rows_and_a_dry_run_stores_none(subcog: Run, sessions: Path) -> None:
    session(sessions, "one", RULE)
    done = subcog("learn", "--dry-run", "--jsonl")
    (row,) = done.rows
    fields = "session uuid role by memory kind scope standing questions replaces certainty score active evidence"
    assert list(row) == fields.split()
    assert row["by"] == "floor"
    assert (row["session"], row["uuid"], row["role"], row["memory"]) == ("one", "one-r0", "user", RULE)
    assert "would propose 1" in done.err
    assert subcog("review", "--list").code == 1
    assert subcog("learn", "--jsonl").out == done.out


def test_a_transcript_or_a_folder_can_be_named(subcog: Run, tmp_path: Path) -> None:
    written = Writer(tmp_path / "kept" / "one.jsonl")
    written.typed(RULE)
    Writer(tmp_path / "kept" / "one" / "subagents" / "agent-1.jsonl").typed(STAGING)
    assert subcog("learn", "--transcripts", str(tmp_path / "kept"), "--dry-run", "--jsonl").out.count("\n") == 1
    assert subcog("learn", "--session", str(written.path), "--dry-run", "--jsonl").out.count("\n") == 1
    assert subcog("learn", "--session", str(tmp_path / "none")).code == 2
    assert subcog("learn", "--since", "soon").code == 2


def test_a_session_that_is_not_over_is_left_for_later(subcog: Run, sessions: Path) -> None:
    written = session(sessions, "one", RULE, day="2999-01-01")
    written.path.touch()
    assert "left for later: 1 session" in subcog("learn").err
    assert RULE in subcog("learn", "--session", str(written.path)).out


def test_what_was_said_before_is_left_out_by_its_age(subcog: Run, sessions: Path) -> None:
    session(sessions, "one", RULE, day="2001-01-01")
    assert subcog("learn", "--since", "1y", "--dry-run").out == ""
    assert RULE in subcog("learn", "--dry-run").out


def test_a_run_that_goes_further_back_reads_older_prompts(subcog: Run, sessions: Path) -> None:
    session(sessions, "one", RULE, day="2001-01-01").path.touch()
    written = session(sessions, "two", RULE, day="2001-01-01")
    written._day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 2 * 86_400))
    written.typed(STAGING)
    touched_lately(written)
    subcog("learn", "--since", "30d")
    assert [memory["content"] for memory in waiting(subcog)] == [STAGING]
    assert len(support.load_proposal_records()) == 1
    subcog("learn")
    assert {memory["content"] for memory in waiting(subcog)} == {RULE, STAGING}


def test_an_unreadable_file_does_not_cost_the_others(subcog: Run, sessions: Path, home: Home, monkeypatch: MonkeyPatch) -> None:
    session(sessions, "one", RULE)
    session(sessions, "two", STAGING)
    read = transcript.read_transcript

    def fail_once(path: str, start: int = 0, pace: Pace = FULL_PACE) -> transcript.TranscriptReading:
        if path.endswith("one.jsonl"):
            raise TypeError("what is this")
        return read(path, start, pace)

    monkeypatch.setattr(transcript, "read_transcript", fail_once)
    done = subcog("learn")
    assert "one.jsonl cannot be read: an internal error: TypeError: what is this" in done.err
    assert "read 1 prompt of 1 session" in done.err
    assert [memory["content"] for memory in waiting(subcog)] == [STAGING]
    subcog("config", "set", "capture.sessions", "on")
    subcog("at-rest")
    assert "one.jsonl cannot be read: an internal error: TypeError" in (Path(home.log) / "hook.log").read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_the_place_of_an_imported_memory_is_no_path_to_be_opened(subcog: Run, home: Home, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    row = {"content": "The tide table rules.", "status": "pending", "source": f"session:{tmp_path / 'pipe'}:1"}
    (tmp_path / "in.jsonl").write_text(json.dumps(row) + "\n")
    subcog("import", str(tmp_path / "in.jsonl"))
    (memory,) = waiting(subcog)
    with Store.reader(home) as store:
        (stored,) = store.by_ids([str(memory["id"])]).values()
    assert support.find_turn(stored) is None
    assert subcog("learn", "--forget", "--yes").code == 1
    assert len(waiting(subcog)) == 1


def test_a_long_session_is_read_whole_also_by_a_dry_run(subcog: Run, sessions: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MAX_TURNS", 3)  # that are read at a time
    session(sessions, "one", *(f"hello {number}" for number in range(7)), RULE, "hello", STAGING)
    dry = subcog("learn", "--dry-run")
    assert "read 10 prompts of 1 session; would propose 2" in dry.err
    done = subcog("learn")
    assert "read 10 prompts of 1 session; proposed 2" in done.err
    assert done.out == dry.out


def test_what_is_new_behind_much_that_is_too_old_is_read(subcog: Run, sessions: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(transcript, "MAX_TURNS", 3)
    session(sessions, "zero", RULE, day="2001-01-01")
    written = session(sessions, "one", RULE, *("hello",) * 6, day="2001-01-01")
    written._day = LATELY
    written.typed(STAGING)
    touched_lately(written)
    assert " of 1 session" in subcog("learn", "--since", "30d").err
    assert [memory["content"] for memory in waiting(subcog)] == [STAGING]


def test_where_nothing_lies_the_folder_is_named(subcog: Run, sessions: Path, tmp_path: Path) -> None:
    assert f"{sessions} has no session" in subcog("learn").err
    (tmp_path / "empty").mkdir()
    assert f"{tmp_path / 'empty'} has no session" in subcog("learn", "--transcripts", str(tmp_path / "empty")).err
    for option in ("--transcripts", "--session"):
        refused = subcog("learn", option, "")
        assert (refused.code, "'' is no f" in refused.err) == (2, True)


def test_secrets_and_private_spans_are_not_proposed(subcog: Run, sessions: Path) -> None:
    session(sessions, "one", f"never use the key {KEY}. <private>Always call Ann at home.</private> {RULE}")
    done = subcog("learn", "--jsonl")
    assert RULE in done.out
    assert KEY not in done.out + done.err
    assert "Ann" not in done.out + done.err + json.dumps(waiting(subcog))


def test_what_holds_in_a_project_can_be_proposed_for_another(subcog: Run, sessions: Path) -> None:
    session(sessions, "one", RULE)
    subcog("learn")
    session(sessions, "two", RULE, folder="/home/dev/blog", day="2026-03-03")
    assert "proposed 1" in subcog("learn").err
    assert [memory["project"] for memory in waiting(subcog)] == ["/home/dev/shop", "/home/dev/blog"]


def test_a_project_or_a_folder_can_be_left_out(subcog: Run, sessions: Path) -> None:
    session(sessions, "one", RULE)
    session(sessions, "two", STAGING, folder="/home/dev/other work/api")
    subcog("config", "set", support.LEFT_OUT, "/home/Dev/other work, github.com/acme/secret")
    done = subcog("learn")
    assert "left out 1 prompt, by capture.sessions_except" in done.err
    assert [memory["content"] for memory in waiting(subcog)] == [RULE]


def repository(folder: Path, remote: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n', encoding="utf-8")
    return folder


def test_a_project_is_left_out_by_link_parent_and_gone_worktree(subcog: Run, sessions: Path, tmp_path: Path) -> None:
    root = repository(tmp_path / "secret", "git@github.com:acme/secret.git")
    (tmp_path / "link").symlink_to(root)
    session(sessions, "one", RULE, folder=str(root))
    session(sessions, "two", STAGING, folder=str(root / ".claude" / "worktrees" / "gone"))
    names = (f"{tmp_path}/link", f"{root}/", "github.com/acme/secret", "git@github.com:Acme/secret.git")
    for name in (*names, f"{tmp_path.name}/secret", f"{tmp_path.name}/Secret/"):
        subcog("config", "set", support.LEFT_OUT, name)
        assert "left out 2 prompts" in subcog("learn", "--dry-run").err, name
    subcog("learn")
    assert subcog("review", "--list").code == 1


def test_what_names_no_place_leaves_nothing_out_unnoticed(subcog: Run, sessions: Path, tmp_path: Path, home: Home) -> None:
    session(sessions, "one", RULE)
    (tmp_path / "work" / "secret").mkdir(parents=True)
    for name in ("secret", "../secret", "work/secret", "nowhere/../secret"):
        refused = subcog("config", "set", support.LEFT_OUT, name)
        assert (refused.code, name in refused.err) == (4, True), name
    home.create()
    Path(home.config).write_text('[capture]\nsessions_except = "secret"\n', encoding="utf-8")
    refused = subcog("learn")
    assert refused.code == 4
    assert "capture.sessions_except has 'secret'" in refused.err


def test_a_folder_that_can_not_be_read_is_told(subcog: Run, sessions: Path, monkeypatch: MonkeyPatch) -> None:
    session(sessions, "one", RULE)
    (sessions / "-locked").mkdir()
    scandir = os.scandir

    def refusing(path: str) -> Iterator[os.DirEntry[str]]:
        if str(path).endswith("-locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)  # for root nothing is locked
    done = subcog("learn")
    assert f"{sessions / '-locked'} cannot be read: Permission denied" in done.err
    assert RULE in done.out


def test_a_person_is_told_the_turn_and_the_call_before_it(subcog: Run, sessions: Path, home: Home) -> None:
    written = session(sessions, "one", "set the project up")
    written.call("Bash", command=f"npm install --token {KEY}")
    written.typed(f"no! {RULE}. now go on")
    subcog("learn")
    (memory,) = waiting(subcog)
    with Store.reader(home) as store:
        (stored,) = store.by_ids([str(memory["id"])]).values()
    fields = dict(support.review_notes(stored, None))
    assert fields["turn"] == f"no! {RULE}. now go on"
    assert fields["behind"].startswith("Bash npm install --token")
    assert KEY not in fields["behind"]


def test_a_correction_comes_with_the_files_that_it_is_about(subcog: Run, sessions: Path, tmp_path: Path) -> None:
    gone = repository(tmp_path / "shop", "git@github.com:acme/shop.git") / ".claude" / "worktrees" / "gone"
    written = session(sessions, "one", "add the form", folder=str(gone))  # whose project is that of the worktree
    written.call("Edit", file_path=str(gone / "src" / "ui" / "form.tsx"))
    written.refused("no, never use default exports here, named ones only")
    subcog("learn")
    (memory,) = waiting(subcog)
    assert (memory["namespace"], memory["paths"], memory["project"]) == ("patterns", ["src/ui/*.tsx"], "github.com/acme/shop")


def test_what_was_dropped_or_taken_back_is_not_proposed_again(subcog: Run, sessions: Path, home: Home) -> None:
    session(sessions, "one", RULE, STAGING)
    subcog("learn")
    first, second = (str(memory["id"]) for memory in waiting(subcog))
    subcog("review", "--reject", first, "--accept", second)
    refused = subcog("learn", "--forget")
    assert refused.code == 2
    assert "1 memory that you kept would be erased too" in refused.err
    assert subcog("learn", "--forget", "--yes").code == 0
    assert subcog("list", "--status", "all", "--ids").out == ""
    assert b"pnpm" not in Path(home.memories_db).read_bytes()
    subcog("learn")
    assert subcog("review", "--list").code == 1
    assert subcog("learn", "--forget").code == 1


def test_an_agent_does_not_read_what_the_person_typed(subcog: Run, sessions: Path, monkeypatch: MonkeyPatch) -> None:
    session(sessions, "one", RULE)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert subcog("learn").code == 2
    assert RULE in subcog("learn", "--as-user").out


def test_a_run_stopped_after_storing_stores_nothing_twice(
    subcog: Run, sessions: Path, home: Home, monkeypatch: MonkeyPatch
) -> None:
    session(sessions, "one", RULE)
    files, _ = support.find_idle_transcripts(None, None)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with Store.writer(home) as store:
        state = State.open(home, 1_000)
        monkeypatch.setattr(learned, "note_read_position", stop)
        with pytest.raises(KeyboardInterrupt):
            learning.learn(files, store, state, LearningOptions(), lambda _: None)
        state.roll_back()
        assert len(store.all(("pending",)).__next__().content) == len(RULE)
        monkeypatch.undo()
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(sessions.parent))
        again = learning.learn(files, store, state, LearningOptions(), lambda _: None)
        assert (again.read, again.proposed) == (1, [])
        assert len(list(store.all(("pending",)))) == 1
        state.close()


def test_sessions_are_read_every_six_hours_only_if_wanted(subcog: Run, sessions: Path, home: Home) -> None:
    session(sessions, "one", RULE)
    subcog("at-rest")
    assert subcog("review", "--list").code == 1
    subcog("config", "set", "capture.sessions", "on")
    subcog("at-rest")
    assert len(waiting(subcog)) == 1
    session(sessions, "two", STAGING)
    subcog("at-rest")
    assert len(waiting(subcog)) == 1
    Path(home.job_record).unlink()
    subcog("at-rest")
    assert len(waiting(subcog)) == 2
