"""The real client and the error of a failed tool call: the note about it comes beside the failure."""

import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e.claude_client import Sandbox, Turn, conversation
from tests.e2e.machine import ANSWER, linux
from tests.e2e.messages_api import ToolCall
from tests.e2e.subcog_client import in_time

FAILING = "cat ./session-token-in-localStorage.ts"

pytestmark = linux


@pytest.fixture
def sandbox(client: str, subcog_command: str, imported: Path, tmp_path: Path) -> Sandbox:
    """A user whose client is on the PATH when `init` asks for its version."""
    made = Sandbox(tmp_path / "sandbox", [os.path.dirname(subcog_command), os.path.dirname(client)])
    made.environment = {name: value for name, value in made.environment.items() if name not in AS_LARGE_STORES_WITHOUT_LINES}
    shutil.copytree(imported, made.memories)
    made.run(subcog_command, "init", "--user")
    return made


def test_an_error_brings_its_note_into_the_next_request(client: str, model: str, sandbox: Sandbox) -> None:
    def run() -> Turn:
        with conversation(client, sandbox, model) as talk:
            return talk.say("look at that file", ToolCall("Bash", {"command": FAILING, "description": "look"}))

    turn = in_time(run, lambda turn: any(hook.event == "PostToolUseFailure" and hook.stdout for hook in turn.hooks))
    ((text, is_error),) = turn.requests[-1].results
    assert (is_error, "No such file" in text) == (True, True)
    assert ANSWER not in turn.requests[0].model_text
    assert ANSWER in turn.requests[-1].model_text
