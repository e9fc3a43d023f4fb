"""Process priorities, through psutil."""

import os
import sys

import psutil

from subcog_hooks.hook import detached

LOWEST_PRIORITY = "19"  # the highest nice value of a session
_DARWIN_PROCESS, _DARWIN_BACKGROUND = 4, 0x1000  # PRIO_DARWIN_PROCESS, PRIO_DARWIN_BG of <sys/resource.h>


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
