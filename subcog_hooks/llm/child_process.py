"""A program between us and the client: it ends the client when we are gone, however suddenly.

A killed process can end no other. So this program starts the client, and holds the reading end of a pipe whose only writing end
is ours. When we end, the pipe does, and with it the client and all of its processes. Linux has a signal for this
(PR_SET_PDEATHSIG), but it reaches one process, and the client's own rights may cancel it.

It also ends the processes that the client leaves behind. On Linux it adopts processes that lose their parent, which reaches
sessions of their own (`setsid`), too. Elsewhere it ends the client's group, and `doctor` names processes outside of that.

It runs without the package and installed libraries (`python -I -S`), which is quicker. Not on Windows.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import IO, Self

NOT_RUN = 126  # the exit code for a client that cannot be run, as in a shell
ENDING_S = 2.0  # for the client's remaining processes to end; some milliseconds are usual
MARK = "SUBCOG_LIFELINE"  # the variable with this program's process id, which marks the client's processes
_BETWEEN_S = 0.01  # between two looks at the remaining processes
_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>


class Lifeline:
    """A pipe that ends when this process does, for a `with` block as long as the client."""

    __slots__ = ("_reads", "_writes")

    _reads: int
    _writes: IO[bytes]

    def __enter__(self) -> Self:
        self._reads, writes = os.pipe()
        self._writes = open(writes, "wb", 0)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._reads)
        self.cut()

    def cut(self) -> None:
        """End the client with all of its processes. Any thread may call it, and more than once."""
        self._writes.close()

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors that the program has to inherit."""
        return () if os.name == "nt" else (self._reads,)

    def words_for(self, words: Sequence[str]) -> list[str]:
        """Return the command line that runs these words as the leader of a process group, and ends them with us."""
        if os.name == "nt":
            return [*words]
        return [sys.executable, "-I", "-S", os.path.abspath(__file__), str(self._reads), *words]


def _end_with_pipe(lifeline: int) -> None:
    """End the client and our process group, ourselves included, once nobody holds the other end of the pipe."""
    while os.read(lifeline, 1):
        pass
    _end_descendants()
    os.killpg(0, signal.SIGKILL)


def _adopt_orphans() -> None:
    """Take over each descendant that loses its parent, where the system can."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # an orphan gets another parent, and `doctor` names it


def _end_descendants() -> None:
    """End all descendants, also new ones. Only Linux lists them."""
    give_up_at = time.monotonic() + ENDING_S
    while (descendants := _find_descendants()) and time.monotonic() < give_up_at:
        for process in descendants:
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                continue  # it has ended by itself, or has taken the rights of another user
        time.sleep(_BETWEEN_S)


def _find_descendants() -> set[int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        try:
            with open(f"/proc/{int(name)}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue  # the process has ended, or it is no process
        if state not in b"ZX":
            parents[int(name)] = int(parent)
    descendants: set[int] = set()
    nearest = {os.getpid()}
    while nearest:
        nearest = {process for process, parent in parents.items() if parent in nearest}
        descendants |= nearest
    return descendants


def main() -> int:
    """Run the command line behind the pipe's descriptor, and return its exit code in a shell's form."""
    lifeline, words = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(lifeline, False)
    _adopt_orphans()
    try:
        client = os.posix_spawn(words[0], words, {**os.environ, MARK: str(os.getpid())})
    except OSError:
        return NOT_RUN
    _thread.start_new_thread(_end_with_pipe, (lifeline,))
    code = os.waitstatus_to_exitcode(os.waitpid(client, 0)[1])
    _end_descendants()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(main())
