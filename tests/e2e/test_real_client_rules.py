"""The real client where a note owns a rule: its command does not run unasked, and the model is given the note."""

from pathlib import Path

import pytest

from tests.e2e.claude_client import VERSIONS, Sandbox, Turn, conversation
from tests.e2e.machine import posix
from tests.e2e.messages_api import ToolCall
from tests.e2e.subcog_client import initialised
from tests.e2e.test_real_client_tools import with_files
from tests.e2e.typing_client import typing

FREEZE = "No deploys until the booking season is over."
ALLOWED = ("--allowedTools", "Bash")  # Without the rule the command would run unasked.
OPTIONS = pytest.mark.parametrize("option", ["--ask-before", "--deny"])


@pytest.fixture
def sandbox(subcog_command: str, tmp_path: Path) -> Sandbox:
    """A project with the hook where `subcog init` puts it."""
    (tmp_path / "memories").mkdir()
    return with_files(initialised(tmp_path / "sandbox", subcog_command, tmp_path / "memories"))


def deploy(client: str, sandbox: Sandbox, model: str, mode: str = "default") -> Turn:
    command = {"command": "cd src && touch deployed", "description": "Deploy"}
    with conversation(client, sandbox, model, *ALLOWED, "--permission-mode", mode) as talk:
        return talk.say("Deploy the site", ToolCall("Bash", command))


@OPTIONS
def test_a_rule_holds_until_its_note_ends(client: str, model: str, sandbox: Sandbox, subcog_command: str, option: str) -> None:
    settings, deployed = sandbox.config / "settings.json", sandbox.project / "src" / "deployed"
    before = settings.read_bytes()
    sandbox.run(subcog_command, "remember", option, "touch*", FREEZE)
    turn = deploy(client, sandbox, model)
    assert not deployed.exists()
    assert turn.requests[-1].results[-1][1]  # an error
    assert FREEZE in turn.requests[-1].model_text
    (id_,) = sandbox.run(subcog_command, "list", "--ids").split()
    sandbox.run(subcog_command, "forget", id_)
    assert settings.read_bytes() == before
    deploy(client, sandbox, model)
    assert deployed.exists()


@OPTIONS
@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)
def test_a_rule_holds_where_the_client_asks_nobody(
    client: str, model: str, sandbox: Sandbox, subcog_command: str, option: str
) -> None:
    sandbox.environment = {**sandbox.environment, "IS_SANDBOX": "1"}  # Without it the client refuses this mode to root.
    sandbox.run(subcog_command, "remember", option, "touch", FREEZE)
    deploy(client, sandbox, model, mode="bypassPermissions")
    assert not (sandbox.project / "src" / "deployed").exists()


@posix
@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)  # the older ones draw the same question
def test_the_person_is_asked_and_decides(client: str, model: str, sandbox: Sandbox, subcog_command: str) -> None:
    sandbox.run(subcog_command, "remember", "--ask-before", "sleep*", FREEZE)
    with typing(client, sandbox, model) as session:
        session.will_call(ToolCall("Bash", {"command": "sleep 0.1", "description": "wait"}))  # It is allowed without a rule.
        before = session.calls
        session.prompt("wait a moment")
        session.shows("Bash(sleep*)")
        assert session.calls == before + 1
        session.keys_until("\r", lambda: session.calls == before + 2, "an answer to the command")  # Yes
