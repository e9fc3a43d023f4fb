"""Reads single keys of a terminal, also keys pressed before the program waited for one."""

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

AT_ONCE_S = 0.05  # A terminal sends the bytes of one key within this time.
CHECK_S = 0.2  # between two checks for Ctrl-C


@contextmanager
def single_keys() -> Iterator[None]:
    """Let `next_key` receive each key at once, without Enter and without an echo; Ctrl-C still interrupts."""
    if sys.platform == "win32":
        yield
        return
    before = termios.tcgetattr(sys.stdin.fileno())

    def listen(*_: object) -> None:
        tty.setcbreak(sys.stdin.fileno(), termios.TCSADRAIN)

    listen()
    handler = signal.signal(signal.SIGCONT, listen)  # A shell restores its own settings while the command is stopped.
    try:
        yield
    finally:
        signal.signal(signal.SIGCONT, handler)
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


@contextmanager
def whole_lines() -> Iterator[None]:
    """Restore line input within `single_keys`, so that another program can use the terminal."""
    if sys.platform == "win32":
        yield
        return
    current = termios.tcgetattr(sys.stdin.fileno())
    line_mode = termios.tcgetattr(sys.stdin.fileno())
    line_mode[3] |= termios.ICANON | termios.ECHO
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, line_mode)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, current)


def next_key() -> str:
    """Return the next key, "" for a key that is no character. Raises KeyboardInterrupt at the end of input."""
    if sys.platform == "win32":
        return typer.getchar()
    while not _is_pressed_within(CHECK_S):  # A Ctrl-C just before a wait does not end it: it is seen between two.
        pass
    pressed = os.read(sys.stdin.fileno(), 1)
    if pressed in (b"", b"\x04"):
        raise KeyboardInterrupt
    if pressed == b"\x1b":  # An arrow key, for instance: the bytes that follow at once belong to it.
        _skip_sequence()
        return ""
    if pressed[0] >= 0xC0:  # The first byte of a longer character: the bytes that follow belong to it.
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
