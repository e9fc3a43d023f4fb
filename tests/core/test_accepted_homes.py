"""Homes that the user has accepted: recorded by `init`, asked for by the hook, never forged by a repository."""

import json
import os
from pathlib import Path

import pytest

from subcog_hooks.core.accepted_homes import MAX_HOMES, MAX_RECORD, is_accepted_home, remember_home
from subcog_hooks.core.errors import StoreError


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, outside of any repository and of the working folder."""
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    return folder


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, and the work goes on in it."""
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def test_home_is_accepted_once_it_is_remembered(user: Path, repository: Path) -> None:
    home, other = repository / ".memories", repository / ".others"
    assert is_accepted_home(str(user / ".subcog"))  # The usual one needs no record.
    assert not is_accepted_home(str(home))
    remember_home(str(home))
    assert is_accepted_home(str(home))
    assert not is_accepted_home(str(other))
    remember_home(str(other))
    assert is_accepted_home(str(home))
    assert is_accepted_home(str(other))


def test_record_is_the_users_alone_and_lists_real_paths_once(user: Path, repository: Path) -> None:
    (user / "link").symlink_to(repository)
    for _ in range(2):
        remember_home(str(user / "link" / ".memories"))
    record = user / ".subcog" / "homes.json"
    assert json.loads(record.read_text()) == [os.path.realpath(repository / ".memories")]
    assert is_accepted_home(str(repository / ".memories"))
    assert [file.name for file in record.parent.iterdir()] == ["homes.json"]
    if os.name != "nt":
        assert record.stat().st_mode & 0o777 == 0o600
        assert record.parent.stat().st_mode & 0o777 == 0o700


def test_oldest_homes_make_room(user: Path) -> None:
    for number in range(MAX_HOMES + 1):
        remember_home(str(user / str(number)))
    assert not is_accepted_home(str(user / "0"))
    assert is_accepted_home(str(user / "1"))
    assert is_accepted_home(str(user / str(MAX_HOMES)))


@pytest.mark.parametrize(
    "content",
    ["", "{", "null", '{"homes": ["HOME"]}', "[1, null]", "[" * 50_000, "\xff", '["HOME"' + " " * MAX_RECORD + "]"],
    ids=["empty", "cut", "null", "object", "no paths", "deep", "no UTF-8", "too large"],
)
def test_record_that_is_no_list_accepts_nothing(user: Path, repository: Path, content: str) -> None:
    home = repository / ".memories"
    record = user / ".subcog" / "homes.json"
    record.parent.mkdir()
    record.write_bytes(content.replace("HOME", str(home)).encode("latin-1"))
    assert not is_accepted_home(str(home))
    remember_home(str(home))
    assert is_accepted_home(str(home))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no FIFO")
def test_record_that_is_a_fifo_is_not_waited_for(user: Path, repository: Path) -> None:
    (user / ".subcog").mkdir()
    os.mkfifo(user / ".subcog" / "homes.json")
    assert not is_accepted_home(str(repository / ".memories"))
    remember_home(str(repository / ".memories"))
    assert is_accepted_home(str(repository / ".memories"))


@pytest.mark.parametrize("folder", ["", "deep/er"])
def test_repository_that_names_the_users_folder_forges_nothing(
    repository: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = repository / folder / ".subcog"
    shipped.mkdir(parents=True)
    (shipped / "homes.json").write_text(json.dumps([str(repository / ".memories"), str(shipped)]))
    monkeypatch.setenv("HOME", str(shipped.parent))
    monkeypatch.setenv("USERPROFILE", str(shipped.parent))
    for home in (repository / ".memories", shipped):
        assert not is_accepted_home(str(home))
        with monkeypatch.context() as patch:
            patch.setenv("HOME", folder or ".")  # no full path
            assert not is_accepted_home(str(home))
        monkeypatch.chdir(repository.parent)  # the client may work elsewhere
        assert not is_accepted_home(str(home))
        monkeypatch.chdir(repository)
    (repository / ".git").rmdir()  # as in an archive that was unpacked
    assert not is_accepted_home(str(shipped))


def test_users_folder_may_itself_be_a_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd")  # the system's list of users, which Windows lacks
    folder = pwd.getpwuid(os.getuid()).pw_dir
    monkeypatch.setenv("HOME", folder)
    monkeypatch.chdir(folder)  # as where the user's settings are kept with git
    assert is_accepted_home(os.path.join(folder, ".subcog"))


def test_read_only_folder_is_one_clear_error(user: Path) -> None:
    (user / ".subcog").mkdir()
    (user / ".subcog" / "homes.json").mkdir()
    with pytest.raises(StoreError, match=r"homes\.json cannot be written"):
        remember_home("/srv/memories")
    assert not is_accepted_home("/srv/memories")
    assert os.listdir(user / ".subcog") == ["homes.json"]
