"""Runs a command and turns every failure into one line and an exit code."""

from __future__ import annotations

import os
from contextlib import suppress

from subcog_hooks.cli.support.output import OutputFailed, ReaderGone, terminal
from subcog_hooks.core.errors import EXIT_INTERRUPTED, EXIT_STORE, SubcogError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def guard(work: Callable[[], int], *, is_debugged: bool) -> int:
    """Run a command, flush its output and return its exit code. Never raises.

    is_debugged: a failure also prints its traceback.
    """
    try:
        code = work()
        terminal.flush()
    except KeyboardInterrupt:
        _flush_output()
        terminal.complain("interrupted")
        return EXIT_INTERRUPTED
    except (ReaderGone, BrokenPipeError):  # The reader has closed the pipe: `subcog list | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OutputFailed as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        complain(f"the output cannot be written: {error}", "what was to be stored is stored")
        return EXIT_STORE
    except Exception as error:  # noqa: BLE001 - no traceback reaches a user who did not ask for one
        _flush_output()
        if is_debugged:
            _show_traceback()
        if isinstance(error, SubcogError):
            complain(error.message, error.hint)
            return error.exit_code
        complain(f"{type(error).__name__}: {error}", "run it again with --debug and report it")
        return EXIT_STORE
    return code


def complain(message: str, hint: str) -> None:
    """Print an error and its remedy in one line."""
    terminal.complain(" ".join(f"subcog: {message}{'; ' if hint else ''}{hint}".split()), style="red")


def _flush_output() -> None:
    with suppress(ReaderGone, OutputFailed):
        terminal.flush()


def _show_traceback() -> None:
    import traceback  # 40 ms, and rarely wanted

    for line in traceback.format_exc().splitlines():
        terminal.complain(line)
