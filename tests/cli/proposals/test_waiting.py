"""Notes that wait for review: the prompts that they come from."""

import pytest

from subcog_hooks.cli.proposals.waiting import SLACK_MS, NoteOrigins
from tests.conftest import Maker

LOGIN = "Login uses OAuth2 with PKCE, the implicit flow was dropped after the audit of the SPA"
TAUGHT_MS = 1_772_445_600_000


@pytest.mark.parametrize(
    ("prompt", "session", "at_ms", "origins"),
    [
        (f"remember: {LOGIN}", "two", 0, {"login"}),
        (f"# {LOGIN}", "two", 0, {"login"}),
        (f"Before you begin: {LOGIN.upper()}. How does the login work?", "two", 0, {"login"}),
        ("PKCE login", "two", 0, {"short"}),
        ("How does the PKCE login work?", "two", 0, set()),  # A note of two words is not enough inside a prompt.
        ("How does the login work?", "one", TAUGHT_MS + SLACK_MS, {"login"}),
        ("How does the login work?", "one", TAUGHT_MS + SLACK_MS + 1, set()),
        ("How does the login work?", "two", TAUGHT_MS, set()),
    ],
)
def test_a_note_comes_from_a_prompt_that_has_or_taught_it(
    make: Maker, prompt: str, session: str, at_ms: int, origins: set[str]
) -> None:
    learned = make(LOGIN, id="login", source="session:/sessions/one.jsonl:r0", trust="transcript", created_at=TAUGHT_MS)
    assert NoteOrigins([learned, make("PKCE login", id="short")]).ids_from(prompt, session, at_ms) == origins
