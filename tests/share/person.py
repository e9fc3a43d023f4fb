"""Somebody at a terminal who runs `subcog share`."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import sysconfig
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from subcog_hooks.cli import commands
from tests.share.conftest import SHOP, Team

SUBCOG = str(Path(sysconfig.get_path("scripts")) / "subcog")


class Done(NamedTuple):
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
        environment = {**os.environ, "SUBCOG_HOME": str(self.home), **variables}
        done = subprocess.run([SUBCOG, *words], cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return Done(done.stdout, done.stderr)

    def exported(self, key: str = "id") -> dict[str, dict[str, object]]:
        return {memory[key]: memory for memory in map(json.loads, self.run("export").stdout.splitlines())}

    def stored(self) -> dict[str, dict[str, object]]:
        """Return the memories of any status by their ids."""
        lines = self.run("list", "--status", "all", "--jsonl", "-n", "100").stdout.splitlines()
        return {memory["id"]: {"status": "active", **memory} for memory in map(json.loads, lines)}

    def status(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.run("share", "status", "--json").stdout)
        return answer

    def begin(self) -> None:
        self.run("share", "init", self.url, "--yes")
        self.run("share", "sync", "--yes")


def synchronise(*people: Person) -> None:
    for person in people:
        person.run("share", "sync")
