"""Rules of Claude Code that notes own, through the installed executable: the person's command alone writes one."""

import json
from pathlib import Path

import pytest

from tests.e2e.machine import Machine

FREEZE = "No pushes until the booking season is over."
EARLIER = (  # settings of the person before
    "{}",
    '{"permissions":{"ask":[]}}',
    '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls)"],\n    "ask": [\n      "Bash(npm *)"\n    ]\n  }\n}\n',
    '{\r\n\t"permissions": {\r\n\t\t"deny": [ "Read(.env)" ]\r\n\t}\r\n}',
)


@pytest.fixture
def settings(bare: Machine) -> Path:
    """Return the path of Claude Code's settings, in a folder without any."""
    path = Path(bare.environment["HOME"]) / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


def freeze(machine: Machine, folder: Path, *options: str) -> str:
    """Store a note that asks before a push. Return its id."""
    done = machine.run("remember", FREEZE, "--ask-before", "git push*", *options, cwd=folder)
    assert done.code == 0, done.stderr
    return done.stdout.decode().strip()


def rules_in(settings: Path) -> dict[str, list[str]]:
    return dict(json.loads(settings.read_text(encoding="utf-8")).get("permissions", {})) if settings.exists() else {}


@pytest.mark.parametrize("earlier", EARLIER)
def test_settings_are_as_before_once_the_note_ends(bare: Machine, shop: Path, settings: Path, earlier: str) -> None:
    settings.write_bytes(earlier.encode())
    id_ = freeze(bare, shop, "--deny", "rm -rf", "--ask-before", "npm")
    changed = rules_in(settings)
    assert {"Bash(git push*)", "Bash(npm *)"} <= {*changed["ask"]}
    assert changed["deny"][-1] == "Bash(rm -rf *)"
    assert b"rules         ask: Bash(git push*)" in bare.run("show", id_, cwd=shop).stdout
    assert b"ask: Bash(git push*) is taken out of" in bare.run("forget", id_, cwd=shop).stderr
    assert settings.read_bytes() == earlier.encode()


def test_each_end_of_a_note_takes_its_rule_back(bare: Machine, shop: Path, settings: Path, subtests: pytest.Subtests) -> None:
    ends = {
        "purge": ("forget", "ID", "--purge", "--yes"),
        "archive": ("edit", "ID", "--status", "archived"),
        "supersede": ("remember", "Push at will.", "--supersedes", "ID"),
        "expire": ("import", "row.jsonl", "--replace", "--trust", "user"),
    }
    for end, words in ends.items():
        with subtests.test(end=end):
            id_ = freeze(bare, shop)
            assert settings.exists()
            row = {**bare.rows("show", id_, "--json", cwd=shop)[0], "expires_at": "2020-01-01T00:00:00Z"}
            (shop / "row.jsonl").write_text(json.dumps(row), encoding="utf-8")
            assert bare.run(*(id_ if word == "ID" else word for word in words), cwd=shop).code == 0
            assert not settings.exists()


def test_a_rule_stays_while_another_note_or_the_person_has_it(bare: Machine, shop: Path, settings: Path) -> None:
    first = freeze(bare, shop)
    second = bare.run("remember", "Pushes cost money.", "--ask-before", "git push*", cwd=shop).stdout.decode().strip()
    bare.run("forget", first, cwd=shop)
    assert rules_in(settings) == {"ask": ["Bash(git push*)"]}
    bare.run("forget", second, cwd=shop)
    assert not settings.exists()
    settings.write_text('{"permissions": {"ask": ["Bash(git push*)"]}}', encoding="utf-8")
    done = bare.run("remember", "No pushes at all.", "--ask-before", "git push*", cwd=shop)
    assert b"had it before, so it stays when this note ends" in done.stderr
    bare.run("forget", done.stdout.decode().strip(), cwd=shop)
    assert rules_in(settings) == {"ask": ["Bash(git push*)"]}


