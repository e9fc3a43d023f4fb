"""A session of the real client, the client itself as a model at rest, and the next session: what was said is known there."""

import json
import os
import socket
import time
from pathlib import Path

import pytest

from subcog_hooks.learn import transcript_files
from tests.e2e.claude_client import VERSIONS, Sandbox, Turn, conversation
from tests.e2e.machine import NO_BRIEF, linux
from tests.e2e.messages_api import MessagesAPI, ToolCall
from tests.e2e.subcog_client import in_time
from tests.e2e.typing_client import typing

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
        api.calls.append(ToolCall("StructuredOutput", {"memories": [MEMORY]}))
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


@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)
def test_nothing_happens_where_one_of_the_three_is_refused(
    client: str, model: str, sandbox: Sandbox, subcog_command: str
) -> None:
    hold_session(client, sandbox, model)
    for setting, refusal in (("llm.learn", "false"), ("llm.at_rest", "none"), ("capture.sessions", "off")):
        sandbox.run(subcog_command, "config", "set", setting, refusal)
        rest(sandbox, subcog_command)
        sandbox.run(subcog_command, "config", "set", setting, CHOSEN[setting])
    message, text = next_session(client, sandbox, model)
    assert "noted" not in message
    assert ABOUT_HINT not in text
