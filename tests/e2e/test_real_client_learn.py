"""Sessions of the real client become proposals: in the words of the client itself as a model, and by what its commands did."""

import json
import os
import socket
from pathlib import Path

import pytest

from subcog_hooks.learn import transcript, transcript_files
from tests.e2e.claude_client import VERSIONS, Sandbox, conversation
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
RUNNING = ("--permission-mode", "default", "--allowed-tools", "Bash")


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


@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)
def test_failed_and_fixed_commands_are_read(client: str, model: str, sandbox: Sandbox, subcog_command: str) -> None:
    (sandbox.project / "a.py").write_text("print(1)")
    commands = ("pythonic a.py", "ls", "python3 a.py", "python3 b.py")
    for _ in range(2):
        with conversation(client, sandbox, model, *RUNNING) as talk:
            talk.say("run it", *(ToolCall("Bash", {"command": command, "description": "run"}) for command in commands))
    found = transcript_files.find_transcripts(str(sandbox.config / "projects"))
    assert [[fix.change[:2] for fix in transcript.read_transcript(one.path).fixes] for one in found] == [
        [("pythonic", "python3")]
    ] * 2
    for one in found:
        sandbox.run(subcog_command, "learn", "--session", one.path)
    (row,) = waiting(sandbox, subcog_command)
    assert (row["content"], row["trust"]) == ("`pythonic` fails here; `python3` works.", "tool")
