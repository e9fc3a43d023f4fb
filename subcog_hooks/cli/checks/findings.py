"""The findings of `doctor`, printed as they come or collected for a report."""

import os
import platform
import re
from dataclasses import dataclass, field

from subcog_hooks import __version__
from subcog_hooks.cli.terminal.output import terminal
from subcog_hooks.core.errors import EXIT_STORE
from subcog_hooks.core.log import escape_controls

_GOOD, _WARNING, _BAD = "ok", "note", "BAD"


@dataclass(slots=True)
class Findings:
    """The findings of `doctor`: prints each as it comes, or collects them, and keeps the first exit code."""

    is_collected: bool = False  # for `--json`
    rows: list[dict[str, str]] = field(default_factory=list)
    exit_code: int = 0
    is_silenced: bool = False  # a pause or a setting silences the hook, not the prompt

    def good(self, text: str) -> None:
        self._line(_GOOD, "green", text)

    def note(self, text: str) -> None:
        self._line(_WARNING, "yellow", text)

    def bad(self, text: str, exit_code: int = EXIT_STORE) -> None:
        self.exit_code = self.exit_code or exit_code
        self._line(_BAD, "red", text)

    def _line(self, word: str, style: str, text: str) -> None:
        if self.is_collected:
            self.rows.append({"level": word.lower(), "text": _shorten_paths(escape_controls(text))})
            return
        terminal.pieces((f"{word:>4}", style), ("  " + escape_controls(text), ""), indent=6)


def _shorten_paths(text: str) -> str:
    """Return a text in which paths begin with ~ instead of the user's folder."""
    user = os.path.expanduser("~").rstrip(os.sep)
    return re.sub(rf"(?<![\w.~/\\-]){re.escape(user)}(?![\w.-])", "~", text) if user else text


def print_report(findings: Findings) -> None:
    system = f"{platform.system()} {platform.machine()}"
    versions = {"version": __version__, "python": platform.python_version(), "system": system}
    terminal.json({**versions, "exit_code": findings.exit_code, "findings": findings.rows}, indent=1)
