"""`init` and `uninstall`: the hook in, the hook out, every other byte as it was."""

import itertools
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.cli.agents import claude_code, hook_entries
from subcog_hooks.core.errors import ConfigError
from tests.cli.conftest import MonkeyPatch, Run
from tests.e2e.machine import posix, write_program

ISOLATED = hook_entries.isolated_command("/usr/bin/python3", "/x/lib", "/x/subcog")

ROOT = Path(__file__).parents[2]
COMMAND = ["/opt/bin/subcog"]

FILES = {
    "nothing in it": "{}",
    "nothing in it, with a line end": "{}\n",
    "nothing in it, with blanks": "{ \n }\n",
    "other settings": '{\n  "model": "opus",\n  "env": {"A": "b"}\n}\n',
    "tabs": '{\n\t"model": "opus"\n}',
    "on one line": '{"model": "opus", "hooks": {}}',
    "empty hooks": '{\n  "hooks": {\n  }\n}\n',
    "an empty event": '{\n  "hooks": {\n    "UserPromptSubmit": []\n  }\n}\n',
    "an empty event with blanks": '{"hooks": {"UserPromptSubmit": [ ]}}',
    "another hook": (
        '{\n    "hooks": {\n        "UserPromptSubmit": [\n            {\n'
        '                "hooks": [{"type": "command", "command": "date"}]\n'
        '            }\n        ]\n    },\n    "z": 1\n}\n'
    ),
    "an empty event of ours": '{\n  "hooks": {\n    "SessionStart": [],\n    "UserPromptSubmit": []\n  }\n}\n',
    "another hook of ours' event": (
        '{"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "date"}]}]}}\n'
    ),
    "another event": '{\n  "hooks": {"Stop": [{"hooks": []}]}\n}\n',
    "windows line ends": '{\r\n  "model": "opus",\r\n  "hooks": {\r\n    "Stop": []\r\n  }\r\n}\r\n',
    "a byte order mark": '\ufeff{\n  "a": 1\n}\n',
    "escapes": '{\n  "a\\"b": "\\u00e9 {[",\n  "c": [1, {"d": "}"}]\n}\n',
}

EARLIER = [{"UserPromptSubmit": ""}, {"UserPromptSubmit": "", "SessionStart": "compact"}]  # earlier registrations of init


def test_uninstall_leaves_the_file_byte_for_byte_as_it_was(subtests: pytest.Subtests) -> None:
    hook = {"type": "command", "command": "/opt/bin/subcog", "args": ["hook"], "timeout": 5}
    tools = hook_entries.EVENTS["PreToolUse"]
    for text in FILES.values():
        with subtests.test(text=text):
            before = json.loads(text.removeprefix("\ufeff"))
            registered = hook_entries.add_hook(text, COMMAND)
            after = json.loads(registered.removeprefix("\ufeff"))
            assert after["hooks"]["PreToolUse"][-1] == {"matcher": tools, "hooks": [hook]}
            for event in {*hook_entries.EVENTS} - {"PreToolUse"}:  # of any source, trigger and reason
                assert after["hooks"][event][-1] == {"hooks": [hook]}
            assert [key for key in after if key in before] == list(before)
            assert all(after[key] == before[key] for key in before if key != "hooks")
            assert hook_entries.add_hook(registered, COMMAND) == registered
            assert hook_entries.remove_hook(registered) == text


def test_the_plugin_registers_what_init_does() -> None:
    assert (ROOT / "plugin" / "hooks" / "hooks.json").read_bytes() == (ROOT / "hooks.json").read_bytes()
    plugin = json.loads((ROOT / "hooks.json").read_text())
    assert plugin["hooks"] == json.loads(hook_entries.add_hook(None, ["subcog"]))["hooks"]


def test_an_installation_of_before_is_brought_up_to_date(monkeypatch: MonkeyPatch) -> None:
    for earlier in EARLIER:
        for text in (None, FILES["another hook"], FILES["another hook of ours' event"]):
            with monkeypatch.context() as patched:
                patched.setattr(hook_entries, "EVENTS", earlier)
                before = hook_entries.add_hook(text, ["/old/place/subcog"])
            assert {*hook_entries.registered_commands(before)} == {*earlier}
            assert hook_entries.find_unserved_events(before) == [*hook_entries.EVENTS][1:]  # of starts only a compaction
            assert hook_entries.remove_hook(before) == text
            after = hook_entries.add_hook(before, COMMAND)
            commands = {event: [["/opt/bin/subcog", "hook"]] for event in hook_entries.EVENTS}
            assert hook_entries.registered_commands(after) == commands
            assert hook_entries.find_unserved_events(after) == []
            assert hook_entries.remove_hook(after) == text