def test_uninstall_takes_rules_back_with_the_hook(bare: Machine, shop: Path, settings: Path) -> None:
    id_ = freeze(bare, shop)
    bare.run("init", "--no-skills", cwd=shop)
    freeze(bare, shop, "--deny", "npm publish")
    assert b"Bash(npm publish *)" in bare.run("uninstall", "--dry-run", cwd=shop).stdout
    bare.run("uninstall", cwd=shop)
    assert not settings.exists()
    assert b"rules  " not in bare.run("show", id_, cwd=shop).stdout


def test_the_note_comes_beside_its_command(bare: Machine, shop: Path, settings: Path) -> None:
    freeze(bare, shop)
    for command, comes in (("cd web && git push origin main", True), ("git pull", False)):
        answer = bare.hook(bare.calling("Bash", None, shop, command=command)).stdout
        assert (FREEZE in answer.decode()) is comes
        assert b"permissionDecision" not in answer


def test_a_pattern_without_a_rule_is_refused(bare: Machine, shop: Path, settings: Path) -> None:
    for pattern, instead in (
        ("cd web && git push*", "git push*"),
        ("FOO=1 git push", "git push"),
        ("git push | cat", "git push"),
        ("Bash(git push*)", "git push*"),
        ("", "git push*"),
    ):
        done = bare.run("remember", FREEZE, "--deny", pattern, cwd=shop)
        assert (done.code, done.stderr.decode().endswith(f'; give "{instead}"\n')) == (2, True)
    done = bare.run("remember", FREEZE, "--deny", "git push", "--when", "branch=main", cwd=shop)
    assert (done.code, b"a rule of Claude Code has no conditions" in done.stderr) == (2, True)
    assert b"no memories" in bare.run("list", cwd=shop).stderr
    assert not settings.exists()


def test_without_claude_code_nothing_is_promised(bare: Machine, shop: Path) -> None:
    done = bare.run("remember", FREEZE, "--ask-before", "git push*", cwd=shop)
    assert (done.code, b"no rule is set: Claude Code has no settings in" in done.stderr) == (0, True)
    assert not (Path(bare.environment["HOME"]) / ".claude").exists()


def test_unreadable_settings_are_left_alone(bare: Machine, shop: Path, settings: Path) -> None:
    settings.write_text('{"permissions": "none"}', encoding="utf-8")
    done = bare.run("remember", FREEZE, "--ask-before", "git push*", cwd=shop)
    assert (done.code, b"permissions is not an object; correct it by hand" in done.stderr) == (4, True)
    assert settings.read_text(encoding="utf-8") == '{"permissions": "none"}'


def test_an_agent_neither_sets_nor_ends_a_rule(bare: Machine, shop: Path, settings: Path) -> None:
    id_ = freeze(bare, shop)
    before = settings.read_bytes()
    row = {"id": id_, "content": "Push at will.", "status": "archived"}
    (shop / "all.jsonl").write_text(json.dumps(row), encoding="utf-8")
    bare.environment["CLAUDECODE"] = "1"
    for arguments in (
        ("remember", "--ask-before", "git pull*", "Ask."),
        ("edit", id_, "--content", "Push at will.", "--as-user"),
        ("forget", id_, "--as-user"),
    ):
        done = bare.run(*arguments, cwd=shop)
        assert (done.code, b"only the person" in done.stderr) == (2, True), arguments
    bare.run("import", "all.jsonl", "--replace", "--as-user", cwd=shop)
    assert settings.read_bytes() == before


def test_no_file_brings_a_rule(bare: Machine, shop: Path, settings: Path) -> None:
    claims = {"ask_before": ["git push*"], "deny": ["git push*"], "rules": {"ask": ["Bash(git push*)"]}}
    lines = [{"content": f"{FREEZE} {trust}", "trust": trust, **claims} for trust in ("user", "file", "team", "agent")]
    (shop / "notes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = bare.run("import", "notes.jsonl", "--trust", "user", cwd=shop)
    assert b"fields without a meaning were left out: ask_before, deny, rules" in done.stderr
    (shop / "NOTES.md").write_text("# Rules\n\n--ask-before git push*: never `git push` without a word.\n")
    bare.run("import", "NOTES.md", cwd=shop)
    assert not settings.exists()
