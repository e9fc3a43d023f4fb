"""The call of an LLM in a thread of its own, beside the caller's work; a late answer is dropped."""

from __future__ import annotations

import _thread
import time

from subcog_hooks.core.errors import ProviderError, ProviderGone, ProviderTimeout
from subcog_hooks.llm import providers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any  # for an answer, whose type the caller's `read` decides

    from subcog_hooks.llm.providers import Provider
    from subcog_hooks.llm.question import Question


SUCCESS, TIMEOUT, ERROR, DISCONNECTED = "success", "timeout", "error", "disconnected"  # status of an ended call


class Outcome:
    """The end of a call: an answer, or the reason for a missing one.

    status: success, timeout, error or disconnected; answer: the result of reading it, for a success alone; reason: "" for a
    success. seconds: from the start of the call to its end, or to the end of the wait.
    """

    __slots__ = ("answer", "reason", "seconds", "status")

    def __init__(self, status: str, answer: Any, reason: str, seconds: float) -> None:
        self.status = status
        self.answer = answer
        self.reason = reason
        self.seconds = seconds


class Race:
    """A call that is under way."""

    __slots__ = ("_ended", "_outcome", "_result", "_started")

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._ended = _thread.allocate_lock()  # locked until the thread has ended
        self._ended.acquire()
        self._result: Outcome | None = None  # set by the thread
        self._outcome: Outcome | None = None  # set by `join`

    def join(self, seconds: float) -> Outcome:
        """Return the outcome after at most `seconds`. The first one stays: a later answer is dropped."""
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
            self.end()

    def end(self) -> None:
        """Let `join` return."""
        self._ended.release()

    def _call_provider(self, provider: Provider, question: Question, read: Callable[[str], Any], seconds: float) -> Outcome:
        try:
            text = providers.ask_provider(provider, question, seconds)
        except ProviderError as error:
            is_late, is_gone = isinstance(error, ProviderTimeout), isinstance(error, ProviderGone)
            status = TIMEOUT if is_late else DISCONNECTED if is_gone else ERROR
            return Outcome(status, None, error.message, self.elapsed_seconds())
        answer = read(text)
        if answer is None:
            return Outcome(ERROR, None, f"{provider.base_url} answered nothing that can be used", self.elapsed_seconds())
        return Outcome(SUCCESS, answer, "", self.elapsed_seconds())


def start_race(provider: Provider, question: Question, read: Callable[[str], Any], seconds: float) -> Race:
    """Start the call in a thread, and return it.

    read: makes the caller's value of an answer's text, None for an unusable one; it runs in the thread. seconds: the call's own
    limit. The thread does not come from `threading`, whose import costs 3 ms: a process that ends does not wait for it.
    """
    race = Race()
    try:
        _thread.start_new_thread(race.run, (provider, question, read, seconds))
    except RuntimeError:  # the user's limit of threads is reached
        race.end()
    return race
