"""The real client where a note stops a command: it does not run, and the model is given the reason."""

from pathlib import Path

import pytest

from tests.e2e.claude_client import VERSIONS, Sandbox, Turn, conversation
from tests.e2e.machine import posix
from tests.e2e.messages_api import ToolCall
from tests.e2e.subcog_client import initialised
from tests.e2e.test_real_client_tools import with_files
from tests.e2e.typing_client import typing

FREEZE = "No deploys until the booking season is over."
ALLOWED = ("--allowedTools", "Bash")  # Without the hook the command would run unasked.


@pytest.fixture
def sandbox(subcog_command: str, tmp_path: Path) -> Sandbox:
    """A project with the hook where `subcog init` puts it."""
    (tmp_path / "memories").mkdir()
    return with_files(initialised(tmp_path / "sandbox", subcog_command, tmp_path / "memories"))


def deploy(client: str, sandbox: Sandbox, model: str, mode: str = "default") -> Turn:
    command = {"command": "cd src && touch deployed", "description": "Deploy"}
    with conversation(client, sandbox, model, *ALLOWED, "--permission-mode", mode) as talk:
        return talk.say("Deploy the site", ToolCall("Bash", command))


def test_a_command_without_a_stop_runs(client: str, model: str, sandbox: Sandbox, subcog_command: str) -> None:
    sandbox.run(subcog_command, "remember", "--ask-before", "rm*", FREEZE)
    deploy(client, sandbox, model)
    assert (sandbox.project / "src" / "deployed").exists()


@pytest.mark.parametrize("options", [["--ask-before", "touch*"], ["--deny", "touch*", "--yes"]], ids=["ask", "deny"])
def test_a_note_stops_its_command(client: str, model: str, sandbox: Sandbox, subcog_command: str, options: list[str]) -> None:
    sandbox.run(subcog_command, "remember", *options, FREEZE)
    turn = deploy(client, sandbox, model)
    assert not (sandbox.project / "src" / "deployed").exists()
    text, is_error = turn.requests[-1].results[-1]
    assert is_error
    assert FREEZE in text
    why = sandbox.run(subcog_command, "why", "--tool")
    assert ("asked" if "--ask-before" in options else "denied") in why


@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)
def test_a_stop_holds_where_the_client_asks_nobody(client: str, model: str, sandbox: Sandbox, subcog_command: str) -> None:
    sandbox.environment = {**sandbox.environment, "IS_SANDBOX": "1"}  # Without it the client refuses this mode to root.
    sandbox.run(subcog_command, "remember", "--ask-before", "touch*", FREEZE)
    deploy(client, sandbox, model, mode="bypassPermissions")
    assert not (sandbox.project / "src" / "deployed").exists()


@posix
@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)  # the older ones draw the same question
def test_the_person_is_asked_with_the_note_and_decides(client: str, model: str, sandbox: Sandbox, subcog_command: str) -> None:
    sandbox.run(subcog_command, "remember", "--ask-before", "sleep*", FREEZE)
    with typing(client, sandbox, model) as session:
        session.will_call(ToolCall("Bash", {"command": "sleep 0.1", "description": "wait"}))  # It is allowed without a stop.
        before = session.calls
        session.prompt("wait a moment")
        session.shows(FREEZE)
        assert session.calls == before + 1
        session.keys_until("\r", lambda: session.calls == before + 2, "an answer to the command")  # Yes
