"""Files that have changed much since a memory named them."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from subcog_hooks.capture.changed_files import MAX_NAMED, find_changes
from tests.conftest import Maker

DAY_MS = 86_400_000
START_MS = 1_700_000_000_000
Commit = Callable[..., None]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "app").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def commit(root: Path) -> Commit:
    """Return a function that writes files and commits them on a day; None deletes a file."""

    def write(day: float, **files: str | None) -> None:
        for name, text in files.items():
            path = root / "app" / f"{name}.py"
            path.unlink() if text is None else path.write_text(text)
        date = f"{round(START_MS / 1000 + day * 86_400)} +0000"
        identity = {f"GIT_{who}_{what}": "ada@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {**os.environ, **identity, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        subprocess.run(["git", "-C", str(root), "add", "-A"], check=True)
        subprocess.run(["git", "-C", str(root), "commit", "-qm", "Work"], check=True, env=environment)

    return write


def lines(count: int, word: str = "row") -> str:
    return "".join(f"{word} {number}\n" for number in range(count))


def phrases(root: Path, make: Maker, *contents: str, day: float = 0.0, **fields: object) -> list[str]:
    """Return the phrases about memories of a day, in the order of their texts."""
    time_ms = round(START_MS + day * DAY_MS)
    memories = [make(text, created_at=time_ms, updated_at=time_ms, **fields) for text in contents]
    changes = find_changes(str(root), memories, os.environ, lambda: True)
    return [changes.get(memory.id, "") for memory in memories]


def test_a_quarter_of_replaced_lines_is_a_change(root: Path, commit: Commit, make: Maker) -> None:
    commit(-1, db=lines(40), pool=lines(40), web=lines(40))
    commit(3, db=lines(10, "new") + lines(40)[len(lines(10)) :], pool=lines(40).replace("row 7\n", "row seven\n"))
    commit(4, web=lines(40) + lines(200, "more"))
    texts = ("Rows lie in app/db.py.", "The size is in `app/pool.py`.", "Routes are in app/web.py.", "Use uv.")
    assert phrases(root, make, *texts) == ["app/db.py changed since", "", "", ""]
    assert phrases(root, make, "The rows.", paths=("app/*.py", "app/db.py")) == ["app/db.py changed since"]
    assert phrases(root, make, texts[0], day=3) == [""]


def test_the_commit_that_a_memory_is_about_is_no_change(root: Path, commit: Commit, make: Maker) -> None:
    commit(-9, db=lines(40))
    commit(0.5, db=lines(40, "new"))
    assert phrases(root, make, "Rows lie in app/db.py.") == [""]
    assert phrases(root, make, "Rows lie in app/db.py.", day=-3) == ["app/db.py changed since"]


def test_a_small_line_changed_often_is_no_change(root: Path, commit: Commit, make: Maker) -> None:
    commit(-1, db=lines(40) + "version 0\n")
    for number in range(1, 15):
        commit(1 + number, db=lines(40) + f"version {number}\n")
    assert phrases(root, make, "The version is in app/db.py.") == [""]


def test_a_file_that_was_deleted_or_moved_is_gone(root: Path, commit: Commit, make: Maker) -> None:
    commit(-1, db=lines(40), pool=lines(9))
    commit(3, db=None, store=lines(40))
    assert phrases(root, make, "Rows lie in app/db.py.", "Sizes: app/pool.py") == ["app/db.py gone since", ""]


def test_only_dated_memories_of_files_of_the_time_count(root: Path, commit: Commit, make: Maker) -> None:
    assert phrases(root, make, "Rows lie in app/db.py.") == [""]  # no commit yet
    commit(5, db=lines(40))
    commit(9, db=lines(40, "new"))
    assert phrases(root, make, "Rows lie in app/db.py.") == [""]  # the file came later
    undated = make("Rows lie in app/db.py.", created_at=0, updated_at=START_MS)
    assert find_changes(str(root), [undated], os.environ, lambda: True) == {}


def test_names_from_a_repository_leave_it_not_and_are_no_options(root: Path, commit: Commit, make: Maker) -> None:
    (root.parent / "secret.py").write_text("x\n")
    os.symlink(root.parent / "secret.py", root / "app" / "link.py")
    commit(-1, db=lines(4))
    (root / "app" / "link.py").unlink()
    os.symlink(root.parent / "other.py", root / "app" / "link.py")
    commit(5, db=lines(4, "new"))
    texts = ("See app/link.py.", "See ../secret.py and :(exclude)app/db.py and --output=x.py.", "All of app/*.py.")
    assert phrases(root, make, *texts)[::2] == ["", ""]
    assert sorted(os.listdir(root)) == [".git", "app"]


def test_the_work_is_bounded_and_ends_when_called_off(root: Path, commit: Commit, make: Maker) -> None:
    commit(-1, db=lines(4))
    commit(5, db=lines(4, "new"))
    many = " ".join(f"app/x{number}.py" for number in range(MAX_NAMED))
    assert phrases(root, make, f"{many} app/db.py") == [""]
    many_memories = [f"{many} {'y' * 40}/{number}.py" for number in range(400)]
    assert phrases(root, make, *many_memories, "Rows: app/db.py")[-1] == "app/db.py changed since"
    memory = make("Rows: app/db.py", created_at=START_MS)
    assert find_changes(str(root), [memory], os.environ, lambda: False) == {}
