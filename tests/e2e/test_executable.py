"""The installed executable as a client starts it: a payload in, an answer or silence out, and whose memories it is."""

import pytest

from tests.e2e import half_written
from tests.e2e.machine import (
    ABOUT_IT,
    ANSWER,
    ANSWER_OF_THE_PROJECT,
    CONTENT,
    OF_A_TURN,
    OF_THE_PROJECT,
    OTHER_REMOTE,
    PROJECT,
    QUESTION,
    RELATED,
    REMOTE,
    Machine,
    assert_silent,
    ids_in,
    posix,
    write_program,
)
from tests.e2e.screen import OnTerminal

# ---- what is handed over --------------------------------------------------------------------------------------------------


def test_remembered_text_comes_back_from_the_hook(bare: Machine) -> None:
    text = "Berth numbers on the north pontoon skip 13; the allocation table in src/berths/pontoons.py skips it, too."
    remembered = bare.run("remember", text, "--namespace", "context")
    assert (remembered.code, remembered.stderr.startswith(b"kept in context")) == (0, True)
    context = bare.answer(bare.asking("Why do the berth numbers on the north pontoon skip 13?"))
    assert text in context
    assert ids_in(context) == [remembered.stdout.decode().strip()]


def test_memories_are_found_by_identifiers_and_in_their_language(machine: Machine) -> None:
    assert machine.recall("Where does allocate_berth retry on SQLSTATE 23P01?") == ["tp-0002"]
    assert machine.recall("Wie wird die Kurtaxe auf der Rechnung ausgewiesen?") == ["tp-0045"]
    assert machine.recall("日本のマリーナでは係留料金をどう計算しますか") == ["tp-0046"]


def test_a_session_is_given_the_memory_once(machine: Machine) -> None:
    assert ANSWER in machine.recall(RELATED)
    assert machine.recall(QUESTION, "one session") == [ANSWER]
    assert_silent(machine.prompt(QUESTION, "one session"))
    assert_silent(machine.prompt(RELATED, "one session"))
    assert_silent(machine.hook(machine.beginning("resume", "one session")))
    assert_silent(machine.prompt(QUESTION, "one session"))
    assert machine.recall(QUESTION, "another session") == [ANSWER]


# ---- silence --------------------------------------------------------------------------------------------------------------

OF_A_CLIENT = (  # headers of its own, which come in the person's name
    "[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated background-task event, NOT a message from the user.",
    "[AUTOMATED REMINDER]",
    "Stop hook feedback:",
)
SILENT_PROMPTS = [
    "",
    "   \n",
    "ok, thanks!",
    "continue",
    "make it blue",
    "commit this and push the branch",
    "change the colour of the booking button to blue",
    "/compact keep what we said about the session token in localStorage",
    "! grep -r localStorage web/src # session token browser",
    "<task-notification><summary>Is the session token of the browser in localStorage?</summary></task-notification>",
    "What is the capital of Mongolia?",
    "Explain the difference between a mutex and a semaphore.",
    *(f"{begin}\nHow do we store the session token in the browser, and why?" for begin in OF_A_CLIENT),
]


def test_prompt_that_no_memory_is_for_prints_nothing(machine: Machine, subtests: pytest.Subtests) -> None:
    for prompt in SILENT_PROMPTS:
        with subtests.test(prompt=prompt):
            assert_silent(machine.prompt(prompt))
    for begin in ("", "[BUG]\n", "[SYSTEM]\n"):  # a person's own headers
        assert machine.recall(f"{begin}{QUESTION}") == [ANSWER]


def tool(event: str, name: str, **given: object) -> tuple[str, dict[str, object]]:
    """The event of a tool, and what its payload has."""
    fields = {**OF_A_TURN, "effort": {"level": "medium"}, "tool_name": name, "tool_input": given, "tool_use_id": "toolu_01"}
    if event == "PostToolUse":
        fields |= {"tool_response": {"stdout": QUESTION, "stderr": "", "interrupted": False}, "duration_ms": 12}
    if event == "PostToolUseFailure":
        fields |= {"error": "Exit code 2\nmake: *** No rule to make target 'lint'.  Stop.", "is_interrupt": False}
    return event, fields


FILE = "/home/dev/harbour/src/auth/session.py"
OTHER_EVENTS: list[tuple[str, dict[str, object]]] = [
    ("SessionStart", {"source": "startup", "model": "claude-sonnet-5-5"}),
    ("SessionStart", {"source": "compact", "model": "claude-sonnet-5-5"}),
    tool("PreToolUse", "Bash", command="grep -rn session.token web/src", timeout=5000, description=QUESTION),
    tool("PreToolUse", "Edit", file_path=FILE, old_string=QUESTION, new_string="y = 2", replace_all=False),
    tool("PreToolUse", "Agent", description="look", prompt=QUESTION, subagent_type="general-purpose", run_in_background=False),
    tool("PostToolUse", "Bash", command="cat docs/auth.md", description="read it"),
    tool("PostToolUseFailure", "Bash", command="cat docs/auth.md"),
    ("PreCompact", {"prompt_id": "8020e5b8", "trigger": "manual", "custom_instructions": QUESTION}),
    ("PostCompact", {"prompt_id": "8020e5b8", "trigger": "manual", "compact_summary": f"<summary>{QUESTION}</summary>"}),
    ("Stop", {"stop_hook_active": False, "last_assistant_message": QUESTION, "background_tasks": [], "session_crons": []}),
    ("SubagentStop", {"agent_id": "a05e", "agent_type": "", "stop_hook_active": False, "last_assistant_message": QUESTION}),
    ("SessionEnd", {"reason": "clear"}),
    ("AnEventOfNextYear", {"prompt": QUESTION}),
]


