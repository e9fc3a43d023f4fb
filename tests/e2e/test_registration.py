"""The installed executable and the client's settings: what `doctor` runs and says, where `init` writes, which home counts."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from subcog_hooks.cli.agents import hook_entries
from subcog_hooks.cli.agents.hook_entries import EVENTS
from tests.e2e.machine import (
    ANSWER,
    NO_BRIEF,
    REMOTE,
    Done,
    Machine,
    assert_one_line_error,
    context_of,
    ids_in,
    posix,
    write_program,
)
from tests.e2e.screen import OnTerminal

NOT_RUN = "not run, because the repository names it: doctor tries this installation"
PLUGIN = "subcog@subcog"
AT_ONCE = 4  # runs of `init`
SETTINGS = ("settings.json", "settings.local.json")


@pytest.fixture
def repository(bare: Machine) -> Path:
    """A repository that somebody else has written."""
    return bare.repository("repository", REMOTE)


@pytest.fixture
def ran(bare: Machine) -> Path:
    """A file that is there once one of the planted programs has run."""
    return bare.root / "ran"


def planted(program: Path, ran: Path) -> Path:
    """A program that leaves a trace and says nothing."""
    return write_program(program, f"touch '{ran}'")


def hooked(command: str, *arguments: str) -> str:
    """Settings in which this command answers every event; without arguments as a line for the shell."""
    hook: dict[str, object] = {"type": "command", "command": command}
    if arguments:
        hook["args"] = [*arguments]
    return json.dumps({"hooks": {event: [{"hooks": [hook]}] for event in EVENTS}})


def written(folder: Path, text: str, name: str = "settings.json") -> Path:
    """A settings file in a client's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def users(machine: Machine) -> Path:
    """The client's folder of the user."""
    return machine.root / "user" / ".claude"


def said(done: Done) -> str:
    return (done.stdout + done.stderr).decode()


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


# ---- what doctor runs -----------------------------------------------------------------------------------------------------


@posix
def test_doctor_runs_no_program_that_a_repository_names(bare: Machine, repository: Path, ran: Path) -> None:
    program = planted(repository / "tools" / "subcog", ran)
    (repository / "subcog_hooks").mkdir()
    (repository / "subcog_hooks" / "__main__.py").write_text(f"open({str(ran)!r}, 'w')\n")
    for words in (
        ("./tools/subcog", "hook"),
        (str(program), "hook"),
        ("./tools/subcog hook",),
        ("python3", "-m", "subcog_hooks", "hook"),
    ):
        for name in SETTINGS:
            written(repository / ".claude", hooked(*words), name)
        done = bare.run("doctor", cwd=repository)
        assert not ran.exists(), words
        assert said(done).count(NOT_RUN) == 2
        assert (done.code, "hook ran in" in said(done)) == (0, True)


@posix
def test_doctor_runs_only_what_the_users_own_settings_name(bare: Machine, repository: Path, ran: Path) -> None:
    theirs = planted(repository / "tools" / "subcog", ran)
    written(users(bare), hooked("tools/subcog", "hook"))
    done = bare.run("doctor", cwd=repository)
    assert not ran.exists()
    assert "not run, because its path begins in the folder at hand; run `subcog init` again" in said(done)
    bare.environment["CLAUDE_CONFIG_DIR"] = str(repository / "config")  # which is the repository's then
    written(repository / "config", hooked(str(theirs), "hook"))
    bare.run("doctor", cwd=repository)
    assert not ran.exists()
    del bare.environment["CLAUDE_CONFIG_DIR"]
    program = planted(bare.root / "user" / "bin" / "subcog", ran)
    written(users(bare), hooked(str(program), "hook"))
    done = bare.run("doctor", cwd=repository)
    assert ran.exists()
    assert f"hook in the user settings: {program} hook" in said(done)


