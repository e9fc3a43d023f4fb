"""The folder of a throw-away copy: what a killed process has left there does not stay for good."""

import os
import tempfile
import time
from pathlib import Path

import pytest

from subcog_hooks.cli.decided import trial


def test_what_was_left_a_day_ago_goes_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, at_work = Path(trial.make_folder()), Path(trial.make_folder())
    (left / "memories.db").write_bytes(b"a memory")
    (tmp_path / "subcog-note.md").write_text("somebody's", encoding="utf-8")
    long_ago = time.time() - 2 * 86_400
    for path in (left, tmp_path / "subcog-note.md"):
        os.utime(path, (long_ago, long_ago))
    new = Path(trial.make_folder())
    assert sorted(tmp_path.iterdir()) == sorted([at_work, new, tmp_path / "subcog-note.md"])
