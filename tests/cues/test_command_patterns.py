"""Patterns of commands: the forms in which an agent runs a command, and texts that only name it."""

import pytest

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues.command_patterns import check_command_pattern, matches_text
from subcog_hooks.text.simple_commands import find_commands

PUSHING = (
    *(
        "git push",
        "git push origin main",
        "git push --force>log 2>&1",
        "git push &",
        "/usr/bin/git push",
        "\\git push",
        '"git" push',
    ),
    *(
        "cd web && git push",
        "git status\ngit push",
        "git \\\n push",
        "git add . ; git push || true",
        "(git push)",
        "! git push",
    ),
    *(
        "git -C web push",
        "git -c a.b=c -C web push",
        "git --no-pager push",
        "GIT_TRACE=1 A='b c' git push",
        "env -u A B=1 git push",
    ),
    *("sudo -u deploy git push", "timeout 5 git push", "nohup git push", "xargs -n1 git push", "find . -exec git push \\;"),
    *("bash -c 'cd web; git push'", 'bash -lc "git push"', "eval git push", "ssh host 'git push'", "docker exec web git push"),
    *("echo $(git push)", "echo `git push`", 'echo "done: $(git push)"', "x=$(cd web && (true) && git push)"),
    *(
        "if true; then git push; fi",
        "for i in a; do git push; done",
        "while ! git push; do sleep 1; done",
        "{ git push; }",
        "function f { git push; }; f",
    ),
    *("bash <<EOF\ngit push\nEOF", "cat <<EOF | tee notes\nhello\nEOF\ngit push", "git commit -m 'x; y' && git push"),
    *("bash <<EOF 2>&1 | tee log\ngit push\nEOF", "cat <<EOF | sh && ls\ngit push\nEOF", "ssh host <<'EOF'\ngit push\nEOF"),
    *("bash <<< 'git push'", "<<<'git push' bash", "ssh host <<<$'cd web\\ngit push'", "cat <<< 'a b' && git push"),
    *(
        r"git commit -m $'fix: it\'s done' && git push",
        r"bash -c $'cd web\ngit push'",
        r"echo $'\\' && git push",
        '$"git" push',
        "$'git' push",
        'bash -c "git \\\n push"',
        r'"C:\Program Files\Git\bin\git.exe" push',
    ),
    *("X+=1 git push", "a[1]=2 git push", "a[b]+='c d' git push", "2>/dev/null git push"),
    *(
        "nix-shell --run 'git push'",
        "nix-shell -p git --run 'cd web && git push'",
        "npm exec -- git push",
        "pnpm -r exec git push",
        "yarn dlx git push",
        "bun x git push",
        "npx -c 'git push'",
    ),
    *(
        "tmux send-keys -t web 'git push' Enter",
        "tmux new -d git push",
        "screen -dm git push",
        r"screen -X stuff $'git push\n'",
    ),
    *("systemd-run --user git push", "trap 'git push' EXIT"),
    *("cat <<EOF\n$(git push)\nEOF", "cat <<EOF > log\nit's `git push`\nEOF\nls"),
)
NOT_PUSHING = (
    *("git pull", "git commit -m 'git push'", "echo git push", "echo 'a && git push'", "git log --grep push", "git stash push"),
    *(
        "cat > plan.md <<'EOF'\ngit push\nEOF\nls",
        "cat <<'EOF'\n$(git push)\nEOF",
        "cat <<EOF\n\\$(git push)\nEOF",
        "# git push",
        "ls # git push",
        "grep -r 'git push' .",
        "git commit -m push",
        "",
    ),
    *("npm install git push", "npm run git push", "cat <<< 'git push'", "git log <<< push", "tee a <<EOF | cat\ngit push\nEOF"),
    *(
        r"git commit -m $'it\'s && git push'",
        'git commit -m $"then; git push"',
        'echo "it\'s && git push"',
        "git log --grep $'a\\ngit push'",
    ),
)


def test_a_command_matches_in_each_form_of_it() -> None:
    for text in PUSHING:
        assert matches_text("git push*", find_commands(text)), text


def test_a_text_that_names_a_command_does_not_match() -> None:
    for text in NOT_PUSHING:
        assert not matches_text("git push*", find_commands(text)), text


def test_options_count_in_any_place_and_form() -> None:
    for pattern, text, expected in (
        ("rm -rf *", "rm -r -f build", True),
        ("rm -rf *", "rm -fr build", True),
        ("rm -rf *", "rm -r build", False),
        ("git push --force*", "git push origin main --force-with-lease", True),
        ("git push --force*", "git push", False),
        ("kubectl * delete", "kubectl -n prod delete pod web", True),
        ("kubectl * delete", "kubectl get pods", False),
        ("./deploy.sh prod", "cd ops && ./deploy.sh prod --now", True),
        ("npm publish", "npm publish", True),
        ("git push *", "git push", True),
    ):
        assert matches_text(pattern, find_commands(text)) is expected, (pattern, text)


def test_deep_and_long_commands_are_read_in_time() -> None:
    for text in ("$(" * 5_000, "`" * 5_000, "bash -c " * 3_000, '"' * 9_999, "<<A\n" * 5_000, "\\" * 9_999, "a=" * 9_999):
        find_commands(text)
    document = "python <<'X'\n" + "a = 'b' \"c $x\" (1)\n" * 5_000 + "X\ngit push"
    assert find_commands(document) == [["python"], ["git", "push"]]


def test_a_pattern_that_would_not_watch_is_refused() -> None:
    for pattern in ("cd web && git push", "FOO=1 git push", "git push | cat", "if git", "'git push'", "git push > log"):
        with pytest.raises(InvalidMemory, match="no command would match"):
            check_command_pattern(pattern)
    for pattern in ("*", "g*", "* push", "", "-f"):
        with pytest.raises(InvalidMemory, match="would stop nearly every command"):
            check_command_pattern(pattern)
    with pytest.raises(InvalidMemory, match="is no pattern of a command"):
        check_command_pattern("git\npush")
    for pattern in ("git push*", "git push", "rm -rf *", "kubectl * delete*", "make deploy", "sudo reboot"):
        check_command_pattern(pattern)
