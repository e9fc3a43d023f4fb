"""The call of an LLM: asked in a thread of its own, while the caller works on; an answer that comes too late is dropped."""

from __future__ import annotations

import _thread
import time

from subcog_hooks.core.errors import ProviderError, ProviderGone, ProviderTimeout
from subcog_hooks.llm import providers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any  # of an answer: whatever the reader of it makes

    from subcog_hooks.llm.providers import Provider
    from subcog_hooks.llm.question import Question


SUCCESS, TIMEOUT, ERROR, DISCONNECTED = "success", "timeout", "error", "disconnected"  # how a call ends


class Outcome:
    """The end of a call: an answer, or why there is none.

    status: success, timeout, error or disconnected; answer: what was read of it, of a success alone; reason: "" for a success.

    seconds: from the start of the call to its end, or to when nobody waited any longer.
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
        self._ended = _thread.allocate_lock()  # held until the thread has ended, one way or another
        self._ended.acquire()
        self._result: Outcome | None = None  # the thread's
        self._outcome: Outcome | None = None  # what `join` has said

    def join(self, seconds: float) -> Outcome:
        """Return how the call has ended, after waiting at most `seconds`.

        Once it was said it stays: an answer that comes later is dropped.
        """
        if self._outcome is None:
            has_ended = self._ended.acquire(timeout=min(max(0.0, seconds), _thread.TIMEOUT_MAX))
            if not has_ended:
                self._outcome = Outcome(TIMEOUT, None, "no answer in time", self.elapsed())
            else:
                self._outcome = self._result or Outcome(DISCONNECTED, None, "the call died", self.elapsed())
        return self._outcome

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self._started

    def run(self, provider: Provider, question: Question, read: Callable[[str], Any], seconds: float) -> None:
        """Make one call from beginning to end: the thread's function."""
        try:
            self._result = self._called(provider, question, read, seconds)
        except Exception as error:  # noqa: BLE001 - a mistake of ours is an outcome too; its text could hold anything
            self._result = Outcome(ERROR, None, f"an internal error: {type(error).__name__}", self.elapsed())
        finally:
            self.end()

    def end(self) -> None:
        """Let `join` go."""
        self._ended.release()

    def _called(self, provider: Provider, question: Question, read: Callable[[str], Any], seconds: float) -> Outcome:
        try:
            text = providers.ask(provider, question, seconds)
        except ProviderError as error:
            is_late, is_gone = isinstance(error, ProviderTimeout), isinstance(error, ProviderGone)
            return Outcome(TIMEOUT if is_late else DISCONNECTED if is_gone else ERROR, None, error.message, self.elapsed())
        answer = read(text)
        if answer is None:
            return Outcome(ERROR, None, f"{provider.base_url} answered nothing that can be used", self.elapsed())
        return Outcome(SUCCESS, answer, "", self.elapsed())


def start(provider: Provider, question: Question, read: Callable[[str], Any], seconds: float) -> Race:
    """Begin to ask, and return the call.

    read: makes of the text of an answer what the caller wants, None where it can not be used; it runs in the thread. seconds:
    after which the call itself gives up.

    The thread is none of `threading`'s, whose import costs 3 ms: a process that ends does not wait for it.
    """
    race = Race()
    try:
        _thread.start_new_thread(race.run, (provider, question, read, seconds))
    except RuntimeError:  # no more threads for this user
        race.end()
    return race
