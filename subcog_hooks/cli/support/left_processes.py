"""Processes that a client which was asked as a model has started, and that have outlived it. `doctor` names them."""

import os
from collections.abc import Iterator
from typing import NamedTuple

import psutil

from subcog_hooks.llm import lifeline


class LeftProcess(NamedTuple):
    """A process that nobody waits for any more."""

    number: int
    name: str


def find_left_processes() -> Iterator[LeftProcess]:
    """Yield the processes of this user whose client has ended, as far as the system tells of them."""
    for process in psutil.process_iter():
        try:
            starter = process.environ().get(lifeline.MARK, "")
            if starter.isdecimal() and not _is_lifeline(int(starter)) and not _is_lifeline(process.pid):
                yield LeftProcess(process.pid, process.name())
        except (psutil.Error, OSError):
            continue  # it is over by now, or another user's


def _is_lifeline(number: int) -> bool:
    """Return whether a process with this number is a program that ends a client with us."""
    try:
        return os.path.abspath(lifeline.__file__) in psutil.Process(number).cmdline()
    except psutil.NoSuchProcess:
        return False
