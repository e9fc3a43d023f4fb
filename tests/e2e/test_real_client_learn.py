"""Sessions of the real client become proposals, in the words of the client itself as a model."""

import json
import os
import socket
from pathlib import Path

import pytest

from tests.e2e.claude_client import VERSIONS, Sandbox
from tests.e2e.messages_api import MessagesAPI, ToolCall
from tests.transcripts import Writer

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
INVENTED = {**MEMORY, "quote": "the staging box gets wiped by hand"}


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """A user with a repository, and nothing in it."""
    made = Sandbox(tmp_path / "sandbox")
    (made.project / ".git").mkdir()
    return made


def waiting(sandbox: Sandbox, subcog_command: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in sandbox.run(subcog_command, "review", "--jsonl").splitlines()]


@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)  # the older one writes and answers the same
def test_the_users_client_reads_a_session_and_leaves_none(client: str, sandbox: Sandbox, subcog_command: str) -> None:
    projects = sandbox.config / "projects"
    said = Writer(projects / "-shop" / "one.jsonl", folder=str(sandbox.project), session="one")
    said.typed(HINT)
    said.said("I keep that in mind.")
    for setting, value in (("llm.at_rest", "claude"), ("llm.client", client), ("llm.learn", "true")):
        sandbox.run(subcog_command, "config", "set", setting, value)
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    sandbox.environment = {**sandbox.environment, "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "sk-ant-x"}
    with MessagesAPI(listener) as api:
        api.calls.append(ToolCall("StructuredOutput", {"memories": [MEMORY, INVENTED]}))
        told = sandbox.run(subcog_command, "learn")
    assert "claude (haiku) is sent what you typed in at most 1 session" in told
    assert "left out 1 proposal of the model: they quote nothing that was said in that session" in told
    (request,) = [request for request in api.requests if request.is_main]
    assert HINT in request.model_text
    assert "keep that in mind" in request.model_text
    (row,) = waiting(sandbox, subcog_command)
    assert (row["content"], row["from"]) == (ABOUT_HINT, "written by a model, from session one")
    assert os.listdir(projects) == ["-shop"]
