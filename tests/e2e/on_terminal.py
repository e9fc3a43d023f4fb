"""Runs a program on a terminal of its own, typed on and read through pipes: a client that a person types at, in a sandbox.

A program of its own, run by typing_client.py: it imports nothing of the project.
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios

ASKED_WHAT_IT_IS, ANSWER = b"\x1b[c", b"\x1b[?62;c"


def run(rows: int, columns: int, command: list[str]) -> int:
    """Run a program on a terminal of this size until it ends, and return its exit code."""
    process, terminal = pty.fork()
    if not process:
        os.execv(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    waited_for = [terminal, 0]
    while True:
        ready, _, _ = select.select(waited_for, [], [])
        if 0 in ready:
            typed = os.read(0, 4_096)
            if not typed:
                waited_for.remove(0)
            os.write(terminal, typed)
        if terminal in ready:
            try:
                drawn = os.read(terminal, 65_536)
            except OSError:  # how Linux says that the program is gone
                break
            if not drawn:
                break
            if ASKED_WHAT_IT_IS in drawn:
                os.write(terminal, ANSWER)
            os.write(1, drawn)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


if __name__ == "__main__":
    sys.exit(run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
