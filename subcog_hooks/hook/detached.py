"""Processes that outlive the hook and hold none of its files, their priority, and the keeper of a late answer."""

from __future__ import annotations

import os
import sys

from subcog_hooks.core import child_environment, light_json
from subcog_hooks.core.paths import Home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


SWITCH_OFF = "SUBCOG_BACKGROUND"  # 0 stops all background processes, over any setting; 1 does not let other sessions go first.
BACKGROUND_COMMAND = "at-rest"  # It runs the background jobs.
_MAX_NICE = 19  # `nice` takes no more.
# A pipe takes these bytes at once, where no more pipes are open than usual; on Windows it takes a page.
MAX_INPUT_BYTES = 4_000 if os.name == "nt" else 15_000


def may_start() -> bool:
    """Return whether processes may be started at all."""
    return os.environ.get(SWITCH_OFF) != "0"


def start_process(home: Home, words: Sequence[str], stdin: bytes = b"") -> None:
    """Start `subcog` with these words and this standard input. Raises OSError, ValueError.

    stdin: at most MAX_INPUT_BYTES, which are in the pipe before the process begins. Nobody waits for it to read them, and no
    command line shows them.
    """
    if len(stdin) > MAX_INPUT_BYTES:
        raise ValueError(f"{len(stdin)} bytes are more than a pipe takes at once")
    command = child_environment.own_command(words)
    environment = {**child_environment.filter_environment(child_environment.FOR_OWN_WORK), "SUBCOG_HOME": home.root}
    reads = _pipe_with(stdin) if stdin else os.open(os.devnull, os.O_RDONLY)
    try:
        if hasattr(os, "posix_spawn"):
            _start_by_spawn(command, environment, home, reads)
            return
        import subprocess  # 6 ms, only for systems without posix_spawn.

        quiet, flags = subprocess.DEVNULL, 0
        if sys.platform == "win32":
            flags = subprocess.DETACHED_PROCESS | subprocess.IDLE_PRIORITY_CLASS | subprocess.CREATE_NEW_PROCESS_GROUP
        subprocess.Popen(command, stdin=reads, stdout=quiet, stderr=quiet, cwd=home.root, env=environment, creationflags=flags)
    finally:
        os.close(reads)


def _pipe_with(content: bytes) -> int:
    """Return the reading end of a closed pipe with this content. Raises OSError where the pipe has no room."""
    reads, writes = os.pipe()
    try:
        if os.name != "nt":
            os.set_blocking(writes, False)
        if os.write(writes, content) < len(content):
            raise OSError("a pipe has no room for what a process is to be told")
    except OSError:
        os.close(reads)
        raise
    finally:
        os.close(writes)
    return reads


def _start_by_spawn(command: list[str], environment: dict[str, str], home: Home, reads: int) -> None:
    folder = os.getcwd() if os.access(".", os.R_OK) else "/"
    streams = [(os.POSIX_SPAWN_DUP2, reads, 0), *((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (1, 2))]
    os.chdir(home.root)  # The process must not hold the folder of the session.
    try:
        os.posix_spawn(sys.executable, command, environment, file_actions=streams, setsid=True)
    except NotImplementedError:  # Some systems' posix_spawn cannot begin a session.
        os.posix_spawn(sys.executable, command, environment, file_actions=streams, setpgroup=0)
    finally:
        os.chdir(folder)


def yield_to_others() -> None:
    """Let every other process have the processor first, as far as the system allows it."""
    if hasattr(os, "nice"):
        os.nice(_MAX_NICE)
    if hasattr(os, "sched_setscheduler") and hasattr(os, "SCHED_IDLE"):
        try:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        except OSError:
            pass  # Some systems allow it to root only.


WORDS = ("hook", "--late-answer")  # arguments of the command line
WRITE_WAIT_MS = 1_000.0  # for another writing process


def make_keeper(home: Home) -> Callable[[str, str], None] | None:
    """Return the function that keeps a late answer under its key; None where no process may outlive the hook.

    It is called in a copy of the hook's process, where SQLite must not be used, and starts a new process.
    """
    if not hasattr(os, "fork") or not may_start():
        return None
    return lambda key, answer: start_process(home, WORDS, light_json.dumps({"key": key, "answer": answer}).encode())


def keep_late_answer() -> None:
    """Keep the answer on standard input. Raises ValueError, KeyError, StoreError."""
    from subcog_hooks.intent.classifier import ANSWER_KEPT_MS
    from subcog_hooks.llm import ask
    from subcog_hooks.store.memory import now_ms
    from subcog_hooks.store.state import State

    fields: Any = light_json.loads(os.read(0, MAX_INPUT_BYTES).decode())
    state = State.open(Home.find(), WRITE_WAIT_MS)
    ask.cache_answer(state, fields["key"], fields["answer"], now_ms(), ANSWER_KEPT_MS)
    state.close()


LOWEST_PRIORITY = "19"  # the highest nice value of a session
_DARWIN_PROCESS, _DARWIN_BACKGROUND = 4, 0x1000  # PRIO_DARWIN_PROCESS, PRIO_DARWIN_BG of <sys/resource.h>


def lower_priority(*, wholly: bool) -> None:
    """Lower the priority for processor and disk of a process that `start_process` began, as far as the system allows.

    A process that calls the jobs directly keeps its priority. wholly: also below the processes of other sessions.
    """
    if sys.platform != "win32":
        leads_group = sys.platform == "darwin" and os.getpgrp() == os.getpid()  # On macOS a spawn begins no session.
        if os.getsid(0) != os.getpid() and not leads_group:
            return
    import psutil  # for background processes alone

    yield_to_others()
    if wholly and sys.platform == "linux":
        # Linux divides the processor among sessions before it compares the nice values of processes: of two busy processes,
        # one idle by nice and policy in its own session, each got half. With the session's nice value the idle one got 2 %.
        try:
            with open("/proc/self/autogroup", "w", encoding="ascii") as file:
                file.write(LOWEST_PRIORITY)
        except OSError:
            pass  # Some kernels have none.
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
