"""The installed executable as a client starts it: a payload in, an answer or silence out, and whose memories it is."""

import re
import sys

import pytest

from tests.documents import TOPICS
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


def test_payload_of_an_interactive_session_brings_the_memory_too(machine: Machine) -> None:
    payload = machine.payload("UserPromptSubmit", {**OF_A_TURN, "permission_mode": "auto", "prompt": QUESTION})
    assert ids_in(machine.answer(payload)) == [ANSWER]


def test_memories_are_found_by_identifiers_and_in_their_language(machine: Machine) -> None:
    assert machine.recall("Where does allocate_berth retry on SQLSTATE 23P01?") == ["tp-0002"]
    assert machine.recall("Wie wird die Kurtaxe auf der Rechnung ausgewiesen?") == ["tp-0045"]
    assert machine.recall("日本のマリーナでは係留料金をどう計算しますか") == ["tp-0046"]


def test_equal_payloads_in_new_sessions_give_equal_bytes(machine: Machine) -> None:
    first = machine.answer(machine.asking())
    assert first
    assert machine.answer(machine.asking()) == first


def test_a_session_is_given_the_memory_once(machine: Machine) -> None:
    assert ANSWER in machine.recall(RELATED)
    assert machine.recall(QUESTION, "one session") == [ANSWER]
    assert_silent(machine.prompt(QUESTION, "one session"))
    assert_silent(machine.prompt(RELATED, "one session"))
    assert_silent(machine.hook(machine.beginning("resume", "one session")))
    assert_silent(machine.prompt(QUESTION, "one session"))
    assert machine.recall(QUESTION, "another session") == [ANSWER]


# ---- silence --------------------------------------------------------------------------------------------------------------

SILENT_PROMPTS = [
    "",
    "   \n",
    "yes",
    "ok, thanks!",
    "continue",
    "looks good",
    "make it blue",
    "commit this and push the branch",
    "now run the tests",
    "fix the typo",
    "change the colour of the booking button to blue",
    "rename the loop variable",
    "/clear",
    "/compact keep what we said about the session token in localStorage",
    "! grep -r localStorage web/src # session token browser",
    "<task-notification><summary>Is the session token of the browser in localStorage?</summary></task-notification>",
    "<command-name>/review</command-name> Is the session token of the browser in localStorage?",
    "What is the capital of Mongolia?",
    "Explain the difference between a mutex and a semaphore.",
    "How do I centre a div in CSS?",
    "Write a haiku about autumn leaves",
]


def test_prompt_that_no_memory_is_for_prints_nothing(machine: Machine, subtests: pytest.Subtests) -> None:
    for prompt in SILENT_PROMPTS:
        with subtests.test(prompt=prompt):
            assert_silent(machine.prompt(prompt))
    assert machine.recall(QUESTION) == [ANSWER]


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
    ("SessionStart", {"source": "startup"}),
    ("SessionStart", {"source": "startup", "model": "claude-sonnet-5-5"}),
    ("SessionStart", {"source": "resume", "seconds_since_last_response": 1, "context_tokens": 15}),
    ("SessionStart", {"source": "clear"}),
    ("SessionStart", {"prompt_id": "8020e5b8", "source": "compact", "model": "claude-sonnet-5-5"}),
    tool("PreToolUse", "Bash", command="grep -rn session.token web/src", timeout=5000, description=QUESTION),
    tool("PreToolUse", "Read", file_path=FILE),
    tool("PreToolUse", "Write", file_path=FILE, content="x = 1\n"),
    tool("PreToolUse", "Edit", file_path=FILE, old_string=QUESTION, new_string="y = 2", replace_all=False),
    tool("PreToolUse", "Glob", pattern="web/src/auth/**"),
    tool("PreToolUse", "Grep", pattern="session token localStorage", path="."),
    tool("PreToolUse", "Agent", description="look", prompt=QUESTION, subagent_type="general-purpose", run_in_background=False),
    tool("PostToolUse", "Bash", command="cat docs/auth.md", description="read it"),
    tool("PostToolUseFailure", "Bash", command="cat docs/auth.md"),
    ("PreCompact", {"prompt_id": "8020e5b8", "trigger": "manual", "custom_instructions": QUESTION}),
    ("PreCompact", {"prompt_id": "8020e5b8", "trigger": "auto", "custom_instructions": None}),
    ("PostCompact", {"prompt_id": "8020e5b8", "trigger": "manual", "compact_summary": f"<summary>{QUESTION}</summary>"}),
    ("Stop", {"stop_hook_active": False, "last_assistant_message": QUESTION, "background_tasks": [], "session_crons": []}),
    ("Stop", {"stop_hook_active": True, "last_assistant_message": QUESTION, "background_tasks": [], "session_crons": []}),
    ("SubagentStop", {"agent_id": "a05e", "agent_type": "", "stop_hook_active": False, "last_assistant_message": QUESTION}),
    ("SessionEnd", {"reason": "other"}),
    ("SessionEnd", {"reason": "clear"}),
    ("SessionEnd", {"reason": "prompt_input_exit"}),
    ("Notification", {"message": QUESTION}),
    ("AnEventOfNextYear", {"prompt": QUESTION}),
]


