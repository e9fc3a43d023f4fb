"""`subcog learn`: a command that failed and worked in another form is proposed once two sessions of a project show it."""

from pathlib import Path

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import tool
from subcog_hooks.learn import transcript
from tests import transcripts
from tests.cli.conftest import Run
from tests.cli.learned import waiting
from tests.transcripts import Writer

FAILS = "`npm test` fails here; `pnpm test` works."
OUTPUT = "Exit code 1\nnpm ERR! hunter2 is no secret of ours"


def session(sessions: Path, name: str, *, day: str = "2026-03-02", folder: str = "/home/dev/shop") -> Writer:
    written = transcripts.session(sessions, name, folder=folder, day=day)
    written.typed("please run the tests")
    return written


def ran(written: Writer, command: str, printed: str | None = None, **given: object) -> None:
    """Add a command and its result to a session. printed: the output of a failed command."""
    identifier = f"toolu_{written.call('Bash', 'toolu_next', command=command, **given)}"
    text = written.path.read_text().replace('"toolu_next"', f'"{identifier}"')
    written.path.write_text(text)
    written.result(printed or "ok", identifier, is_error=printed is not None)


def failed_then_worked(written: Writer, failed: str = "npm test", worked: str = "pnpm test") -> None:
    ran(written, failed, OUTPUT)
    ran(written, worked)


def test_two_sessions_propose_a_fix_and_the_next_call_gets_it(subcog: Run, sessions: Path, home: Home) -> None:
    failed_then_worked(session(sessions, "one"))
    assert "proposed 0" in subcog("learn").err
    failed_then_worked(session(sessions, "elsewhere", folder="/home/dev/other"))
    assert "proposed 0" in subcog("learn").err
    failed_then_worked(session(sessions, "two", day="2026-03-05"))
    done = subcog("learn")
    assert "proposed 1 (command 1)" in done.err
    assert "shown by 2 sessions since 2026-03-02" in done.out
    (row,) = waiting(subcog)
    assert (row["content"], row["project"], row["trust"], row["namespace"]) == (FAILS, "/home/dev/shop", "tool", "learnings")
    assert row["triggers"] == [r"(^|[;&|] *)npm +test\b"]
    assert row["from"] == "shown by session two"
    assert b"hunter2" not in Path(home.memories_db).read_bytes() + Path(home.state_db).read_bytes()
    subcog("learn")
    assert len(waiting(subcog)) == 1


@pytest.mark.parametrize("is_one_run", [True, False])
@pytest.mark.parametrize(("between", "count"), [("npm test -- --ci", 0), ("cd web && npm test", 1), ("npm install", 1)])
def test_a_command_that_works_again_later_is_dropped(
    subcog: Run, sessions: Path, between: str, count: int, is_one_run: bool
) -> None:
    failed_then_worked(session(sessions, "1"))
    runs = [] if is_one_run else [subcog("learn")]
    ran(session(sessions, "2", day="2026-03-04"), between)
    runs += [] if is_one_run else [subcog("learn")]
    failed_then_worked(session(sessions, "3", day="2026-03-05"))
    runs.append(subcog("learn"))
    assert f"proposed {count}" in runs[-1].err
    assert len(waiting(subcog)) == count
    failed_then_worked(session(sessions, "4", day="2026-03-06"))
    subcog("learn")
    assert len(waiting(subcog)) == 1


def test_a_run_over_both_proposes_it_too_and_a_dry_one_says_so(subcog: Run, sessions: Path) -> None:
    failed_then_worked(session(sessions, "one"))
    failed_then_worked(session(sessions, "two", day="2026-03-05"))
    done = subcog("learn", "--dry-run", "--jsonl")
    (row,) = done.rows
    assert (row["memory"], row["kind"], row["role"], row["score"], row["evidence"]) == (
        *(FAILS, "command", "tool", 0.75, "one two"),
    )
    assert waiting(subcog) == []
    subcog("learn")
    assert len(waiting(subcog)) == 1


