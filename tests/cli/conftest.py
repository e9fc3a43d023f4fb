"""The terminal in this process: arguments in, streams and exit code out."""

import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from subcog_hooks.cli import background_jobs, commands
from subcog_hooks.cli.commands import COMMANDS
from subcog_hooks.cli.terminal.output import terminal
from subcog_hooks.core.deadline import Deadline
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import prompt
from subcog_hooks.store.store import Store
from tests.browser import CAN_RUN, Browser
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.transcripts import PROJECTS

MonkeyPatch = pytest.MonkeyPatch
Run = Callable[..., "Result"]


class Result(NamedTuple):
    """The outcome of a command: its exit code, and the two streams as text."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[Any]:
        """Return the objects of its output, one a line."""
        return list(map(json.loads, self.out.splitlines()))


@pytest.fixture
def subcog(capsys: pytest.CaptureFixture[str], monkeypatch: MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command line in a folder that belongs to no project."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "argv", ["subcog", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        with monkeypatch.context() as patched:
            patched.setattr(os, "_exit", sys.exit)  # so a command ends whose model is late
            with pytest.raises(SystemExit) as ended:
                commands.run_command_line()
        out, err = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Result(code, out, err)

    return run


class Ask:
    """Asks the hook in this process; called, it gives the ids of the memories that are handed over, in order."""

    def __init__(self, home: Home, make: Maker, folder: Path) -> None:
        self._home = home
        self._make = make
        self._folder = folder

    def remember(self, project: str | None = None, **texts: str) -> None:
        """Store texts by id, which index and vectors follow; among them fifty notes of something else."""
        with Store.writer(self._home) as store:
            store.add([self._make(text, id=id_, project=project) for id_, text in texts.items()])
            store.add([self._make(f"Notes on cargo number {i} and its papers.") for i in range(50)])
            follow(self._home, store)

    def __call__(self, text: str, session: str = "s", cwd: str | None = None) -> list[str]:
        written: list[bytes] = []
        payload: dict[str, object] = {"prompt": text, "session_id": session, "cwd": cwd or str(self._folder)}
        prompt.respond(payload, self._home, written.append, Deadline(10_000))
        if not written:
            return []
        context = json.loads(written[0])["hookSpecificOutput"]["additionalContext"]
        return [line.split("]")[0].split()[2].rstrip(",") for line in context.splitlines()[1:-1]]


def wide(monkeypatch: MonkeyPatch, columns: int = 140) -> None:
    """Make standard output a terminal of this many columns, without colours."""
    monkeypatch.setattr(terminal.out, "_force_terminal", True)
    monkeypatch.setattr(terminal.out, "no_color", True)
    monkeypatch.setenv("COLUMNS", str(columns))


def show_json(subcog: Run, id_: str) -> dict[str, object]:
    """Return a memory's fields as `show --json` prints them."""
    fields: dict[str, object] = subcog("show", id_, "--json").json
    return fields


@pytest.fixture
def hooks_are_over(monkeypatch: MonkeyPatch) -> None:
    """Let the work at rest in this process wait for hooks, of which none runs, a moment instead of a second."""
    monkeypatch.setattr(background_jobs, "QUIET_S", background_jobs.POLL_S)


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    """The folder in which the client keeps transcripts."""
    return tmp_path / "claude" / PROJECTS


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for the tests of a module."""
    if not CAN_RUN:
        pytest.skip("no Chromium is on this machine")
    opened = Browser(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def ask(home: Home, make: Maker, tmp_path: Path) -> Ask:
    return Ask(home, make, tmp_path)


def whole_application() -> typer.Typer:
    """Return the application with all commands."""
    whole = typer.Typer()
    for name in COMMANDS:
        commands.add_command(whole, name)
    return whole
