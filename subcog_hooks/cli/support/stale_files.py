"""Memories whose files are gone: all of their `paths` mean files, and none of those is there any more."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from subcog_hooks.cues import globs
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.project import Project
from subcog_hooks.store.store import Filter, Store, audience_of

MAX_ENTRIES = 20_000  # files and folders that are looked at, in .2 s; a glob ends its search with the first file it matches
SKIPPED = ".git"

_WILD = frozenset("*?[{")


class Stale(NamedTuple):
    """The result of a look at the files.

    gone: the memories none of whose files is there; unknown: how many more may be so, in a project of more than MAX_ENTRIES.
    """

    gone: list[Memory]
    unknown: int


class _Sought(NamedTuple):
    """A glob that a file is sought for."""

    glob: str  # absolute where the paths it is held against are
    id: str  # of its memory


def find(store: Store, at: Project, most: int = MAX_ENTRIES) -> Stale:
    """Return the active memories of the project `at` whose files are all gone.

    most: files and folders that are looked at, in all of the project and once more in the folders that globs begin with.
    """
    audiences = tuple(audience_of("project", name) for name in at.names)
    missed = {memory.id: memory for memory in store.select(Filter(audiences=audiences)) if memory.paths}
    sought: dict[str, list[_Sought]] = {}
    for memory in list(missed.values()):
        for glob in memory.paths:
            beginning = _beginning(glob)
            if globs.is_absolute(glob):
                beginning = os.path.expanduser(beginning)
            folder = os.path.normpath(os.path.join(at.root, beginning))
            if not os.path.exists(folder):
                continue
            if _is_exact(glob):
                missed.pop(memory.id, None)
            else:
                sought.setdefault(folder, []).append(_Sought(globs.absolute(glob), memory.id))
    unknown = _seek(sought, missed, at.root, most)
    return Stale([memory for memory in missed.values() if memory.id not in unknown], len(unknown & missed.keys()))


def _seek(sought: dict[str, list[_Sought]], missed: dict[str, Memory], root: str, most: int) -> set[str]:
    """Look below each folder for the globs that begin with it, and take the memories that have a file out of `missed`.

    Return the ids of those of which not all was looked at.
    """
    unknown: set[str] = set()

    def search(folder: str, wanted: Sequence[_Sought], most: int) -> tuple[int, bool]:
        found, seen, is_whole = _search(folder, root, [one for one in wanted if one.id in missed], most)
        for id_ in found:
            missed.pop(id_, None)
        return seen, is_whole

    everywhere = sought.pop(root, [])
    if everywhere:
        inside = [folder for folder in sought if folder.startswith(os.path.join(root, ""))]
        _, is_whole = search(root, [*everywhere, *(one for folder in inside for one in sought[folder])], most)
        if is_whole:
            for folder in inside:
                del sought[folder]
        else:
            unknown.update(one.id for one in everywhere)
    for folder in sorted(sought, key=lambda path: (-path.count(os.sep), path)):  # the narrow ones are soon done
        seen, is_whole = search(folder, sought[folder], most)
        most -= seen
        if not is_whole:
            unknown.update(one.id for one in sought[folder])
    return unknown


def _beginning(glob: str) -> str:
    """Return a glob up to its first part that is more than a name; the whole glob if it is a file's path.

    >>> _beginning("src/db/**"), _beginning("src/db/pool.py"), _beginning("*.sql"), _beginning("pool.py"), _beginning("/*.md")
    ('src/db', 'src/db/pool.py', '', '', '/')
    """
    if _is_exact(glob):
        return glob
    if "/" not in glob.rstrip("/"):
        return ""  # a name, in any folder
    parts: list[str] = []
    for part in glob.rstrip("/").split("/"):
        if not _WILD.isdisjoint(part):
            break
        parts.append(part)
    return "/".join(parts) or "/" * glob.startswith("/")


def _is_exact(glob: str) -> bool:
    """Return whether a glob is the path of one file."""
    return _WILD.isdisjoint(glob) and "/" in glob and not glob.endswith("/")


def _search(folder: str, root: str, wanted: Sequence[_Sought], most: int) -> tuple[set[str], int, bool]:
    """Return the ids of memories with a glob for a file below `folder`, how much was looked at, and whether that was all."""
    keyed: dict[str, dict[str, set[str]]] = {}
    for one in wanted:
        keyed.setdefault(globs.key_of(one.glob), {}).setdefault(one.glob, set()).add(one.id)
    left = {one.id for one in wanted}
    seen = 0
    is_whole = True
    for path in _entries(folder):
        if not left:
            break
        if seen >= most:
            is_whole = False
            break
        seen += 1
        if path.endswith("/"):
            continue
        absolute = path.replace(os.sep, "/")
        relative = globs.relative(path, root) or absolute
        for key in globs.keys_of(absolute):
            for glob, ids in keyed.get(key, {}).items():
                if not ids.isdisjoint(left) and globs.matches(glob, absolute if globs.is_absolute(glob) else relative):
                    left -= ids
    return {one.id for one in wanted} - left, seen, is_whole


def _entries(folder: str) -> Iterator[str]:
    """Yield all files below a folder, and its folders with a slash behind; the upper ones first, each folder once."""
    waiting = deque([folder])
    known: set[tuple[int, int]] = set()
    while waiting:
        here = waiting.popleft()
        try:
            at = os.stat(here)
            if (at.st_dev, at.st_ino) in known:
                continue  # a link leads to where we have been
            known.add((at.st_dev, at.st_ino))
            with os.scandir(here) as entries:
                for entry in sorted(entries, key=lambda one: one.name):
                    if entry.is_dir():
                        if entry.name != SKIPPED:
                            waiting.append(entry.path)
                            yield entry.path + "/"
                    else:
                        yield entry.path
        except OSError:
            continue  # what can not be read is nobody's file
