"""The project that a folder belongs to, read from git's own files: starting git would cost the hook 10 ms."""

from __future__ import annotations

import os
import sys

from subcog_hooks.core.files import leads_out, read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Entry = tuple[str, str, str, str]  # of a configuration: section, subsection, key, value

MAX_GIT_FILE = 1_000_000  # bytes of .git/config
MAX_FOLDER = 4_096  # Linux' PATH_MAX; a longer path would cost a look-up for each of its parts
MAX_BRANCH = 1_000  # characters of a branch's name; git allows 250 on most disks
SYSTEM_CONFIG = "/etc/gitconfig"
_USUAL_FILES = ((".gitconfig",), (".config", "git", "config"), (".ssh", "config"))  # of a person, in the home folder

_SHORTEST_TOKEN = 20  # characters; most names of repositories are shorter
_HEADS = "ref: refs/heads/"

# A forge tells its users by their keys.
_SHARED_LOGINS = ("", "git", "gitea", "forgejo", "gitlab", "gogs", "gitolite", "gitolite3", "vcs", "hg", "aur")
_LARGE_HOSTS = ("github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "dev.azure.com")
_HOST_OF = {  # further names of hosts, such as the ones that let SSH through a firewall
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
    "vs-ssh.visualstudio.com": "dev.azure.com",
}


class Project:
    """A project: `identity` is the normalised remote, else the main worktree's path; `root` is the worktree at hand.

    `names` has the identity and the main worktree's path, so memories from before the remote are found. `parent` is the
    repository that has this one as a submodule, None without one.
    """

    __slots__ = ("identity", "names", "parent", "root")

    def __init__(self, identity: str, root: str, main: str, parent: Project | None = None) -> None:
        self.identity = identity
        self.root = root
        self.names = (identity,) if identity == main else (identity, main)
        self.parent = parent

    def with_parents(self) -> tuple[Project, ...]:
        """Return the project, its parent and the parent's parents."""
        return (self, *(self.parent.with_parents() if self.parent else ()))


def find_project(folder: str) -> Project | None:
    """Return the project that `folder` lies in, None outside of any repository.

    All worktrees of a repository, and all its clones with the same remote, are one project. A repository of another user, which
    git refuses, is named by its folder alone.
    """
    if len(folder) > MAX_FOLDER:
        return None
    try:
        root, git = _walk_up(os.path.realpath(folder))
        if git is None:
            return None
        main, url, parent = root, None, None
        if _is_trusted(root):
            common = _common_folder(git)
            main = os.path.dirname(common) if os.path.basename(common) == ".git" else common
            url = remote_url(os.path.join(common, "config"))
            around, git_around = _walk_up(os.path.dirname(root)) if "modules" in git.split(os.sep) else ("", None)
            # A submodule's git folder lies in its parent's. A clone inside of another repository has no parent: a home folder
            # can be a repository of settings, and tells nothing about the projects below it.
            if git_around and not leads_out(git, os.path.join(git_around, "modules")):
                parent = find_project(around)
    except (OSError, ValueError):
        return None
    # SQLite stores a name that is not Unicode, but cannot find it again.
    names = [name.encode("utf-8", "backslashreplace").decode() for name in (normalise_url(url, main) if url else main, main)]
    return Project(names[0], root, names[1], parent)


def names_of(here: Project | None, folder: str) -> tuple[str, ...]:
    """Return the names under which a session's project has memories; outside of any, that of its folder. here: the project."""
    if here or not os.path.isabs(folder) or len(folder) > MAX_FOLDER:
        return here.names if here else ()
    try:
        return (os.path.realpath(folder).encode("utf-8", "backslashreplace").decode(),)
    except (OSError, ValueError):
        return ()


def find_branch(root: str) -> str | None:
    """Return the branch that the worktree around a folder is on, even without a commit; None where unknown, as in a rebase."""
    try:
        _, git = _walk_up(os.path.realpath(root))
        head = _read_git_file(os.path.join(git, "HEAD")).strip() if git else ""
    except (OSError, ValueError):
        return None
    before, _, name = head.partition(_HEADS)
    # Git's reftable format leaves a placeholder here for old programs, which is no branch.
    is_branch = not before and 0 < len(name) <= MAX_BRANCH and name.isprintable() and not name.startswith(".")
    return name if is_branch else None


def git_folders(root: str) -> tuple[str, ...]:
    """Return the git folder of a worktree, then the common git folder of its repository; () outside of any."""
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


def _is_trusted(root: str) -> bool:
    """Return whether git would read a repository. Another user's could name the remote or the folder of any project."""
    user = os.geteuid() if sys.platform != "win32" else None
    owner = os.lstat(os.path.join(root, ".git")).st_uid
    if user is None or owner == user or (user == 0 and str(owner) == os.environ.get("SUDO_UID")):
        return True
    allowed: list[str] = []
    for section, name, key, value in _user_entries("[safe]"):
        if (section, name, key) == ("safe", "", "directory"):
            allowed = [*allowed, os.path.expanduser(value)] if value else []
    return any(name in ("*", root) or (name.endswith("/*") and root.startswith(name[:-1])) for name in allowed)


def _common_folder(git: str) -> str:
    try:
        return os.path.normpath(os.path.join(git, _read_git_file(os.path.join(git, "commondir")).strip()))
    except OSError:
        return git


def remote_url(config: str, names: Sequence[str] = ()) -> str | None:
    """Return the URL of the first of these remotes; without names of `origin`, else of the first remote.

    config: the repository's file. Abbreviations of the person's (`insteadOf`, an alias of SSH) are written out.
    """
    entries = list(parse_config(read_or_empty(config)))
    urls: dict[str, str] = {}
    for section, name, key, value in entries:
        if (section, key) == ("remote", "url") and name and value:
            urls.setdefault(name, value)
    url = next((urls[name] for name in names or ("origin", *urls) if name in urls), None)
    if url is None:
        return None
    abbreviations = [
        (len(value), name)
        for section, name, key, value in (*entries, *_user_entries("insteadof"))
        if (section, key) == ("url", "insteadof") and value and url.startswith(value)
    ]
    if abbreviations:
        length, base = max(abbreviations, key=lambda abbreviation: abbreviation[0])
        url = base + url[length:]
    return _resolve_alias(url)


def parse_config(text: str) -> Iterator[Entry]:
    """Yield section, subsection, key and value of each entry of a configuration. Sections and keys are in small letters.

    >>> list(parse_config('[remote "origin"]\\n\\tURL = "gh:acme" # ours\\n\\tfetch = +a:b ; c'))
    [('remote', 'origin', 'url', 'gh:acme'), ('remote', 'origin', 'fetch', '+a:b')]
    """
    section = name = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("["):
            header, _, line = line[1:].partition("]")
            section = header.partition(" ")[0].lower()
            name = header.partition('"')[2].rpartition('"')[0]
        key, equals, value = line.partition("=")
        if equals and not key.startswith(("#", ";")):
            value = value.strip()
            bare = value[1:].partition('"')[0] if value.startswith('"') else value.partition("#")[0].partition(";")[0].rstrip()
            yield section, name, key.strip().lower(), bare


def _user_entries(sign: str) -> list[Entry]:
    """Return the entries of the configuration of the machine and the person, from the files that contain a sign."""
    home = os.path.expanduser("~")
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    entries: list[Entry] = []
    for path in (SYSTEM_CONFIG, os.path.join(folder, "git", "config"), os.path.join(home, ".gitconfig")):
        text = read_or_empty(path)
        if sign in text.lower() and _is_persons_own(path):
            entries += parse_config(text)
    return entries


def _is_persons_own(path: str) -> bool:
    """Return whether a file is no repository's: a repository can set variables that name the home folder."""
    from subcog_hooks.core.repository_variables import is_users_own  # Few configurations rewrite an address.

    home = os.path.expanduser("~")
    if path in [os.path.join(home, *parts) for parts in _USUAL_FILES]:
        return is_users_own(home)
    return path == SYSTEM_CONFIG or is_users_own(os.path.dirname(path), "XDG_CONFIG_HOME")


def _resolve_alias(url: str) -> str:
    """Return a URL for SSH with the `HostName` of `~/.ssh/config` in place of the person's alias; patterns are none."""
    scheme, marker, after = url.partition("://")
    start = (after if marker else url).partition("/")[0]
    login, at_sign, host_and_port = start.rpartition("@")
    host, colon, port = host_and_port.partition(":")
    is_ssh = scheme.lower() == "ssh" if marker else colon and len(host) > 1  # One letter is a Windows drive.
    if not is_ssh or host.lower() in _LARGE_HOSTS:
        return url
    path = os.path.join(os.path.expanduser("~"), ".ssh", "config")
    text = read_or_empty(path)
    is_meant = False
    for line in text.split("\n") if host in text and _is_persons_own(path) else ():
        words = line.replace("=", " ", 1).replace('"', "").split()
        key = words[0].lower() if words else ""
        if key in ("host", "match"):
            is_meant = key == "host" and host in words[1:]
        elif is_meant and key == "hostname" and len(words) == 2:
            is_name = words[1].strip("0123456789.:") and "%" not in words[1]  # An address in numbers is none.
            return url.replace(start, f"{login}{at_sign}{words[1]}{colon}{port}", 1) if is_name else url
    return url


def resolve_identity(name: str) -> str:
    """Return the project identity for a person's name of it: a remote's URL in any spelling, an identity in any case, a path.

    >>> [resolve_identity(name) for name in ("git@github.com:Acme/shop.git", "www.GitHub.com/Acme/Shop", "/srv/Shop")]
    ['github.com/acme/shop', 'github.com/acme/shop', '/srv/Shop']
    """
    if "://" in name or ("@" in name and ":" in name):
        return normalise_url(name, os.path.abspath(os.sep))
    host = name.partition("/")[0]
    return _unite_spellings(name.lower()) if "." in host and host.strip(".") else name


def normalise_url(url: str, root: str) -> str:
    """Return one spelling for a remote.

    Host and path are in small letters, without scheme, credentials, port, parameters or `.git`: the large hosts of repositories
    ignore case. The addresses that a host has for SSH are those for HTTPS. A local path is made absolute. A path in the home
    of a login keeps the login; git has several forms of it.

    >>> normalise_url("git@GitHub.com:Acme/shop.git", "/"), normalise_url("https://me:token@github.com/acme/shop?token=x", "/")
    ('github.com/acme/shop', 'github.com/acme/shop')
    >>> normalise_url("ssh://git@ssh.github.com:443/acme/shop.git", "/"), normalise_url("ada@srv:shop.git", "/")
    ('github.com/acme/shop', 'srv/~ada/shop')
    """
    scheme, marker, after = url.partition("://")
    if marker:
        if scheme.lower() == "file":
            return os.path.normpath(after)
        host, _, path = _without_login(after).partition("/")
        start = after.partition("/")[0].lower() if "ssh" in scheme.lower() else ""
        login = start.rpartition("@")[0].partition(":")[0]
        host = host.lower().partition("?")[0].partition("#")[0]
        if not host.startswith(("[", "localhost:", "127.0.0.1:")):  # Each port of this machine can be a server of its own.
            host = host.partition(":")[0]
        path = path.partition("?")[0].partition("#")[0]
    else:
        logins, at_sign, behind = url.rpartition("@")
        has_password = at_sign and ":" in logins and ":" in behind and "/" not in behind.partition(":")[0]
        before, colon, path = (behind if has_password else url).partition(":")
        login, _, host = before.lower().rpartition("@")
        if not colon or "/" in before or len(before) == 1:  # a path, or a Windows drive
            return os.path.normpath(os.path.join(root, os.path.expanduser(url)))
        path = path.partition("?")[0]
        if login not in (*_SHARED_LOGINS, host.partition(".")[0]) and _HOST_OF.get(host, host) not in _LARGE_HOSTS:
            path = path if path.startswith(("/", "~")) else f"~/{path}"
    path = path.strip("/").removesuffix(".git").rstrip("/")
    if path.startswith("~/"):
        path = f"~{login}{path[1:]}"
    if any(len(part) >= _SHORTEST_TOKEN for part in path.split("/")):  # Some hosts put a token there.
        from subcog_hooks.redaction.masking import mask_secrets  # few paths have such a part

        path = mask_secrets(path)
    return _unite_spellings(f"{host}/{path}".lower()) if path else host.lower()


def _unite_spellings(identity: str) -> str:
    """Return one identity for the addresses under which a host has a repository.

    Azure has a form for SSH, and an older host. Bitbucket Server has `scm/` in its addresses for HTTPS alone.

    >>> _unite_spellings("ssh.dev.azure.com/v3/acme/shop/api"), _unite_spellings("acme.visualstudio.com/shop/_git/api")
    ('dev.azure.com/acme/shop/_git/api', 'dev.azure.com/acme/shop/_git/api')
    >>> _unite_spellings("git.acme.io/scm/team/api"), _unite_spellings("www.gitlab.com/scm/team/api")
    ('git.acme.io/team/api', 'gitlab.com/scm/team/api')
    """
    host, _, path = identity.partition("/")
    host = host.removeprefix("www.")
    host = _HOST_OF.get(host, host)
    if host.endswith(".visualstudio.com"):
        path = f"{host.partition('.')[0]}/{path.removeprefix('defaultcollection/')}"
        host = "dev.azure.com"
    if host == "dev.azure.com":
        parts = path.split("/")
        if parts[0] == "v3" and len(parts) == 4:
            parts = [*parts[1:3], "_git", parts[3]]
        if parts[1:2] == ["_git"] and len(parts) == 3:  # A repository named as its project stands without the project.
            parts.insert(1, parts[2])
        path = "/".join(parts)
    elif path.startswith("scm/") and path.count("/") == 2 and host not in _LARGE_HOSTS:
        path = path.removeprefix("scm/")
    return f"{host}/{path}" if path else host


def _without_login(after_scheme: str) -> str:
    """Return a URL without scheme, user and password; a password may contain `/`, `#` or `@`."""
    authority = after_scheme.partition("/")[0]
    _, at_sign, host = authority.rpartition("@")
    after_last_at = after_scheme.rpartition("@")[2]
    is_port = authority.partition(":")[2].isdigit()
    if (
        ":" in authority
        and not is_port
        and after_last_at[:1].isalnum()
        and (not at_sign or ("." not in host and "." in after_last_at.partition("/")[0]))
    ):
        return after_last_at
    return after_scheme[authority.rindex("@") + 1 :] if at_sign else after_scheme


def _read_git_file(path: str) -> str:
    return read_regular(path, MAX_GIT_FILE).decode("utf-8", "replace").removeprefix("\ufeff")


def read_or_empty(path: str) -> str:
    try:
        return _read_git_file(path)
    except (OSError, ValueError):
        return ""
