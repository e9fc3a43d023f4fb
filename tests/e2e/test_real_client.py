"""The real Claude Code client with subcog as its hook: two versions, and two shapes of request to the model."""

import json
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

import subcog_hooks
from tests.e2e.claude_client import ClientUnavailable, Sandbox, Turn, conversation, fetched, isolation

ROOT = Path(__file__).parents[2]
VERSIONS = ("2.1.329", "2.1.197")  # npm installs the second where Node is older than 22
MODELS = ("sonnet", "claude-sonnet-4-5")  # a hook's text reaches them as a system message, or inside the user's

MEMORY = "OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the security audit."
OTHER_MEMORIES = (
    "Nightly Postgres backups go to the cold bucket; restores are rehearsed every quarter.",
    "Feature flags live in the admin service, never in environment variables.",
    "Release notes are written by hand from the list of merged pull requests.",
)
BLOCK = "<subcog-memories"

UNRELATED = "make it blue"
COMMIT = "commit this and push the branch"
QUESTION = "How does the OAuth2 login flow in the SPA work, did we use PKCE?"
RELATED = "And why did we drop the implicit flow of OAuth2 in the SPA?"


class Session(NamedTuple):
    """One process of the client, turn by turn."""

    unrelated: Turn
    commit: Turn
    question: Turn
    related: Turn
    clear: Turn
    question_again: Turn
    clear_again: Turn
    related_alone: Turn


