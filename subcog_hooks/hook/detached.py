"""Processes that a hook leaves to themselves once its answer is written: they outlive it and hold none of its files."""

from __future__ import annotations

import os
import sys

from subcog_hooks.core import child_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.core.paths import Home

SWITCH_OFF = "SUBCOG_BACKGROUND"  # 0: nothing is started, whatever the settings say
_LEAST_URGENT = 19  # the most that `nice` takes
# bytes that a process is told: as many as a pipe takes at once, where no more pipes are open than usual; on Windows a page
MAX_TOLD = 4_000 if os.name == "nt" else 15_000


def may_start() -> bool:
    """Return whether processes may be started at all."""
    return os.environ.get(SWITCH_OFF) != "0"


def start(home: Home, words: Sequence[str], told: bytes = b"") -> None:
    """Start `subcog` with these words, and what it is told on its standard input. Raises OSError, ValueError.

    told: at most MAX_TOLD bytes, which are in the pipe before the process begins: nobody waits for it to read them, and no
    command line shows them.
    """
    if len(told) > MAX_TOLD:
        raise ValueError(f"{len(told)} bytes are more than a pipe takes at once")
    command = child_environment.own_command(words)
    environment = {**child_environment.environment_of_own_work(), "SUBCOG_HOME": home.root}
    reads = _pipe_with(told) if told else os.open(os.devnull, os.O_RDONLY)
    try:
        if hasattr(os, "posix_spawn"):
            _spawn(command, environment, home, reads)
        else:
            _start_by_subprocess(command, environment, home, reads)
    finally:
        os.close(reads)


def _pipe_with(told: bytes) -> int:
    """Return the reading end of a pipe that holds these bytes, and no more to come. Raises OSError where it has no room."""
    reads, writes = os.pipe()
    try:
        if os.name != "nt":
            os.set_blocking(writes, False)
        if os.write(writes, told) < len(told):
            raise OSError("a pipe has no room for what a process is to be told")
    except OSError:
        os.close(reads)
        raise
    finally:
        os.close(writes)
    return reads


def _spawn(command: list[str], environment: dict[str, str], home: Home, reads: int) -> None:
    at = os.getcwd() if os.access(".", os.R_OK) else "/"
    streams = [
        (os.POSIX_SPAWN_DUP2, reads, 0),
        *((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (1, 2)),
    ]
    os.chdir(home.root)  # the folder it starts in is data, which the process must not hold
    try:
        os.posix_spawn(sys.executable, command, environment, file_actions=streams, setsid=True)
    except NotImplementedError:  # a system whose posix_spawn begins no session
        os.posix_spawn(sys.executable, command, environment, file_actions=streams, setpgroup=0)
    finally:
        os.chdir(at)


def _start_by_subprocess(command: list[str], environment: dict[str, str], home: Home, reads: int) -> None:
    import subprocess  # 6 ms, where there is nothing lighter

    quiet = subprocess.DEVNULL
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.IDLE_PRIORITY_CLASS | subprocess.CREATE_NEW_PROCESS_GROUP
    subprocess.Popen(command, stdin=reads, stdout=quiet, stderr=quiet, cwd=home.root, env=environment, creationflags=flags)


def yield_to_others() -> None:
    """Let every other process have the processor first, as far as the system knows how: for the process itself."""
    if hasattr(os, "nice"):
        os.nice(_LEAST_URGENT)
    if hasattr(os, "sched_setscheduler") and hasattr(os, "SCHED_IDLE"):
        try:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        except OSError:
            pass  # a system that allows it to nobody but root
