"""Conversations with other coding agents, real and offline: resumed sessions, and sessions beside Claude Code's."""

import itertools
import json
from pathlib import Path

import pytest

from tests.e2e.claude_client import Sandbox, Turn, conversation
from tests.e2e.machine import NO_BRIEF, Machine, linux
from tests.e2e.other_client import OLDER, PACKAGES, Answers, OtherClient, drive, drive_in, settings_of, with_harness
from tests.e2e.subcog_client import in_time, model_text

STANDING = "Every change of the quay wall is signed by the harbour master."
KEYS = "Signing keys are rotated with scripts/rotate_keys.sh on the first Monday of the month."
QUESTION = "How do we rotate the signing keys?"
AGAIN = "Tell me once more: how do we rotate the signing keys?"
NOTES = ("harbour master", "rotate_keys.sh")
BRIEF = {NO_BRIEF: "950"}
TERMINAL = ("--tty", "--model", "fake-model")  # Codex asks about other models.
OF_ANOTHER = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "The tide is low."}}

pytestmark = [linux, with_harness]


@pytest.fixture
def noted(bare: Machine) -> Machine:
    for text, *cue in ((STANDING, "--standing"), (KEYS,)):
        assert bare.run("remember", text, *cue, "--user").code == 0
    return bare


def counts(answers: Answers) -> list[list[int]]:
    """How often each note stands in what the model was given, by prompt."""
    assert answers.code == 0, answers.output
    return [[answers.count(note, number) for note in NOTES] for number in range(len(answers.requests))]


@pytest.mark.parametrize("other_client", [*PACKAGES, *OLDER], indirect=True)
def test_a_resumed_session_still_has_its_notes_once(other_client: OtherClient, noted: Machine) -> None:
    def run() -> Answers:
        return drive(other_client, noted, [QUESTION, AGAIN], variables=BRIEF)

    answers = in_time(run, lambda answers: counts(answers)[:1] == [[1, 1]])
    assert counts(answers) == [[1, 1]] * 2


@pytest.mark.parametrize("other_client", ["gemini"], indirect=True)
def test_notes_that_gemini_drops_on_resume_come_again(other_client: OtherClient, noted: Machine) -> None:
    settings = settings_of(other_client, noted)
    hooks = json.loads(settings.read_text())
    hook = {"type": "command", "command": f"echo '{json.dumps(OF_ANOTHER)}'", "timeout": 5_000}
    hooks["hooks"]["SessionStart"] = [{"hooks": [hook]}]
    settings.write_text(json.dumps(hooks))
    answers = in_time(
        lambda: drive(other_client, noted, [QUESTION, AGAIN], settings=settings, variables=BRIEF),
        lambda answers: counts(answers) == [[1, 1]] * 2,
    )
    assert counts(answers) == [[1, 1]] * 2
    assert answers.count(QUESTION, 1) == 0  # Gemini has dropped the first prompt.


@pytest.mark.parametrize("other_client", ["codex", "gemini", "qwen", "copilot"], indirect=True)
def test_a_note_typed_on_a_terminal_asks_no_model(other_client: OtherClient, bare: Machine) -> None:
    waits = itertools.count(0, 12)  # seconds; a client that starts slowly does not hear what is typed

    def type_note() -> Answers:
        return drive(other_client, bare, [f"<wait:{next(waits)}>", f"remember: {KEYS}", "<wait:2>"], *TERMINAL)

    answers = in_time(type_note, lambda _: bool(bare.stored()))
    assert answers.requests == []
    assert f"remembered as {bare.stored()[KEYS]['id']}" in " ".join(answers.shown[0].split())


@pytest.mark.parametrize("other_client", ["codex"], indirect=True)
def test_codex_and_claude_code_are_told_side_by_side(
    other_client: OtherClient, client: str, model: str, subcog_command: str, tmp_path: Path
) -> None:
    def hold() -> tuple[Turn, Answers, Turn]:
        """Ask both in one home and one repository: the other client's session lies inside Claude Code's."""
        sandbox = Sandbox(tmp_path / f"sandbox-{len(list(tmp_path.iterdir()))}")
        (sandbox.project / ".git").mkdir()
        sandbox.run(subcog_command, "remember", KEYS)
        sandbox.run(subcog_command, "init", "--user")
        sandbox.run(subcog_command, "init", "--for", "codex")
        of_hook = {name: value for name, value in sandbox.environment.items() if name.startswith("SUBCOG_")}
        with conversation(client, sandbox, model) as talk:
            first = talk.say(QUESTION)
            work = ("--work", str(sandbox.root))
            answers = drive_in(other_client, sandbox.root, [QUESTION, AGAIN], *work, variables=of_hook)
            return first, answers, talk.say(AGAIN)

    first, answers, last = in_time(hold, lambda talks: KEYS in model_text(talks[0]) and talks[1].count(KEYS) > 0)
    assert model_text(first).count(KEYS) == 1
    assert [answers.count(KEYS, number) for number in range(2)] == [1, 1]
    assert QUESTION in model_text(last)
    assert model_text(last).count(KEYS) == 1