def test_doctor_names_settings_that_run_the_hook_twice(bare: Machine, repository: Path) -> None:
    first, second = (bare.run("init", *option, cwd=repository).stderr.decode() for option in ([], ["--project"]))
    fact = "the hook runs twice at each event, and a brief comes twice: by the user settings and the project settings"
    twice = f"{fact}; `subcog uninstall` or `subcog uninstall --project` ends that\n"
    assert (twice in first, twice in second, twice in bare.run("init", cwd=repository).stderr.decode()) == (False, True, True)
    assert f"note  {twice}" in bare.run("doctor", cwd=repository).stdout.decode()
    shared, own = repository / ".claude" / "settings.json", users(bare) / "settings.json"
    project_settings = shared.read_text()
    shared.write_text(own.read_text())  # the client runs equal commands once
    assert " at each event" not in bare.run("doctor", cwd=repository).stdout.decode()
    shared.write_text(project_settings)
    assert bare.run("uninstall", "--project", cwd=repository).code == 0
    assert " at each event" not in bare.run("doctor", cwd=repository).stdout.decode()


@posix
def test_what_a_repositorys_settings_say_reaches_no_terminal_raw(bare: Machine, repository: Path, ran: Path) -> None:
    hostile = "tools\x1b]0;owned\x07\x9b2J\u202e\u200b"
    planted(repository / hostile / "subcog", ran)
    text = hooked(f"{hostile}/subcog", "hook")[:-1] + ', "note": "\x1b[2J\x9b2J\u202e"}'
    for name in SETTINGS:
        written(repository / ".claude", text, name)
    before = files_below(repository / ".claude")
    for command in (("doctor",), ("init", "--project", "--dry-run"), ("uninstall", "--local", "--dry-run")):
        done = bare.run(*command, cwd=repository)
        assert not {*"\x1b\x07\x9b\u202e\u200b"} & {*said(done)}
        shown = "\\x9b2J\\u202e\\u200b/subcog hook" if command == ("doctor",) else "\\x1b[2J\\x9b2J\\u202e"
        assert shown in said(done)
    assert files_below(repository / ".claude") == before
    assert not ran.exists()


@posix
def test_unreadable_settings_cost_one_line_and_no_wait(bare: Machine, repository: Path) -> None:
    (repository / ".claude").mkdir()
    for name, option in zip(SETTINGS, ("--project", "--local"), strict=True):
        file = repository / ".claude" / name
        for make in (os.mkfifo, Path.touch, lambda path: path.write_text('{"a": ' + "[" * 100_000)):
            make(file)
            done = bare.run("doctor", cwd=repository)
            assert (done.code, f"{name} cannot be read, by the client either" in said(done)) == (4, True)
            assert "no agent runs the hook" in said(done)
            assert_one_line_error(bare.run("init", option, cwd=repository), 4)
            file.unlink()


# ---- where init writes ----------------------------------------------------------------------------------------------------


LINKS = [  # what is a link, and what of the place outside it leads to
    (".claude", ""),
    (".claude/settings.json", "settings.json"),
    (".claude/settings.local.json", "settings.local.json"),
    (".claude/settings.json", "nothing.json"),
    (".claude/settings.json", "../repository/.git/settings.json"),
]


@posix
def test_link_out_of_the_repository_is_not_written_through(bare: Machine, repository: Path, subtests: pytest.Subtests) -> None:
    outside = bare.root / "outside"
    for command, (link, target) in product(("init", "uninstall"), LINKS):
        with subtests.test(command=command, link=link, target=target):
            for name in SETTINGS:
                written(outside, hooked("subcog", "hook") if command == "uninstall" else "{}\n", name)
            path = repository / link
            path.parent.mkdir(exist_ok=True)
            path.symlink_to(outside / target)
            before = files_below(outside)
            done = bare.run(command, "--local" if "local" in link else "--project", cwd=repository)
            assert_one_line_error(done, 2)
            assert b"leads out of the repository" in done.stderr or ".git" in target
            assert (files_below(outside), path.is_symlink()) == (before, True)
            path.unlink()
            if path.parent != repository:
                path.parent.rmdir()
    assert not (repository / ".git" / "settings.json").exists()
    assert not bare.home.exists()


