"""The real Claude Code client with subcog as its hook: two versions, and two shapes of request to the model."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.claude_client import MODELS, VERSIONS, Sandbox, Turn, conversation
from tests.e2e.machine import NO_BRIEF
from tests.e2e.subcog_client import BLOCK, assert_silent, events, initialised, model_text

MEMORY = "OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the security audit."
OTHER_MEMORIES = (
    "Nightly Postgres backups go to the cold bucket; restores are rehearsed every quarter.",
    "Feature flags live in the admin service, never in environment variables.",
    "Release notes are written by hand from the list of merged pull requests.",
)

UNRELATED = "make it blue"
QUESTION = "How does the OAuth2 login flow in the SPA work, did we use PKCE?"
RELATED = "And why did we drop the implicit flow of OAuth2 in the SPA?"


class Session(NamedTuple):
    """One process of the client, turn by turn."""

    unrelated: Turn
    question: Turn
    related: Turn
    clear: Turn
    related_alone: Turn


@pytest.fixture(scope="module")
def memories(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds the memories, to be copied."""
    sandbox = Sandbox(tmp_path_factory.mktemp("remembered"))
    for text in (MEMORY, *OTHER_MEMORIES):
        sandbox.run(subcog_command, "remember", "--namespace", "decisions", text)
    sandbox.run(subcog_command, "doctor", "--fix")
    return sandbox.memories


@pytest.fixture(scope="module")
def session(client: str, model: str, subcog_command: str, memories: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session with the hook where `subcog init` puts it."""
    sandbox = initialised(tmp_path_factory.mktemp("session"), subcog_command, memories)
    with conversation(client, sandbox, model) as talk:
        return Session(*[talk.say(prompt) for prompt in (UNRELATED, QUESTION, RELATED, "/clear", RELATED)])


@pytest.fixture
def sandbox(subcog_command: str, memories: Path, tmp_path: Path) -> Sandbox:
    """A sandbox with the memories, and the hook where `subcog init` puts it."""
    return initialised(tmp_path / "sandbox", subcog_command, memories)


def test_matching_question_brings_the_memory_to_the_model_once(session: Session) -> None:
    assert UNRELATED in model_text(session.unrelated)
    assert BLOCK not in model_text(session.unrelated)
    text = model_text(session.question)
    assert (QUESTION in text, text.count(MEMORY), text.count(BLOCK)) == (True, 1, 1)
    text = model_text(session.related)  # the client sends the earlier turn again, the block with it
    assert (QUESTION in text, text.count(MEMORY), text.count(BLOCK)) == (True, 1, 1)
    text = model_text(session.related_alone)  # the earlier turns are gone
    assert (QUESTION in text, text.count(MEMORY), text.count(BLOCK)) == (False, 1, 1)
    texts = [request.model_text for turn in session for request in turn.requests]
    assert not [memory for memory in OTHER_MEMORIES for text in texts if memory in text]


def test_typed_note_is_stored_and_never_reaches_the_model(client: str, subcog_command: str, tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "sandbox")
    attended = ["env", "CLAUDE_CODE_SESSION_ATTENDED=1", subcog_command]  # --print says 0: nobody sits at it
    settings = {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": " ".join([*attended, "hook"])}]}]}}
    (sandbox.config / "settings.json").write_text(json.dumps(settings))
    with conversation(client, sandbox, MODELS[0]) as talk:
        note = talk.say("remember: the quay lamp is green until midnight")
        asked = talk.say("Until when is the quay lamp green?")
    assert note.requests == ()
    text = model_text(asked)
    assert text.count("the quay lamp is green until midnight") == 1
    assert "remember:" not in text
    assert BLOCK in text


def test_hook_runs_once_an_event_and_the_user_sees_nothing_of_it(session: Session) -> None:
    turn_of_a_prompt, start = ["UserPromptSubmit", "Stop"], ["SessionStart"]
    turns = [[*start, *turn_of_a_prompt], turn_of_a_prompt, turn_of_a_prompt, start, turn_of_a_prompt]
    assert [events(turn) for turn in session] == turns
    for turn in session:
        assert_silent(turn)
        assert not [hook for hook in turn.hooks if hook.event != "UserPromptSubmit" and hook.stdout]


def test_a_session_begins_with_a_brief_that_no_prompt_repeats(client: str, model: str, sandbox: Sandbox) -> None:
    sandbox.environment = {name: value for name, value in sandbox.environment.items() if name != NO_BRIEF}
    with conversation(client, sandbox, model) as talk:
        unrelated, question, clear, after = [talk.say(prompt) for prompt in (UNRELATED, QUESTION, "/clear", UNRELATED)]
    assert model_text(unrelated).count(MEMORY) == 1
    assert model_text(unrelated).count(BLOCK) == 1
    assert "others when they matter" in model_text(unrelated)
    assert model_text(question).count(MEMORY) == 1  # the client sends the earlier turn again
    assert events(clear) == ["SessionStart"]
    assert model_text(after).count(MEMORY) == 1
    for turn in (unrelated, question, clear, after):
        assert_silent(turn)


def test_question_after_a_compaction_finds_the_memory_there_once(client: str, sandbox: Sandbox) -> None:
    if VERSIONS[-1] in client:
        pytest.skip("only the later version compacts so short a session")
    with conversation(client, sandbox, MODELS[0]) as talk:
        first, compaction, again = [talk.say(prompt) for prompt in (QUESTION, "/compact", QUESTION)]
    assert model_text(first).count(MEMORY) == 1
    assert events(compaction) == ["SessionStart"]  # which hands it over again; if it is late, the question brings it
    assert_silent(compaction)
    assert_silent(again)
    assert model_text(again).count(MEMORY) == 1
    assert model_text(again).count(BLOCK) == 1
