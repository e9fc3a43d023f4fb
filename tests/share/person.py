"""Somebody at a terminal who runs `subcog share`."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import sysconfig
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from subcog_hooks.cli import commands
from tests.share.conftest import SHOP, Team

SUBCOG = str(Path(sysconfig.get_path("scripts")) / "subcog")


class Done(NamedTuple):
    """The streams of a command that has ended."""

    stdout: str
    stderr: str


class Person:
    """A person who runs subcog in a clone of the repository."""

    def __init__(self, team: Team, role: str, folder: Path) -> None:
        self.url = team.server.url(role, team.database)
        self.folder = folder / f"{role}-clone"
        self.home = folder / f"{role}-home"
        self.folder.mkdir()
        for words in (["init", "-q"], ["remote", "add", "origin", f"git@{SHOP.replace('/', ':', 1)}.git"]):
            subprocess.run(["git", *words], cwd=self.folder, check=True)

    def run(self, *words: str, code: int = 0, **variables: str) -> Done:
        """Run a command in this process, as a person does there."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(self.folder)
            for name, value in {"SUBCOG_HOME": str(self.home), **variables}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["subcog", *words])
            with pytest.raises(SystemExit) as ended:
                commands.run_command_line()
        done = Done(out.getvalue(), err.getvalue())
        assert ended.value.code == code, done.stderr
        return done

    def run_apart(self, *words: str, code: int = 0, **variables: str) -> Done:
        """Run a command in a process of its own."""
        environment = {**os.environ, "SUBCOG_HOME": str(self.home), **variables}
        done = subprocess.run([SUBCOG, *words], cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return Done(done.stdout, done.stderr)

    def begin(self) -> None:
        self.run("share", "init", self.url, "--yes")
        self.run("share", "sync", "--yes")
