"""Git's own files in a repository, looked at without git: whether there is a commit, and which file would keep git waiting."""

import os
import re
import stat
from collections.abc import Iterator

from subcog_hooks.memory import project
from subcog_hooks.regular_files import read_regular

MAX_HEAD = 1_000  # bytes
MAX_GIT_ENTRIES = 300_000  # files that are looked at; git packs loose objects from some 7,000 on
MAX_GIT_CONFIG = 1_000_000  # bytes of a configuration
MAX_INCLUDES = 100  # configurations; git itself goes ten deep

_REFERENCE = "ref: "
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]')
_PATH = re.compile(r'\s*path\s*=\s*(?:"([^"]*)|([^#;]*))', re.IGNORECASE)


def has_commits(root: str) -> bool:
    """Return whether the branch of a worktree has a commit, as far as that is known without reading one."""
    folders = project.git_folders(root)
    if not folders:
        return False
    git, common = folders
    try:
        head = read_regular(os.path.join(git, "HEAD"), MAX_HEAD).decode("utf-8", "replace").strip()
    except OSError:
        return False
    if not head.startswith(_REFERENCE):
        return bool(head)
    if os.path.isdir(os.path.join(common, "reftable")):
        return True
    return any(os.path.isfile(os.path.join(common, name)) for name in (head.removeprefix(_REFERENCE), "packed-refs"))


def find_pipe(root: str) -> str:
    """Return a named pipe or a device that git may open in a repository, and wait for without end; "" for none."""
    return next(filter(_is_waited_for, _odd_files(root)), "")


def _is_waited_for(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
        is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
        return stat.S_ISFIFO(mode) or (is_device and not os.path.samefile(path, os.devnull))
    except OSError:
        return False


def _odd_files(root: str) -> Iterator[str]:
    """Yield the entries of git's folders that are no plain files, and the included configurations."""
    folders = list(dict.fromkeys(project.git_folders(root)))
    configurations = [os.path.join(folder, name) for folder in folders for name in ("config", "config.worktree")]
    looked_at = 0
    while folders and looked_at < MAX_GIT_ENTRIES:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    looked_at += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif not entry.is_file(follow_symlinks=False):
                        yield entry.path
        except OSError:
            continue  # git says so itself
    for configuration in configurations:  # it grows meanwhile
        included = [file for file in _included_by(configuration) if file not in configurations]
        configurations += included[: MAX_INCLUDES - len(configurations)]
        yield from included


def _included_by(configuration: str) -> Iterator[str]:
    """Yield the files that a configuration of git includes, under any condition."""
    try:
        text = read_regular(configuration, MAX_GIT_CONFIG).decode("utf-8", "replace")
    except OSError:
        return
    section = ""
    for line in text.splitlines():
        rest = line
        while header := _SECTION.match(rest):
            section, rest = header[1].lower(), rest[header.end() :]
        found = _PATH.match(rest) if section in ("include", "includeif") else None
        if found and (name := (found[1] or found[2] or "").strip()):
            yield os.path.join(os.path.dirname(configuration), os.path.expanduser(name))
