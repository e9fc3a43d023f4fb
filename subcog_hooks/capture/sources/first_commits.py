"""The first commit of each Markdown file of a repository: the date of a text that tells none."""

import os
from collections.abc import Callable, Mapping
from functools import cache

from subcog_hooks.capture.sources.git_history import read_log
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import read_regular
from subcog_hooks.store import project
from subcog_hooks.store.memory import UNDATED

MAX_SHALLOW = 1_000_000  # bytes of .git/shallow
LIMIT_S = 10.0  # seconds; without an answer the texts stay undated
_LOG = (
    *("--reverse", "--diff-filter=AR", "--find-renames=100%", "--name-status", "-z", "--format=%x01%H %ct"),
    *("--", "*.md", "*.mdc", "*.mdx", "*.markdown", ".cursorrules", ".windsurfrules"),
)


def first_commit_reader(root: str, environment: Mapping[str, str]) -> Callable[[str], int]:
    """Return a function from a file's name to the time of its first commit, in milliseconds since the epoch.

    It returns UNDATED for a file without a commit, and where git gives no answer. Git is asked once, at the first call. A file
    keeps its date when it is renamed unchanged. The oldest commits of a shallow clone tell no date.
    """
    read_times = cache(lambda: _read_times(root, environment))
    return lambda file_name: read_times().get(file_name, UNDATED)


def _read_times(root: str, environment: Mapping[str, str]) -> dict[str, int]:
    times: dict[str, int] = {}
    shallow = _shallow_commits(root)
    commit_ms = UNDATED
    try:
        fields = read_log(root, _LOG, environment, LIMIT_S)
        for field in fields:
            if field.startswith("\x01"):
                commit, _, seconds = field[1:].strip().partition(" ")
                commit_ms = int(seconds) * 1000 if seconds.isdecimal() and commit not in shallow else UNDATED
            elif field.strip().startswith("R"):
                before = next(fields, "")
                times[next(fields, "")] = times.get(before, commit_ms)
            elif field.strip() == "A":
                times.setdefault(next(fields, ""), commit_ms)
    except UsageError:
        return {}
    return times


def _shallow_commits(root: str) -> frozenset[str]:
    folders = project.git_folders(root)
    try:
        return frozenset(read_regular(os.path.join(folders[-1], "shallow"), MAX_SHALLOW).decode("ascii", "replace").split())
    except (OSError, IndexError):
        return frozenset()
