"""A repository's files: the repository that holds a file, and the part of a memory that such a file may choose.

Anybody who can write to a repository chooses its files. So they give texts about that repository alone.
"""

import os
from collections.abc import Iterable

from subcog_hooks.core.accepted_homes import is_users_own
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.paths import account_folder, find_repository
from subcog_hooks.core.regular_files import leads_out
from subcog_hooks.cues import globs
from subcog_hooks.store.memory import FILE, Memory
from subcog_hooks.store.project import Project, find_project

CUE_FIELDS = ("triggers", "paths", "when", "questions", "standing")  # bring a memory without a prompt in its words
LIMITED_FIELDS = (*CUE_FIELDS, "keywords", "priority")  # are not for a repository's file to choose


def find_holder(path: str, usual: str = "") -> Project | None:
    """Return the repository that holds a file or folder, None for the person's own files.

    A path is the person's own in `usual`, its program's usual folder, and in a repository that holds the person's whole home.
    Raises UsageError for a link that leads out of a repository.
    """
    named, real = os.path.abspath(path), os.path.realpath(path)
    nearest_root = find_repository(os.path.dirname(named))
    if nearest_root and not _is_users_own(named, usual, nearest_root) and leads_out(path, nearest_root):
        raise UsageError(f"{path} is a link out of its repository", "name the file or folder that it leads to")
    here = find_project(real if os.path.isdir(real) else os.path.dirname(real))
    return here if here and not _is_users_own(named, usual, here.root) else None


def _is_users_own(path: str, usual: str, root: str) -> bool:
    """Return whether a path in a repository is the person's own, as far as no repository can have set `~`."""
    try:
        is_usual = os.path.join(path, "").startswith(os.path.join(os.path.abspath(usual), "")) if usual else False
        return (is_usual and is_users_own(os.path.expanduser("~"))) or not leads_out(account_folder(), root)
    except OSError:  # the system does not know this user
        return False


def clear_fields(memory: Memory, names: Iterable[str]) -> Memory:
    """Return a memory with the defaults of these fields."""
    bare = Memory(id=memory.id, content=memory.content)
    return memory.with_changes(**{name: getattr(bare, name) for name in names})


def limit_to_repository(memory: Memory, repository: str, paths: Iterable[str] = ()) -> Memory:
    """Return the text that a repository's file gives: about that repository, and a file's word.

    repository: its identity. paths: the globs in the front matter of the text's own file.
    """
    owner = {"scope": "project", "project": repository, "trust": FILE}
    return clear_fields(memory, LIMITED_FIELDS).with_changes(**owner, paths=tuple(narrow_globs(paths)))


def narrow_globs(paths: Iterable[str]) -> list[str]:
    """Return the globs of some files of a repository.

    >>> narrow_globs(["**", "src/**", "{*,**/*}", "/etc/*", "*.sql"])
    ['src/**', '*.sql']
    """
    return [glob for glob in paths if not globs.is_absolute(glob) and not globs.matches_most_files(glob)]
