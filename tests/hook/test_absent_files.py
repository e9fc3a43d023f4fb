"""Memories whose files are gone count less."""

from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.hook.absent_files import STALE_FACTOR, find_beginnings
from subcog_hooks.store.store import Store
from subcog_hooks.store.verdicts import STALE, Candidate
from tests.hook.conftest import follow
from tests.hook.recorded import Decide, configure


def test_a_glob_begins_with_a_file_or_a_folder() -> None:
    globs = ("src/db/pool.py", "src/web/**", "src/web/*.ts", "lib/{a,b}.ts", "src/db/", "/nowhere/at/all.conf")
    files = ("/shop/src/db/pool.py", "/shop/src/web", "/shop/src/web", "/shop/lib", "/shop/src/db", "/nowhere/at/all.conf")
    assert [find_beginnings([glob], "/shop") for glob in globs] == [[file] for file in files]
    for anywhere in ("pool.py", "*.sql", "**/x.py", "build/"):
        assert find_beginnings(["src/web/**", anywhere], "/shop") == []


def test_memories_about_gone_files_are_half_as_relevant(decide: Decide, home: Home, store: Store, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    pool = tmp_path / "pool.py"
    store.modify(["first", "volts"], lambda memory: memory.with_changes(paths=("./pool.py",)))
    store.modify(["first"], lambda memory: memory.with_changes(scope="project", project=str(tmp_path)))
    follow(home, store)

    def candidates() -> dict[str, Candidate]:
        return {candidate.id: candidate for candidate in decide(session="", cwd=str(tmp_path)).candidates}

    never_seen = candidates()
    pool.symlink_to("nowhere")  # A link is a file, too.
    assert candidates()["first"].relevance == never_seen["first"].relevance
    pool.unlink()
    gone = candidates()
    assert gone["first"].relevance == pytest.approx(never_seen["first"].relevance * STALE_FACTOR, abs=0.0002)
    assert gone["volts"].relevance == never_seen["volts"].relevance
    configure(home, f"[surfacing]\nmin_relevance = {never_seen['first'].relevance * 0.9}\n")
    assert candidates()["first"].outcome == STALE


def test_a_drive_or_the_users_folder_is_looked_for_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.expanduser", lambda _: "C:/Users/ada")
    globs = ["~/notes/**", "D:/data/x.csv", "src/**"]
    assert find_beginnings(globs, "C:/work/shop") == ["C:/Users/ada/notes", "D:/data/x.csv", "C:/work/shop/src"]
