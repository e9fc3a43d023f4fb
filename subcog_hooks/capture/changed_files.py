"""Files that have changed much since a memory named them, by git.

A file counts when a quarter of the lines that the memory saw is gone. Lines that were added make a memory no less true, and
most changes are small. A memory is often written before the commit that it describes: a day's commits belong to it.
"""

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from subcog_hooks.capture.sources.first_commits import LOG, read_git
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import leads_out, read_regular
from subcog_hooks.store import project
from subcog_hooks.store.memory import UNDATED, Memory
from subcog_hooks.text.mentions import named_files

MIN_GONE = 0.25  # share of a file's lines
SETTLING_MS = 86_400_000  # ms after a memory's date
MAX_NAMED = 5  # files of a memory
MAX_ARGUMENTS = 16_000  # characters of the files' names in one call of git; Windows takes 32,000
MAX_COMPARISONS = 200  # commits of a project that are compared with the newest one
MAX_FILE_BYTES = 4_000_000
LIMIT_S = 20.0  # seconds of one call of git
MAX_HEAD = 1_000  # bytes

_DIFF = (
    *("diff", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"),
    "--ignore-submodules=all",
)
_REFERENCE = "ref: "
_Lines = Mapping[str, tuple[int, int]]  # the added and the deleted lines, by file


def find_changes(
    root: str, memories: Iterable[Memory], environment: Mapping[str, str], goes_on: Callable[[], bool]
) -> dict[str, str]:
    """Return the phrase about the first much changed file of each memory, by id. Raises UsageError where git fails.

    root: of the worktree that the memories are about. goes_on: asked before each call of git; the rest is left out once it is
    false.
    """
    changes: dict[str, str] = {}
    comparisons_left = MAX_COMPARISONS
    for batch in _batches(memories) if _has_commits(root) else ():
        if not goes_on():
            break
        paths = [f":(top,literal){name}" for name in dict.fromkeys(name for _, names in batch for name in names)]
        commits = _list_commits(root, paths, environment)
        compared: dict[str, _Lines] = {}
        for memory, names in batch:
            settled_ms = memory.written_at + SETTLING_MS
            base = next((commit for commit, time_ms in commits if time_ms <= settled_ms), "")
            if not base or base == commits[0][0]:
                continue  # The files did not exist yet, or have not changed since.
            if base not in compared:
                if not comparisons_left or not goes_on():
                    return changes
                comparisons_left -= 1
                compared[base] = _count_lines(root, [base, "HEAD", "--", *paths], environment)
            phrases = (_describe_change(root, name, compared[base]) for name in names)
            if phrase := next(filter(None, phrases), ""):
                changes[memory.id] = phrase
    return changes


def _has_commits(root: str) -> bool:
    """Return whether the branch of a worktree seems to have a commit, without reading one."""
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


def _batches(memories: Iterable[Memory]) -> Iterator[list[tuple[Memory, Sequence[str]]]]:
    """Yield the dated memories that name files, the newest first, in batches whose names fit into a command line."""
    batch: list[tuple[Memory, Sequence[str]]] = []
    characters = 0
    for memory in sorted(memories, key=lambda memory: (-memory.written_at, memory.id)):
        names = _named_paths(memory) if memory.created_at != UNDATED else ()
        if not names:
            continue
        length = sum(len(name) + 20 for name in names)  # with the signs around each
        if batch and characters + length > MAX_ARGUMENTS:
            yield batch
            batch, characters = [], 0
        batch.append((memory, names))
        characters += length
    if batch:
        yield batch


def _named_paths(memory: Memory) -> Sequence[str]:
    """Return the files that a memory names by their whole path from the project's root."""
    names = dict.fromkeys((*memory.paths, *named_files(memory.content)))
    return [name for name in names if named_files(name) == (name,) and not os.path.isabs(name)][:MAX_NAMED]


def _list_commits(root: str, paths: Sequence[str], environment: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return the commits that changed some of these files, the newest first, with their times in milliseconds."""
    rows = _ask_git(root, [*LOG, "--no-patch", "--format=%H %ct", "HEAD", "--", *paths], environment)
    pairs = (row.split() for row in rows)
    return [(pair[0], int(pair[1]) * 1000) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()]


def _count_lines(root: str, words: Sequence[str], environment: Mapping[str, str]) -> _Lines:
    counts = {}
    for row in _ask_git(root, [*_DIFF, *words], environment):
        added, _, rest = row.partition("\t")
        deleted, _, name = rest.partition("\t")
        if added.isdecimal() and deleted.isdecimal():  # A binary file has no lines.
            counts[name] = int(added), int(deleted)
    return counts


def _ask_git(root: str, words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    try:
        return read_git(root, words, environment, LIMIT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"git failed: {error}", "look whether `git log` works here") from error


def _describe_change(root: str, name: str, lines: _Lines) -> str:
    added, deleted = lines.get(name, (0, 0))
    path = os.path.join(root, name)
    if not deleted or leads_out(path, root):
        return ""
    if not os.path.lexists(path):
        return f"{name} gone since"
    try:
        content = read_regular(path, MAX_FILE_BYTES)
    except OSError:
        return ""
    before = len(content.splitlines()) - added + deleted
    return f"{name} changed since" if deleted >= MIN_GONE * before else ""
