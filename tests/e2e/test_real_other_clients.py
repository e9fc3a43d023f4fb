"""Other coding agents, real and offline: what a note has to do with the prompt or the edited file reaches their models."""

import contextlib
import json
import sqlite3
import sys
from pathlib import Path

import pytest

from subcog_hooks.learn.transcript_files import LEARNED_CLIENTS
from tests.e2e.claude_client import ClientUnavailable
from tests.e2e.machine import Machine, linux
from tests.e2e.other_client import HARNESS, OtherClient, drive, fetched_other, settings_of, with_harness

KEYS = "Signing keys are rotated with scripts/rotate_keys.sh on the first Monday of the month."
PRICE = "x.py prints the price in cents, never in euros."
REMEDY = "KeyError: 'port_code' in the tide importer means that the harbour list is stale: run make harbours."
QUESTION = "How do we rotate the signing keys?"
FAILS = """echo "KeyError: 'port_code'" >&2; exit 3"""
WITHOUT_ERRORS = ("codex",)  # It does not tell the exit code.
EDIT = ("--script", str(HARNESS / "examples" / "tools.json"))  # The model edits a file.

pytestmark = [linux, with_harness]


@pytest.fixture
def noted(bare: Machine) -> Machine:
    for text, *cue in ((KEYS,), (PRICE, "--path", "x.py"), (REMEDY,)):
        assert bare.run("remember", text, *cue, "--user").code == 0
    return bare


def fetched_or_skipped(name: str, run_folder: Path) -> OtherClient:
    try:
        return fetched_other(name, run_folder)
    except ClientUnavailable as reason:
        pytest.skip(f"{name} is left out: {reason}")


def test_a_prompt_an_edit_and_an_error_bring_their_notes(other_client: OtherClient, noted: Machine, tmp_path: Path) -> None:
    edit = {"path": "{PROJECT}/x.py", "old": "print(1)", "new": "print(2)"}
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"read": "{PROJECT}/x.py"}, {"edit": edit}, {"shell": FAILS}, {"text": "done"}]))
    answers = drive(other_client, noted, [QUESTION], "--script", str(script))
    assert answers.code == 0, answers.output
    told = [answers.count(words) for words in ("rotate_keys.sh", "price in cents", "make harbours")]
    assert told == [1, 1, 0 if other_client.name in WITHOUT_ERRORS else 1]


def test_its_skills_are_in_a_real_request(other_client: OtherClient, noted: Machine) -> None:
    settings = settings_of(other_client, noted)
    folder = LEARNED_CLIENTS[other_client.name].settings.folder
    home = Path(noted.environment["HOME"])
    files = sorted(str(path.relative_to(home)) for path in (home / folder / "skills").glob("*/SKILL.md"))
    assert len(files) == 3
    answers = drive(other_client, noted, [QUESTION], *(f"--config={home / file}=~/{file}" for file in files), settings=settings)
    assert answers.code == 0, answers.output
    told = "\n".join(answers.requests[0])
    for skill in ("subcog-remember", "subcog-recall", "subcog-why", "before you guess", "that later sessions will need"):
        assert skill in told, skill


RECALL = {"gemini": "mcp_subcog_recall", "qwen": "mcp__subcog__recall"}  # the names that the clients give to the tool


@pytest.mark.parametrize("other_client", RECALL, indirect=True)
def test_the_server_is_explained_and_asked(other_client: OtherClient, noted: Machine, tmp_path: Path) -> None:
    server = {"command": noted.command, "args": ["mcp"], "env": {"SUBCOG_HOME": str(noted.home)}}
    settings, script = tmp_path / "settings.json", tmp_path / "script.json"
    settings.write_text(json.dumps({"mcpServers": {"subcog": server}}))
    call = {"name": RECALL[other_client.name], "args": {"text": QUESTION}}
    script.write_text(json.dumps([{"tool": call}, {"text": "done"}]))
    answers = drive(other_client, noted, ["Rotate them, please."], "--script", str(script), settings=settings)
    assert answers.code == 0, answers.output
    assert answers.count("Call recall with the question", 0) == 1
    assert (answers.count("rotate_keys.sh", 0), answers.count("rotate_keys.sh")) == (0, 1)


def test_a_hook_that_is_gone_costs_no_prompt(other_client: OtherClient, noted: Machine) -> None:
    settings = settings_of(other_client, noted)
    settings.write_text(settings.read_text().replace(sys.prefix, str(noted.root / "gone")))
    answers = drive(other_client, noted, [QUESTION], *EDIT, "--assert-absent", "rotate_keys.sh", settings=settings)
    assert answers.code == 0, answers.output
    assert any(QUESTION in text for request in answers.requests for text in request)


def test_a_note_typed_into_opencode_is_stored_and_answered(noted: Machine, run_folder: Path) -> None:
    note = "The harbour crane is inspected on Mondays"
    answers = drive(
        fetched_or_skipped("opencode", run_folder), noted, ["<until:commands>", "<wait:8>", f"remember: {note}"], "--tty"
    )
    assert answers.code == 0, answers.output
    assert note in noted.stored()
    assert any("subcog: remembered as" in text for text in answers.requests[-1])


def test_learn_proposes_a_rule_typed_in_a_session(other_client: OtherClient, noted: Machine) -> None:
    rule = "From now on always run make lint before you push, never after it."
    work = noted.root / "work"
    assert drive(other_client, noted, [rule], *EDIT, "--work", str(work)).code == 0
    client = LEARNED_CLIENTS[other_client.name]
    (session,) = (work / "home" / client.data.folder).glob(client.sessions)
    if other_client.name == "opencode":  # a database
        with contextlib.closing(sqlite3.connect(session)) as database:
            session /= database.execute("SELECT id FROM session").fetchone()[0]
    proposals = noted.rows("learn", "--dry-run", "--jsonl", "--session", str(session))
    assert [str(proposal["memory"]).strip('"') for proposal in proposals] == [rule]


def test_a_note_is_opened_and_no_hook_fails(other_client: OtherClient, noted: Machine, tmp_path: Path) -> None:
    (id_,) = (str(row["id"]) for row in noted.rows("list", "--jsonl") if row["content"] == KEYS)
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"shell": f"{noted.command} show {id_}"}, {"text": "done"}]))
    answers = drive(other_client, noted, [QUESTION], "--script", str(script))
    assert answers.code == 0, answers.output
    assert (answers.count("rotate_keys.sh", 0), answers.count("rotate_keys.sh")) == (1, 2)
    assert "PreToolUse Failed" not in answers.shown[0]
