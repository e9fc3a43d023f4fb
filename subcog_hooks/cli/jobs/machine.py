"""Process priorities, through psutil."""

import os
import sys
from contextlib import suppress

import psutil

from subcog_hooks.hook import detached

LOWEST_PRIORITY = "19"  # the highest nice value of a session
_DARWIN_PROCESS, _DARWIN_BACKGROUND = 4, 0x1000  # PRIO_DARWIN_PROCESS, PRIO_DARWIN_BG of <sys/resource.h>


def yield_to_others(*, wholly: bool) -> None:
    """Lower the priority for processor and disk of a process that `detached.start_process` began, as far as the system allows.

    A process that calls the jobs directly keeps its priority. wholly: also below the processes of other sessions.
    """
    if sys.platform != "win32":
        leads_group = sys.platform == "darwin" and os.getpgrp() == os.getpid()  # On macOS a spawn begins no session.
        if os.getsid(0) != os.getpid() and not leads_group:
            return
    detached.yield_to_others()
    if wholly and sys.platform == "linux":
        # Linux divides the processor among sessions before it compares the nice values of processes: of two busy processes,
        # one idle by nice and policy in its own session, each got half. With the session's nice value the idle one got 2 %.
        with suppress(OSError), open("/proc/self/autogroup", "w", encoding="ascii") as file:  # Some kernels have none.
            file.write(LOWEST_PRIORITY)
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
