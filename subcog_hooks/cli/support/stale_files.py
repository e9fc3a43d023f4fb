"""Find memories with files that are gone or have changed much since. The hook reads the changed ones from the flags."""

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from subcog_hooks.capture import changed_files
from subcog_hooks.capture.sources import claude_memory
from subcog_hooks.cli.claude_code import claude_notes
from subcog_hooks.cli.support import context
from subcog_hooks.core import log
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.core.errors import ConfigError, UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.cues import globs
from subcog_hooks.store import import_record, state_values
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.project import Project, find_project
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of

MAX_ENTRIES = 20_000  # files and folders that are visited, in 0.2 s; a glob ends with the first file it matches
SKIPPED = ".git"

_WILD = frozenset("*?[{")


class StaleMemories(NamedTuple):
    """The memories without a file, and the number that could not be checked.

    gone: memories that match no file; unknown: unchecked memories, in a project of more than MAX_ENTRIES.
    """

    gone: list[Memory]
    unknown: int


Wanted = Sequence[tuple[str, str]]  # globs that files are searched for, each with the id of its memory


def find_stale(store: Store, here: Project, max_entries: int = MAX_ENTRIES) -> StaleMemories:
    """Return the active memories of a project whose files are all gone.

    max_entries: limit of visited entries, once for the project and once more for the folders that globs begin with.
    """
    missed = {memory.id: memory for memory in _memories_of(store, here) if memory.paths}
    by_folder: dict[str, list[tuple[str, str]]] = {}
    for memory in list(missed.values()):
        for glob in memory.paths:
            beginning = _beginning(glob)
            if globs.is_absolute(glob):
                beginning = os.path.expanduser(beginning)
            folder = os.path.normpath(os.path.join(here.root, beginning))
            if not os.path.exists(folder):
                continue
            if _is_exact(glob):
                missed.pop(memory.id, None)
            else:
                by_folder.setdefault(folder, []).append((globs.expand_home(glob), memory.id))
    unknown = _search_folders(by_folder, missed, here.root, max_entries)
    return StaleMemories([memory for memory in missed.values() if memory.id not in unknown], len(unknown & missed.keys()))


def _memories_of(store: Store, here: Project) -> list[Memory]:
    return store.select(Filter(audiences=tuple(audience_of("project", name) for name in here.names)))


def find_changes(store: Store, here: Project, pace: Pace = FULL_PACE) -> list[tuple[Memory, str]]:
    """Return the memories of a project whose files have changed much, each with a phrase about it. Raises UsageError."""
    memories = {memory.id: memory for memory in _memories_of(store, here)}
    phrases = changed_files.find_changes(here.root, memories.values(), os.environ, pace.goes_on)
    return [(memories[id_], phrase) for id_, phrase in phrases.items()]


def note_changes_in_background(home: Home, pace: Pace) -> str:
    """Tell the hook which memories name much changed files, and return a summary, "" for none. Raises StoreError.

    The memories are those of all projects that the person's client, imports or memories lead to.
    """
    changes: dict[str, tuple[str, int]] = {}
    with Store.reader(home) as store:
        for here in _find_projects(home, store):
            try:
                changed = find_changes(store, here, pace)
            except UsageError as error:
                log.write_line(home, f"changed files were not checked in {here.root}: {error.message}")
                continue
            changes |= {memory.id: (phrase, memory.written_at) for memory, phrase in changed}
    if not pace.goes_on():
        return ""  # The earlier findings stay.
    with context.existing_state(home, context.STATE_WAIT_MS) as state:
        if state:
            state.begin()
            state_values.replace_changes(state, changes)
            state.commit()
    names = "memory names a file" if len(changes) == 1 else "memories name files"
    return f"{len(changes):,} {names} changed since" if changes else ""


def _find_projects(home: Home, store: Store) -> list[Project]:
    """Return the projects on this machine that have memories, as far as a folder of them is known."""
    roots = [entry.root for entry in import_record.read_imports(home) if entry.root]
    roots += [name for name in store.projects() if os.path.isabs(name)]
    try:
        roots = [*claude_memory.find_project_roots(claude_notes.config_folder()).values(), *roots]
    except ConfigError as error:
        log.write_line(home, f"the client's projects were not checked: {error.message}")
    projects: dict[str, Project] = {}
    for root in roots:
        if here := find_project(root):
            projects.setdefault(here.identity, here)
    return list(projects.values())


