"""Transcripts that the real client writes while somebody types at it: exactly the typed words are read of them."""

import os
import sys
from pathlib import Path

import pytest

from subcog_hooks.learn import transcript, transcript_files
from subcog_hooks.learn.signs import ANSWER, CALL_REFUSED, QUEUED, TYPED
from tests.e2e.claude_client import VERSIONS, Sandbox, conversation
from tests.e2e.messages_api import ToolCall
from tests.e2e.typing_client import ALLOWED, typing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

DOWN, ESCAPE, TAB, CLEAR = "\x1b[B", "\x1b", "\t", "\x15"
WRITING = ToolCall("Bash", {"command": "echo 1 > kept.txt && python3 -c 'print(1)'", "description": "write"})
WAITING = ToolCall("Bash", {"command": "sleep 2", "description": "wait"})
AGENT = ToolCall("Task", {"description": "look", "prompt": "you are the agent", "subagent_type": "general-purpose"})


def transcripts(sandbox: Sandbox) -> list[str]:
    return [one.path for one in transcript_files.find_transcripts(str(sandbox.config / "projects"))]


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    made = Sandbox(tmp_path / "sandbox")
    (made.project / ".git").mkdir()
    return made


@pytest.mark.parametrize("version", VERSIONS[:1], indirect=True)  # the older one writes the same rows, and takes 20 s more
def test_exactly_the_typed_words_are_read(client: str, model: str, sandbox: Sandbox) -> None:
    with typing(client, sandbox, model) as session:
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
        session.will_call(WRITING)
        session.prompt("use postgres for that")
        session.shows("Yes")
        for _ in range(4):
            if "❯ No" in session.screen():
                break
            session.keys(DOWN)
        session.keys(TAB)
        session.keys("never write files here")
        session.send(requests=1)
        session.will_call(WAITING)
        before = session.calls
        session.prompt("wait a little")
        session.keys("this one was queued")
        session.keys("\r")
        session.until(lambda: session.calls >= before + 2, "an answer to what was queued")
        session.rest()
        session.will_call(AGENT)
        session.prompt("let an agent look", requests=2)
        session.prompt("/compact", requests=0)
        session.shows("ompacted")
        session.prompt("after the compaction")
    (path,) = transcripts(sandbox)
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
    assert {os.path.realpath(turn.folder) for turn in turns} == {os.path.realpath(sandbox.project)}


def test_of_a_session_in_print_mode_nothing_is_taken_for_typed(client: str, model: str, sandbox: Sandbox) -> None:
    with conversation(client, sandbox, model, *ALLOWED) as talk:
        talk.say("always use tabs")
        talk.say("/compact")
        talk.say("and never use spaces")
    (path,) = transcripts(sandbox)
    assert transcript.read_transcript(path).turns == []