@pytest.mark.parametrize("between", ["edit", "prompt", "command", "many"])
def test_what_was_changed_in_between_may_be_why_it_works(sessions: Path, between: str) -> None:
    written = session(sessions, "one")
    ran(written, "npm test", OUTPUT)
    ran(written, "cat package.json | head -20")
    if between == "edit":
        written.call("Edit", "toolu_edit", file_path="/home/dev/shop/a.ts")
        written.result("done", "toolu_edit")
    elif between == "prompt":
        written.typed("now it should be there")
    elif between == "command":
        ran(written, "npm install")
    else:
        for number in range(9):
            ran(written, f"cat a{number}.ts")
    ran(written, "pnpm test")
    assert transcript.read_transcript(str(written.path)).fixes == []


@pytest.mark.parametrize(
    "printed",
    [
        *("Exit code ", "Exit code  \n", "Exit code x", "Exit code 99999999", "Exit code 143\nCommand timed out after 1s"),
        *("Exit code 130", "Error: nothing", "This command requires approval", ""),
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    ],
)
def test_what_was_refused_or_stopped_has_not_failed(sessions: Path, printed: str) -> None:
    written = session(sessions, "one")
    ran(written, "npm test", printed)
    ran(written, "pnpm test")
    assert transcript.read_transcript(str(written.path)).fixes == []


def test_flaky_and_background_commands_do_not_count(sessions: Path) -> None:
    flaky, background = session(sessions, "flaky"), session(sessions, "background")
    ran(flaky, "npm test")
    failed_then_worked(flaky)
    ran(background, "npm test", OUTPUT)
    ran(background, "pnpm test", run_in_background=True)
    assert [transcript.read_transcript(str(session_.path)).fixes for session_ in (flaky, background)] == [[], []]


def test_a_fork_is_no_second_session_and_a_longer_one_is_read_on(subcog: Run, sessions: Path) -> None:
    written = session(sessions, "one")
    ran(written, "npm test", OUTPUT)
    subcog("learn")
    ran(written, "pnpm test")
    (written.path.parent / "fork.jsonl").write_text(
        written.path.read_text().replace('"sessionId": "one"', '"sessionId": "two"')
    )
    assert "proposed 0" in subcog("learn").err
    failed_then_worked(session(sessions, "three", day="2026-03-05"))
    assert "proposed 1 (command 1)" in subcog("learn").err


def test_a_fix_in_a_folder_counts_for_a_failure_at_the_root(subcog: Run, sessions: Path, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "docs").mkdir()
    for number, folder in enumerate((root, root, root / "docs")):
        written = session(sessions, f"s{number}", folder=str(folder), day=f"2026-03-0{number + 1}")
        failed_then_worked(written, "npm test", "cd web && npm test")
    subcog("learn")
    (row,) = waiting(subcog)
    assert row["content"] == "`npm test` fails here; `cd web && npm test` works."


def test_it_can_be_disabled_and_taken_back_for_good(subcog: Run, sessions: Path, home: Home) -> None:
    failed_then_worked(session(sessions, "one"))
    failed_then_worked(session(sessions, "two", day="2026-03-05"))
    subcog("config", "set", "capture.sessions_never", "command")
    assert "would propose 0" in subcog("learn", "--dry-run").err
    subcog("config", "set", "capture.sessions_never", "default")
    subcog("learn")
    assert subcog("learn", "--forget").code == 0
    assert waiting(subcog) == []
    failed_then_worked(session(sessions, "three", day="2026-03-07"))
    failed_then_worked(session(sessions, "four", day="2026-03-08"))
    subcog("learn")
    assert waiting(subcog) == []


def test_a_kept_fix_comes_with_the_failing_call(subcog: Run, sessions: Path, tmp_path: Path, home: Home) -> None:
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    for name, day in (("one", "2026-03-02"), ("two", "2026-03-05")):
        failed_then_worked(session(sessions, name, day=day, folder=str(root)))
    subcog("learn")
    subcog("review", "--accept", str(waiting(subcog)[0]["id"]))
    written: list[bytes] = []
    call: dict[str, object] = {"tool_name": "Bash", "session_id": "s", "cwd": str(root)}
    for command in ("pnpm test", "npm test -- shop"):
        tool.respond({**call, "tool_input": {"command": command}}, home, written.append, Deadline(10_000))
    (answer,) = written
    assert FAILS in answer.decode()
    assert "from a tool" in answer.decode()