@posix
def test_file_that_init_writes_first_is_no_link_either(bare: Machine, repository: Path) -> None:
    settings = written(repository / ".claude", "{}\n")
    outside = bare.root / "outside.json"
    settings.with_name("settings.json.subcog").symlink_to(outside)
    assert bare.run("init", "--project", cwd=repository).code == 0
    assert not outside.exists()
    assert not settings.is_symlink()
    assert "UserPromptSubmit" in settings.read_text()


# ---- the plugin -----------------------------------------------------------------------------------------------------------


def installed(machine: Machine, switches: dict[str, bool], repository: Path, *, marketplace: str = "subcog") -> None:
    """Write what the client writes when it installs the plugin; switches: what each settings file says of it."""
    folders = {"user": users(machine), "project": repository / ".claude", "local": repository / ".claude"}
    for name, value in switches.items():
        file = "settings.local.json" if name == "local" else "settings.json"
        written(folders[name], json.dumps({"enabledPlugins": {PLUGIN: value}}), file)
    entry = {"scope": "user", "installPath": "/x", "version": "0.1.0", "installedAt": "2026-11-22T13:15:18.903Z"}
    plugins = users(machine) / "plugins"
    written(plugins, json.dumps({"version": 2, "plugins": {f"subcog@{marketplace}": [entry]}}), "installed_plugins.json")
    known = {marketplace: {"source": {"source": "directory", "path": "/x"}, "installLocation": "/x"}}
    written(plugins, json.dumps(known), "known_marketplaces.json")


@pytest.fixture
def on_path(bare: Machine) -> Machine:
    """A machine that has subcog on the PATH."""
    bare.environment["PATH"] = os.pathsep.join([os.path.dirname(bare.command), bare.environment["PATH"]])
    return bare


def test_doctor_sees_the_plugin_enabled_and_disabled(on_path: Machine, repository: Path) -> None:
    installed(on_path, {"user": True}, repository)
    out = on_path.run("doctor", cwd=repository).stdout.decode()
    assert f"  ok  plugin {PLUGIN} 0.1.0, enabled in the user settings: it runs `subcog hook` from the PATH\n" in out
    assert "no agent runs the hook" not in out
    installed(on_path, {"project": False}, repository)
    out = on_path.run("doctor", cwd=repository).stdout.decode()
    off = f"plugin {PLUGIN} 0.1.0 is installed and disabled; `claude plugin enable {PLUGIN}` switches it on\n"
    assert f"note  {off}" in out
    assert "note  no agent runs the hook" in out
    assert on_path.run("init", "--local", cwd=repository).code == 0
    out = on_path.run("doctor", cwd=repository).stdout.decode()
    assert f"  ok  {off}" in out
    assert "a brief comes twice" not in out


def test_plugin_that_a_repository_alone_names_is_none(on_path: Machine, repository: Path) -> None:
    written(repository / ".claude", json.dumps({"enabledPlugins": {"subcog@evil\x1b[2J": True, PLUGIN: True}}))
    done = on_path.run("doctor", cwd=repository)
    assert "no agent runs the hook" in done.stdout.decode()
    assert on_path.run("init", "--local", cwd=repository).code == 0
    assert "UserPromptSubmit" in (repository / ".claude" / "settings.local.json").read_text()