def test_event_that_no_memory_is_for_prints_nothing(machine: Machine, subtests: pytest.Subtests) -> None:
    for event, fields in OTHER_EVENTS:
        with subtests.test(event=event):
            assert_silent(machine.hook(machine.payload(event, fields)))
    assert machine.recall(QUESTION) == [ANSWER]


def test_paused_or_switched_off_hook_prints_nothing(machine: Machine) -> None:
    assert machine.run("pause").code == 0
    assert_silent(machine.prompt(QUESTION))
    assert machine.run("resume").code == 0
    assert machine.recall(QUESTION) == [ANSWER]
    machine.configure(surfacing__enabled="false")
    assert_silent(machine.prompt(QUESTION))


# ---- whose memories -------------------------------------------------------------------------------------------------------


def test_a_projects_memory_stays_in_it_and_the_users_does_not(machine: Machine) -> None:
    repository = machine.repository("harbour", REMOTE)
    below = repository / "src" / "berths"
    below.mkdir(parents=True)
    for folder in (repository, below):
        assert machine.recall(OF_THE_PROJECT, cwd=folder) == [ANSWER_OF_THE_PROJECT]
    other = machine.repository("shop", OTHER_REMOTE)
    for folder in (other, machine.folder):
        assert_silent(machine.prompt(OF_THE_PROJECT, cwd=folder))
    for folder in (repository, other):
        assert machine.recall(QUESTION, cwd=folder) == [ANSWER]


def test_only_active_memories_of_this_project_appear(bare: Machine) -> None:
    hidden: dict[str, dict[str, object]] = {
        "expired": {"expires_at": "2020-01-01T00:00:00Z"},
        "superseded": {"status": "superseded", "superseded_by": "a-newer-one"},
        "archived": {"status": "archived"},
        "pending": {"status": "pending"},
        "deleted": {"status": "deleted"},
        "of-another-project": {"project": PROJECT},
    }
    rows = [{"id": id_, "content": f"{CONTENT} (berth {n})", **fields} for n, (id_, fields) in enumerate(hidden.items())]
    bare.imports(*rows, {"id": "other", "content": "Pilots are called on channel 12."})
    assert {row["id"] for row in bare.stored("all").values()} == {*hidden, "other"}
    assert_silent(bare.prompt(ABOUT_IT))
    bare.imports({"id": "barge", "content": CONTENT, "expires_at": "2999-01-01"})
    assert bare.recall(ABOUT_IT) == ["barge"]


def test_a_superseded_or_forgotten_memory_makes_way(bare: Machine) -> None:
    bare.imports({"id": "barge", "content": CONTENT})
    new = bare.run("remember", CONTENT.replace("pier 7", "pier 9"), "--supersedes", "barge").stdout.decode().strip()
    assert bare.recall(ABOUT_IT) == [new]
    assert bare.run("forget", new).code == 0
    assert bare.recall(ABOUT_IT) == []


# ---- an upgrade that has stopped half-way ---------------------------------------------------------------------------------

MODULES = ("__init__.py", "__main__.py", "core/light_json.py", "hook/main.py", "hook/prompt.py")


@posix
def test_a_half_written_upgrade_is_silent_and_logged(machine: Machine, subtests: pytest.Subtests) -> None:
    for number, (module, is_missing) in enumerate([*((module, False) for module in MODULES), (MODULES[-1], True)]):
        with subtests.test(module=module, is_missing=is_missing):
            folder = half_written.installation(machine.root / f"site-{number}", module, is_missing=is_missing)
            assert_silent(machine.start(half_written.registered(machine, folder), machine.asking()))
    assert "SyntaxError" in (machine.home / "log" / "hook.log").read_text()


PAGED = "(through the pager)"


@posix
def test_topic_is_drawn_on_a_terminal_and_goes_through_the_pager(bare: Machine) -> None:
    pager = write_program(bare.root / "pager", f"cat\necho '{PAGED}'")
    environment = {**bare.environment, "PAGER": str(pager)}
    code, lines = OnTerminal.shown([bare.command, "help", "Cues"], bare.folder, environment, columns=70, rows=30)
    assert (code, lines[-1]) == (0, PAGED)
    assert max(map(len, lines)) <= 70
    assert "Files: --path" in lines
    assert not any(line.startswith(("#", "```", "|")) for line in lines)
