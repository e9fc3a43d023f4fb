"""`init --for` and `uninstall --for`: the hook in the settings of other agents, every other byte as it was."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from subcog_hooks.cli.agents import claude_code, hook_entries, other_agents
from subcog_hooks.cli.agents.other_agents import CLIENTS
from subcog_hooks.core.paths import Home
from subcog_hooks.store import sessions
from subcog_hooks.store.state import State
from tests.cli.conftest import MonkeyPatch, Run
from tests.cli.test_install import FILES
from tests.e2e.machine import posix, write_program

FILES_OF = {
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "copilot": ".copilot/hooks/subcog.json",
    "opencode": ".config/opencode/plugins/subcog.js",
    "cursor": ".cursor/hooks.json",
    "droid": ".factory/settings.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "windsurf-jetbrains": ".codeium/mcp_config.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "zed": ".config/zed/settings.json",
    "amp": ".config/amp/settings.json",
}
HOOKED = {client.name: client.contract for client in CLIENTS.values() if client.contract}
SERVERS = [name for name in FILES_OF if name not in HOOKED]
SHARED = ("codex", "gemini", "qwen", "droid")  # the agents whose file has other settings, too
COMMENTED = {
    "a comment of its own": '// mine\n{\n  "model": "x" // "hooks": {}\n  /* { */\n}\n// end\n',
    "hooks among comments": '{\n  "hooks": { // none of "ours"\n    "SessionEnd": [ /* ] */ ]\n  }, // "a"\n  "url": "https://x/*"\n}',
    "only a comment": "{ // nothing yet\n}\n",
}


@pytest.fixture(autouse=True)
def usual_folders(monkeypatch: MonkeyPatch) -> None:
    """No variable names another folder of settings, and no agent is on the PATH."""
    for client in CLIENTS.values():
        monkeypatch.delenv(client.settings.variable, raising=False)
    monkeypatch.setenv("USERPROFILE", os.environ["HOME"])
    monkeypatch.setenv("PATH", os.pathsep.join(path for path in ("/usr/bin", "/bin") if os.path.isdir(path)))


def settings_of(name: str) -> Path:
    return Path(os.environ["HOME"], *FILES_OF[name].split("/"))


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.parent.name != "subcog"}


@pytest.mark.parametrize("name", FILES_OF)
def test_init_makes_the_file_and_uninstall_removes_it(subcog: Run, name: str) -> None:
    done = subcog("init", "--for", name, "--dry-run")
    assert (done.code, ("--client" if name in HOOKED else '"mcp"') in done.out, settings_of(name).exists()) == (0, True, False)
    done = subcog("init", "--for", name)
    assert (done.code, f"{settings_of(name)}: has the {CLIENTS[name].kind}" in done.err) == (0, True)
    assert ("trust" in done.err) is (name in ("codex", "gemini"))
    written = settings_of(name).read_bytes()
    again = subcog("init", "--for", name)
    assert (again.code, settings_of(name).read_bytes()) == (0, written)
    assert f"has the {CLIENTS[name].kind} already" in again.err
    assert subcog("uninstall", "--for", name, "--dry-run").code == 0
    assert settings_of(name).read_bytes() == written
    assert subcog("uninstall", "--for", name).code == 0
    assert not settings_of(name).exists()
    assert subcog("uninstall", "--for", name).code == 1


@pytest.mark.parametrize("name", FILES_OF)
def test_no_other_file_is_touched(subcog: Run, tmp_path: Path, name: str) -> None:
    for other in FILES_OF:
        beside = settings_of(other).parent / "beside.json"
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text("{ }")
    before = snapshot(tmp_path)
    assert subcog("init", "--for", name, *["--no-skills"] * (name in HOOKED)).code == 0
    assert snapshot(tmp_path).keys() - before.keys() == {str(settings_of(name))}
    assert subcog("uninstall", "--for", name).code == 0
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", SHARED)
def test_shared_settings_come_back_byte_for_byte(name: str, subtests: pytest.Subtests) -> None:
    client = CLIENTS[name]
    for text in (*FILES.values(), *(COMMENTED.values() if name != "codex" else ())):
        with subtests.test(text=text):
            registered = other_agents.add_hook(client, ["/x/subcog"], text)
            commands = other_agents.FORMS[client.settings.form].read_commands(registered, client)
            assert {*commands} == {*HOOKED[name].events}
            assert other_agents.add_hook(client, ["/x/subcog"], registered) == registered
            assert other_agents.remove_hook(client, registered) == text
            plain = json.loads(hook_entries.blank_comments(registered).removeprefix("\ufeff"))
            before = json.loads(hook_entries.blank_comments(text).removeprefix("\ufeff"))
            assert [key for key in plain if key in before] == list(before)


def test_hooks_of_others_in_cursor_come_back_byte_for_byte(subcog: Run) -> None:
    path, other = settings_of("cursor"), '{ "command": "./audit.sh" }'
    path.parent.mkdir()
    for hooks in ("{}", f'{{"stop": [{other}]}}', f'{{\n "postToolUse": [ {other}, // audited\n  {other} ]}}'):
        text = f'{{\n "version": 1,\n "hooks": {hooks}\n}}\n'
        path.write_text(text)
        assert subcog("init", "--for", "cursor").code == 0
        registered = json.loads(hook_entries.blank_comments(path.read_text()))["hooks"]
        assert all(registered[event][-1]["timeout"] == 5 for event in HOOKED["cursor"].events)
        assert subcog("uninstall", "--for", "cursor").code == 0
        assert path.read_text() == text


@pytest.mark.parametrize("name", ["cursor", "copilot"])
def test_a_file_with_a_version_alone_stays(subcog: Run, name: str, monkeypatch: MonkeyPatch) -> None:
    path = settings_of(name)
    path.parent.mkdir(parents=True)
    for text in (
        '{\n  "version": 1\n}',
        '{\n  "version": 1\n}\n',
        '{"version": 1}',
        '{\n  "hooks": {\n  },\n  "version": 1\n}',
    ):
        path.write_text(text)
        with monkeypatch.context() as patched:
            patched.setattr(claude_code, "hook_command", lambda: ["/old place/subcog"])
            assert subcog("init", "--for", name).code == 0
        assert subcog("init", "--for", name).code == 0  # after a move of the installation
        assert subcog("uninstall", "--for", name).code == 0
        assert path.read_text() == text


OTHER = '{ "command": "x", "args": ["a,}", "//"] }'
SERVER_SETTINGS = {
    "no servers": '{\n  "theme": "x"\n}\n',
    "another server": f'{{"KEY": {{\n    "other": {OTHER}\n  }}, "theme": 1}}',
    "an empty object": '{ "KEY": {} }',
    "nothing": "{}",
    "Windows": '\ufeff{\r\n\t"a": [1]\r\n}\r\n',
}
WITH_COMMENTS = {
    "comments and last commas": f'// mine\n{{\n  "a": [1, ],\n  "KEY": {{\n    "other": {OTHER}, // kept\n  }},\n}}\n',
    "a last comma alone": '{\n  "a": ",}", /* , */\n}\n',
}


@pytest.mark.parametrize("name", SERVERS)
def test_server_settings_come_back_byte_for_byte(subcog: Run, name: str, subtests: pytest.Subtests) -> None:
    settings = CLIENTS[name].settings
    settings_of(name).parent.mkdir(parents=True)
    for case, template in (SERVER_SETTINGS | (WITH_COMMENTS if settings.has_comments else {})).items():
        with subtests.test(case=case):
            text = template.replace("KEY", settings.key)
            settings_of(name).write_bytes(text.encode())
            assert subcog("init", "--for", name).code == 0
            registered = settings_of(name).read_bytes().decode()
            members = hook_entries.parse_members(registered, hook_entries.start_of(registered))
            (servers,) = [member.value for member in members if member.key == settings.key]
            assert isinstance(servers, dict)
            assert servers["subcog"] == {**settings.beside, "command": claude_code.executable()[0], "args": ["mcp"]}
            assert ("other" in servers) is ("other" in text)
            assert subcog("uninstall", "--for", name).code == 0
            assert settings_of(name).read_bytes().decode() == text


@pytest.mark.parametrize("name", FILES_OF)
def test_broken_settings_get_a_single_line_and_stay(subcog: Run, name: str) -> None:
    settings_of(name).parent.mkdir(parents=True)
    key = CLIENTS[name].settings.key
    servers = (f'{{"{key}": {{"subcog": {OTHER}}}}}', f'{{"{key}": {{"subcog": 1}}}}', f'{{"{key}": []}}', f'{{"{key}": 3}}')
    hooks = ('{"hooks": []}', "nonsense", "const COMMAND = [\n", 'const COMMAND = ["]')
    for text in ("", "[]", "{", *(hooks if name in HOOKED else servers)):
        settings_of(name).write_text(text)
        for command in ("init", "uninstall"):
            done = subcog(command, "--for", name)
            assert (done.code in (1, 4), done.err.count("\n"), settings_of(name).read_text()) == (True, 1, text), text
        assert subcog("init", "--for", name).code == 4
    done = subcog("doctor")
    assert (done.code, f"`subcog init --for {name}` registers it" in done.out) == (0, False)


def test_a_server_before_a_last_comma_is_removed_with_it(subcog: Run) -> None:
    settings_of("zed").parent.mkdir(parents=True)
    subcog("init", "--for", "zed")
    server = json.dumps(json.loads(settings_of("zed").read_text())["context_servers"]["subcog"])
    settings_of("zed").write_text(f'{{"theme": "x", "context_servers": {{"subcog": {server},}}, }}')
    assert subcog("uninstall", "--for", "zed").code == 0
    assert settings_of("zed").read_text() == '{"theme": "x", "context_servers": {}, }'


def test_a_moved_server_is_registered_anew_with_its_other_fields(subcog: Run) -> None:
    settings_of("windsurf").parent.mkdir(parents=True)
    server = {"command": "/old place/subcog", "args": ["mcp"], "env": {"SUBCOG_HOME": "/srv/notes"}}
    settings_of("windsurf").write_text(json.dumps({"mcpServers": {"subcog": server}}))
    assert "`subcog init --for windsurf` again" in subcog("doctor").out + subcog("doctor").err
    assert subcog("init", "--for", "windsurf").code == 0
    now = json.loads(settings_of("windsurf").read_text())["mcpServers"]["subcog"]
    assert now == {**server, "command": claude_code.executable()[0]}
    found = f"Windsurf (not tried with the real client): server in {settings_of('windsurf')}, and starts"
    assert found in subcog("doctor").out


@pytest.mark.parametrize("name", HOOKED)
def test_an_agent_gets_skills_that_go_with_the_hook(subcog: Run, name: str) -> None:
    folder = Path(CLIENTS[name].settings.folder_path, "skills")
    assert "would get the skills subcog-remember, -recall, -why" in subcog("init", "--for", name, "--dry-run").err
    assert not folder.exists()
    subcog("init", "--for", name, "--no-skills")
    assert not folder.exists()
    assert "has the skills subcog-remember, -recall, -why" in subcog("init", "--for", name).err
    for skill in folder.iterdir():
        text = (skill / "SKILL.md").read_text(encoding="utf-8")
        assert text.startswith(f"---\nname: {skill.name}\ndescription: ")
        assert "$ARGUMENTS" not in text
    recall = folder / "subcog-recall" / "SKILL.md"
    assert " search 'QUESTION' --json -n 5\n" in recall.read_text()
    old = folder / "subcog-why" / "SKILL.md"
    old.write_text(old.read_text().replace("subcog why list", "subcog why").rpartition("\n<!--")[0] + "\nMine.\n")
    done = subcog("uninstall", "--for", name)
    assert f"{folder}: no longer has the skills remember, recall" in done.err
    assert [path.name for path in folder.iterdir()] == ["subcog-why"]
    assert subcog("uninstall", "--for", name).code == 1


def test_an_agent_with_a_server_gets_no_skills(subcog: Run) -> None:
    assert "skills" not in subcog("init", "--for", "zed").err
    assert not Path(CLIENTS["zed"].settings.folder_path, "skills").exists()


def test_doctor_starts_a_server(subcog: Run, monkeypatch: MonkeyPatch, tmp_path: Path) -> None:
    assert subcog("init", "--for", "zed").code == 0
    assert f"ok  Zed (not tried with the real client): server in {settings_of('zed')}, and starts" in subcog("doctor").out
    (tmp_path / "mcp.py").write_text("raise ImportError('as where the extra is not installed')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = subcog("doctor")
    assert f"BAD  Zed (not tried with the real client): server in {settings_of('zed')} does not start" in done.out
    assert ("the server needs the package mcp" in done.out, "`uv tool install" in done.out, done.code) == (True, True, 4)


def test_init_says_how_to_install_the_servers_package(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = subcog("init", "--for", "zed")
    assert ('`uv tool install ".[models,share,mcp]"`' in done.err, done.err.count("\n"), settings_of("zed").exists()) == (
        True,
        1,
        False,
    )
    assert done.code != 0


GOOSE = (".config", "goose", "config.yaml")


def test_goose_gets_a_line_that_is_taken_back(subcog: Run, tmp_path: Path) -> None:
    path = Path(os.environ["HOME"], *GOOSE)
    path.parent.mkdir(parents=True)
    (path.parent / "beside").touch()
    for text in (None, "GOOSE_MODEL: x\n", "extensions:\n    other:\n        cmd: npx # mine\nGOOSE_MODE: auto\n"):
        if text is not None:
            path.write_text(text)
        assert "Goose does not have the server; `subcog init --for goose` registers it" in subcog("doctor").out
        assert subcog("init", "--for", "goose").code == 0
        written = yaml.safe_load(path.read_text())
        assert written["extensions"]["subcog"]["args"] == ["mcp"]
        assert {**written, "extensions": None} == {**yaml.safe_load(text or "{}"), "extensions": None}
        assert "Goose (not tried with the real client): server in" in subcog("doctor").out
        again = path.read_text()
        assert (subcog("init", "--for", "goose").code, path.read_text()) == (0, again)
        assert subcog("uninstall", "--for", "goose").code == 0
        assert (path.read_text() if path.exists() else None) == text


def test_another_layout_of_gooses_file_is_left_to_the_person(subcog: Run, tmp_path: Path) -> None:
    path = Path(os.environ["HOME"], *GOOSE)
    path.parent.mkdir(parents=True)
    for text in (
        "extensions: {other: {cmd: npx}}\n",
        "extensions:\n",
        "'extensions':\n  a: {}\n",
        "---\na: 1\n",
        "a: 1",
        "{a: 1}\n",
    ):
        path.write_text(text)
        done = subcog("init", "--for", "goose")
        assert (done.code, done.err.count("\n"), path.read_text()) == (2, 1, text), text
    line = "  " + done.err.split("indented, `")[1].split("`")[0].replace('"name"', "name")
    path.write_text(f"extensions:\n{line}\n")
    assert subcog("init", "--for", "goose").code == 0
    done = subcog("uninstall", "--for", "goose")
    assert (done.code, "delete `subcog:`" in done.err, path.read_text()) == (2, True, f"extensions:\n{line}\n")


def test_droids_own_file_of_hooks_has_the_hook(subcog: Run) -> None:
    hooks, other = settings_of("droid").parent / "hooks.json", '{"hooks": [{"type": "command", "command": "date"}]}'
    hooks.parent.mkdir()
    for text in (f'{{"Stop": [{other}]}}', "{\n}\n", f'{{\n  "hooks": {{\n    "Stop": [{other}]\n  }}\n}}\n'):
        hooks.write_text(text)
        assert subcog("init", "--for", "droid").code == 0
        written = json.loads(hooks.read_text())
        assert {*HOOKED["droid"].events} <= {*written.get("hooks", written)}
        assert (f"hook in {hooks}" in subcog("doctor").out, settings_of("droid").exists()) == (True, False)
        assert subcog("uninstall", "--for", "droid").code == 0
        assert hooks.read_text() == text


def test_changes_and_comments_made_later_stay(subcog: Run) -> None:
    path = settings_of("gemini")
    path.parent.mkdir()
    path.write_text('{\n  "model": "x"\n}\n')
    subcog("init", "--for", "gemini")
    changed = path.read_text().replace('"x",', '"y", // by me\n  /* , */ "a": [1], // kept\n', 1)
    path.write_text(changed.removesuffix("\n}\n") + ', // also\n  "z": 2\n}\n')
    subcog("uninstall", "--for", "gemini")
    assert path.read_text() == '{\n  "model": "y", // by me\n  /* , */ "a": [1] // kept\n\n  , // also\n  "z": 2\n}\n'


def test_what_an_agent_does_not_take_is_refused(subcog: Run) -> None:
    for name, text, message in (
        ("codex", "{} // mine", "comments are not allowed"),
        ("cursor", '{"hooks": {}}', "version is missing"),
    ):
        settings_of(name).parent.mkdir()
        settings_of(name).write_text(text)
        done = subcog("init", "--for", name)
        assert (done.code, message in done.err, settings_of(name).read_text()) == (4, True, text)


def test_a_moved_installation_is_registered_anew(subcog: Run, monkeypatch: MonkeyPatch) -> None:
    for name in HOOKED:
        with monkeypatch.context() as patched:
            patched.setattr(claude_code, "hook_command", lambda: ["/old place/subcog"])
            subcog("init", "--for", name)
        before = settings_of(name).read_text()
        assert "/old place/subcog" in before
        assert f"`subcog init --for {name}` again" in subcog("doctor").err + subcog("doctor").out
        assert subcog("init", "--for", name).code == 0
        assert "/old place/subcog" not in settings_of(name).read_text()
        subcog("uninstall", "--for", name)
        assert not settings_of(name).exists()


def lines(folder: Path) -> Iterator[tuple[list[list[str]], str]]:
    """Yield commands with the output that their line has to give."""
    answers = write_program(folder / 'it\'s a "place"' / "subcog", 'cat; echo " $*"; echo warning >&2')
    fails = write_program(folder / "fails" / "subcog", "echo broken >&2; exit 2")
    answer = "payload hook --client gemini\n"
    yield [[str(answers)]], answer
    yield [[str(fails)]], ""
    yield [["/nowhere/subcog"]], ""
    yield [["/nowhere/python", "-c", "import a; a.b('x')"], [str(answers)]], answer


@posix
def test_a_missing_or_failing_hook_stays_silent(tmp_path: Path) -> None:
    for commands, output in lines(tmp_path):
        line = hook_entries.make_line(commands, "gemini", is_windows=False)
        done = subprocess.run(["bash", "-c", line], input="payload", capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, output, "")
        words = hook_entries.words_of({"command": line})
        assert hook_entries.is_line(words)
        assert hook_entries.split_line(words) == [[*command, "hook", "--client", "gemini"] for command in commands]


@posix
def test_a_late_hook_ends_with_the_shell_that_runs_it(tmp_path: Path) -> None:
    late = write_program(tmp_path / "late" / "subcog", "echo begun; exec sleep 600")
    line = hook_entries.make_line([[str(late)], ["/nowhere/subcog"]], "gemini", is_windows=False)
    with subprocess.Popen(["bash", "-c", line], stdout=subprocess.PIPE, text=True) as hook:
        assert hook.stdout is not None
        assert hook.stdout.readline() == "begun\n"
        hook.terminate()
        assert hook.stdout.read() == ""  # A child that lived on would keep it open.


def test_the_line_for_windows_is_recognised() -> None:
    program = "C:\\Users\\Jane Doe\\subcog.exe"
    line = hook_entries.make_line([["python"], [program]], "qwen", is_windows=True)
    assert line == f'cmd /d /c if exist "{program}" "{program}" hook --client qwen'
    words = hook_entries.words_of({"command": line})
    assert hook_entries.is_ours({"command": line})
    assert hook_entries.split_line(words) == [[program, "hook", "--client", "qwen"]]


def test_lines_of_others_are_not_ours() -> None:
    for line in ("sh -c 'other hook --client codex || exit 0'", "sh -c 'subcog doctor'", "sh -c date", "cmd /c subcog"):
        assert not hook_entries.is_ours({"command": line})
    assert not hook_entries.is_ours({"command": "sh -c '" + "subcog hook --client " * 100_000 + "'"})


def test_names_and_options_are_checked(subcog: Run) -> None:
    for arguments in (["--for", "kiro"], ["--for", "codex", "--project"], ["--for", "codex", "--user"]):
        done = subcog("init", *arguments)
        assert (done.code, done.err.count("\n")) == (2, 1)
    assert subcog("init", "--for", "claude", "--dry-run").code == 0


def test_a_variable_moves_the_settings(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    for client in (client for client in CLIENTS.values() if client.name in HOOKED and client.settings.variable):
        monkeypatch.setenv(client.settings.variable, str(tmp_path / "moved" / client.name))
        assert subcog("init", "--for", client.name).code == 0
        assert not settings_of(client.name).exists()
    files = sorted(str(path.relative_to(tmp_path / "moved")) for path in (tmp_path / "moved").rglob("*.js*"))
    assert files == [
        os.path.join("codex", "hooks.json"),
        os.path.join("copilot", "hooks", "subcog.json"),
        os.path.join("gemini", ".gemini", "settings.json"),
        os.path.join("opencode", "opencode", "plugins", "subcog.js"),
        os.path.join("qwen", "settings.json"),
    ]


def test_doctor_names_installed_agents_with_their_command(subcog: Run) -> None:
    assert "--for" not in subcog("doctor").out
    settings_of("qwen").parent.mkdir()
    assert "Qwen Code does not have the hook; `subcog init --for qwen` registers it" in subcog("doctor").out
    subcog("init", "--for", "qwen")
    subcog("init", "--for", "cursor")
    lines = [line for line in subcog("doctor").out.splitlines() if ": hook in" in line]
    assert [("Cursor" in line, "not tried with the real client" in line) for line in lines] == [(False, False), (True, True)]
    assert lines[0].endswith(f"ok  Qwen Code: hook in {settings_of('qwen')}, not seen at work yet")
    subcog("remember", "Ropes are replaced every spring.")
    with State.open(Home.find(), 1_000) as state:
        sessions.note_prompt(state, "qwen:s", "", 1_772_445_600_000)
    assert f"hook in {settings_of('qwen')}, last at work on 2026-03-02" in subcog("doctor").out
    partial = json.loads(settings_of("qwen").read_text())
    del partial["hooks"]["PreCompact"]
    settings_of("qwen").write_text(json.dumps(partial))
    assert "lacks PreCompact; `subcog init --for qwen` adds that" in subcog("doctor").out
    done = subcog("uninstall")
    assert "Qwen Code still has the hook; `subcog uninstall --for qwen` takes it out" in done.err


@posix
def test_doctor_says_whether_gemini_trusts_the_folder(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fault = "Gemini CLI does not trust this folder yet"
    assert fault not in subcog("doctor").out
    subcog("init", "--for", "gemini")
    rules = settings_of("gemini").parent / "trustedFolders.json"
    beside = str(tmp_path / "beside")
    for given, trusts in (
        ({}, False),
        ({str(tmp_path): "TRUST_FOLDER"}, True),
        ({beside: "TRUST_PARENT"}, True),
        ({beside: "TRUST_FOLDER", str(tmp_path): "DO_NOT_TRUST", str(tmp_path.parent): "TRUST_FOLDER"}, False),
    ):
        rules.write_text(json.dumps(given))
        assert (fault in subcog("doctor").out) is not trusts, given
    settings = json.loads(settings_of("gemini").read_text())
    settings_of("gemini").write_text(json.dumps({**settings, "security": {"folderTrust": {"enabled": False}}}))
    assert fault not in subcog("doctor").out


def test_doctor_says_whether_codex_trusts_the_hook(subcog: Run, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    settings_of("codex").parent.mkdir()
    other = {"type": "command", "command": "date"}
    settings_of("codex").write_text(json.dumps({"hooks": {"Stop": [{"matcher": "x", "hooks": [other]}]}}))
    monkeypatch.setattr(claude_code, "hook_command", lambda: ["sh"])
    monkeypatch.setattr(hook_entries, "make_line", lambda *_, **__: "subcog hook --client codex # é")
    monkeypatch.setenv("PATH", str(write_program(tmp_path / "bin" / "subcog", "").parent))
    subcog("init", "--for", "codex")
    assert "is not trusted yet" in subcog("doctor").out
    hashes = {  # as Codex 0.169.0 wrote them
        "session_start:0": "bc0d2eaa1ddc4d2142924eaecb736daaa8cd8a770c4ce6289361cf2ef17b0d00",
        "user_prompt_submit:0": "1469b443aff6b8b78356ff0c797e67df374054689c96ff56d531a5d30316c76a",
        "pre_tool_use:0": "9d69821cd0093cb2891af856716a656775cfecf9e6fe666e499f8e02fb65a74e",
        "stop:1": "64448823ed025f6b5b511464940a2d8d6385cdfc46ec8afbc36d6f7b65833735",
        "pre_compact:0": "5d2f597ada9a4ae95a764d2102f685674c0ef0e767301d1596b74bf6654b7005",
        "session_end:0": "7c00c73737bfcdf906b1cdadc77a804d41d16127f0733ce113aea815fb9f0d43",
    }
    states = [
        f"[hooks.state.'{settings_of('codex')}:{key}:0']\ntrusted_hash = \"sha256:{value}\"" for key, value in hashes.items()
    ]
    config = settings_of("codex").parent / "config.toml"
    config.write_text("\n".join(states))
    assert f"ok  Codex CLI: hook in {settings_of('codex')}" in subcog("doctor").out
    config.write_text("\n".join(states[1:]))
    assert "is not trusted yet" in subcog("doctor").out
