"""The real client as the language model: it writes questions and reads a session, with nothing of ours in it."""

import json
import os
import socket
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store import past_runs
from subcog_hooks.store.state import State
from tests.e2e.claude_client import Sandbox
from tests.e2e.messages_api import MessagesAPI, ToolCall
from tests.e2e.subcog_client import initialised

CRANE = "The harbour crane is inspected on Mondays, before the first ship arrives."
ABOUT_CRANE = "When do we look after the lifting gear of the crane?"
OTHERS = ("Nightly Postgres backups go to the cold bucket.", "Feature flags live in the admin service.")
ABOUT_NOTE = {"number": 1, "questions": [ABOUT_CRANE]}
WRITTEN = ToolCall("StructuredOutput", {"notes": [ABOUT_NOTE]})


@pytest.fixture
def sandbox(subcog_command: str, tmp_path: Path) -> Sandbox:
    """A user whose client has our hook, a CLAUDE.md and memories."""
    other = Sandbox(tmp_path / "other")
    for text in (*OTHERS, CRANE):
        other.run(subcog_command, "remember", text)
    sandbox = initialised(tmp_path / "sandbox", subcog_command, other.memories)
    (sandbox.config / "CLAUDE.md").write_text("Always answer in Dutch.")
    return sandbox


def test_the_users_client_writes_questions(client: str, sandbox: Sandbox, subcog_command: str) -> None:
    sandbox.run(subcog_command, "config", "set", "llm.at_rest", "claude")
    sandbox.run(subcog_command, "config", "set", "llm.client", client)
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    sandbox.environment = {**sandbox.environment, "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "sk-ant-x"}
    with MessagesAPI(listener) as api:
        api.answers.append(WRITTEN)
        said = sandbox.run(subcog_command, "enrich", "--limit", "1")
    assert "is sent the texts of 1 memory, in 1 call" in said
    (request,) = [request for request in api.requests if request.is_main]
    assert CRANE in request.model_text
    assert not any(text in request.model_text for text in (*OTHERS, "answer in Dutch", "- subcog-"))
    tools = request.body["tools"]
    assert isinstance(tools, list)
    assert not {tool["name"] for tool in tools} & {"Bash", "Read", "Edit", "Write"}
    stored = [json.loads(line) for line in sandbox.run(subcog_command, "list", "--jsonl").splitlines()]
    assert [row["questions"] for row in stored if "questions" in row] == [[{"text": ABOUT_CRANE, "by": "model"}]]
    assert not (sandbox.config / "projects").exists() or not os.listdir(sandbox.config / "projects")
    state = State.open(Home(str(sandbox.memories)), 1_000)
    assert past_runs.find_latest(state, 10) == []  # our own hook did not run inside
    state.close()


# ---- a repository that leads the client to a server of its own -------------------------------------------------------------
