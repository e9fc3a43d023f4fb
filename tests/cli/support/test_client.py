"""Which programs are found."""

import os
from pathlib import Path

import pytest

from subcog_hooks.cli.support import client
from tests.e2e.machine import posix


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, and the work goes on in it."""
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@posix
def test_programs_are_found_by_full_folders_of_the_path_alone(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (repository, repository / "bin", repository / "own"):
        folder.mkdir(exist_ok=True)
        (folder / "subcog").write_text("")
        (folder / "subcog").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "bin"]))
    assert client.on_path("subcog") is None
    assert client.runnable(["subcog", "hook"]) is None
    monkeypatch.setenv("PATH", os.pathsep.join([".", str(repository / "own")]))
    assert client.runnable(["subcog", "hook"]) == [str(repository / "own" / "subcog"), "hook"]
    assert client.runnable(["bin/subcog", "hook"]) is None
    assert client.runnable([str(repository / "bin" / "subcog"), "hook"]) == [str(repository / "bin" / "subcog"), "hook"]
    (repository / "own" / "subcog").chmod(0o644)
    assert client.runnable(["subcog", "hook"]) is None
