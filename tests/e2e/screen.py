"""A terminal for tests: a pseudo-terminal that a command runs on, and what its bytes leave on the screen."""

from __future__ import annotations

import os
import re
import select
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

if sys.platform != "win32":
    import fcntl
    import pty
    import termios

_SEQUENCE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b\][^\x07]*\x07|(\x1b)")
_LONG_SECONDS = 60.0  # many times what any command here needs


class Screen:
    """A screen of `columns` by `rows`, and what has scrolled off its top: enough of a terminal for what rich writes.

    Unknown control sequences are an error, so that none is taken for done.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.gone: list[str] = []  # lines above the first one
        self.too_long: list[str] = []  # lines that did not fit, as far as they were written
        self._lines = [""] * rows
        self._row = self._column = 0

    @property
    def lines(self) -> list[str]:
        """All lines that can be seen, by scrolling back too, without the empty ones at the end."""
        kept = [line.rstrip() for line in (*self.gone, *self._lines)]
        while kept and not kept[-1]:
            kept.pop()
        return kept

    def feed(self, text: str) -> Screen:
        """Take what a program has written."""
        place = 0
        for found in _SEQUENCE.finditer(text):
            self._write(text[place : found.start()])
            assert not found[3], f"an unknown sequence: {text[found.start() :][:20]!r}"
            if found[2]:
                self._control(found[1], found[2])
            place = found.end()
        self._write(text[place:])
        return self

    def _write(self, text: str) -> None:
        for character in text:
            if character == "\r":
                self._column = 0
            elif character == "\n":
                self._down()
            else:
                assert character.isprintable(), f"a control character: {character!r}"
                if self._column == self.columns:
                    self.too_long.append(self._lines[self._row])
                    self._column = 0
                    self._down()
                line = self._lines[self._row].ljust(self._column)
                self._lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
                self._column += 1

    def _down(self) -> None:
        if self._row == self.rows - 1:
            self.gone.append(self._lines.pop(0))
            self._lines.append("")
        else:
            self._row += 1

    def _control(self, parameters: str, kind: str) -> None:
        if kind == "m" or (parameters == "?25" and kind in "lh"):
            return
        if kind == "A":
            self._row = max(0, self._row - int(parameters or 1))
        elif kind == "K" and parameters == "2":
            self._lines[self._row] = ""
        else:
            raise AssertionError(f"an unknown sequence: \\x1b[{parameters}{kind}")


class OnTerminal:
    """A command that runs on a terminal of its own: standard input, output and errors, all three."""

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], columns: int = 120, rows: int = 40
    ) -> None:
        if sys.platform == "win32":
            raise OSError("there are no pseudo-terminals here")
        self._ours, theirs = pty.openpty()
        self.resize(columns, rows)
        self.written = ""
        try:
            self.process = subprocess.Popen(
                command,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                cwd=folder,
                env={"TERM": "xterm-256color", **environment},
                start_new_session=True,
            )
        finally:
            os.close(theirs)

    def read_until(self, text: str, times: int = 1) -> str:
        """What the command has written, once `text` is in it so many times."""
        self._read(text, times)
        assert self.written.count(text) >= times, self.written
        return self.written

    def type(self, text: str) -> None:
        """Type on its keyboard."""
        os.write(self._ours, text.encode())

    def press(self, key: str) -> None:
        """Type a key once the command waits for a single one."""
        deadline = time.monotonic() + _LONG_SECONDS
        while self.is_sane():
            assert time.monotonic() < deadline, self.written
        self.type(key)

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size, as a person who pulls at its corner; the kernel tells the command."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.columns, self.rows = columns, rows

    def is_sane(self) -> bool:
        """Whether what is typed is shown and comes in whole lines, as a shell expects it."""
        flags = termios.tcgetattr(self._ours)[3]
        return bool(flags & termios.ECHO and flags & termios.ICANON)

    def end(self) -> int:
        """Wait for the end; the exit code."""
        self._read(None)
        os.close(self._ours)
        return self.process.wait(_LONG_SECONDS)

    def kill(self) -> None:
        """Take care that nothing of it is left, however a test ended."""
        self.process.kill()
        self.process.wait(_LONG_SECONDS)

    def screen(self) -> Screen:
        """What is to be seen by now."""
        return Screen(self.columns, self.rows).feed(self.written)

    @classmethod
    def shown(
        cls, command: Sequence[str], folder: Path, environment: Mapping[str, str], columns: int = 120, rows: int = 40
    ) -> tuple[int, list[str]]:
        """Run a command to its end: its exit code, and the lines that it leaves on the screen."""
        terminal = cls(command, folder, environment, columns, rows)
        try:
            return terminal.end(), terminal.screen().lines
        finally:
            terminal.kill()

    def _read(self, until: str | None, times: int = 1) -> None:
        deadline = time.monotonic() + _LONG_SECONDS
        raw = b""
        while until is None or self.written.count(until) < times:
            ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self.kill()
                raise AssertionError(f"nothing for {_LONG_SECONDS:.0f} s after {self.written[-200:]!r}")
            try:
                chunk = os.read(self._ours, 1 << 16)
            except OSError:  # Linux: the other end is closed
                return
            if not chunk:  # macOS: the same
                return
            raw += chunk
            if raw[-1] < 0x80:  # not in the middle of a character; the last one written is a line end
                self.written += raw.decode()
                raw = b""
