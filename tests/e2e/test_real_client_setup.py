"""Setting up the real client: README's own lines, the plugin from its marketplace, and what `init` and `doctor` say of it."""

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

import subcog_hooks
from subcog_hooks.cli.agents.skills import SKILLS
from tests.e2e.claude_client import MODELS, VERSIONS, Sandbox, Turn, conversation, isolation
from tests.e2e.subcog_client import (
    LIBRARY_BYTES,
    ROOT,
    assert_silent,
    copied_clone,
    events,
    in_time,
    model_text,
    readme_commands,
    size_of,
)

MEMORY = "OAuth2 in the SPA uses PKCE; the implicit flow was dropped after the security audit."
QUESTION = "How does the OAuth2 login flow in the SPA work, did we use PKCE?"
PLUGIN = "subcog@subcog"
MAX_BYTES = 1_000_000  # that the client may copy


@pytest.fixture(scope="module")
def memories(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds the memory, to be copied."""
    sandbox = Sandbox(tmp_path_factory.mktemp("remembered"))
    sandbox.run(subcog_command, "remember", "--namespace", "decisions", MEMORY)
    sandbox.run(subcog_command, "doctor", "--fix")
    return sandbox.memories


@pytest.fixture
def on_path(subcog_command: str, memories: Path, tmp_path: Path) -> Sandbox:
    """A sandbox with the memory, subcog on the PATH, and a repository for the project."""
    sandbox = Sandbox(tmp_path / "sandbox", path=[os.path.dirname(subcog_command)])
    shutil.copytree(memories, sandbox.memories)
    (sandbox.project / ".git").mkdir()
    return sandbox


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of what a clone of the repository has for the client, and a large folder of the user's own."""
    return copied_clone(tmp_path / "clone")


def answered(client: str, sandbox: Sandbox) -> Turn:
    """The turn of the question, in a session of its own."""

    def run() -> Turn:
        with conversation(client, sandbox, MODELS[0]) as talk:
            return talk.say(QUESTION)

    return in_time(run, lambda turn: MEMORY in model_text(turn))


def test_lines_of_readme_install_a_plugin(client: str, clone: Path, on_path: Sandbox) -> None:
    lines = readme_commands("claude")
    assert [line.split()[1:3] for line in lines][:2] == [["plugin", "marketplace"], ["plugin", "install"]]
    for line in lines:
        on_path.run(*isolation(), client, *shlex.split(line)[1:], cwd=clone)
    turn = answered(client, on_path)
    assert model_text(turn).count(MEMORY) == 1
    assert events(turn) == ["SessionStart", "UserPromptSubmit", "Stop"]
    assert_silent(turn)
    copied = [file.name for file in (on_path.config / "plugins" / "cache").rglob("*") if file.is_file()]
    assert sorted(copied) == sorted(["README.md", "hooks.json", "plugin.json", *["SKILL.md"] * len(SKILLS)])
    assert size_of(on_path.config / "plugins") < MAX_BYTES < LIBRARY_BYTES


def test_an_installed_plugin_is_registered_once(client: str, version: str, clone: Path, on_path: Sandbox) -> None:
    scope = "user" if version == VERSIONS[0] else "project"
    plugin = [*isolation(), client, "plugin"]
    on_path.run(*plugin, "marketplace", "add", str(clone))
    on_path.run(*plugin, "install", PLUGIN, "--scope", scope)
    installed = f"plugin {PLUGIN} {subcog_hooks.__version__}"
    assert f"{installed}, enabled in the {scope} settings" in on_path.run("subcog", "doctor")
    assert f"not registered: the plugin {PLUGIN} runs the hook already" in on_path.run("subcog", "init", "--local")
    on_path.run(*plugin, "disable", PLUGIN, "--scope", scope)
    assert f"{installed} is installed and disabled" in on_path.run("subcog", "doctor")
    assert "has the hook at" in on_path.run("subcog", "init", "--local")
    on_path.run(*plugin, "enable", PLUGIN, "--scope", scope)
    assert f"a brief comes twice: by the local settings and the plugin {PLUGIN}" in on_path.run("subcog", "doctor")


def test_client_validates_plugin_and_marketplace(client: str, clone: Path, tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "sandbox")
    for checked in (clone, clone / ".claude-plugin" / "marketplace.json", clone / "plugin"):
        assert "Validation passed" in sandbox.run(*isolation(), client, "plugin", "validate", "--strict", str(checked))


def test_plugin_has_the_version_of_the_package() -> None:
    manifest = json.loads((ROOT / "plugin" / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert manifest["version"] == subcog_hooks.__version__