@pytest.mark.parametrize("option", [[], ["--project"]])
def test_init_registers_no_second_hook_beside_the_plugin(on_path: Machine, repository: Path, option: list[str]) -> None:
    installed(on_path, {"user": True}, repository)
    before = {folder: files_below(folder) for folder in (users(on_path), repository)}
    done = on_path.run("init", *option, cwd=repository)
    assert (done.code, done.stdout) == (0, b"")
    assert done.stderr.startswith(f"not registered: the plugin {PLUGIN} runs the hook already".encode())
    assert {folder: files_below(folder) for folder in before} == before
    installed(on_path, {"user": False}, repository)
    assert on_path.run("init", *option, cwd=repository).code == 0
    settings = users(on_path) / "settings.json"
    settings.write_text(settings.read_text().replace(f'"{PLUGIN}": false', f'"{PLUGIN}": true'))
    beside = on_path.run("init", *option, cwd=repository).stderr.decode()
    away = f"`subcog uninstall{''.join(f' {word}' for word in option)}` or `claude plugin disable {PLUGIN}` ends that"
    twice = f"a brief comes twice: by the {'project' if option else 'user'} settings and the plugin {PLUGIN}; {away}\n"
    for printed in (beside, said(on_path.run("doctor", cwd=repository))):
        assert twice in printed
    assert on_path.run("uninstall", *option, cwd=repository).code == 0
    assert "a brief comes twice" not in on_path.run("doctor", cwd=repository).stdout.decode()


# ---- a home in the repository ---------------------------------------------------------------------------------------------


LEFT_ALONE = "note  SUBCOG_HOME leads into this repository, to a home that `subcog init` has not accepted"


def test_home_in_the_repository_counts_once_init_has_run(bare: Machine, repository: Path) -> None:
    home = repository / ".memories"
    bare.environment["SUBCOG_HOME"] = str(home)
    done = bare.run("doctor", cwd=repository)
    assert LEFT_ALONE in done.stdout.decode()
    assert bare.run("init", "--dry-run", cwd=repository).code == 0
    record = bare.root / "user" / ".subcog" / "homes.json"
    assert not record.exists()
    (repository / ".env").write_text("SUBCOG_HOME=.memories\n")  # as the person's shell reads it, and an agent
    assert b"in a terminal of your own" in bare.run("init", cwd=repository).stderr
    assert not record.exists()
    asked = OnTerminal([bare.command, "init", "--no"], repository, bare.environment)
    assert (asked.end(), "is accepted" in asked.written) == (0, True)
    assert json.loads(record.read_text()) == [os.path.realpath(home)]
    if os.name != "nt":
        assert record.stat().st_mode & 0o777 == 0o600
    assert LEFT_ALONE not in said(bare.run("doctor", cwd=repository))
    assert f"{home}/config.toml\n" == bare.run("config", "path", cwd=repository).stdout.decode()
    assert bare.run("init", cwd=repository).stderr.count(b"accepted") == 0


def test_record_that_a_repository_ships_accepts_nothing(bare: Machine, repository: Path) -> None:
    home = repository / ".subcog"
    written(home, json.dumps([str(home), str(repository / ".memories")]), "homes.json")
    bare.environment["HOME"] = bare.environment["USERPROFILE"] = str(repository)
    for named in (home, repository / ".memories"):
        bare.environment["SUBCOG_HOME"] = str(named)
        assert LEFT_ALONE in said(bare.run("doctor", cwd=repository))


def test_shell_of_an_agent_accepts_no_home(bare: Machine, repository: Path) -> None:
    assert bare.run("init", cwd=repository).code == 0  # a home outside of repositories needs no record
    assert not (bare.root / "user" / ".subcog").exists()
    assert LEFT_ALONE not in said(bare.run("doctor", cwd=repository))
    bare.environment |= {"SUBCOG_HOME": str(repository / ".memories"), "CLAUDECODE": "1"}
    done = bare.run("init", "--as-user", cwd=repository)
    assert (done.code, b"run `subcog init` in a terminal of your own" in done.stderr) == (0, True)
    assert not (bare.root / "user" / ".subcog" / "homes.json").exists()
    assert b"SUBCOG_HOME leads into this repository" in bare.run("doctor", cwd=repository).stderr


