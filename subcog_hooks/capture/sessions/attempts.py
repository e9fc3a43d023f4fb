"""A session's commands: those that failed, and worked a little later in another form while nothing else was changed.

Of what a command printed nothing is kept.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from subcog_hooks.capture.sessions.commands import MAX_LENGTH, Command, OtherForm, find_change, only_looks, read_command

TOOL = "Bash"
MOST_FAILED = 5  # that are waited for
MOST_LATER = 8  # commands after which one that failed is not thought of any more
MOST_WORKED = 2_000  # commands of a session that are kept, to see that the failed form never worked
MOST_FIXES = 100  # of one reading
MAX_PRINTED = 2_000  # characters that are looked at
MAX_ID = 100  # characters of a call's id
_FAILED = re.compile(r"Exit code (\d{1,3})\b")  # how the client begins what a command printed that failed
_STOPPED = frozenset((124, 130, 137, 143))  # exit codes of a command that somebody ended
_LATE = "command timed out"


class Fix(NamedTuple):
    """A command that failed, and the form in which it worked then.

    at: milliseconds since the epoch; uuid, offset: of the row in which it worked; folder: where it failed.
    """

    change: OtherForm
    session: str
    folder: str
    at: int
    uuid: str
    offset: int


class Ended(NamedTuple):
    """The row in which a command ended. at: milliseconds since the epoch; is_new: it was not read before."""

    session: str
    at: int
    uuid: str
    offset: int
    is_new: bool


class _Failed(NamedTuple):
    command: Command
    folder: str
    printed: str
    number: int  # of the session's commands


class Attempts:
    """Follows the commands of one session."""

    __slots__ = ("_count", "_failed", "_fixes", "_running", "_worked")

    def __init__(self) -> None:
        self._running: dict[str, tuple[str, str]] = {}  # command and folder, by the call's id
        self._failed: list[_Failed] = []
        self._fixes: list[tuple[Fix, Command]] = []
        self._worked: dict[str, str] = {}  # its folder, by the command
        self._count = 0

    def begin(self, identifier: str, given: Mapping[str, object], folder: str) -> None:
        """Note that a command is about to run."""
        command = given.get("command")
        if isinstance(command, str) and 0 < len(identifier) <= MAX_ID and not given.get("run_in_background"):
            if len(self._running) > MOST_WORKED:
                self._running.clear()
            self._running[identifier] = (command[: MAX_LENGTH + 1], folder)  # a longer one is only known to have run

    def disturb(self) -> None:
        """Note that something changed: what failed before may work now in the form that it had."""
        self._failed.clear()

    def end(self, identifier: str, printed: str, ended: Ended, *, is_error: bool) -> None:
        """Note how a command ended, by what the client wrote of it."""
        known = self._running.pop(identifier, None)
        if known is None:
            return
        text, folder = known
        self._count += 1
        if is_error:
            self._note_failed(text, folder, printed)
        else:
            self._note_worked(text, folder, ended)

    def _note_failed(self, text: str, folder: str, printed: str) -> None:
        first = printed[:MAX_PRINTED]
        exit_code = _FAILED.match(first)
        command = read_command(text, folder)
        if not exit_code or int(exit_code[1]) in _STOPPED or _LATE in first.lower() or command is None:
            return  # it was refused, ended, or is more than a command
        self._failed.append(_Failed(command, folder, first, self._count))
        del self._failed[:-MOST_FAILED]

    def _note_worked(self, text: str, folder: str, ended: Ended) -> None:
        if len(text) <= MAX_LENGTH and len(self._worked) < MOST_WORKED:
            self._worked.setdefault(text, folder)
        if not self._failed:
            return
        command = read_command(text, folder)
        for failed in self._failed if command else ():
            is_near = self._count - failed.number <= MOST_LATER and failed.folder == folder
            change = find_change(failed.command, command, failed.printed) if command and is_near else None
            if change:
                if ended.is_new and len(self._fixes) < MOST_FIXES:
                    fix = Fix(change, ended.session, folder, ended.at, ended.uuid, ended.offset)
                    self._fixes.append((fix, failed.command))
                break
        if not only_looks(text):
            self.disturb()

    def worked(self) -> dict[str, str]:
        """Return the commands that worked, each with the folder it first did so in."""
        return self._worked

    def fixes(self) -> list[Fix]:
        """Return what was found, without a form that worked in this session, too."""
        if not self._fixes:
            return []
        worked = {one.signature for text, folder in self._worked.items() if (one := read_command(text, folder))}
        return [fix for fix, failed in self._fixes if failed.signature not in worked]
