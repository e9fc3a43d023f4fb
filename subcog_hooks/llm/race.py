"""The call of an LLM in a thread of its own, beside the caller's work; a copy of the process waits for a late answer."""

from __future__ import annotations

import _thread
import os
import time

from subcog_hooks.core.errors import ProviderError, ProviderGone, ProviderTimeout
from subcog_hooks.core.records import record
from subcog_hooks.llm import providers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any  # for an answer, whose type the caller's `read` decides

    from subcog_hooks.llm.providers import Provider
    from subcog_hooks.llm.question import Question

LATE_S = 8.0  # for a late answer
SUCCESS, TIMEOUT, ERROR, DISCONNECTED = "success", "timeout", "error", "disconnected"  # status of an ended call


@record
class Outcome:
    """The end of a call: an answer, or the reason for a missing one.

    status: success, timeout, error or disconnected; answer: the result of reading it, for a success alone; reason: "" for a
    success. seconds: from the start of the call to its end, or to the end of the wait.
    """

    status: str
    answer: Any
    reason: str
    seconds: float


class Race:
    """A call that is under way."""

    __slots__ = ("_ended", "_is_copy", "_keep_late", "_outcome", "_result", "_started")

    def __init__(self, keep_late: Callable[[Any], None] | None = None) -> None:
        self._keep_late = keep_late
        self._is_copy = False  # True in the process that waits for a late answer
        self._started = time.monotonic()
        self._ended = _thread.allocate_lock()  # locked until the thread has ended
        self._ended.acquire()
        self._result: Outcome | None = None  # set by the thread
        self._outcome: Outcome | None = None  # set by `join`

    def join(self, seconds: float) -> Outcome:
        """Return the outcome after at most `seconds`. The first one stays, whatever the call still brings."""
        if self._outcome is None:
            has_ended = self._ended.acquire(timeout=min(max(0.0, seconds), _thread.TIMEOUT_MAX))
            if not has_ended:
                self._outcome = Outcome(TIMEOUT, None, "no answer in time", self.elapsed_seconds())
            else:
                self._outcome = self._result or Outcome(DISCONNECTED, None, "the call died", self.elapsed_seconds())
        return self._outcome

    def elapsed_seconds(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self._started

    def run(self, provider: Provider, question: Question, read: Callable[[str], Any], seconds: float) -> None:
        """Make one call from beginning to end, as the thread's function."""
        try:
            self._result = self._call_provider(provider, question, read, seconds)
        except Exception as error:  # noqa: BLE001 - a bug of ours is an outcome too; its text could hold anything
            self._result = Outcome(ERROR, None, f"an internal error: {type(error).__name__}", self.elapsed_seconds())
        finally:
            if self._is_copy:
                os._exit(0)
            self.end()

    def end(self) -> None:
        """Let `join` return."""
        self._ended.release()

    def _call_provider(self, provider: Provider, question: Question, read: Callable[[str], Any], seconds: float) -> Outcome:
        try:
            text = providers.ask_provider(provider, question, seconds, self._wait_in_copy)
        except ProviderError as error:
            is_late, is_gone = isinstance(error, ProviderTimeout), isinstance(error, ProviderGone)
            status = TIMEOUT if is_late else DISCONNECTED if is_gone else ERROR
            return Outcome(status, None, error.message, self.elapsed_seconds())
        answer = read(text)
        if answer is None:
            return Outcome(ERROR, None, f"{provider.base_url} answered nothing that can be used", self.elapsed_seconds())
        if self._is_copy and self._keep_late is not None:
            self._keep_late(answer)
        return Outcome(SUCCESS, answer, "", self.elapsed_seconds())

    def _wait_in_copy(self) -> float:
        """Let a copy of this process wait for the late answer: return its deadline there. Raise TimeoutError here.

        The copy has this thread alone. It frees the client's streams at once, and ends in any case: another thread of the
        original may have held a lock.
        """
        if self._keep_late is None:
            raise TimeoutError
        try:
            is_original = os.fork() != 0
        except OSError:
            is_original = True
        if is_original:
            raise TimeoutError
        self._is_copy = True
        _thread.start_new_thread(_end_copy, ())
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        os.setsid()
        return time.monotonic() + LATE_S


def _end_copy() -> None:
    time.sleep(LATE_S + 1.0)
    os._exit(0)


def start_race(
    provider: Provider,
    question: Question,
    read: Callable[[str], Any],
    seconds: float,
    keep_late: Callable[[Any], None] | None = None,
) -> Race:
    """Start the call in a thread, and return it.

    read: makes the caller's value of an answer's text, None for an unusable one; it runs in the thread. seconds: the call's own
    limit. keep_late: keeps a value that comes later, in a copy of the process; None to drop it. The thread does not come from
    `threading`, whose import costs 3 ms: a process that ends does not wait for it.
    """
    race = Race(keep_late)
    try:
        _thread.start_new_thread(race.run, (provider, question, read, seconds))
    except RuntimeError:  # the user's limit of threads is reached
        race.end()
    return race