@posix
def test_init_asks_once_whether_sessions_begin_with_a_brief(bare: Machine) -> None:
    del bare.environment[NO_BRIEF]
    for answer, characters in (("n", "0"), ("", "950")):
        assert b"Start each session" not in bare.run("init").stderr  # nobody is asked without a terminal
        assert not (bare.home / "config.toml").exists()
        assert bare.run("uninstall").code == 0
        asked = OnTerminal([bare.command, "init"], bare.folder, bare.environment)
        asked.read_until("Write the hook")
        asked.type("\n")
        asked.read_until("Start each session with a short list")
        asked.type(f"{answer}\n")
        assert asked.end() == 0
        assert bare.run("config", "get", "surfacing.brief_characters").stdout.decode().strip() == characters
        again = OnTerminal([bare.command, "init"], bare.folder, bare.environment)
        assert again.end() == 0
        assert ("Start each session" in again.written, "has the hook already" in again.written) == (False, True)
        (bare.home / "config.toml").unlink()


# ---- the command that init registers --------------------------------------------------------------------------------------


def registered_by(machine: Machine) -> list[str]:
    """The words of the command that `init` has written for prompts."""
    settings = json.loads((users(machine) / "settings.json").read_text())
    handler = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    return [handler["command"], *handler["args"]]


def is_beside_its_libraries(machine: Machine) -> bool:
    """Whether the installed package, which need not be this checkout, stands beside what it needs."""
    told = machine.start(
        [sys.executable, "-c", "import subcog_hooks, apsw; print(subcog_hooks.__file__, apsw.__file__, sep='\\n')"]
    )
    return len({Path(line).parents[1] for line in told.stdout.decode().split()}) == 1


def test_the_registered_command_answers_like_the_script(machine: Machine) -> None:
    assert machine.run("init").code == 0
    command = registered_by(machine)
    assert (command[1:4] == ["-I", "-S", "-c"]) is is_beside_its_libraries(machine)
    by_script = machine.start([machine.command, "hook"], machine.asking())
    by_settings = machine.start(command, machine.asking())
    assert (by_settings.code, by_settings.stderr) == (0, b"")
    assert by_settings.stdout == by_script.stdout != b""
    assert b"hook in the user settings" in machine.run("doctor").stdout
    assert machine.run("init").stderr.count(b"has the hook already") == 1
    assert machine.run("uninstall").code == 0
    assert not (users(machine) / "settings.json").exists()


def test_a_moved_package_falls_back_to_the_script(machine: Machine) -> None:
    command = [*hook_entries.isolated_command(sys.executable, str(machine.root / "nowhere"), machine.command), "hook"]
    assert ids_in(context_of(machine.start(command, machine.asking()))) == [ANSWER]


def test_an_isolated_interpreter_ignores_variables(machine: Machine, ran: Path) -> None:
    machine.run("init")
    command = registered_by(machine)
    if command[1:2] != ["-I"]:
        pytest.skip("installed where an isolated interpreter does not find its libraries")
    planted_module = machine.root / "planted" / "apsw.py"
    planted_module.parent.mkdir()
    planted_module.write_text(f"open({str(ran)!r}, 'w')\n")
    machine.environment["PYTHONPATH"] = str(planted_module.parent)
    assert ids_in(context_of(machine.start(command, machine.asking()))) == [ANSWER]
    assert not ran.exists()


SLOW_DISK = """
import os, time
real = os.fsync
os.fsync = lambda descriptor: (time.sleep(0.5), real(descriptor))[1]
from subcog_hooks.__main__ import main
main()"""  # the terminal on a disk that takes its time, so that processes meet


def test_several_at_once_write_the_same_settings(bare: Machine) -> None:
    slow = write_program(bare.root / "slow", f"#!{sys.executable} -P\n{SLOW_DISK}")
    bare.command = str(slow)
    running = [bare.begin("init", "--no-skills", stdin=subprocess.DEVNULL) for _ in range(AT_ONCE)]
    complaints = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * AT_ONCE, complaints
    settings = users(bare) / "settings.json"
    assert {*json.loads(settings.read_text())["hooks"]} == {*EVENTS}
    assert os.listdir(settings.parent) == [settings.name]
