"""Sessions of the real client: what was typed or said is known in the next one; what the client loads comes once."""

import json
import os
import socket
import time
from pathlib import Path

import pytest

from subcog_hooks.learn import transcript, transcript_files
from subcog_hooks.learn.turn_scores import ANSWER, CALL_REFUSED, QUEUED, TYPED
from tests.e2e.claude_client import MODELS, VERSIONS, Sandbox, Turn, conversation
from tests.e2e.machine import NO_BRIEF, linux
from tests.e2e.messages_api import MessagesAPI, ToolCall
from tests.e2e.subcog_client import BLOCK, assert_silent, in_time, initialised, model_text
from tests.e2e.typing_client import ALLOWED, typing

HINT = "the staging box gets wiped over night so put nothing there you want to see again"
ABOUT_HINT = "The staging box is wiped every night."
MEMORY = {
    "quote": HINT,
    "by": "person",
    "memory": ABOUT_HINT,
    "questions": [],
    "kind": "fact",
    "scope": "project",
    "certainty": 0.9,
    "standing": False,
    "replaces": "",
}
IDLE_S = 4 * 3_600
CHOSEN = {"llm.at_rest": "claude", "llm.learn": "true", "llm.agent_words": "true", "capture.sessions": "auto"}

pytestmark = linux


@pytest.fixture
def sandbox(tmp_path: Path, client: str, subcog_command: str) -> Sandbox:
    """A user with a repository, who lets the client note what is said."""
    made = Sandbox(tmp_path / "sandbox", [os.path.dirname(subcog_command)])
    (made.project / ".git").mkdir()
    made.environment = {name: value for name, value in made.environment.items() if name != NO_BRIEF}
    made.run(subcog_command, "init", "--user")
    for setting, value in {**CHOSEN, "llm.client": client}.items():
        made.run(subcog_command, "config", "set", setting, value)
    return made


def hold_session(client: str, sandbox: Sandbox, model: str) -> None:
    """Type at the client on a terminal, and let the transcript be some hours old."""
    with typing(client, sandbox, model) as session:
        session.prompt(HINT)
        session.rest()
    for file in transcript_files.find_transcripts(str(sandbox.config / "projects")):
        os.utime(file.path, (time.time() - IDLE_S,) * 2)


