"""A program between us and the client that we run: it ends the client when we are gone, however suddenly that was.

A process that is killed can end nobody. So the client is started by this program, which holds the reading end of a pipe whose
only writing end is ours: when we end, the pipe does, and with it the client and whatever it has started. Linux alone knows a
signal for that (PR_SET_PDEATHSIG), which reaches one process, and of which the client's own rights may free it.

It runs by itself, without the package and what is installed (`python -I -S`), which is quicker. Not on Windows.
"""

import _thread
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

NOT_RUN = 126  # how it ends where the client can not be run, as a shell does


class Lifeline:
    """A pipe that ends when this process does. For a `with`, which lasts as long as the client."""

    __slots__ = ("_reads", "_writes")

    def __enter__(self) -> "Self":
        self._reads, self._writes = os.pipe()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._reads)
        os.close(self._writes)

    @property
    def inherited(self) -> tuple[int, ...]:
        """The descriptors that the program has to inherit."""
        return () if os.name == "nt" else (self._reads,)

    def words_for(self, words: "Sequence[str]") -> list[str]:
        """Return the command line that runs these words, and ends them with us: as the leader of a process group."""
        if os.name == "nt":
            return [*words]
        return [sys.executable, "-I", "-S", os.path.abspath(__file__), str(self._reads), *words]


def _end_with(lifeline: int) -> None:
    """End our process group, ourselves included, once nobody holds the other end of the pipe."""
    while os.read(lifeline, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def main() -> int:
    """Run the program of the command line behind the pipe's descriptor, and return how it ended, as a shell tells it."""
    lifeline, words = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(lifeline, False)
    try:
        client = os.posix_spawn(words[0], words, os.environ)
    except OSError:
        return NOT_RUN
    _thread.start_new_thread(_end_with, (lifeline,))
    code = os.waitstatus_to_exitcode(os.waitpid(client, 0)[1])
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(main())
