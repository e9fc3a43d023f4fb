"""The home in force: from variables where no repository can have set them, else the user's own."""

import os
from pathlib import Path

import pytest

from subcog_hooks.core import paths
from subcog_hooks.core.accepted_homes import remember_home
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.homes import find_home
from subcog_hooks.core.paths import STARTED_IN

pwd = pytest.importorskip("pwd", reason="the user's folder is found in another way on Windows")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository that one works in; the user's folder lies outside of it."""
    folder = tmp_path / "code" / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / "sub").mkdir()
    (tmp_path / "user").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv(STARTED_IN, raising=False)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("where", ["", "sub", "sub/deeper"])
def test_home_inside_of_the_repository_is_ignored(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv("SUBCOG_HOME", str(repository / ".memories"))
    home, ignored = find_home(str(repository / where))
    assert home.root == str(tmp_path / "user" / ".subcog")
    assert ignored.startswith("SUBCOG_HOME leads into this repository")
    (tmp_path / "link").symlink_to(repository)
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path / "link" / ".memories"))
    assert find_home(str(repository / where))[1] != ""
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path / "code" / "memories"))
    beside, ignored = find_home(str(repository / where))
    assert (beside.root, ignored) == (str(tmp_path / "code" / "memories"), "")


def test_it_gives_way_also_when_the_session_has_gone_elsewhere(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUBCOG_HOME", str(repository / ".memories"))
    monkeypatch.setenv(STARTED_IN, str(repository))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert find_home(str(tmp_path / "elsewhere"))[0].root == str(tmp_path / "user" / ".subcog")


def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, users: str) -> None:
    """Let the system have these users and no others."""
    (tmp_path / "passwd").write_text(users)
    monkeypatch.setattr(paths, "USERS_FILE", str(tmp_path / "passwd"))


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system has registered the user's folder; no variable names a home."""
    register(
        tmp_path, monkeypatch, f"root:x:987654:0::/nowhere:/bin/sh\nada:x:{os.getuid()}:0:Ada:{tmp_path / 'user'}:/bin/sh\n"
    )
    monkeypatch.delenv("SUBCOG_HOME")


@pytest.mark.usefixtures("registered")
def test_account_folder_counts_where_home_leads_into_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(repository / "sub"))
    home, ignored = find_home()
    assert home.root == str(tmp_path / "user" / ".subcog")
    assert ignored.startswith("HOME leads into this repository")


@pytest.mark.usefixtures("registered")
def test_account_folder_counts_where_a_file_sets_home(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    assert find_home()[0].root == str(tmp_path / "elsewhere" / ".subcog")
    settings = repository / ".claude" / "settings.json"
    settings.parent.mkdir()
    for harmless in ("", '{"env": null}', '{"env": {"PATH": "$HOME/bin"}}'):
        settings.write_text(harmless)
        assert find_home()[1] == ""
    settings.write_text('{"env": {"HOME": "/elsewhere"}}')
    home, ignored = find_home()
    assert home.root == str(tmp_path / "user" / ".subcog")
    assert ignored.startswith(f"{settings} can set HOME to a home")
    remember_home(str(tmp_path / "elsewhere" / ".subcog"))
    assert find_home()[0].root == str(tmp_path / "elsewhere" / ".subcog")


@pytest.mark.usefixtures("registered")
def test_user_folder_that_is_a_repository_keeps_its_home(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "user" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "user")
    home, ignored = find_home(str(repository))
    assert (home.root, ignored) == (str(tmp_path / "user" / ".subcog"), "")


def test_a_user_whom_the_system_does_not_know_has_no_home_then(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    register(tmp_path, monkeypatch, "")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("SUBCOG_HOME")
    monkeypatch.setenv("HOME", str(repository))
    with pytest.raises(StoreError, match="cannot be told from a folder of this repository"):
        find_home()