def test_a_changed_matcher_serves_if_it_leaves_nothing_out() -> None:
    hook = '{"type": "command", "command": "subcog hook"}'
    for entry, serves in (
        (f'{{"hooks": [{hook}], "matcher": "*"}}', True),
        (f'{{"hooks": [{hook}], "matcher": ""}}', True),
        (f'{{"hooks": [{hook}], "matcher": "Edit"}}', False),
        (f'{{"hooks": [{hook}], "matcher": null}}', False),
        (hook, False),  # outside a group
    ):
        text = f'{{"hooks": {{"PreToolUse": [{entry}]}}}}'
        assert ("PreToolUse" not in hook_entries.find_unserved_events(text)) is serves


def test_our_hook_is_known_in_every_form() -> None:
    cases = [
        ({"command": "/x/subcog", "args": ["hook"]}, True),
        ({"command": "C:\\x\\subcog.exe", "args": ["hook"]}, True),
        ({"command": "/usr/bin/python3", "args": ["-m", "subcog_hooks", "hook"]}, True),
        ({"command": "/usr/bin/python3", "args": ["-P", "-m", "subcog_hooks", "hook"]}, True),
        ({"command": ISOLATED[0], "args": [*ISOLATED[1:], "hook"]}, True),
        ({"command": ISOLATED[0], "args": [*ISOLATED[1:], "doctor"]}, False),
        ({"command": ISOLATED[0], "args": ["-I", "-S", "-c", "print()", "hook"]}, False),
        ({"command": ISOLATED[0], "args": ["-I", "-S", "-c"]}, False),
        ({"command": "subcog hook"}, True),
        ({"command": '"/my own/subcog" hook'}, True),
        ({"command": '"C:\\x\\subcog.exe" hook'}, True),
        ({"command": "'subcog hook"}, False),
        ({"command": "subcog"}, False),
        ({"command": "subcog", "args": ["doctor"]}, False),
        ({"command": "/x/not-subcog", "args": ["hook"]}, False),
        ({"command": 3}, False),
        ("subcog hook", False),
    ]
    assert [(hook, actual) for hook, ours in cases if (actual := hook_entries.is_ours(hook)) is not ours] == []


@pytest.mark.parametrize("text", ["{\n}", "{\n\n}", "{}"])
def test_a_file_that_never_had_the_hook_is_left_alone(text: str) -> None:
    assert hook_entries.remove_hook(text) == text


def test_our_hook_alone_is_taken_out_of_a_shared_group() -> None:
    text = '{"hooks": {"UserPromptSubmit": [{"hooks": [{"command": "date"}, {"command": "subcog hook"}]}]}}'
    assert hook_entries.remove_hook(text) == '{"hooks": {"UserPromptSubmit": [{"hooks": [{"command": "date"}]}]}}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=6).filter(lambda key: key != "hooks"), JSON, max_size=4),
    st.sampled_from([None, 1, 2, "\t"]),
)
def test_any_settings_come_back_byte_for_byte(settings: dict[str, object], indent: int | str | None) -> None:
    text = json.dumps(settings, indent=indent)
    assert hook_entries.remove_hook(hook_entries.add_hook(text + "\n", COMMAND)) == text + "\n"


def settings_path() -> Path:
    return Path(os.environ["CLAUDE_CONFIG_DIR"]) / "settings.json"


