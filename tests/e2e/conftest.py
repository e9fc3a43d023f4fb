"""The installed executable, for tests that start it as a user or a client does."""

import os
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.conftest import AS_LARGE_STORES_WITHOUT_LINES
from tests.e2e.claude_client import MODELS, VERSIONS, ClientUnavailable, fetched
from tests.e2e.machine import ANSWER, DATA, QUESTION, SHOP, Machine
from tests.e2e.other_client import PACKAGES, OtherClient, fetched_other


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Name a client that is not to be had once a run: pytest joins the skips of one line, not of one reason."""
    report = yield
    reason = call.excinfo.value.__context__ if call.excinfo is not None else None
    if report.skipped and isinstance(reason, ClientUnavailable) and isinstance(report.longrepr, tuple):
        report.longrepr = (__file__, 1, report.longrepr[2])
    return report


@pytest.fixture(scope="session")
def subcog_command() -> str:
    """The path of the installed `subcog` executable."""
    beside = os.path.join(os.path.dirname(sys.executable), "subcog")
    found = beside if os.path.exists(beside) else shutil.which("subcog")
    assert found, "subcog is not installed: pip install '.[dev]'"
    return found


@pytest.fixture(scope="session", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """A version of Claude Code's client."""
    return str(request.param)


@pytest.fixture(scope="session")
def client(version: str, run_folder: Path) -> str:
    """The executable of Claude Code's client."""
    try:
        return fetched(version, run_folder)
    except ClientUnavailable as reason:
        if os.environ.get("SUBCOG_REQUIRE_CLIENT") == "1":
            pytest.fail(f"SUBCOG_REQUIRE_CLIENT is set, and {reason}", pytrace=False)
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def model(version: str) -> str:
    """What the client calls the model: each version has one of the two shapes of request."""
    return MODELS[VERSIONS.index(version)]


@pytest.fixture(scope="session", params=list(PACKAGES))
def other_client(request: pytest.FixtureRequest, run_folder: Path) -> OtherClient:
    """A client beside Claude Code. One that is not to be had leaves out its own tests alone."""
    try:
        return fetched_other(request.param, run_folder)
    except ClientUnavailable as reason:
        pytest.skip(f"{request.param} is left out: {reason}")


@pytest.fixture(scope="module")
def imported(subcog_command: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds the memories of tests/data and has answered a prompt, to be copied."""
    machine = Machine(subcog_command, tmp_path_factory.mktemp("imported"))
    done = machine.run("import", str(DATA / "memories.jsonl"), "--trust", "user")
    assert done.code == 0, done.stderr
    assert machine.recall(QUESTION) == [ANSWER]
    (machine.home / "cut-offs").unlink(missing_ok=True)  # of a busy machine
    return machine.home


@pytest.fixture
def bare(subcog_command: str, tmp_path: Path) -> Iterator[Machine]:
    """A machine without memories."""
    made = Machine(subcog_command, tmp_path / "machine")
    yield made
    made.end_processes()


@pytest.fixture
def shop(bare: Machine) -> Path:
    """A repository with a remote."""
    return bare.repository("shop", SHOP)


@pytest.fixture
def machine(bare: Machine, imported: Path) -> Machine:
    """A machine with the memories of tests/data."""
    shutil.copytree(imported, bare.home)
    return bare


@pytest.fixture
def pointing(machine: Machine) -> Machine:
    """A machine with the usual settings, and subcog on the PATH."""
    for name in AS_LARGE_STORES_WITHOUT_LINES:
        del machine.environment[name]
    machine.environment["PATH"] = os.pathsep.join((os.path.dirname(machine.command), machine.environment["PATH"]))
    return machine
