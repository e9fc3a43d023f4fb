"""Fixtures that all tests share: a home of their own, a store in it, memories made in one line."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from subcog_hooks.core.paths import AGENTS, Home
from subcog_hooks.hook import call, detached, main
from subcog_hooks.store.memory import IdMaker, Memory
from subcog_hooks.store.store import Store

# what is told is tested with few memories, and without lines that point at others, unless a test wants them
AS_LARGE_STORES_WITHOUT_LINES = {"SUBCOG_FUSION_SMALL": "1", "SUBCOG_SURFACING_MAYBE_RELEVANCE": "0"}

os.environ.update(AS_LARGE_STORES_WITHOUT_LINES)

Maker = Callable[..., Memory]

for _size in (
    "COLUMNS",
    "LINES",
):  # readline sets them for the processes of pytest-xdist, and rich reads them when it is imported
    os.environ.pop(_size, None)

# a process that was started in the background may have Ctrl-C ignored, and so would those that a test presses it for
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# the same examples in every run, however busy the machine is, so that a failure tells of a change;
# `pytest --hypothesis-profile=default` looks for new ones
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what was collected: ten thousand tests, and the modules that they are in."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The temporary folder that the processes of this run share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home that is not there yet. No test sees the user's own."""
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path / "subcog"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(detached.SWITCH_OFF, "0")
    for name in [name for name in os.environ if name in (*AGENTS, "EDITOR", "VISUAL", "NO_COLOR", "COLUMNS")]:
        monkeypatch.delenv(name)
    return Home(str(tmp_path / "subcog"))


@pytest.fixture
def usual_settings(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of ours tunes anything: small stores are small, and lines come."""
    for name in AS_LARGE_STORES_WITHOUT_LINES:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """A hook leaves its files open, as its process ends; here a thousand hooks run in one."""
    yield
    for left in (call.left_open, main._left_open):
        for opened in left:
            opened.close()
        left.clear()


@pytest.fixture
def store(home: Home) -> Iterator[Store]:
    with Store.writer(home) as opened:
        yield opened


_ids = IdMaker()


def make_memory(content: str = "The cache is warmed at start.", **fields: object) -> Memory:
    """Return a memory of the user's with any field by name; of a project, where one is named."""
    values: dict[str, object] = {"id": _ids.new(), "content": content, "created_at": 1_000, "updated_at": 1_000, **fields}
    if values.get("project"):
        values["scope"] = "project"
    return Memory(**values)  # type: ignore[arg-type]  # a test's own fields


@pytest.fixture
def make() -> Maker:
    return make_memory