def rest(sandbox: Sandbox, subcog_command: str) -> None:
    """Run the background jobs. The client as a model proposes MEMORY."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    before = sandbox.environment
    sandbox.environment = {**before, "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "sk-ant-x", "SUBCOG_BACKGROUND": "1"}
    with MessagesAPI(listener) as api:
        api.answers.append(ToolCall("StructuredOutput", {"memories": [MEMORY]}))
        sandbox.run(subcog_command, "at-rest")
    sandbox.environment = before


def next_session(client: str, sandbox: Sandbox, model: str) -> tuple[str, str]:
    """Return the line that the person sees at the start of a session, and the text that the model gets."""

    def run() -> Turn:
        with conversation(client, sandbox, model) as talk:
            return talk.say("hello")

    turn = in_time(run, lambda turn: any(hook.event == "SessionStart" for hook in turn.hooks))
    printed = [hook.stdout for hook in turn.hooks if hook.event == "SessionStart" and hook.stdout]
    message = json.loads(printed[0]).get("systemMessage", "") if printed else ""
    return message, turn.requests[0].model_text


@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)
def test_what_was_said_is_known_in_the_next_session(client: str, model: str, sandbox: Sandbox, subcog_command: str) -> None:
    hold_session(client, sandbox, model)
    rest(sandbox, subcog_command)
    message, text = next_session(client, sandbox, model)
    assert f"subcog: noted 1 thing from your sessions: “{ABOUT_HINT}”" in message
    assert ABOUT_HINT in text
    assert "written by a model" in text
    assert "noted" not in next_session(client, sandbox, model)[0]
    assert ABOUT_HINT in sandbox.run(subcog_command, "learn", "--undo", "today")
    assert ABOUT_HINT not in next_session(client, sandbox, model)[1]


DOWN, ESCAPE, TAB, CLEAR = "\x1b[B", "\x1b", "\t", "\x15"
WRITING = ToolCall("Bash", {"command": "echo 1 > kept.txt && python3 -c 'print(1)'", "description": "write"})
WAITING = ToolCall("Bash", {"command": "sleep 2", "description": "wait"})
AGENT = ToolCall("Task", {"description": "look", "prompt": "you are the agent", "subagent_type": "general-purpose"})


def transcripts(typing_user: Sandbox) -> list[str]:
    return [one.path for one in transcript_files.find_transcripts(str(typing_user.config / "projects"))]


@pytest.fixture
def typing_user(tmp_path: Path) -> Sandbox:
    made = Sandbox(tmp_path / "sandbox")
    (made.project / ".git").mkdir()
    return made


@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)  # the older one writes the same rows, and takes 20 s more
def test_exactly_the_typed_words_are_read(client: str, model: str, typing_user: Sandbox) -> None:
    with typing(client, typing_user, model) as session:
        session.prompt("always use tabs")
        session.prompt("use redis for that")
        session.keys(ESCAPE)
        session.keys(ESCAPE)
        session.shows("Rewind")
        session.keys("\x1b[A")
        session.keys("\r")
        session.shows("Restore conversation")
        session.keys("\r")
        session.rest()  # what was taken back comes into the line again
        session.keys(CLEAR)
        session.will_answer(WRITING)
        session.prompt("use postgres for that")
        session.shows("Yes")
        for _ in range(4):
            if "❯ No" in session.screen():
                break
            session.keys(DOWN)
        session.keys(TAB)
        session.keys("never write files here")
        session.send(requests=1)
        session.will_answer(WAITING)
        before = session.calls
        session.prompt("wait a little")
        session.keys("this one was queued")
        session.keys("\r")
        session.until(lambda: session.calls >= before + 2, "an answer to what was queued")
        session.rest()
        session.will_answer(AGENT)
        session.prompt("let an agent look", requests=2)
        session.prompt("/compact", requests=0)
        session.shows("ompacted")
        session.prompt("after the compaction")
    (path,) = transcripts(typing_user)
    turns = transcript.read_transcript(path).turns
    # what is sent while the client is at something is noted as queued
    kinds = [TYPED if turn.kind == QUEUED else turn.kind for turn in turns]
    assert [(kind, turn.text) for kind, turn in zip(kinds, turns, strict=True)] == [
        (TYPED, "always use tabs"),
        (TYPED, "use postgres for that"),
        (ANSWER, "never write files here"),
        (TYPED, "wait a little"),
        (TYPED, "this one was queued"),
        (TYPED, "let an agent look"),
        (TYPED, "after the compaction"),
    ]
    assert (turns[2].before.tool, turns[2].before.outcome) == ("Bash", CALL_REFUSED)
    assert {os.path.realpath(turn.folder) for turn in turns} == {os.path.realpath(typing_user.project)}


def test_of_a_session_in_print_mode_nothing_is_taken_for_typed(client: str, model: str, typing_user: Sandbox) -> None:
    with conversation(client, typing_user, model, *ALLOWED) as talk:
        talk.say("always use tabs")
        talk.say("/compact")
        talk.say("and never use spaces")
    (path,) = transcripts(typing_user)
    assert transcript.read_transcript(path).turns == []


RULE = "The harbour crane is inspected on Mondays, before the first ship."
NOTE = "Tides are read from the gauge at pier 7 every hour."
BELOW = "Prices are kept in cents, never as floating point numbers."
ASKED = "On which weekday is the harbour crane inspected?"
ABOUT_NOTE = "From which gauge are tides read, and how often?"
ABOUT_BELOW = "In which unit do we keep prices, and do we use floating point numbers?"
REMOTE = '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n'


@pytest.fixture
def used_before(subcog_command: str, tmp_path: Path) -> Sandbox:
    """A project in which the client has been used before, with its CLAUDE.md and a note of the client's."""
    other = Sandbox(tmp_path / "other")
    other.run(subcog_command, "remember", "Ropes are replaced every spring.")
    used_before = initialised(tmp_path / "sandbox", subcog_command, other.memories)
    (used_before.project / ".git").mkdir()
    (used_before.project / ".git" / "config").write_text(REMOTE)
    (used_before.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (used_before.project / "CLAUDE.md").write_text("# Harbour\n\nSee @docs/cranes.md for cranes.\n")
    for name, text in (("docs/cranes.md", RULE), ("prices/CLAUDE.md", BELOW)):
        (used_before.project / name).parent.mkdir()
        (used_before.project / name).write_text(f"{text}\n")
    return used_before


def test_notes_that_the_client_loads_come_once(client: str, used_before: Sandbox, subcog_command: str) -> None:
    def ask(prompt: str) -> Turn:
        with conversation(client, used_before, MODELS[0]) as talk:
            return talk.say(prompt)

    ask("make it blue")  # from now on the client keeps sessions of this project
    (project,) = (used_before.config / "projects").iterdir()
    (project / "memory").mkdir(exist_ok=True)
    (project / "memory" / "tides.md").write_text(f"---\nname: tides\ntype: project\n---\n\n{NOTE}\n")
    assert "added 4" in used_before.run(subcog_command, "import", "--from", "claude")
    turn = ask(ASKED)
    assert model_text(turn).count(RULE) == 1
    assert_silent(turn)

    def told(prompt: str, text: str) -> str:
        return model_text(in_time(lambda: ask(prompt), lambda turn: text in model_text(turn)))

    for prompt, text in ((ABOUT_NOTE, NOTE), (ABOUT_BELOW, BELOW)):
        given = told(prompt, text)
        assert (given.count(text), given.count(BLOCK)) == (1, 1)
