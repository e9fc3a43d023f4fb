"""The real client with our skills: what they add to a request, what it lets through and what not, and where that goes."""

import json
import os
from pathlib import Path

import pytest

from tests.e2e.claude_client import MODELS, Sandbox, conversation
from tests.e2e.messages_api import ToolCall
from tests.e2e.subcog_client import BLOCK, copied_plugin, initialised

MOST_ADDED = 600  # characters of a request
RULE = "The harbour crane is inspected on Mondays, before the first ship."
QUESTION = "On which weekday do we look after the lifting gear?"
ASKED = "On which weekday is the lifting gear looked after?"
REFUSALS = ("requires approval", "permission")  # as the versions say it


@pytest.fixture(scope="module")
def memories(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with memories about other things, to be copied."""
    sandbox = Sandbox(tmp_path_factory.mktemp("remembered"))
    for text in ("OAuth2 in the SPA uses PKCE.", "Nightly Postgres backups go to the cold bucket."):
        sandbox.run(subcog_command, "remember", text)
    return sandbox.memories


@pytest.fixture
def sandbox(subcog_command: str, memories: Path, tmp_path: Path) -> Sandbox:
    """A project, the memories, and the hook and the skills where `subcog init` puts them."""
    return initialised(tmp_path / "sandbox", subcog_command, memories)


def remember(subcog_command: str) -> ToolCall:
    """What the skill tells the model to run."""
    words = f"{subcog_command} remember '{RULE}' --namespace decisions --question '{QUESTION}'"
    return ToolCall("Bash", {"command": words, "description": "Store what was stated"})


def listed(sandbox: Sandbox, subcog_command: str, *options: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in sandbox.run(subcog_command, "list", "--jsonl", *options).splitlines()]


def test_skills_add_little_to_a_request(
    client: str, sandbox: Sandbox, subcog_command: str, memories: Path, tmp_path: Path, model: str
) -> None:
    without = initialised(tmp_path / "without", subcog_command, memories)  # a path as long as the other
    without.run(subcog_command, "uninstall")
    without.run(subcog_command, "init", "--no-skills")
    texts = []
    for one in (sandbox, without):
        with conversation(client, one, model) as talk:
            texts.append(talk.say("make it blue").requests[0].model_text)
    assert [name for name in ("remember", "recall", "why", "review", "forget", "brief") if f"- subcog-{name}:" in texts[0]] == [
        "remember",
        "recall",
    ]
    assert "- subcog-" not in texts[1]
    assert 0 < len(texts[0]) - len(texts[1]) <= MOST_ADDED


def test_looking_up_is_let_through_and_storing_is_asked_about(client: str, sandbox: Sandbox, subcog_command: str) -> None:
    look = ToolCall("Bash", {"command": f"{subcog_command} search 'PKCE' --json -n 5", "description": "Look it up"})
    with conversation(client, sandbox, MODELS[0]) as talk:
        turn = talk.say("/subcog-recall how the SPA logs in", look)
        assert "Look in the memory before you guess. What to look for: how the SPA logs in" in turn.requests[0].model_text
        ((found, is_error),) = turn.requests[-1].results
        assert (json.loads(found)["results"][0]["content"], is_error) == ("OAuth2 in the SPA uses PKCE.", False)
        turn = talk.say(f"/subcog-remember {RULE}", remember(subcog_command))
    refused, is_error = turn.requests[-1].results[-1]
    assert (any(word in refused for word in REFUSALS), is_error) == (True, True), refused
    assert len(listed(sandbox, subcog_command)) == 2


def test_a_note_stored_unasked_waits_for_a_yes(client: str, sandbox: Sandbox, subcog_command: str) -> None:
    allowed = ("--allowedTools", f"Bash({subcog_command} remember *)")
    with conversation(client, sandbox, MODELS[0], *allowed) as talk:
        turn = talk.say(f"/subcog-remember {RULE}", remember(subcog_command))
    ((told, is_error),) = turn.requests[-1].results
    assert ("once `subcog review` has accepted it" in told, is_error) == (True, False)
    (stored,) = listed(sandbox, subcog_command, "--status", "pending")
    assert (stored["content"], stored["trust"], stored["namespace"]) == (RULE, "agent", "decisions")
    assert stored["questions"] == [{"text": QUESTION, "by": "agent"}]
    with conversation(client, sandbox, MODELS[0]) as talk:
        assert BLOCK not in talk.say(ASKED).requests[0].model_text
    sandbox.run(subcog_command, "review", "--accept", str(stored["id"]))
    with conversation(client, sandbox, MODELS[0]) as talk:
        assert f"noted by an agent] {RULE}" in talk.say(ASKED).requests[0].model_text


def test_the_plugin_has_the_same_skills_by_its_own_name(client: str, subcog_command: str, tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "sandbox", [os.path.dirname(subcog_command)])
    plugin = copied_plugin(tmp_path / "plugin")
    with conversation(client, sandbox, MODELS[0], "--plugin-dir", str(plugin)) as talk:
        text = talk.say(f"/subcog:remember {RULE}").requests[0].model_text
    assert "- subcog:recall: " in text
    assert f"What the person gave with this: {RULE}" in text