def test_a_dry_run_shows_the_command_once(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(claude_code, "hook_command", lambda: ISOLATED)
    shown = subcog("init", "--dry-run").out
    assert shown.count("from subcog_hooks.__main__ import main") == 1  # The command stands in it once for each event.
    assert shown.count("… as above\n") == len(hook_entries.EVENTS) - 1


def test_init_makes_settings_and_uninstall_removes_them(subcog: Run) -> None:
    assert '+    "UserPromptSubmit": [' in subcog("init", "--dry-run").out
    assert not settings_path().exists()
    done = subcog("init")
    assert (done.code, done.out) == (0, "")
    assert done.err.replace("\\", "/").splitlines()[:4] == [
        "~/claude/settings.json: has the hook at prompts, tool calls and sessions",
        "~/claude/skills: has /subcog-remember, -recall, -why, -review, -forget, -brief",
        "~/subcog: keeps your memories; nothing else is changed",
        "new sessions of Claude Code use it; `subcog doctor` tries it out",
    ]
    registered = json.loads(settings_path().read_text())["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    assert (registered["args"][-1], os.path.isabs(registered["command"])) == ("hook", True)
    again = subcog("init")
    assert (again.code, "has the hook already" in again.err) == (0, True)
    assert (subcog("uninstall").code, settings_path().exists(), subcog("uninstall").code) == (0, False, 1)


@posix
@pytest.mark.parametrize(
    ("printed", "is_old"), [("2.1.197", False), ("3.0.0", False), ("no version", False), ("2.1.196", True), ("1.99.999", True)]
)
def test_a_client_that_would_drop_all_hooks_is_refused(
    subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch, printed: str, is_old: bool
) -> None:
    complaint = f"Claude Code {printed} is too old to run the hook; subcog needs 2.1.197 or later; run `claude update`"
    if is_old:
        subcog("init")
    client = write_program(tmp_path / "bin" / "claude", f"#!/bin/sh\necho '{printed} (Claude Code)'\n")
    monkeypatch.setenv("PATH", f"{client.parent}{os.pathsep}{os.environ['PATH']}")
    done = subcog("init")
    assert (done.code, complaint in done.err) == ((4, True) if is_old else (0, False))
    checked = subcog("doctor")
    assert (f" BAD  {complaint}" in checked.out, checked.code == 4) == (is_old, is_old)


def test_project_settings_name_no_personal_folder(subcog: Run, tmp_path: Path) -> None:
    assert subcog("init", "--project").code == 2
    (tmp_path / ".git").mkdir()
    subcog("init", "--project")
    subcog("init", "--local")
    shared = json.loads((tmp_path / ".claude" / "settings.json").read_text())
    assert shared["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"] == "subcog"
    assert (tmp_path / ".claude" / "settings.json").exists()
    assert (tmp_path / ".claude" / "settings.local.json").exists()
    assert not settings_path().exists()


@posix
def test_settings_written_while_programs_run_stay(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    settings_path().parent.mkdir()
    settings_path().write_text("{}\n")
    script = f"echo '{{\"model\": \"opus\"}}' > '{settings_path()}'; echo '2.1.197 (Claude Code)'"
    client = write_program(tmp_path / "bin" / "claude", script)
    monkeypatch.setenv("PATH", f"{client.parent}{os.pathsep}{os.environ['PATH']}")
    assert subcog("init").code == 0
    assert json.loads(settings_path().read_text()).keys() == {"model", "hooks"}


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_change_at_the_last_moment_is_kept(tmp_path: Path, is_removed: bool) -> None:
    path, seen = tmp_path / "settings.json", []

    def change(text: str | None) -> str | None:
        seen.append(text)
        path.write_text("theirs")
        return None if is_removed else f"{text} and ours"

    path.write_text("before")
    claude_code.change_settings(str(path), change)
    assert (seen, path.exists()) == (["before", "theirs"], not is_removed)
    assert is_removed or path.read_text() == "theirs and ours"


def test_a_file_that_never_rests_is_left_alone(tmp_path: Path) -> None:
    path, count = tmp_path / "settings.json", itertools.count()
    with pytest.raises(ConfigError, match="being changed by another program"):
        claude_code.change_settings(str(path), lambda _: f"ours {path.write_text(str(next(count)))}")
    assert (path.read_text(), list(tmp_path.iterdir())) == (str(claude_code.MAX_TRIES - 1), [path])


@posix
def test_a_skills_link_out_stops_init_before_it_writes(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    settings = link_skills_out(tmp_path, monkeypatch)
    for options in ([], ["--dry-run"]):
        done = subcog("init", "--project", *options)
        assert (done.code, "leads out of the repository" in done.err, done.err.count("\n")) == (2, True, 1)
        assert "--no-skills" in done.err
    assert (settings.exists(), (tmp_path / "subcog").exists()) == (False, False)
    assert subcog("init", "--project", "--no-skills").code == 0
    assert (settings.exists(), list((tmp_path / "shared").iterdir())) == (True, [])


@posix
def test_uninstall_goes_on_past_a_skills_link_out(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    settings = link_skills_out(tmp_path, monkeypatch)
    settings.write_text("{}\n")
    subcog("init", "--project", "--no-skills")
    done = subcog("uninstall", "--project")
    assert (done.code, settings.read_text()) == (0, "{}\n")
    assert "skills leads out of the repository" in done.err
    assert subcog("uninstall", "--project").code == 1


def link_skills_out(tmp_path: Path, monkeypatch: MonkeyPatch) -> Path:
    """Go to a repository whose `.claude/skills` is a link out of it. Return its settings file, which is not there yet."""
    repository = tmp_path / "repository"
    for folder in (repository / ".git", repository / ".claude", tmp_path / "shared"):
        folder.mkdir(parents=True)
    (repository / ".claude" / "skills").symlink_to("../../shared")
    monkeypatch.chdir(repository)
    return repository / ".claude" / "settings.json"


def test_a_linked_settings_file_stays_a_link_with_its_mode(subcog: Run, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    real.chmod(0o640)
    settings_path().parent.mkdir()
    settings_path().symlink_to(real)
    subcog("init")
    assert settings_path().is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    subcog("uninstall")
    assert real.read_text() == "{}\n"


def test_a_settings_file_that_is_no_json_is_left_alone(subcog: Run) -> None:
    settings_path().parent.mkdir()
    for text in ("", "[]", "{", '{"hooks": []}', '{"hooks": {"UserPromptSubmit": {}}}', "{} {}", "nonsense"):
        settings_path().write_text(text)
        done = subcog("init")
        assert (done.code, done.err.count("\n"), settings_path().read_text()) == (4, 1, text)
