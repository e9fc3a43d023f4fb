"""PreToolUse inside one process: which tools, which files, commands and texts bring which memories, and when none."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.cues.conditions import TOOLS
from subcog_hooks.hook import tool
from subcog_hooks.hook.payload import TRIAL
from subcog_hooks.recall.hits import PATH, PATTERN
from subcog_hooks.store import sessions
from subcog_hooks.store.state import State
from subcog_hooks.store.verdicts import SPOKE
from tests.hook.recorded import ODD_INPUTS, Call, configure, past_verdicts, repository


def submodule(parent: Path, name: str, remote: str) -> Path:
    """Lay out a submodule as git does: a file leads to its git folder within the parent's."""
    git = parent / ".git" / "modules" / name
    repository(git.parent / "made", remote)
    (git.parent / "made" / ".git").rename(git)
    (parent / name).mkdir(parents=True)
    (parent / name / ".git").write_text(f"gitdir: {os.path.relpath(git, parent / name)}\n")
    return parent / name


def test_a_memory_comes_when_a_tool_touches_its_paths(call: Call, remember: Callable[..., None]) -> None:
    remember("pool", paths=("src/db/**",))
    for name in ("Edit", "Write", "MultiEdit", "NotebookEdit", "Read"):
        assert call(name, file="src/web/page.py", session=name) == []
        assert call(name, file="src/db/pool.py", session=name) == ["pool"]


def test_tools_of_servers_touch_the_files_that_they_name(call: Call, remember: Callable[..., None], shop: Path) -> None:
    remember("pool", paths=("src/db/**",))
    (shop / "src" / "db").mkdir(parents=True)
    full = shop / "src" / "db" / "pool.py"
    for name, given in (
        ("mcp__disk__edit_file", {"path": str(full)}),
        ("mcp__ide__replace_text_in_file", {"uri": f"file://{full}"}),
        ("mcp__serena__insert_after_symbol", {"relative_path": "src/db/pool.py"}),
        ("mcp__disk__read_text_file", {"file_path": str(full)}),
    ):
        assert call(name, session=name, **given) == ["pool"], name
    for name, given in (
        ("mcp__disk__search_files", {"path": str(full.parent)}),
        ("mcp__web__read_page", {"uri": "https://src/db/pool.py"}),
        ("mcp__git__commit", {"path": str(full)}),
    ):
        assert call(name, session=name, **given) == [], name


def test_powershell_is_a_shell(call: Call, remember: Callable[..., None]) -> None:
    remember("frozen", triggers=("git push",))
    assert [call(name, session=name, command="git push") for name in ("Bash", "PowerShell", "Skill")] == [
        ["frozen"],
        ["frozen"],
        [],
    ]


def test_it_comes_once_in_a_session(call: Call, remember: Callable[..., None], home: Home) -> None:
    remember("pool", paths=("src/db/**",))
    assert [call(file="src/db/pool.py"), call(file="src/db/pool.py"), call("Read", file="src/db/x.py")] == [["pool"], [], []]
    assert call(file="src/db/pool.py", session="another") == ["pool"]
    assert [verdict.injected for verdict in past_verdicts(home)] == [("pool",), ("pool",)]


def test_a_session_without_budget_leaves_no_record_per_call(call: Call, remember: Callable[..., None], home: Home) -> None:
    remember("gap", paths=("src/a.py",))
    state = State.open(home, 1_000)
    sessions.add_units(state, "s", "", 11_900, 1)
    for _ in range(3):
        assert call(file="src/a.py") == []
    assert past_verdicts(home) == []
    assert call(file="src/a.py", session="another") == ["gap"]
    state.close()


