"""Who may do what, through the installed executable: the table of `subcog help privacy`, row by row."""

import pytest

from subcog_hooks.cli.command_table import COMMANDS, PERSONS
from subcog_hooks.core.homes import AGENTS
from subcog_hooks.settings.keys import KEYS
from tests.e2e.machine import ANSWER, QUESTION, Machine

CHANGES = {  # a call of each command that is the person's
    "init": ("init",),
    "uninstall": ("uninstall",),
    "setup": ("setup", "--yes"),
    "pause": ("pause", "1d"),
    "resume": ("resume",),
    "config set": ("config", "set", "surfacing.enabled", "false"),
    "state set": ("state", "set", "clinician_mode"),
    "state clear": ("state", "clear", "--all"),
    "models pull": ("models", "pull", "x"),
    "models use": ("models", "use", "default"),
    "models remove": ("models", "remove", "x"),
    "share init": ("share", "init"),
    "share restore": ("share", "restore", "--by", "eve"),
    "share off": ("share", "off"),
    "learn": ("learn",),
    "enrich": ("enrich",),
}
OPEN = (  # what an agent may do unasked
    *(("search", "--fast", "session", "token"), ("list",), ("show", ANSWER), ("review", "--list"), ("why",), ("brief",)),
    *(("report",), ("block", QUESTION), ("config", "list"), ("config", "set", "surfacing.enabled", "false", "--dry-run")),
    *(("help", "privacy"), ("init", "--dry-run"), ("state",)),
)


def test_table_names_commands_that_exist() -> None:
    assert CHANGES.keys() == PERSONS.keys()
    assert {name.partition(" ")[0] for name in PERSONS} <= COMMANDS.keys()


@pytest.mark.parametrize("agent", AGENTS)
def test_agent_changes_nothing_of_how_subcog_works(machine: Machine, agent: str, subtests: pytest.Subtests) -> None:
    before = machine.run("config", "list").stdout
    machine.environment[agent] = "1"
    for call in CHANGES.values():
        with subtests.test(call=call):
            done = machine.run(*call)
            assert (done.code, done.stdout) == (2, b"")
            assert f"this command is run by an agent ({agent} is set); ask the person" in done.stderr.decode()
    assert machine.run("config", "list").stdout == before
    assert machine.recall(QUESTION) == [ANSWER]


def test_agent_sets_no_setting_whatever_its_name(machine: Machine, subtests: pytest.Subtests) -> None:
    machine.environment["CLAUDECODE"] = "1"
    for key in KEYS:
        with subtests.test(key=key):
            assert machine.run("config", "set", key, "default").code == 2


def test_agent_may_look_and_ask(machine: Machine, subtests: pytest.Subtests) -> None:
    machine.environment["CLAUDECODE"] = "1"
    for call in OPEN:
        with subtests.test(call=call):
            done = machine.run(*call)
            assert (done.code in {0, 1}, b"ask the person" in done.stderr) == (True, False), done.stderr


def test_agent_that_the_person_allows_changes_settings(machine: Machine) -> None:
    machine.environment["CLAUDECODE"] = "1"
    assert machine.run("pause", "1h", "--as-user").code == 0
    assert machine.recall(QUESTION) == []
    assert machine.run("resume", "--as-user").code == 0
    assert machine.recall(QUESTION) == [ANSWER]
