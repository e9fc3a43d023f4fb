"""Project identity, read from git's files alone; compared with git itself where it is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from subcog_hooks.core.files import read_rows
from subcog_hooks.store import project


def test_all_spellings_of_a_remote_are_one_identity() -> None:
    cases = [(url, identity) for url, identity in read_rows(__file__, "remotes.tsv")]
    cases += [("https://host/" + "gh" + "p_" + "aB3dE6gH9j" * 4 + "/shop", "host/[redacted]/shop")]
    failures = [
        (url, actual)
        for url, identity in cases
        if (actual := project.normalise_url(url, "/work/repository").replace(os.sep, "/")) != identity
    ]
    assert failures == []


def found(folder: str) -> project.Project:
    current = project.find_project(folder)
    assert current is not None
    return current


def test_outside_of_any_repository_there_is_no_project(tmp_path: Path) -> None:
    assert (project.find_project(str(tmp_path)), project.find_branch(str(tmp_path))) == (None, None)
    assert project.find_project(str(tmp_path / "nowhere" / "at all")) is None
    assert (project.find_project("bad\0folder"), project.find_branch("bad\0folder")) == (None, None)
    assert project.find_project("/" + "a/" * 1_000_000) is None


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    made = tmp_path / "shop"
    made.mkdir()
    git(made, "init")
    git(made, "commit", "--allow-empty", "-m", "first")
    return made


def test_without_a_remote_the_main_worktree_is_the_project(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", str(tmp_path / "other"))
    (tmp_path / "other" / "src").mkdir()
    current = found(str(tmp_path / "other" / "src"))
    assert current.identity == str(repository.resolve())
    assert current.root == str((tmp_path / "other").resolve())


def test_with_a_remote_all_clones_are_one_project(repository: Path) -> None:
    git(repository, "remote", "add", "upstream", "https://example.org/up/shop.git")
    git(repository, "remote", "add", "origin", "git@example.org:acme/shop.git")
    current = found(str(repository))
    assert current.identity == "example.org/acme/shop"


PLAIN = '[remote "origin"]\n\turl = https://github.com/acme/shop.git\n'
REMOTES = [  # the configurations of a repository and of its user
    (PLAIN, ""),
    ('[remote "origin"]\n\turl = https://github.com/acme/shop ; a comment\n', ""),
    ('[remote "origin"] url = https://github.com/acme/shop # a comment\n', ""),
    ('[remote "origin"]\n\turl = "https://github.com/acme/shop.git" # said\n\turl = https://example.org/other\n', ""),
    ('[REMOTE "origin"]\n\tUrl = https://github.com/acme/shop\n; [remote "origin"]\n', ""),
    ('[remote "origin"] url = https://github.com/acme/shop\n', ""),
    ("\ufeff" + PLAIN, ""),
    ("[core]\n" + "\tbare = false\n" * 20_000 + "# a comment\n" + PLAIN, ""),
    ('[remote "origin"]\n\turl = gh:acme/shop\n[url "https://github.com/"]\n\tinsteadOf = gh:\n', ""),
    ('[remote "origin"]\n\turl = gh:acme/shop\n', '[url "git@github.com:"]\n\tinsteadOf = gh:\n\tinsteadOf = g\n'),
    ('[remote "origin"]\n\turl = https://github.com/acme/shop\n', '[url "x:"]\n\tpushInsteadOf = https://github.com/\n'),
    ('[alias]\n\ta = "!f() { \\\n\turl = x; }"\n[branch "a]#b\\"c"]\n\tremote = origin\n' + PLAIN, ""),
]


@pytest.mark.parametrize(("config", "of_user"), REMOTES)
def test_a_remote_is_the_one_that_git_names(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, of_user: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".gitconfig").write_text(of_user)
    (repository / ".git" / "config").write_text(config)
    current = found(str(repository))
    assert current.identity == "github.com/acme/shop"
    named = subprocess.run(["git", "remote", "get-url", "origin"], cwd=repository, capture_output=True, check=True)
    assert project.normalise_url(named.stdout.decode().strip(), "/") == current.identity


@pytest.mark.skipif(sys.platform != "linux", reason="a name must be Unicode there")
def test_a_folder_whose_name_is_not_unicode_is_a_project(tmp_path: Path) -> None:
    names = set()
    for name in (b"caf\351", b"caf\350"):
        folder = os.path.join(tmp_path, os.fsdecode(name))
        os.makedirs(os.path.join(folder, ".git"))
        current = found(folder)
        assert current.root == folder
        names.add(current.identity)
        Path(folder, ".git", "config").write_text(PLAIN)
        current = found(folder)
        assert current.identity == "github.com/acme/shop"
    assert names == {f"{tmp_path}/caf\\udce9", f"{tmp_path}/caf\\udce8"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_another_user_counts_as_for_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    root, inside = tmp_path / "shop", tmp_path / "shop" / "src"
    inside.mkdir(parents=True)
    git(root, "init")
    (root / ".git" / "config").write_text(PLAIN)
    for path in (root, root / ".git"):
        os.chown(path, 1234, 1234)
    for setting, sudo_uid in [
        ("", ""),
        ("", "1234"),
        ("*", ""),
        (str(root), ""),
        ("~/shop", ""),
        ("~/other", ""),
        (f"{root}\n\tdirectory =\n\tdirectory = {inside}", ""),
    ]:
        monkeypatch.setenv("SUDO_UID", sudo_uid)
        (tmp_path / ".gitconfig").write_text(f"[safe]\n\tdirectory = {setting}\n")
        done = subprocess.run(["git", "remote", "get-url", "origin"], cwd=inside, capture_output=True, check=False)
        current = found(str(inside))
        assert (setting, current.identity) == (setting, str(root) if done.returncode else "github.com/acme/shop")


def test_an_alias_of_ssh_is_its_host(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    hosts = {"github.com-work me": "\tUser git\n\tHostName=github.com", "bare": "hostname 10.0.0.7", "*.io": "HostName x.y"}
    config = "".join(f"Host {host}\n{options}\n" for host, options in hosts.items())
    (tmp_path / ".ssh" / "config").write_text(config)
    for url, identity in [
        ("git@github.com-work:acme/shop.git", "github.com/acme/shop"),
        ("ssh://me/acme/shop.git", "github.com/acme/shop"),
        ("bare:acme/shop", "bare/acme/shop"),
        ("git@acme.io:shop", "acme.io/shop"),
        ("https://me/acme/shop", "me/acme/shop"),
    ]:
        (repository / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {url}\n')
        current = found(str(repository))
        assert (url, current.identity) == (url, identity)


def test_a_home_in_a_repository_renames_no_remote(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / ".git" / "config").write_text(PLAIN)
    for folder in (repository, repository / ".config" / "git", repository / "git", repository / ".ssh"):
        folder.mkdir(parents=True, exist_ok=True)
    for name in (".gitconfig", ".config/git/config", "git/config"):
        (repository / name).write_text('[url "https://example.org/"]\n\tinsteadOf = https://github.com/\n')
    for variable in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, str(repository))
            current = found(str(repository))
        assert (variable, current.identity) == (variable, "github.com/acme/shop")


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init")
    git(library, "checkout", "-b", "stable")
    git(library, "commit", "--allow-empty", "-m", "first")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", str(library), "vendored")
    current = found(str(repository / "vendored"))
    assert current.identity == str(library)
    assert current.parent is not None
    assert [member.root for member in current.with_parents()] == [current.root, str(repository.resolve())]
    assert project.find_branch(current.root) == "stable"


def test_a_clone_or_worktree_in_a_repository_has_no_parent(repository: Path) -> None:
    git(repository, "clone", str(repository), "modules/clone")
    git(repository, "worktree", "add", str(repository / "tree"))
    (repository / "modules" / "false").mkdir()
    (repository / "modules" / "false" / ".git").write_text("gitdir: ../clone/.git")
    for name in ("modules/clone", "tree", "modules/false"):
        current = found(str(repository / name))
        assert (current.root, current.parent) == (str((repository / name).resolve()), None)


def test_garbage_in_git_files_is_no_project_or_a_path(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"\xff\x00 nonsense")
    assert project.find_project(str(tmp_path)) is None
    (tmp_path / "b" / ".git").mkdir(parents=True)
    (tmp_path / "b" / ".git" / "config").write_bytes(b'[remote "origin\nurl\n[remote]\n url = x\n')
    current = found(str(tmp_path / "b"))
    assert current.identity == str((tmp_path / "b").resolve())


def test_a_worktree_is_on_a_branch_of_its_own(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-b", "release/7", str(tmp_path / "other"))
    (repository / "src").mkdir()
    branches = [project.find_branch(str(folder)) for folder in (repository, repository / "src", tmp_path / "other")]
    assert branches == ["main", "main", "release/7"]
    git(repository, "checkout", "--detach")
    assert project.find_branch(str(repository)) is None
    git(repository, "checkout", "--orphan", "hafen-ö")  # without a commit
    assert project.find_branch(str(repository)) == "hafen-ö"


@pytest.mark.parametrize(
    "head",
    [
        *(b"", b"\xff\x00", b"ref: refs/heads/", b"ref: refs/remotes/origin/main", b"ref: refs/heads/.invalid"),
        *(b"ref: refs/heads/a\nb", b"ref: refs/heads/\x1b[31m", b"ref: refs/heads/" + b"x" * 1_001),
    ],
)
def test_garbage_in_head_is_no_branch(tmp_path: Path, head: bytes) -> None:
    (tmp_path / ".git").mkdir()
    assert project.find_branch(str(tmp_path)) is None
    (tmp_path / ".git" / "HEAD").write_bytes(head)
    assert project.find_branch(str(tmp_path)) is None
