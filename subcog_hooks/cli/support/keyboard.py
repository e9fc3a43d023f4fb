"""Single keys of a terminal, also those that were pressed before somebody waited for them."""

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

if sys.platform != "win32":
    import termios
    import tty

AT_ONCE_S = 0.05  # within which a terminal sends what belongs to one key
LOOK_S = 0.2  # between two looks whether somebody has pressed Ctrl-C


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
    while not _is_pressed_within(LOOK_S):  # a Ctrl-C that came just before the wait does not end it: it is seen in between
        pass
    pressed = os.read(sys.stdin.fileno(), 1)
    if pressed in (b"", b"\x04"):
        raise KeyboardInterrupt
    if pressed == b"\x1b":  # an arrow, say: what follows at once belongs to it
        _skip_sequence()
        return ""
    if pressed[0] >= 0xC0:  # of a letter that is no key: bytes that follow at once belong to it
        _skip_bytes(1 + (pressed[0] >= 0xE0) + (pressed[0] >= 0xF0))
    return pressed.decode("ascii", "ignore")


def _is_pressed_within(seconds: float) -> bool:
    return bool(select.select([sys.stdin.fileno()], [], [], seconds)[0])


def _skip_bytes(count: int) -> None:
    while count and _is_pressed_within(AT_ONCE_S):
        count -= len(os.read(sys.stdin.fileno(), 1)) or count


def _skip_sequence() -> None:
    while _is_pressed_within(AT_ONCE_S):
        letter = os.read(sys.stdin.fileno(), 1)
        if letter.isalpha() or letter in (b"", b"~"):
            return
