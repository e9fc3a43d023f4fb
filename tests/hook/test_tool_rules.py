"""PreToolUse: a rule comes before its action, and at no other call."""

from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.recall.hits import ACTION
from subcog_hooks.text import actions
from tests.hook.recorded import Call, past_verdicts

COMMIT = "Run the formatter before you commit."


BROKEN = "The commit of 3 March broke the import of orders."


Remember = Callable[..., None]


def test_a_rule_comes_once_before_its_action(call: Call, remember: Remember, home: Home) -> None:
    remember("rule", COMMIT)
    remember("fact", BROKEN)
    assert call("Bash", command="git status") == []
    assert call("Bash", command="cd web && git commit -am 'Round vouchers'") == ["rule"]
    assert call("Bash", command="git commit --amend") == []
    assert call("Bash", "another", command="git commit --amend") == ["rule"]
    assert set(past_verdicts(home)[0].candidates[0].ranks) == {ACTION}


def test_what_is_said_of_a_memory_counts_before_its_text(call: Call, remember: Remember) -> None:
    remember("fact", COMMIT, standing=False)
    assert call("Bash", command="git commit -m x") == []
    remember("rule", BROKEN, standing=True)
    assert call("Bash", command="git commit -m x") == ["rule"]


@pytest.mark.parametrize("command", ["git log", "echo git commit", "grep -rn 'git commit' docs", "git show HEAD", "cat commit"])
def test_looking_at_it_brings_no_rule(call: Call, remember: Remember, command: str) -> None:
    remember("rule", COMMIT)
    assert call("Bash", command=command) == []


@pytest.mark.parametrize(
    "command",
    [
        "(cd web && git commit -am x)",
        "if git commit -m x; then ls; fi",
        "sudo -E git -C web commit -m x",
        "GIT_EDITOR=true git commit --amend",
        "git commit -m \"$(cat <<'EOF'\nRound vouchers\nEOF\n)\"",
    ],
)
def test_a_command_is_found_in_what_stands_around_it(call: Call, remember: Remember, command: str) -> None:
    remember("rule", COMMIT)
    assert call("Bash", command=command) == ["rule"]


def test_a_command_that_only_tells_brings_no_rule(call: Call, remember: Remember) -> None:
    texts = (COMMIT, "Never release by hand.", "Ask before you deploy.", "Never migrate by hand.", "Always run the test suite.")
    for number, text in enumerate(texts):
        remember(f"rule-{number}", text)
    cases = [
        *("git tag -l", "git commit --dry-run", "kubectl rollout status deployment/web", "helm upgrade --dry-run x"),
        *("npm run release-notes:preview", "rails db:migrate:status", "command -v pytest", "git clean -n"),
        *("# git commit\nls", 'git log --grep "\\"x; git commit\\""'),
    ]
    assert [(command, actual) for command in cases if (actual := call("Bash", command=command)) != []] == []


@pytest.mark.parametrize(
    "before", ["echo $((1<<2))", "cat <<EOF;ls\nx\nEOF", "git log --grep='a << b'", "cat <<EOF", "# don't"]
)
def test_text_behind_a_lookalike_of_a_heredoc_is_a_command(call: Call, remember: Remember, before: str) -> None:
    remember("rule", COMMIT)
    assert call("Bash", command=f"{before}\ngit commit -m x") == ["rule"]


def test_of_a_long_rule_the_beginning_is_compared_with_a_call() -> None:
    words, done = {"commit", "harbour"}, ("action:commit",)
    rule = "Never commit on a Friday."
    assert actions.closeness(f"{rule} {'And so on. ' * 100} harbour", words, done) == actions.closeness(rule, words, done)
    assert actions.closeness(f"{rule} Not in the harbour.", words, done) != actions.closeness(rule, words, done)


def test_the_fitting_rule_comes_first(call: Call, remember: Remember) -> None:
    remember("fits", "Never commit the lock file of the harbour.")
    remember("other", "Never commit on a Friday.")
    assert call("Bash", command="git commit -m x harbour/package-lock.json") == ["fits"]


def test_a_text_that_a_command_is_given_is_no_command(call: Call, remember: Remember) -> None:
    remember("rule", COMMIT)
    assert call("Bash", command="cat > notes.txt <<'EOF'\ngit commit\nEOF\nls") == []


def test_reading_a_test_brings_no_rule_about_writing_one(call: Call, remember: Remember) -> None:
    remember("rule", "No sleeping in tests.")
    assert call("Read", file="tests/test_pool.py") == []
    assert call("Grep", path="tests", pattern="sleep") == []
    assert call("Edit", file="tests/test_pool.py", old_string="a", new_string="b") == ["rule"]


def test_a_call_brings_the_best_new_rule(call: Call, remember: Remember) -> None:
    for text in ("No sleeping in tests.", "Tests are short.", "Mocks are the last resort.", "A fixture is made by a factory."):
        remember(text.split()[-1].strip("."), text, standing=True)
    remember("go", "Tests of the worker use its fake queue.")
    given = [call("Write", file=f"worker/queue_{number}_test.go", content="func TestQueue() {}") for number in range(5)]
    assert given[0] == ["go"]
    assert len({id_ for ids in given for id_ in ids}) == 5
    assert [len(ids) for ids in given] == [1, 1, 1, 1, 1]


def test_a_rule_about_one_languages_tools_is_about_no_others(call: Call, remember: Remember) -> None:
    remember("python", "Always uv, never pip.")
    assert call("Bash", command="pnpm add date-fns") == []
    assert call("Bash", command="pip install requests") == ["python"]


def test_a_file_outside_projects_brings_no_rule_of_a_project(call: Call, remember: Remember, tmp_path: Path) -> None:
    remember("here", "No sleeping in tests.")
    remember("mine", "Tests are short.", project=None)
    outside = str(tmp_path.resolve() / "elsewhere" / "test_pool.py")
    assert call("Write", file_path=outside, content="x") == ["mine"]
