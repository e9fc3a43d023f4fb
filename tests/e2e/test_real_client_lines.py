"""The real client and a line that points at a memory: its agent opens it, and nobody is asked."""

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e.claude_client import Sandbox, Turn, conversation
from tests.e2e.machine import ANSWER, linux
from tests.e2e.messages_api import ToolCall
from tests.e2e.subcog_client import in_time

RELATED = "explain where the session token lives"
TEXT = "one XSS in the map widget would give every skipper's session away"  # of the memory, behind the end of its line

pytestmark = linux


@pytest.fixture
def sandbox(subcog_command: str, imported: Path, tmp_path: Path) -> Sandbox:
    """A user whose client has our hook with the usual settings, and subcog on the PATH."""
    made = Sandbox(tmp_path / "sandbox", [os.path.dirname(subcog_command)])
    made.environment = {name: value for name, value in made.environment.items() if name not in AS_LARGE_STORES_WITHOUT_LINES}
    shutil.copytree(imported, made.memories)
    made.run(subcog_command, "init", "--user")
    return made


def bash(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command, "description": "look"})


def asked(client: str, sandbox: Sandbox, model: str, commands: Sequence[str], *arguments: str) -> Turn:
    """A turn in which the model runs commands after a line has come."""

    def run() -> Turn:
        with conversation(client, sandbox, model, *arguments) as talk:
            return talk.say(RELATED, *map(bash, commands))

    return in_time(run, lambda turn: f"[maybe {ANSWER}]" in turn.requests[0].model_text)


def results(turn: Turn) -> list[tuple[str, bool]]:
    return turn.requests[-1].results


def test_a_memory_is_opened_without_a_question(client: str, model: str, sandbox: Sandbox) -> None:
    turn = asked(client, sandbox, model, [f"subcog show {ANSWER}"], "--permission-mode", "default")
    assert TEXT not in turn.requests[0].model_text
    ((text, is_error),) = results(turn)
    assert (TEXT in text, is_error) == (True, False)


def test_a_rule_of_the_person_that_denies_it_wins(client: str, model: str, sandbox: Sandbox) -> None:
    settings = sandbox.config / "settings.json"
    known = json.loads(settings.read_text())
    settings.write_text(json.dumps({**known, "permissions": {"deny": ["Bash(subcog show *)"]}}))
    turn = asked(client, sandbox, model, [f"subcog show {ANSWER}"])
    ((text, is_error),) = results(turn)
    assert (TEXT in text, is_error) == (False, True)
