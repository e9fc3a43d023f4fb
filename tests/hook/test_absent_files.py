"""Memories whose files are gone count less."""

import os
from pathlib import Path

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.hook.absent_files import STALE_FACTOR, are_gone, is_stale
from subcog_hooks.store.decision import STALE
from subcog_hooks.store.project import Project
from subcog_hooks.store.store import Store
from tests.conftest import Maker
from tests.hook.conftest import follow
from tests.hook.recorded import Decide, configure


@pytest.fixture
def root(tmp_path: Path) -> str:
    """Make a project that has src/db/pool.py."""
    (tmp_path / "shop" / "src" / "db").mkdir(parents=True)
    (tmp_path / "shop" / "src" / "db" / "pool.py").write_text("")
    return str(tmp_path / "shop")


def test_files_are_gone_when_no_glob_has_a_place_to_match(root: str) -> None:
    gone = [["src/db/old.py"], ["src/web/**"], ["src/web/*.ts", "lib/{a,b}.ts"], ["/nowhere/at/all.conf"]]
    there = [["src/db/pool.py"], ["src/db/**"], ["src/web/*.ts", "src/db/"], ["src/db/p?ol.py"]]
    anywhere = [["pool.py"], ["*.sql"], ["**/x.py"], ["build/"]]  # may be in any folder
    assert [globs for globs in (*gone, *there, *anywhere) if are_gone(globs, root)] == gone


def test_a_link_to_nowhere_is_there(root: str) -> None:
    os.symlink("nowhere", os.path.join(root, "link.py"))
    os.makedirs(os.path.join(root, "sub"))
    os.symlink("nowhere", os.path.join(root, "sub", "link.py"))
    assert not are_gone(["sub/link.py"], root)


def test_only_the_projects_own_memories_count_less(root: str, make: Maker) -> None:
    here = Project("github.com/acme/shop", root, "/srv/shop")
    of = {"scope": "project", "paths": ("src/web/**",)}
    assert is_stale(make("a", project="github.com/acme/shop", **of), here)
    assert is_stale(make("a", project="/srv/shop", **of), here)  # from before it had a remote
    assert not is_stale(make("a", project="github.com/acme/other", **of), here)
    assert not is_stale(make("a", project="github.com/acme/shop", scope="project"), here)
    assert not is_stale(make("a", paths=("src/web/**",)), here)
    assert not is_stale(make("a", project="github.com/acme/shop", **of), None)


def test_memories_about_gone_files_are_half_as_relevant(decide: Decide, home: Home, store: Store, root: str) -> None:
    os.makedirs(os.path.join(root, ".git"))
    about = {"scope": "project", "project": root, "paths": ("src/db/pool.py",)}
    store.modify(["first"], lambda memory: memory.with_changes(**about))
    follow(home, store)

    def first_candidate() -> tuple[float, str]:
        decision = decide(session="", cwd=root)
        first = next(candidate for candidate in decision.candidates if candidate.id == "first")
        return first.relevance, first.outcome

    there, _ = first_candidate()
    os.unlink(os.path.join(root, "src", "db", "pool.py"))
    assert first_candidate()[0] == pytest.approx(there * STALE_FACTOR, abs=0.0002)
    configure(home, f"[surfacing]\nmin_relevance = {there * 0.9}\n")
    assert first_candidate()[1] == STALE


def test_a_drive_or_the_users_folder_is_looked_for_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_for: list[str] = []

    def exists(path: str) -> bool:
        looked_for.append(path)
        return True

    monkeypatch.setattr("os.path.lexists", exists)
    monkeypatch.setattr("os.path.expanduser", lambda _: "C:/Users/ada")
    assert not any(are_gone((glob,), "C:/work/shop") for glob in ("~/notes/**", "D:/data/x.csv", "src/**"))
    assert looked_for == ["C:/Users/ada/notes", "D:/data/x.csv", "C:/work/shop/src"]
