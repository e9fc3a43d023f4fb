"""Single keys of a terminal, also those that were pressed before somebody waited for them."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

if sys.platform != "win32":
    import termios
    import tty


@contextmanager
def single_keys() -> Iterator[None]:
    """Let `next_key` have each key at once, without Enter and without an echo; Ctrl-C goes on interrupting."""
    if sys.platform == "win32":
        yield
        return
    before = termios.tcgetattr(sys.stdin.fileno())

    def listen(*_: object) -> None:
        tty.setcbreak(sys.stdin.fileno(), termios.TCSADRAIN)

    listen()
    was = signal.signal(signal.SIGCONT, listen)  # a shell takes its own settings back while the command is stopped
    try:
        yield
    finally:
        signal.signal(signal.SIGCONT, was)
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


@contextmanager
def whole_lines() -> Iterator[None]:
    """Give the terminal to another program inside of `single_keys`, as it usually is."""
    if sys.platform == "win32":
        yield
        return
    now = termios.tcgetattr(sys.stdin.fileno())
    usual = termios.tcgetattr(sys.stdin.fileno())
    usual[3] |= termios.ICANON | termios.ECHO
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, usual)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, now)


def next_key() -> str:
    """Return the key that is pressed next, "" for one that is no character. Raises KeyboardInterrupt at the end of input."""
    if sys.platform == "win32":
        return typer.getchar()
    pressed = os.read(sys.stdin.fileno(), 1)
    if pressed in (b"", b"\x04"):
        raise KeyboardInterrupt
    if pressed == b"\x1b":  # an arrow, say: what follows at once belongs to it
        _skip_sequence()
        return ""
    if pressed[0] >= 0xC0:  # of a letter that is no key: bytes that follow at once belong to it
        _skip_bytes(1 + (pressed[0] >= 0xE0) + (pressed[0] >= 0xF0))
    return pressed.decode("ascii", "ignore")


def _skip_bytes(count: int) -> None:
    import select  # as below

    while count and select.select([sys.stdin.fileno()], [], [], 0.05)[0]:
        count -= len(os.read(sys.stdin.fileno(), 1)) or count


def _skip_sequence() -> None:
    import select  # for keys that nobody means here

    while select.select([sys.stdin.fileno()], [], [], 0.05)[0]:
        letter = os.read(sys.stdin.fileno(), 1)
        if letter.isalpha() or letter in (b"", b"~"):
            return
