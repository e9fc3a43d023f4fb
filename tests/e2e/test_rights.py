"""Who may do what, through the installed executable: the table of `subcog help privacy`, row by row."""

from pathlib import Path

import pytest

from subcog_hooks.cli.commands import COMMANDS, PERSONS
from subcog_hooks.core.paths import AGENTS
from subcog_hooks.settings.sources import KEYS
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


NOTES, SHARE, FILES = ("tests/e2e/test_notes_of_agents.py", "tests/share/test_sync.py", "tests/e2e/test_repository_files.py")
MODEL = "tests/e2e/test_lying_model.py::test_of_what_a_model_says_only_what_follows_comes_at_once"
MINE = "tests/e2e/test_rights.py::test_person_does_all_of_it"
RIGHTS = "tests/e2e/test_rights.py"
# The test of each cell of the table, by row: you, an agent, a colleague, a repository, a model.
CELLS = {
    "store a memory": (
        MINE,
        f"{NOTES}::test_a_note_waits_unless_somebody_is_known_to_be_asked",
        f"{SHARE}::test_a_memory_arrives_as_its_authors_word",
        f"{FILES}::test_lines_of_a_repository_are_texts_about_it",
        MODEL,
    ),
    "store it for all projects": (
        MINE,
        f"{NOTES}::test_a_note_waits_unless_somebody_is_known_to_be_asked",
        f"{SHARE}::test_only_confirmed_memories_of_shared_projects_leave",
        f"{FILES}::test_lines_of_a_repository_are_texts_about_it",
        MODEL,
    ),
    "accept a waiting memory": (
        MINE,
        f"{NOTES}::test_no_other_command_lets_an_agents_note_through",
        f"{SHARE}::test_only_confirmed_memories_of_shared_projects_leave",
        "tests/e2e/test_repository_stores.py::test_an_accepted_note_waits_again_with_another_text",
        MODEL,
    ),
    "change or forget yours": (
        MINE,
        f"{NOTES}::test_an_agent_needs_a_yes_to_change_a_persons_note",
        "tests/share/test_own_words.py::test_a_change_is_named_by_its_author_and_taken_back",
        f"{FILES}::test_a_repositorys_line_replaces_no_other_projects_note",
        MODEL,
    ),
    "pin one, or set a rule": (
        MINE,
        f"{NOTES}::test_an_agent_does_not_pin",
        f"{SHARE}::test_a_colleagues_pin_and_cues_need_the_users_permission",
        "tests/e2e/test_permission_rules.py::test_no_file_brings_a_rule",
        MODEL,
    ),
    "choose when it comes": (
        MINE,
        f"{NOTES}::test_what_an_agent_remembers_is_its_own_and_shown_so",
        f"{SHARE}::test_a_colleagues_pin_and_cues_need_the_users_permission",
        f"{FILES}::test_rules_keep_the_narrow_globs_of_their_own_files",
        "tests/cli/test_learn_by_model.py::test_a_proposal_that_quotes_typed_words_waits_with_its_turn",
    ),
    "change a setting, or pause": (
        MINE,
        f"{RIGHTS}::test_agent_changes_nothing_of_how_subcog_works",
        f"{SHARE}::test_a_memory_arrives_as_its_authors_word",
        "tests/e2e/test_hostile_environment.py::test_a_project_does_not_lower_the_users_bars",
        MODEL,
    ),
    "choose home, model or address": (
        MINE,
        f"{RIGHTS}::test_agent_sets_no_setting_whatever_its_name",
        "tests/share/test_server_connection.py::test_a_man_in_the_middle_is_refused",
        "tests/e2e/test_hostile_environment.py::test_home_that_a_file_names_is_ignored_wherever_it_lies",
        MODEL,
    ),
    "read your memories": (
        MINE,
        f"{RIGHTS}::test_agent_may_look_and_ask",
        f"{SHARE}::test_only_confirmed_memories_of_shared_projects_leave",
        "tests/share/test_hooks.py::test_no_hook_opens_a_socket",
        "tests/cli/test_learn_by_model.py::test_secrets_private_texts_logs_and_left_out_are_not_sent",
    ),
}


def test_each_cell_of_the_table_names_its_test(bare: Machine) -> None:
    printed = bare.run("help", "privacy").stdout.decode()
    head, _, *rows = (line.strip("|").split("|") for line in printed.splitlines() if line.startswith("|"))
    assert [row[0].strip() for row in rows] == [*CELLS]
    for names in CELLS.values():
        assert len(names) == len(head) - 1
        for name in names:
            file, _, function = name.partition("::")
            assert f"def {function}(" in (Path(__file__).parents[2] / file).read_text(encoding="utf-8"), name


def test_person_does_all_of_it(machine: Machine) -> None:
    stored = machine.run("remember", "Berths are counted from the east.", "--priority", "95", "--trigger", "berth").stdout
    id_ = stored.decode().strip()
    assert machine.recall("which berth is the first?") == [id_]  # pinned, and for all projects
    assert machine.run("edit", id_, "--content", "Berths are counted from the west.", "--status", "pending").code == 0
    assert id_ not in machine.recall("which berth is the first?")
    assert machine.run("review", "--accept", id_).code == 0
    assert "from the west" in machine.answer(machine.asking("which berth is the first?"))
    assert machine.run("remember", "Releases are frozen.", "--ask-before", "git push*").code == 0
    assert machine.run("config", "set", "surfacing.enabled", "false").code == 0
    assert machine.recall(QUESTION) == []
    assert machine.run("config", "set", "llm.base_url", "http://localhost:11434/v1").code == 0
    assert machine.run("forget", id_).code == 0
    assert "from the west" not in machine.run("list", "--jsonl").stdout.decode()
    machine.environment["SUBCOG_HOME"] = str(machine.root / "another")
    assert machine.run("list").code == 1
