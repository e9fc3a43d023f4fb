"""The first commit of each Markdown file of a repository: the date of a text that tells none."""

import os
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

from subcog_hooks.core import child_environment
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.llm.claude_client import Lifeline
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
    shallow = _shallow_commits(root)
    commit_ms = UNDATED
    try:
        fields = iter(_read_git(root, _FIRST_COMMITS, environment))
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


def _shallow_commits(root: str) -> frozenset[str]:
    folders = project.git_folders(root)
    try:
        return frozenset(read_regular(os.path.join(folders[-1], "shallow"), MAX_SHALLOW).decode("ascii", "replace").split())
    except (OSError, IndexError):
        return frozenset()


_GIT = ("--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never")
_ENVIRONMENT = {  # git fetches no object, asks nobody and writes nothing
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}


def _read_git(root: str, words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the fields that a reading command of git prints, separated by NUL.

    Raises OSError where git cannot be run, and subprocess.SubprocessError where it fails or takes too long.
    """
    program = child_environment.find_program("git")
    if program is None or not leads_out(program, root):
        raise FileNotFoundError("git is not installed outside of the repository")
    if any(map(_can_block, _find_special_files(root))):
        raise OSError("git would wait for a named pipe or a device in the repository")
    with (
        Lifeline() as lifeline,
        subprocess.Popen(
            lifeline.words_for([program, *_GIT, "-C", root, *words]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**child_environment.environment_of_git(environment), **_ENVIRONMENT},
            start_new_session=True,
            pass_fds=lifeline.descriptors,
        ) as process,
    ):
        try:
            printed, _ = process.communicate(timeout=LIMIT_S)
        finally:
            lifeline.cut()
            if os.name == "nt":
                process.kill()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, "git")
    return printed.decode("utf-8", "replace").split("\0")


MAX_GIT_ENTRIES = 300_000  # entries of git's folders; git packs loose objects from some 7,000 on
MAX_GIT_CONFIG = 1_000_000  # bytes of a configuration file
MAX_INCLUDES = 100  # configuration files; git itself nests ten


def _can_block(path: str) -> bool:
    """Return whether git could wait for this file for ever."""
    try:
        mode = os.stat(path).st_mode
        is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
        return stat.S_ISFIFO(mode) or (is_device and not os.path.samefile(path, os.devnull))
    except OSError:
        return False


def _find_special_files(root: str) -> Iterator[str]:
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
            continue  # git reports it itself
    for configuration in configurations:  # the list grows meanwhile
        included = [file for file in _find_includes(configuration) if file not in configurations]
        configurations += included[: MAX_INCLUDES - len(configurations)]
        yield from included


def _find_includes(configuration: str) -> Iterator[str]:
    try:
        text = read_regular(configuration, MAX_GIT_CONFIG).decode("utf-8", "replace")
    except OSError:
        return
    for section, _, key, value in project.parse_config(text):
        if section in ("include", "includeif") and key == "path" and value:
            yield os.path.join(os.path.dirname(configuration), os.path.expanduser(value))
