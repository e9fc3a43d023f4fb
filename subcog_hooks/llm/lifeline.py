"""A program between us and the client that we run: it ends the client when we are gone, however suddenly that was.

A process that is killed can end nobody. So the client is started by this program, which holds the reading end of a pipe whose
only writing end is ours: when we end, the pipe does, and with it the client and whatever it has started. Linux alone knows a
signal for that (PR_SET_PDEATHSIG), which reaches one process, and of which the client's own rights may free it.

It also ends what the client leaves when it ends itself. On Linux it adopts processes that lose their parent, so that one with
a session of its own (`setsid`) is reached, too. Elsewhere the client's group is ended, and `doctor` names what has left that.

It runs by itself, without the package and what is installed (`python -I -S`), which is quicker. Not on Windows.
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

NOT_RUN = 126  # how it ends where the client can not be run, as a shell does
ENDING_S = 2.0  # for what the client has left to end; some milliseconds are the rule
MARK = "SUBCOG_LIFELINE"  # the variable that tells whose client a process comes from: the number of this program's process
_BETWEEN_S = 0.01  # looks at what is left
_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>


class Lifeline:
    """A pipe that ends when this process does. For a `with`, which lasts as long as the client."""

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
        """End the client, with all that it has started. It may be cut again, and by any thread."""
        self._writes.close()

    @property
    def inherited(self) -> tuple[int, ...]:
        """The descriptors that the program has to inherit."""
        return () if os.name == "nt" else (self._reads,)

    def words_for(self, words: Sequence[str]) -> list[str]:
        """Return the command line that runs these words, and ends them with us: as the leader of a process group."""
        if os.name == "nt":
            return [*words]
        return [sys.executable, "-I", "-S", os.path.abspath(__file__), str(self._reads), *words]


def _end_with(lifeline: int) -> None:
    """End the client and our process group, ourselves included, once nobody holds the other end of the pipe."""
    while os.read(lifeline, 1):
        pass
    _end_descendants()
    os.killpg(0, signal.SIGKILL)


def _adopt_orphans() -> None:
    """Take over each process below us that loses its parent, where the system knows that."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # then an orphan is another's, and `doctor` names it


def _end_descendants() -> None:
    """End all processes below us, also such as come meanwhile. Linux alone tells which there are."""
    give_up_at = time.monotonic() + ENDING_S
    while (left := _find_descendants()) and time.monotonic() < give_up_at:
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                continue  # it has ended by itself, or has taken the rights of another user
        time.sleep(_BETWEEN_S)


def _find_descendants() -> set[int]:
    """Return the processes below us that have not ended."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc") if sys.platform == "linux" else ():
        try:
            with open(f"/proc/{int(name)}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue  # it is over, or no process
        if state not in b"ZX":
            parents[int(name)] = int(parent)
    found: set[int] = set()
    nearest = {os.getpid()}
    while nearest:
        nearest = {process for process, parent in parents.items() if parent in nearest}
        found |= nearest
    return found


def main() -> int:
    """Run the program of the command line behind the pipe's descriptor, and return how it ended, as a shell tells it."""
    lifeline, words = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(lifeline, False)
    _adopt_orphans()
    try:
        client = os.posix_spawn(words[0], words, {**os.environ, MARK: str(os.getpid())})
    except OSError:
        return NOT_RUN
    _thread.start_new_thread(_end_with, (lifeline,))
    code = os.waitstatus_to_exitcode(os.waitpid(client, 0)[1])
    _end_descendants()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(main())