def _search_folders(by_folder: Mapping[str, Wanted], missed: dict[str, Memory], root: str, max_entries: int) -> set[str]:
    """Search each folder for its globs, and remove memories that have a file from `missed`.

    Return the ids of memories whose search was not complete.
    """
    unknown: set[str] = set()

    def search(folder: str, wanted: Wanted, max_entries: int) -> tuple[int, bool]:
        still_missed = [(glob, id_) for glob, id_ in wanted if id_ in missed]
        matched_ids, seen, is_whole = _search_folder(folder, root, still_missed, max_entries)
        for id_ in matched_ids:
            missed.pop(id_, None)
        return seen, is_whole

    left = {folder: wanted for folder, wanted in by_folder.items() if folder != root}
    if everywhere := by_folder.get(root):
        inside = [folder for folder in left if folder.startswith(os.path.join(root, ""))]
        _, is_whole = search(root, [*everywhere, *(row for folder in inside for row in left[folder])], max_entries)
        if is_whole:
            for folder in inside:
                del left[folder]
        else:
            unknown.update(id_ for _, id_ in everywhere)
    for folder in sorted(left, key=lambda path: (-path.count(os.sep), path)):  # The narrow ones end soon.
        seen, is_whole = search(folder, left[folder], max_entries)
        max_entries -= seen
        if not is_whole:
            unknown.update(id_ for _, id_ in left[folder])
    return unknown


def _beginning(glob: str) -> str:
    """Return a glob up to its first part with a wildcard; the whole glob if it is a file's path.

    >>> _beginning("src/db/**"), _beginning("src/db/pool.py"), _beginning("*.sql"), _beginning("pool.py"), _beginning("/*.md")
    ('src/db', 'src/db/pool.py', '', '', '/')
    """
    if _is_exact(glob):
        return glob
    if "/" not in glob.rstrip("/"):
        return ""  # A bare name matches in any folder.
    parts = takewhile(_WILD.isdisjoint, glob.rstrip("/").split("/"))
    return "/".join(parts) or "/" * glob.startswith("/")


def _is_exact(glob: str) -> bool:
    return _WILD.isdisjoint(glob) and "/" in glob and not glob.endswith("/")


def _search_folder(folder: str, root: str, wanted: Wanted, max_entries: int) -> tuple[set[str], int, bool]:
    """Return the ids of memories with a file below `folder`, the number of visited entries, and whether all were visited."""
    keyed: dict[str, dict[str, set[str]]] = {}
    for glob, id_ in wanted:
        keyed.setdefault(globs.key_of_glob(glob), {}).setdefault(glob, set()).add(id_)
    left = {id_ for _, id_ in wanted}
    seen = 0
    is_whole = True
    for path in _entries(folder):
        if not left:
            break
        if seen >= max_entries:
            is_whole = False
            break
        seen += 1
        if path.endswith("/"):
            continue
        absolute = path.replace(os.sep, "/")
        relative = globs.relative_path(path, root) or absolute
        for key in globs.keys_of_path(absolute):
            for glob, ids in keyed.get(key, {}).items():
                if not ids.isdisjoint(left) and globs.matches(glob, absolute if globs.is_absolute(glob) else relative):
                    left -= ids
    return {id_ for _, id_ in wanted} - left, seen, is_whole


def _entries(folder: str) -> Iterator[str]:
    """Yield all files below a folder, and its folders with a trailing slash; upper levels first, each folder once.

    Linked folders come last: a folder inside the tree is visited under its own path, not under a link's.
    """
    waiting, linked = deque([folder]), deque[str]()
    visited: set[tuple[int, int]] = set()
    while waiting or linked:
        here = (waiting or linked).popleft()
        try:
            status = os.stat(here)
            if (status.st_dev, status.st_ino) in visited:
                continue  # A link leads to a visited folder.
            visited.add((status.st_dev, status.st_ino))
            with os.scandir(here) as entries:
                for entry in sorted(entries, key=lambda item: item.name):
                    if entry.is_dir():
                        if entry.name != SKIPPED:
                            (linked if entry.is_symlink() else waiting).append(entry.path)
                            yield entry.path + "/"
                    else:
                        yield entry.path
        except OSError:
            continue  # An unreadable folder has no files.