@pytest.fixture(scope="session", params=VERSIONS)
def client(request: pytest.FixtureRequest) -> str:
    """The client's executable."""
    try:
        return fetched(request.param)
    except ClientUnavailable as reason:
        if os.environ.get("SUBCOG_REQUIRE_CLIENT") == "1":
            pytest.fail(f"SUBCOG_REQUIRE_CLIENT is set, and {reason}", pytrace=False)
        pytest.skip(str(reason))


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def memories(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds the memories, to be copied."""
    sandbox = Sandbox(tmp_path_factory.mktemp("remembered"))
    for text in (MEMORY, *OTHER_MEMORIES):
        sandbox.run(subcog_command, "remember", "--namespace", "decisions", text)
    sandbox.run(subcog_command, "reindex")
    return sandbox.memories


@pytest.fixture(scope="module")
def session(client: str, model: str, subcog_command: str, memories: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session with the hook where `subcog init` puts it."""
    sandbox = _initialised(tmp_path_factory.mktemp("session"), subcog_command, memories)
    prompts = (UNRELATED, COMMIT, QUESTION, RELATED, "/clear", QUESTION, "/clear", RELATED)
    with conversation(client, sandbox, model) as talk:
        return Session(*[talk.say(prompt) for prompt in prompts])


@pytest.fixture
def initialised(subcog_command: str, memories: Path, tmp_path: Path) -> Sandbox:
    """A sandbox with the memories, and the hook where `subcog init` puts it."""
    return _initialised(tmp_path / "sandbox", subcog_command, memories)


@pytest.fixture
def on_path(subcog_command: str, memories: Path, tmp_path: Path) -> Sandbox:
    """A sandbox with the memories, and subcog on the PATH."""
    sandbox = Sandbox(tmp_path / "sandbox", path=[os.path.dirname(subcog_command)])
    shutil.copytree(memories, sandbox.memories)
    return sandbox


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A copy of the repository's root with what makes it a plugin and a marketplace."""
    folder = tmp_path / "plugin"
    shutil.copytree(ROOT / ".claude-plugin", folder / ".claude-plugin")
    shutil.copy(ROOT / "hooks.json", folder)
    return folder


def test_matching_question_brings_the_memory_to_the_model_once(session: Session) -> None:
    text = model_text(session.question)
    assert QUESTION in text
    assert text.count(MEMORY) == 1
    assert text.count(BLOCK) == 1


def test_unrelated_prompt_brings_nothing(session: Session) -> None:
    text = model_text(session.unrelated)
    assert UNRELATED in text
    assert BLOCK not in text


def test_order_to_commit_brings_nothing(session: Session) -> None:
    text = model_text(session.commit)
    assert COMMIT in text
    assert BLOCK not in text


def test_second_question_of_the_session_does_not_bring_the_memory_again(session: Session) -> None:
    text = model_text(session.related)
    assert QUESTION in text  # the client sends the earlier turn again, the block with it
    assert text.count(BLOCK) == model_text(session.question).count(BLOCK)
    assert text.count(MEMORY) == 1


def test_second_question_on_its_own_would_have_brought_the_memory(session: Session) -> None:
    text = model_text(session.related_alone)
    assert QUESTION not in text
    assert text.count(MEMORY) == 1


def test_question_brings_the_memory_again_after_clear(session: Session) -> None:
    text = model_text(session.question_again)
    assert RELATED not in text  # the earlier turns are gone
    assert text.count(MEMORY) == 1
    assert text.count(BLOCK) == 1


def test_other_memories_never_reach_the_model(session: Session) -> None:
    texts = [request.model_text for turn in session for request in turn.requests]
    assert not [memory for memory in OTHER_MEMORIES for text in texts if memory in text]


def test_hook_runs_once_a_prompt_and_the_user_sees_nothing_of_it(session: Session) -> None:
    assert [len(turn.hooks) for turn in session] == [1, 1, 1, 1, 0, 1, 0, 1]  # the client runs none for /clear
    for turn in session:
        assert_silent(turn)


def test_question_brings_the_memory_again_after_a_compaction(client: str, initialised: Sandbox) -> None:
    if VERSIONS[0] not in client:
        pytest.skip("only the later version compacts so short a session")
    with conversation(client, initialised, MODELS[0]) as talk:
        first, compaction, again = [talk.say(prompt) for prompt in (QUESTION, "/compact", QUESTION)]
    assert model_text(first).count(MEMORY) == 1
    assert [(hook.event, hook.exit_code, hook.stdout) for hook in compaction.hooks] == [("SessionStart", 0, "")]
    assert compaction.notices == ()
    assert_silent(again)
    assert model_text(again).count(MEMORY) == 1
    assert model_text(again).count(BLOCK) == 1


def test_prompt_goes_through_when_the_store_is_garbage(client: str, model: str, initialised: Sandbox) -> None:
    database = initialised.memories / "memories.db"
    database.write_bytes(b"garbage " * (database.stat().st_size // 8))
    with conversation(client, initialised, model) as talk:
        turn = talk.say(QUESTION)
    text = model_text(turn)
    assert QUESTION in text
    assert BLOCK not in text
    assert len(turn.hooks) == 1
    assert_silent(turn)


def test_plugin_brings_the_memory(client: str, model: str, plugin: Path, on_path: Sandbox) -> None:
    with conversation(client, on_path, model, "--plugin-dir", str(plugin)) as talk:
        turn = talk.say(QUESTION)
    assert model_text(turn).count(MEMORY) == 1
    assert len(turn.hooks) == 1
    assert_silent(turn)


def test_plugin_installed_from_the_marketplace_brings_the_memory(client: str, plugin: Path, on_path: Sandbox) -> None:
    on_path.run(*isolation(), client, "plugin", "marketplace", "add", str(plugin))
    on_path.run(*isolation(), client, "plugin", "install", "subcog@subcog")
    with conversation(client, on_path, MODELS[0]) as talk:
        turn = talk.say(QUESTION)
    assert model_text(turn).count(MEMORY) == 1
    assert len(turn.hooks) == 1
    assert_silent(turn)


def test_client_validates_plugin_and_marketplace(client: str, plugin: Path, tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "sandbox")
    manifests = plugin / ".claude-plugin"
    for checked in (plugin, manifests / "plugin.json", manifests / "marketplace.json"):
        assert "Validation passed" in sandbox.run(*isolation(), client, "plugin", "validate", "--strict", str(checked))


def test_plugin_has_the_version_of_the_package() -> None:
    manifest = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert manifest["version"] == subcog_hooks.__version__


def model_text(turn: Turn) -> str:
    """What the model was given in this turn, by its one request."""
    (request,) = turn.requests
    return request.model_text


def assert_silent(turn: Turn) -> None:
    """No hook of the turn failed, wrote to stderr or has given the user something to read."""
    assert turn.notices == ()
    for hook in turn.hooks:
        assert (hook.event, hook.exit_code, hook.outcome, hook.stderr) == ("UserPromptSubmit", 0, "success", "")
        assert json.loads(hook.stdout or "{}").keys() <= {"hookSpecificOutput"}


def _initialised(root: Path, subcog_command: str, memories: Path) -> Sandbox:
    """A sandbox with a copy of the memories, and the hook in the user's settings."""
    sandbox = Sandbox(root)
    shutil.copytree(memories, sandbox.memories)
    sandbox.run(subcog_command, "init", "--user")
    return sandbox
