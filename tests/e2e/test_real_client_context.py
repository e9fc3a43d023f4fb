"""The real client with a CLAUDE.md of the project: what it puts before the model itself does not come a second time."""

from pathlib import Path

import pytest

from tests.e2e.claude_client import MODELS, Sandbox, conversation
from tests.e2e.subcog_client import BLOCK, assert_silent, in_time, initialised, model_text

RULE = "The harbour crane is inspected on Mondays, before the first ship."
NOTE = "Tides are read from the gauge at pier 7 every hour."
BELOW = "Prices are kept in cents, never as floating point numbers."
ASKED = "On which weekday is the harbour crane inspected?"
ABOUT_NOTE = "From which gauge are tides read, and how often?"
ABOUT_BELOW = "In which unit do we keep prices, and do we use floating point numbers?"
REMOTE = '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n'


@pytest.fixture
def sandbox(subcog_command: str, tmp_path: Path) -> Sandbox:
    """A project in which the client has been used before, with its CLAUDE.md and a note of the client's."""
    other = Sandbox(tmp_path / "other")
    other.run(subcog_command, "remember", "Ropes are replaced every spring.")
    sandbox = initialised(tmp_path / "sandbox", subcog_command, other.memories)
    (sandbox.project / ".git").mkdir()
    (sandbox.project / ".git" / "config").write_text(REMOTE)
    (sandbox.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (sandbox.project / "CLAUDE.md").write_text("# Harbour\n\nSee @docs/cranes.md for cranes.\n")
    for name, text in (("docs/cranes.md", RULE), ("prices/CLAUDE.md", BELOW)):
        (sandbox.project / name).parent.mkdir()
        (sandbox.project / name).write_text(f"{text}\n")
    return sandbox


def test_notes_that_the_client_loads_come_once(client: str, sandbox: Sandbox, subcog_command: str) -> None:
    with conversation(client, sandbox, MODELS[0]) as talk:
        talk.say("make it blue")  # from now on the client keeps sessions of this project
    (project,) = (sandbox.config / "projects").iterdir()
    (project / "memory").mkdir(exist_ok=True)
    (project / "memory" / "tides.md").write_text(f"---\nname: tides\ntype: project\n---\n\n{NOTE}\n")
    assert "added 4" in sandbox.run(subcog_command, "import", "--from", "claude")
    with conversation(client, sandbox, MODELS[0]) as talk:
        turn = talk.say(ASKED)
        assert model_text(turn).count(RULE) == 1
        assert_silent(turn)

    for prompt, text in ((ABOUT_NOTE, NOTE), (ABOUT_BELOW, BELOW)):
        told = told_in_time(client, sandbox, prompt, text)
        assert (told.count(text), told.count(BLOCK)) == (1, 1)


def told_in_time(client: str, sandbox: Sandbox, prompt: str, text: str) -> str:
    """What the model is told with a prompt that should bring a text."""

    def ask() -> str:
        with conversation(client, sandbox, MODELS[0]) as talk:
            return model_text(talk.say(prompt))

    return in_time(ask, lambda told: text in told)
