"""A machine on which npm cannot fetch a client: a run of the tests tries it once, and its tests say so."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.e2e.machine import linux, posix
from tests.e2e.other_client import OLDER, PACKAGES, with_harness
from tests.e2e.subcog_client import ROOT

FILES = ("test_real_client_noted.py", "test_real_client_enrich.py")  # each for two versions of the client
OTHER_FILES = ("test_real_other_clients.py", "test_real_dialogues.py")  # each for some other clients
CLIENTS = (*PACKAGES, *OLDER)
NO_NETWORK = "npm error code ETIMEDOUT\nnpm error network request to https://registry.npmjs.org failed\n"
NO_PACKAGE = "npm error code E404\nnpm error 404 Not Found\n"


def run_with_faulty_npm(
    folder: Path, files: Sequence[str], fault: str, *, is_required: bool = False
) -> tuple[int, str, list[str]]:
    """Run files of real clients in two processes. Return exit code, output, and the calls of npm."""
    npm, calls = folder / "bin" / "npm", folder / "calls"
    npm.parent.mkdir()
    npm.write_text(f"#!/bin/sh\necho \"$@\" >> '{calls}'\nprintf '{fault}' >&2\nexit 1\n")
    npm.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | {
        "PATH": os.pathsep.join((str(npm.parent), os.environ["PATH"])),
        "SUBCOG_TEST_CACHE": str(folder / "cache"),
        "SUBCOG_REQUIRE_CLIENT": str(int(is_required)),
    }
    options = ["-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider", "--basetemp", str(folder / "run")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(str(ROOT / "tests" / "e2e" / file) for file in files)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr, calls.read_text().splitlines()


@posix
@pytest.mark.parametrize("is_required", [False, True])
def test_npm_is_tried_once_a_run_and_its_failure_is_named(tmp_path: Path, *, is_required: bool) -> None:
    code, output, calls = run_with_faulty_npm(tmp_path, FILES, NO_NETWORK, is_required=is_required)
    (call,) = calls
    (package,) = [word for word in call.split() if word.startswith("@anthropic-ai/claude-code@")]
    reason = f"npm cannot fetch {package}: npm error code ETIMEDOUT"
    if is_required:
        assert code == 1
        assert f"SUBCOG_REQUIRE_CLIENT is set, and {reason}" in output
    else:
        assert code == 0
        skipped = [line for line in output.splitlines() if line.startswith("SKIPPED")]
        (line,) = skipped
        assert reason in line


@linux
@with_harness
@pytest.mark.parametrize(("fault", "tries"), [(NO_NETWORK, 1), (NO_PACKAGE, len(CLIENTS))], ids=["network", "package"])
def test_a_missing_other_client_is_named_once(tmp_path: Path, fault: str, tries: int) -> None:
    code, output, calls = run_with_faulty_npm(tmp_path, OTHER_FILES, fault)
    assert (code, len(calls)) == (0, tries)
    skipped = [line for line in output.splitlines() if line.startswith("SKIPPED")]
    for name in CLIENTS:
        (line,) = [line for line in skipped if f": {name} is left out: npm cannot fetch" in line]
        assert fault.splitlines()[0] in line
    assert len(skipped) == len(CLIENTS)
