"""The project that a folder belongs to, read from git's own files: starting git would cost the hook 10 ms."""

import os

from subcog_hooks.core.regular_files import read_regular

MAX_GIT_FILE = 1_000_000  # bytes of .git/config that are read
MAX_FOLDER = 4_096  # characters of a path, Linux' PATH_MAX: each part of a longer one would be looked for
MAX_BRANCH = 1_000  # characters of a branch's name; git allows 250 on most disks

_SHORTEST_TOKEN = 20  # characters; names of repositories are shorter, most of them
_HEADS = "ref: refs/heads/"


class Project:
    """A project: `identity` is the normalised remote, else the main worktree's path; `root` is the worktree at hand.

    `names` has the identity and the main worktree's path: what was remembered before there was a remote is still found.
    """

    __slots__ = ("identity", "names", "root")

    def __init__(self, identity: str, root: str, main: str) -> None:
        self.identity = identity
        self.root = root
        self.names = (identity,) if identity == main else (identity, main)


def slug_of(path: str) -> str:
    """Return the name under which the client keeps a folder's sessions and notes.

    >>> slug_of("/home/me/my.shop")
    '-home-me-my-shop'
    """
    return "".join([letter if letter.isascii() and letter.isalnum() else "-" for letter in path])


def find(folder: str) -> Project | None:
    """Return the project that `folder` lies in, None outside of any repository.

    All worktrees of a repository, and all its clones with the same remote, are one project.
    """
    if len(folder) > MAX_FOLDER:
        return None
    try:
        root, git = _walk_up(os.path.realpath(folder))
        root.encode("utf-8")  # a name that is not Unicode could be stored, but not asked for again
        if git is None:
            return None
        common = _common_folder(git)
        url = _remote_url(os.path.join(common, "config"))
    except (OSError, ValueError):
        return None
    main = os.path.dirname(common) if os.path.basename(common) == ".git" else common
    return Project(normalised(url, main) if url else main, root, main)


def branch(root: str) -> str | None:
    """Return the branch that a worktree is on, whether it has a commit or not.

    None where the branch is unknown, as during a rebase.

    root: a project's, or any folder in it.
    """
    try:
        _, git = _walk_up(os.path.realpath(root))
        head = _read_git_file(os.path.join(git, "HEAD")).strip() if git else ""
    except (OSError, ValueError):
        return None
    name = head.removeprefix(_HEADS) if head.startswith(_HEADS) else ""
    # what another way of keeping branches leaves here for old programs is no branch
    return name if 0 < len(name) <= MAX_BRANCH and name.isprintable() and not name.startswith(".") else None


def git_folders(root: str) -> tuple[str, ...]:
    """Return the git folder of a worktree, and behind it the one that all worktrees of its repository share."""
    try:
        _, git = _walk_up(os.path.realpath(root))
        return (git, _common_folder(git)) if git else ()
    except (OSError, ValueError):
        return ()


def _walk_up(folder: str) -> tuple[str, str | None]:
    """Return the nearest folder upwards that holds `.git`, and the git folder behind it."""
    while True:
        git = os.path.join(folder, ".git")
        if os.path.isdir(git):
            return folder, git
        if os.path.isfile(git):
            target = _read_git_file(git).partition("gitdir:")[2].strip()
            return folder, os.path.normpath(os.path.join(folder, target)) if target else None
        parent = os.path.dirname(folder)
        if parent == folder:
            return folder, None
        folder = parent


def _common_folder(git: str) -> str:
    """Return the folder in which a worktree's repository keeps what all of its worktrees share."""
    try:
        return os.path.normpath(os.path.join(git, _read_git_file(os.path.join(git, "commondir")).strip()))
    except OSError:
        return git


def _remote_url(config: str) -> str | None:
    """Return the URL of the remote `origin`, else of the first remote."""
    try:
        text = _read_git_file(config)
    except OSError:
        return None
    urls: dict[str, str] = {}
    remote = None
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            header = stripped.partition("]")[0]
            remote = header.split('"')[1] if header.lower().startswith("[remote ") and header.count('"') >= 2 else None
        elif remote is not None:
            name, equals, value = stripped.partition("=")
            if equals and name.strip().lower() == "url":
                urls.setdefault(remote, value.strip().strip('"'))
    return urls.get("origin") or next(iter(urls.values()), None)


def identity_of(name: str) -> str:
    """Return the identity that a person means.

    The person gives a remote's URL in any spelling, an identity in any case, or a path.

    >>> identity_of("git@github.com:Acme/shop.git"), identity_of("GitHub.com/Acme/Shop"), identity_of("/srv/Shop")
    ('github.com/acme/shop', 'github.com/acme/shop', '/srv/Shop')
    """
    if "://" in name or ("@" in name and ":" in name):
        return normalised(name, os.path.abspath(os.sep))
    host = name.partition("/")[0]
    return name.lower() if "." in host and host.strip(".") else name


def normalised(url: str, root: str) -> str:
    """Return one spelling for a remote.

    Host and path are in small letters, without scheme, credentials, port, parameters or `.git` (the large hosts of repositories
    take no notice of case); a local path is made absolute.

    >>> normalised("git@GitHub.com:Acme/shop.git", "/"), normalised("https://me:token@github.com/acme/shop?token=x", "/")
    ('github.com/acme/shop', 'github.com/acme/shop')
    """
    scheme, marker, after = url.partition("://")
    if marker:
        if scheme.lower() == "file":
            return os.path.normpath(after)
        host, slash, path = _without_login(after).partition("/")
        if not host.startswith("["):
            host = host.partition(":")[0].partition("?")[0].partition("#")[0]
        path = path.partition("?")[0].partition("#")[0]
    else:
        before, colon, path = _without_scp_login(url).partition(":")
        slash = "/"
        host = before.rpartition("@")[2]
        if not colon or "/" in before or len(before) == 1:  # a path, or a Windows drive
            return os.path.normpath(os.path.join(root, os.path.expanduser(url)))
        path = path.partition("?")[0]
    path = _without_secrets(path.strip("/").removesuffix(".git").rstrip("/"))
    return f"{host}{slash}{path}".lower() if path else host.lower()


def _without_login(after_scheme: str) -> str:
    """Return a URL behind its scheme without user and password, which may hold what ends them elsewhere: `/`, `#`, `@`."""
    authority = after_scheme.partition("/")[0]
    _, at, host = authority.rpartition("@")
    last = after_scheme.rpartition("@")[2]
    is_port = authority.partition(":")[2].isdigit()
    if (
        ":" in authority
        and not is_port
        and last[:1].isalnum()
        and (not at or ("." not in host and "." in last.partition("/")[0]))
    ):
        return last
    return after_scheme[authority.rindex("@") + 1 :] if at else after_scheme


def _without_scp_login(url: str) -> str:
    """Return `user:password@host:path` as `host:path`; `user@host:path` and a local path stay as they are."""
    before, at, host = url.rpartition("@")
    return host if at and ":" in before and ":" in host and "/" not in host.partition(":")[0] else url


def _without_secrets(path: str) -> str:
    """Return the path of a remote with `[redacted]` in place of a token that some hosts put there."""
    if all(len(part) < _SHORTEST_TOKEN for part in path.split("/")):
        return path
    from subcog_hooks.redaction.leaks import mask  # only for what is as long as a token

    return mask(path)


def _read_git_file(path: str) -> str:
    return read_regular(path, MAX_GIT_FILE).decode("utf-8", "replace")
