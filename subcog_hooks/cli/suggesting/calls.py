"""The calls of a language model that no prompt waits for: as many a day as the person allows, counted before they are made."""

from collections.abc import Iterator
from contextlib import contextmanager

from subcog_hooks.errors import SubcogError
from subcog_hooks.llm import breaker
from subcog_hooks.llm.providers import Provider
from subcog_hooks.memory.model import now_ms
from subcog_hooks.pace import Pace
from subcog_hooks.settings.loading import Settings
from subcog_hooks.state import llm_calls
from subcog_hooks.state.connection import State

CALLS_SETTING = "llm.calls_a_day"
CALL_S = 120.0  # for one call


class Calls:
    """The calls that a provider may still be asked today. Every method raises StoreError."""

    __slots__ = ("_provider", "_state", "most")

    def __init__(self, provider: Provider, state: State, settings: Settings) -> None:
        self._provider = provider
        self._state = state
        self.most = int(settings[CALLS_SETTING])

    def may_begin(self, pace: Pace) -> bool:
        """Return whether the provider is asked at rest now; one that fails again and again is left alone, which puts it off."""
        if breaker.may_call(self._state, self._provider.identity, now_ms()):
            return True
        pace.put_off(f"{self._provider.name} has failed a short while ago")
        return False

    def take(self, pace: Pace) -> bool:
        """Return whether there may be one call more; it is counted then, whatever becomes of it. Else the work is put off."""
        if llm_calls.take(self._state, now_ms(), self.most):
            return True
        pace.put_off("the calls of the day are made")
        return False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note how a call ends, which is made inside."""
        try:
            yield
        except SubcogError:
            breaker.note_failure(self._state, self._provider.identity, now_ms())
            raise
        breaker.note_success(self._state, self._provider.identity)
