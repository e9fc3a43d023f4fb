"""The command line that runs our hook in the settings of agents other than Claude Code.

Some of them block a prompt or a tool when a hook fails or writes to stderr. So the line stays silent and ends with 0 even where
subcog is gone.
"""

import re
import shlex
import subprocess
from collections.abc import Sequence

_SILENT = "exec 2>/dev/null; "
_OR = " || "
_GUARD = "exit 0"
_IF_THERE = ["cmd", "/d", "/c", "if", "exist"]  # cmd.exe and PowerShell read it alike
_HOOK = re.compile(r" hook --client [a-z]{1,20}( \|\| exit 0)?\Z")
_MAX_HOOK = 60  # characters of it, so that a long command in a repository's settings takes no time


def make_line(commands: Sequence[Sequence[str]], client: str, *, is_windows: bool) -> str:
    """Return the line that runs the first command that works; on Windows the last one, if its program is there.

    >>> make_line([["/opt/subcog"]], "codex", is_windows=False)
    "sh -c 'exec 2>/dev/null; /opt/subcog hook --client codex || exit 0'"
    >>> make_line([["C:\\\\x\\\\subcog.exe"]], "codex", is_windows=True)
    'cmd /d /c if exist C:\\\\x\\\\subcog.exe C:\\\\x\\\\subcog.exe hook --client codex'
    """
    whole = [[*command, "hook", "--client", client] for command in commands]
    if is_windows:
        return subprocess.list2cmdline([*_IF_THERE, whole[-1][0], *whole[-1]])
    return f"sh -c {shlex.quote(_SILENT + _OR.join([*map(shlex.join, whole), _GUARD]))}"


def is_line(words: Sequence[str]) -> bool:
    """Return whether the words of a command are such a line, of any installation."""
    text = " ".join(words)
    is_guarded = [*words[:2]] == ["sh", "-c"] or [*words[: len(_IF_THERE)]] == _IF_THERE
    return is_guarded and "subcog" in text.lower() and _HOOK.search(text[-_MAX_HOOK:]) is not None


def split_line(words: Sequence[str]) -> list[list[str]]:
    """Return the commands that a line tries in turn; for another command that one alone."""
    if not is_line(words):
        return [[*words]]
    if words[0] == "sh":
        return [shlex.split(part) for part in words[2].removeprefix(_SILENT).removesuffix(_OR + _GUARD).split(_OR)]
    return [[*words[len(_IF_THERE) + 1 :]]]
