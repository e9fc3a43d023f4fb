"""The machine's load, battery and left processes, through psutil."""

import math
import os
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import psutil

from subcog_hooks.hook import detached
from subcog_hooks.llm import lifeline

MINUTE_S = 60.0
LEAST_SHARE = "19"  # the most that a session's nice takes
_DARWIN_PROCESS, _DARWIN_BACKGROUND = 4, 0x1000  # PRIO_DARWIN_PROCESS, PRIO_DARWIN_BG of <sys/resource.h>


class Seen(NamedTuple):
    """A look at the machine. battery: per cent, None where it is plugged in or has none; load: of the others, in cores."""

    battery: float | None
    load: float
    cores: int


class Machine:
    """Looks at the machine; what this process itself adds to its load is taken off."""

    __slots__ = ("_looked_at", "_own_load", "_used_s")

    def __init__(self) -> None:
        self._looked_at = time.monotonic()
        self._used_s = time.process_time()
        self._own_load = 0.0

    def look(self) -> Seen:
        """Return how the machine is now. A look takes .2 ms."""
        now, used_s = time.monotonic(), time.process_time()
        self._own_load = averaged(self._own_load, used_s - self._used_s, now - self._looked_at)
        self._looked_at, self._used_s = now, used_s
        return Seen(_battery(), max(0.0, _load() - self._own_load), os.cpu_count() or 1)


def _battery() -> float | None:
    """Return the per cent of a battery that is in use, None where there is none, or the system does not tell."""
    try:
        battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    except Exception:  # noqa: BLE001 - of a Linux without /sys/class/power_supply FileNotFoundError, of odd drivers ValueError
        return None
    return battery.percent if battery and battery.power_plugged is False else None


def _load() -> float:
    """Return the load average of a minute, 0 where the system does not tell."""
    try:
        return float(psutil.getloadavg()[0])
    except OSError:
        return 0.0


def averaged(before: float, used_s: float, passed_s: float) -> float:
    """Return a process's part of the load average of a minute, as the system averages it.

    before: its part `passed_s` seconds ago; used_s: what it has had of a processor since.

    >>> averaged(0.0, 60.0, 60.0), averaged(0.5, 0.0, 0.0)
    (0.6321205588285577, 0.5)
    """
    if passed_s <= 0.0:
        return before
    return used_s / passed_s + (before - used_s / passed_s) * math.exp(-passed_s / MINUTE_S)


def is_apart() -> bool:
    """Return whether this process was started apart from others, as `detached.start` does.

    Whoever calls the work at rest in a process of their own keeps its priority.
    """
    if sys.platform == "win32":
        return True
    leads_group = os.getpgrp() == os.getpid()
    return os.getsid(0) == os.getpid() or (sys.platform == "darwin" and leads_group)  # where a spawn begins no session


def yield_to_others(*, wholly: bool) -> None:
    """Let every other process have the processor and the disk first, as far as the system knows how: for this process.

    wholly: also where the others leave nothing of the processor for long.
    """
    detached.yield_to_others()
    if wholly:
        _yield_to_other_sessions()
    try:
        process = psutil.Process()
        if sys.platform == "linux":
            process.ionice(psutil.IOPRIO_CLASS_IDLE)
        elif sys.platform == "win32":
            process.nice(psutil.IDLE_PRIORITY_CLASS)
            process.ionice(psutil.IOPRIO_VERYLOW)
        elif sys.platform == "darwin":
            os.setpriority(_DARWIN_PROCESS, 0, _DARWIN_BACKGROUND)  # of processor, disk and network
    except (OSError, psutil.Error):
        pass  # a system that allows it to nobody but root


def _yield_to_other_sessions() -> None:
    """Let processes of other sessions have the processor first, on Linux, for a process with a session of its own.

    Linux shares the processor out among sessions before it looks at what each process says of itself. Of two busy processes,
    one idle by nice and policy in a session of its own, each had half; with the session's own nice the idle one had 2 %.
    """
    if sys.platform != "linux" or os.getsid(0) != os.getpid():
        return
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write(LEAST_SHARE)
    except OSError:
        pass  # a system that shares in no such way


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
