"""Prompts that are typed notes: they have the prefix, are one short paragraph, and a person typed them."""

import pytest

from subcog_hooks.hook import typed_note
from subcog_hooks.hook.typed_note import MAX_TYPED, note_in_prompt
from subcog_hooks.settings.defaults import BY_HASH, BY_REMEMBER, NO_NOTES

NOTE = "deploys go out on Tuesdays"


WRITTEN = [f"remember: {NOTE}", f"Remember:{NOTE}", f"  REMEMBER:  {NOTE}\n", "remember: deploys go\nout on Tuesdays"]
SESSIONS = [  # what the client says of a session, how it was started, whether a person sits at it
    ("1", "cli", True),
    ("1", "claude-vscode", True),
    ("0", "cli", False),
    ("0", "sdk-cli", False),
    (None, "cli", True),
    (None, "sdk-cli", False),
    (None, None, False),
]


@pytest.mark.parametrize("prompt", WRITTEN)
def test_a_note_is_told_by_how_it_begins(prompt: str) -> None:
    assert note_in_prompt(prompt, BY_REMEMBER) == note_in_prompt(prompt, BY_HASH) == NOTE
    assert note_in_prompt(prompt, NO_NOTES) == ""


def test_a_hash_counts_where_the_person_wants_it() -> None:
    assert (note_in_prompt(f"# {NOTE}", BY_HASH), note_in_prompt(f"# {NOTE}", BY_REMEMBER)) == (NOTE, "")


def test_anything_else_goes_on_as_a_prompt() -> None:
    cases = [
        "remember to run the tests",
        "do you remember: the port?",
        "remember:",
        "remember: \n ",
        f"remember: {NOTE}\n\nand now fix the build",
        f"please remember: {NOTE}",
        "remember: " + "x" * MAX_TYPED,
        f"# Heading\n{NOTE}",
        f"#{NOTE}",
        "## Heading",
        "#",
        f"<task-notification>remember: {NOTE}</task-notification>",
    ]
    assert [prompt for prompt in cases if note_in_prompt(prompt, BY_REMEMBER) or note_in_prompt(prompt, BY_HASH)] == []


def test_the_longest_note_is_one() -> None:
    prompt = "remember: " + "x" * (MAX_TYPED - len("remember: "))
    assert len(note_in_prompt(prompt, BY_REMEMBER)) == MAX_TYPED - len("remember: ")
    assert note_in_prompt(prompt + "x", BY_REMEMBER) == ""


@pytest.mark.parametrize(("attended", "started_as", "is_person"), SESSIONS)
def test_somebody_sits_at_the_session(
    monkeypatch: pytest.MonkeyPatch, attended: str | None, started_as: str | None, is_person: bool
) -> None:
    for name, value in ((typed_note.ATTENDED, attended), (typed_note.STARTED_AS, started_as)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert typed_note.is_attended({}) is is_person
