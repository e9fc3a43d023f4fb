"""The first commit of each Markdown file of a repository: the date of a text that tells none."""

import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache

from subcog_hooks.core import child_environment
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.store import project
from subcog_hooks.store.memory import UNDATED

MAX_SHALLOW = 1_000_000  # bytes of .git/shallow
MAX_COMMITS = 100_000  # the newest commits; Linux has a million
LIMIT_S = 10.0  # seconds; without an answer the texts stay undated

_FIRST_COMMITS = (
    *("log", "-z", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-notes", "--no-color"),
    *("--no-mailmap", "--no-decorate", "--no-graph", f"--max-count={MAX_COMMITS}"),
    *("--reverse", "--diff-filter=AR", "--find-renames=100%", "--name-status", "--format=%x01%H %ct"),
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
    commit_ms, shallow = UNDATED, frozenset[str]()
    with suppress(OSError, IndexError):
        listed = read_regular(os.path.join(project.git_folders(root)[-1], "shallow"), MAX_SHALLOW)
        shallow = frozenset(listed.decode("ascii", "replace").split())
    try:
        fields = iter(_read_git(root, environment))
    except (OSError, subprocess.SubprocessError):
        return {}
    for field in fields:
        if field.startswith("\x01"):
            commit, _, seconds = field[1:].strip().partition(" ")
            commit_ms = int(seconds) * 1000 if seconds.isdecimal() and commit not in shallow else UNDATED
        elif field.strip().startswith("R"):
            before = next(fields, "")
            times[next(fields, "")] = times.get(before, commit_ms)
        elif field.strip() == "A":
            times.setdefault(next(fields, ""), commit_ms)
    return times


_GIT = ("--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never")
_ENVIRONMENT = {  # git fetches no object, asks nobody and writes nothing
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


def _read_git(root: str, environment: Mapping[str, str]) -> list[str]:
    """Return the fields of the log of first commits. Raises OSError, or subprocess.SubprocessError where git takes too long."""
    program = child_environment.find_program("git")
    if program is None or not leads_out(program, root):
        raise FileNotFoundError("git is not installed outside of the repository")
    printed = subprocess.run(
        [program, *_GIT, "-C", root, *_FIRST_COMMITS],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**child_environment.environment_of_git(environment), **_ENVIRONMENT},
        timeout=LIMIT_S,
        check=True,
    ).stdout
    return printed.decode("utf-8", "replace").split("\0")
