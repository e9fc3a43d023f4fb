"""The machine's load and battery, and process priorities, through psutil."""

import math
import os
import sys
import time
from typing import NamedTuple

import psutil

from subcog_hooks.hook import detached

MINUTE_S = 60.0
LOWEST_PRIORITY = "19"  # the highest nice value of a session
_DARWIN_PROCESS, _DARWIN_BACKGROUND = 4, 0x1000  # PRIO_DARWIN_PROCESS, PRIO_DARWIN_BG of <sys/resource.h>


class MachineStatus(NamedTuple):
    """The state of the machine. battery: per cent, None on mains or without a battery; load: by other processes, in cores."""

    battery: float | None
    load: float
    cores: int


class Machine:
    """Measures the machine; the load of this process is subtracted."""

    def __init__(self) -> None:
        self._measured_at = time.monotonic()
        self._used_s = time.process_time()
        self._own_load = 0.0

    def look(self) -> MachineStatus:
        """Measure the machine, in 0.2 ms."""
        now, used_s = time.monotonic(), time.process_time()
        self._own_load = decayed_load(self._own_load, used_s - self._used_s, now - self._measured_at)
        self._measured_at, self._used_s = now, used_s
        return MachineStatus(_battery(), max(0.0, _load() - self._own_load), os.cpu_count() or 1)


def _battery() -> float | None:
    try:
        battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    except Exception:  # noqa: BLE001 - FileNotFoundError without /sys/class/power_supply, ValueError by odd drivers
        return None
    return battery.percent if battery and battery.power_plugged is False else None


def _load() -> float:
    """Return the load average of the last minute, 0 where the system does not report it."""
    try:
        return float(psutil.getloadavg()[0])
    except OSError:
        return 0.0


def decayed_load(before: float, used_s: float, passed_s: float) -> float:
    """Return a process's part of the load average of a minute, by the kernel's exponential decay.

    before: its part `passed_s` seconds ago; used_s: its processor time since.

    >>> decayed_load(0.0, 60.0, 60.0), decayed_load(0.5, 0.0, 0.0)
    (0.6321205588285577, 0.5)
    """
    if passed_s <= 0.0:
        return before
    return used_s / passed_s + (before - used_s / passed_s) * math.exp(-passed_s / MINUTE_S)


def is_apart() -> bool:
    """Return whether this process was started by `detached.start`.

    A process that calls the jobs directly keeps its priority.
    """
    if sys.platform == "win32":
        return True
    leads_group = os.getpgrp() == os.getpid()
    return os.getsid(0) == os.getpid() or (sys.platform == "darwin" and leads_group)  # On macOS a spawn begins no session.


def yield_to_others(*, wholly: bool) -> None:
    """Lower this process's priority for processor and disk as far as the system allows.

    wholly: also below the processes of other sessions.
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
            os.setpriority(_DARWIN_PROCESS, 0, _DARWIN_BACKGROUND)  # processor, disk and network
    except (OSError, psutil.Error):
        pass  # Some systems allow this only to root.


def _yield_to_other_sessions() -> None:
    """Lower the priority of this process's session, on Linux, where it has a session of its own.

    Linux divides the processor among sessions before it compares the nice values of processes. Of two busy processes, one
    idle by nice and policy in its own session, each got half. With the session's nice value the idle one got 2 %.
    """
    if sys.platform != "linux" or os.getsid(0) != os.getpid():
        return
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write(LOWEST_PRIORITY)
    except OSError:
        pass  # The kernel has no autogroups.