def test_the_answer_names_the_tool_and_no_permission(home: Home, shop: Path, remember: Callable[..., None]) -> None:
    remember("pool", paths=("*.py",))
    printed: list[bytes] = []
    given = {"file_path": str(shop / "a.py")}
    tool.respond(
        {"session_id": "s", "cwd": str(shop), "tool_name": "Edit", "tool_input": given}, home, printed.append, Deadline(5_000)
    )
    output = json.loads(printed[0])
    assert set(output) == {"hookSpecificOutput"}
    assert set(output["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert output["hookSpecificOutput"]["additionalContext"].splitlines()[0].endswith('recalled by subcog" tool="Edit">')


def test_the_closest_glob_comes_first_and_three_memories_at_most(call: Call, remember: Callable[..., None]) -> None:
    globs = {"any": "**", "python": "*.py", "database": "src/db/**", "pool": "src/db/pool.py"}
    for number, (id_, glob) in enumerate(globs.items()):
        remember(id_, f"Rule {number} of {id_}.", paths=(glob,))
    assert call(file="src/db/pool.py") == ["pool", "database", "python"]
    assert call(file="src/db/pool.py") == ["any"]


def test_a_memory_of_few_globs_comes_before_one_of_many(call: Call, remember: Callable[..., None]) -> None:
    remember("many", "Rule of many languages.", paths=("*.c", "*.py", "*.ts", "*.rs", "web/**/*.go", "cmd/**/*.go"))
    remember("braces", "Rule in braces.", paths=("**/*.{c,cpp,java,kotlin,go,scala}",))
    remember("alone", "Rule of Go.", paths=("**/*.go",))
    remember("named", "Rule of this file.", paths=("docs/*.md", "Makefile", "cmd/main.go"))
    assert call(file="cmd/main.go") == ["named", "alone", "many"]
    assert call(file="cmd/main.go") == ["braces"]


def test_equally_close_sections_come_as_in_their_file(call: Call, remember: Callable[..., None]) -> None:
    for id_, line, text in (("md-3", 31, "Third."), ("md-1", 4, "First."), ("md-2", 12, "Second.")):
        remember(id_, text, paths=("*.py",), source=f"cursor:shop::rules/py.mdc#{text}#1:{line}", created_at=2_000 - line)
    remember("own", "Older, by hand.", paths=("*.py",))
    assert call(file="a.py") == ["own", "md-1", "md-2"]
    assert call(file="a.py") == ["md-3"]


def test_in_another_worktree_the_same_project_is_at_hand(
    call: Call, remember: Callable[..., None], shop: Path, tmp_path: Path
) -> None:
    remember("pool", paths=("src/db/**",))
    other = tmp_path.resolve() / "shop-2"
    other.mkdir()
    (shop / ".git" / "worktrees" / "shop-2").mkdir(parents=True)
    (shop / ".git" / "worktrees" / "shop-2" / "commondir").write_text("../..\n")
    (other / ".git").write_text(f"gitdir: {shop}/.git/worktrees/shop-2\n")
    assert call(file_path=str(other / "src" / "db" / "pool.py")) == ["pool"]
    assert call(file_path=str(shop / "src" / "db" / "pool.py"), cwd=str(other), session="2") == ["pool"]


def test_a_file_of_another_project_brings_its_memories(call: Call, remember: Callable[..., None], tmp_path: Path) -> None:
    blog = repository(tmp_path.resolve() / "blog", "git.example.com/acme/blog")
    remember("pool", paths=("src/db/**",))
    remember("theirs", paths=("src/db/**",), project="git.example.com/acme/blog")
    assert call(file_path=str(blog / "src" / "db" / "pool.py")) == ["theirs"]


def test_a_file_outside_projects_brings_only_matching_memories(
    call: Call, remember: Callable[..., None], tmp_path: Path
) -> None:
    outside = tmp_path.resolve() / "etc"
    remember("project", "Rule one: pool.sql is generated.", paths=("*.sql", "etc/**"))
    remember("whole", "Rule two.", paths=(f"{outside}/**",))
    remember("user", "Rule three.", paths=("*.sql",), project=None)
    assert sorted(call(file_path=str(outside / "pool.sql"))) == ["user", "whole"]
    assert sorted(call(file="pool.sql", session="2")) == ["project", "user"]


def test_a_relative_path_is_taken_from_the_folder_at_hand(call: Call, remember: Callable[..., None], shop: Path) -> None:
    remember("pool", paths=("src/db/**",))
    assert call(file_path="pool.py", cwd=str(shop / "src")) == []
    assert call(file_path="pool.py", cwd=str(shop / "src" / "db")) == ["pool"]
    assert call(file_path="../db/./pool.py", cwd=str(shop / "src" / "web"), session="2") == ["pool"]


def test_without_a_project_at_hand_the_files_own_counts(call: Call, remember: Callable[..., None], shop: Path) -> None:
    remember("pool", paths=("src/db/**",))
    for number, cwd in enumerate(("/", "", None, 3, "relative")):
        assert call(file="src/db/pool.py", cwd=cwd, session=f"{number}") == ["pool"]


def test_a_foreign_windows_path_brings_no_project_memory(call: Call, remember: Callable[..., None]) -> None:
    remember("pool", paths=("pool.py",))
    remember("drive", "Rule two.", paths=("C:/work/**",))
    assert call(file_path="C:\\work\\src\\pool.py") == ["drive"]


def test_what_is_replaced_read_or_sought_triggers_nothing(call: Call, remember: Callable[..., None]) -> None:
    remember("table", triggers=("drop table",))
    assert call("Edit", file="a.sql", old_string="drop table", new_string="x") == []
    assert call("Read", file="drop table.sql") == []
    assert call("Grep", pattern="drop table") == []


def test_the_first_64k_characters_of_a_text_count(call: Call, remember: Callable[..., None]) -> None:
    remember("table", triggers=("drop table",))
    assert call("Write", file="a.sql", content="x " * 32_768 + "drop table") == []
    assert call("MultiEdit", file="a.sql", edits=[{"new_string": "x " * 32_768}, {"new_string": "drop table"}]) == []
    assert call("Write", file="a.sql", content="x " * 32_000 + "drop table" + "é" * 3_000_000) == ["table"]


def test_only_conditions_on_tool_or_file_are_judged(call: Call, remember: Callable[..., None]) -> None:
    remember("shell", "Use fish.", when={"tool": "Bash"})
    remember("docs", "One sentence a line.", when={"file": {"glob": "docs/**"}, "tool": {"not": "Read"}})
    remember("always", "Always on.", when={"platform": ["linux", "macos", "windows"]})
    assert call("Bash", command="ls") == ["shell"]
    assert call("Read", file="docs/a.md") == []
    assert call("Edit", file="docs/a.md") == ["docs"]


def test_memories_of_several_channels_come_first(call: Call, remember: Callable[..., None], home: Home) -> None:
    remember("near", "Rule one.", paths=("src/db/pool.py",))
    remember("both", "Rule two.", paths=("src/**",), triggers=("drop table",))
    assert call(file="src/db/pool.py", new_string="drop table") == ["both", "near"]
    (verdict,) = past_verdicts(home)
    assert {candidate.id: candidate.ranks for candidate in verdict.candidates} == {
        "near": {PATH: 1},
        "both": {PATH: 2, PATTERN: 1},
    }


def test_a_pinned_memory_comes_first_if_its_trigger_matches(call: Call, remember: Callable[..., None]) -> None:
    remember("near", "Rule one.", paths=("src/db/pool.py",), triggers=("drop",))
    remember("pinned", "Rule two.", triggers=("drop table",), priority=95, paths=("src/**",))
    remember("imported", "Rule three.", triggers=("drop table",), priority=95, trust="import")
    assert call(file="src/db/pool.py", new_string="x") == ["near", "pinned"]
    assert call(file="src/db/pool.py", new_string="drop table", session="2") == ["pinned", "near", "imported"]


@pytest.mark.parametrize("text", ["[surfacing]\ntools = false\n", "[surfacing]\nenabled = false\n"])
def test_a_switch_silences_it(call: Call, remember: Callable[..., None], home: Home, text: str) -> None:
    remember("pool", paths=("*.py",))
    configure(home, text)
    assert call(file="a.py") == []
    configure(home, "[surfacing]\nsession_start = false\n[search_intent]\nenabled = false\n")
    assert call(file="a.py") == ["pool"]


def test_a_project_may_tune_its_own_sessions(call: Call, remember: Callable[..., None], shop: Path) -> None:
    remember("pool", paths=("*.py",))
    (shop / ".subcog.toml").write_text("[surfacing]\ntools = false\n")
    assert call(file="a.py") == []


def test_a_call_that_nothing_is_remembered_of_leaves_no_trace(call: Call, remember: Callable[..., None], home: Home) -> None:
    remember("pool", paths=("*.py",))
    assert call(file="a.sql", new_string="x") == []
    state = State.open(home, 1_000)
    assert (past_verdicts(home), state.run("SELECT * FROM ledger"), state.run("SELECT * FROM sessions")) == ([], [], [])


def test_of_a_trial_nothing_is_kept(call: Call, remember: Callable[..., None], home: Home) -> None:
    remember("pool", paths=("*.py",))
    for _ in range(2):
        assert call(file="a.py", session=f"{TRIAL}1") == ["pool"]
    assert (past_verdicts(home), State.open(home, 1_000).run("SELECT * FROM ledger")) == ([], [])


def test_other_tools_are_let_be(call: Call, remember: Callable[..., None]) -> None:
    remember("pool", paths=("*.py",))
    cases = ["Task", "WebFetch", "mcp__db__query", "edit", "", None, 3, ["Edit"]]
    assert [(name, actual) for name in cases if (actual := call(name, file="a.py")) != []] == []


def test_an_odd_input_brings_nothing_and_breaks_nothing(
    home: Home, remember: Callable[..., None], subtests: pytest.Subtests
) -> None:
    remember("pool", paths=("*.py",), triggers=("ls",), when={"file": "x"})
    for given in ODD_INPUTS:
        with subtests.test(given=repr(given)[:30]):
            for name in TOOLS:
                payload: dict[str, object] = {"session_id": "s", "cwd": "/", "tool_name": name, "tool_input": given}
                tool.respond(payload, home, lambda _: pytest.fail("spoke"), Deadline(5_000))
            tool.respond({"tool_name": "Edit"}, home, lambda _: pytest.fail("spoke"), Deadline(5_000))


def test_of_calls_at_once_one_hands_a_memory_over(call: Call, remember: Callable[..., None]) -> None:
    remember("pool", paths=("*.py",))
    given: list[str] = []
    threads = [threading.Thread(target=lambda: given.extend(call(file="a.py"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert given == ["pool"]


def test_without_git_paths_are_relative_to_the_current_folder(
    call: Call, remember: Callable[..., None], tmp_path: Path
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    remember("db", project=None, paths=("src/db/**",))
    remember("sql", project=None, paths=("*.sql",))
    remember("state", "Migrations are reviewed by two.", project=None, when={"file": {"glob": "*.sql"}})
    assert call(file=str(folder / "src/db/pool.py"), cwd=str(folder)) == ["db"]
    assert {*call(file=str(folder / "a/b.sql"), cwd=str(folder))} == {"sql", "state"}
    assert call(file=str(tmp_path / "elsewhere/src/db/pool.py"), cwd=str(folder), session="2") == []


def test_a_nested_repository_or_worktree_is_its_own_project(call: Call, remember: Callable[..., None], shop: Path) -> None:
    sub = shop / "vendor" / "sub"
    repository(sub, "git.example.com/acme/sub")
    tree = shop / ".claude" / "worktrees" / "f1"
    tree.mkdir(parents=True)
    (shop / ".git" / "worktrees" / "f1").mkdir(parents=True)
    (shop / ".git" / "worktrees" / "f1" / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {shop}/.git/worktrees/f1\n")
    remember("shop", paths=("src/**",))
    remember("sub", paths=("src/**",), project="git.example.com/acme/sub")
    assert call(file=str(sub / "src/a.py"), session="1") == ["sub"]
    assert call(file=str(tree / "src/a.py"), session="2") == ["shop"]


def test_the_projects_around_a_nested_file_count_too(call: Call, remember: Callable[..., None], shop: Path, home: Home) -> None:
    clone = repository(shop / "vendor" / "clone", "git.example.com/acme/clone")
    lib = submodule(shop, "vendor/lib", "git.example.com/acme/lib")
    remember("shop", "Never edit these by hand.", paths=("vendor/lib/src/**", "vendor/clone/**"))
    remember("root", "Prices are in cents.", paths=("src/**",))
    remember("lib", "The codec is frozen.", paths=("src/**",), project="git.example.com/acme/lib")
    assert call(file=str(clone / "a.c"), session="1") == ["shop"]
    assert call(file=str(lib / "src" / "a.c"), session="2") == ["shop", "lib"]
    assert call(file=str(clone / "a.c"), session="4", cwd=str(clone)) == []
    assert call(file="src/a.c", session="5", cwd=str(lib)) == ["root"]
    configure(home, "[project]\nparents = false\n")
    assert call(file=str(lib / "src" / "a.c"), session="6", cwd=str(lib)) == ["lib"]
    assert call(file=str(lib / "src" / "a.c"), session="7") == ["shop", "lib"]


def test_conditions_hold_back_memories_of_any_channel(call: Call, remember: Callable[..., None]) -> None:
    remember("path", paths=("*.py",), when={"permission_mode": "plan"})
    remember("trigger", "Tables are dropped after a backup.", triggers=("drop table",), when={"tool": "Write"})
    assert call(file="src/db/pool.py", new_string="drop table") == []
    assert call("Write", file="src/db/pool.py", content="drop table", mode="plan", session="2") == ["path", "trigger"]


def test_a_search_in_a_file_touches_it_and_in_a_folder_not(call: Call, remember: Callable[..., None], shop: Path) -> None:
    (shop / "src" / "db").mkdir(parents=True)
    (shop / "src" / "db" / "pool.py").write_text("")
    remember("pool", paths=("src/db/**",))
    assert call("Grep", pattern="x", path=str(shop / "src/db")) == []
    assert call("Grep", pattern="x", path="src/db/pool.py") == ["pool"]
    assert call("Glob", pattern="src/db/*.py", session="2") == []
    assert call("Glob", pattern="src/db/gone.py", session="2") == []
    assert call("Glob", pattern="src/db/pool.py", session="2") == ["pool"]


def test_a_verdict_names_tool_and_channels_but_no_file(call: Call, remember: Callable[..., None], home: Home) -> None:
    remember("lint", "Install the hooks first.", when={"tool": "Bash"}, triggers=("xyzzy",))
    assert call("Bash", command="make lint --of xyzzy") == ["lint"]
    (verdict,) = past_verdicts(home)
    assert (verdict.outcome, verdict.event, verdict.reason, verdict.prompt) == (SPOKE, "PreToolUse", "Bash", None)
    assert set(verdict.candidates[0].ranks) == {PATTERN}
    assert "xyzzy" not in verdict.to_text()
    rows = State.open(home, 1_000).run("SELECT session, verdict FROM ledger WHERE memory = 'lint'")
    assert rows == [("s", verdict.id)]