def test_event_that_no_memory_is_for_prints_nothing(machine: Machine, subtests: pytest.Subtests) -> None:
    for event, fields in OTHER_EVENTS:
        with subtests.test(event=event):
            assert_silent(machine.hook(machine.payload(event, fields)))
    assert machine.recall(QUESTION) == [ANSWER]


AHEAD = """
import sys, time
real = time.time_ns
time.time_ns = lambda: real() + 5 * 365 * 86_400 * 10**9
from subcog_hooks.__main__ import main
main()"""  # the terminal, with a clock that is five years ahead


def test_a_pause_set_by_a_clock_that_was_ahead_has_ended(machine: Machine) -> None:
    assert machine.start([sys.executable, "-P", "-c", AHEAD, "pause", "2h"]).code == 0
    assert machine.recall(QUESTION) == [ANSWER]
    assert b"paused" not in machine.run("doctor").stdout


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


def test_remembered_text_belongs_to_its_repository(bare: Machine) -> None:
    repository, other = bare.repository("harbour", REMOTE), bare.repository("shop", OTHER_REMOTE)
    done = bare.run("remember", "The tide gauge of Esbjerg reports every 10 minutes over MQTT.", cwd=repository)
    question = "How often does the tide gauge of Esbjerg report over MQTT?"
    assert bare.recall(question, cwd=repository) == [done.stdout.decode().strip()]
    assert_silent(bare.prompt(question, cwd=other))


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


def test_forgotten_memory_does_not_appear_any_more(machine: Machine) -> None:
    assert machine.recall(QUESTION) == [ANSWER]
    assert machine.run("forget", ANSWER).code == 0
    assert ANSWER.encode() not in machine.prompt(QUESTION).stdout


def test_superseded_memory_makes_way_for_the_new_one(bare: Machine) -> None:
    bare.imports({"id": "barge", "content": CONTENT})
    new = bare.run("remember", CONTENT.replace("pier 7", "pier 9"), "--supersedes", "barge")
    assert bare.recall(ABOUT_IT) == [new.stdout.decode().strip()]


# ---- an upgrade that has stopped half-way ---------------------------------------------------------------------------------

MODULES = ("__init__.py", "__main__.py", "core/light_json.py", "hook/main.py", "hook/prompt.py")


@posix
@pytest.mark.parametrize("is_missing", [False, True], ids=["cut off", "missing"])
@pytest.mark.parametrize("module", MODULES)
def test_a_half_written_upgrade_is_silent_and_logged(machine: Machine, module: str, is_missing: bool) -> None:
    folder = half_written.installation(machine.root / "site", module, is_missing=is_missing)
    assert_silent(machine.start(half_written.registered(machine, folder), machine.asking()))
    if not is_missing and not module.startswith("__"):
        assert "SyntaxError" in (machine.home / "log" / "hook.log").read_text()


BY_NAME = {document.stem: document for document in TOPICS}
PAGED = "(through the pager)"


def test_installed_executable_has_the_topic(bare: Machine, subtests: pytest.Subtests) -> None:
    for name, file in BY_NAME.items():
        with subtests.test(name=name):
            done = bare.run("help", name)
            assert (done.code, done.stderr) == (0, b"")
            assert done.stdout.decode() == re.sub(r"<!--.*?-->\n", "", file.read_text(encoding="utf-8"))


def test_topics_are_listed_and_an_unknown_one_is_refused(bare: Machine) -> None:
    assert sorted(line.split()[0] for line in bare.run("help").stdout.decode().splitlines()) == list(BY_NAME)
    refused = bare.run("help", "privat")
    assert (refused.code, refused.stdout) == (2, b"")
    assert b"did you mean privacy?" in refused.stderr


@posix
def test_topic_is_drawn_on_a_terminal_and_goes_through_the_pager(bare: Machine) -> None:
    pager = write_program(bare.root / "pager", f"cat\necho '{PAGED}'")
    environment = {**bare.environment, "PAGER": str(pager)}
    code, lines = OnTerminal.shown([bare.command, "help", "Cues"], bare.folder, environment, columns=70, rows=30)
    assert (code, lines[-1]) == (0, PAGED)
    assert max(map(len, lines)) <= 70
    assert "Files: --path" in lines
    assert not any(line.startswith(("#", "```", "|")) for line in lines)
