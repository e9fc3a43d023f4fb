"""The circuit breaker: an LLM that fails again and again is left alone for a while. The rules; llm_state keeps what they need.

Three failures within five minutes: five minutes of rest; then one try, whose success ends it and whose failure begins another
rest. Who tries prolongs the rest first: of several hooks at once one tries, and a hook that is killed over it has failed.
"""

from subcog_hooks import llm_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state import State

FAILURES = 3
WINDOW_MS = 300_000
REST_MS = 300_000


def may_ask(state: "State", provider: str, now_ms: int) -> bool:
    """Whether a provider (its identity) may be asked now. After a rest the first to ask is told so, and takes the one try."""
    until = llm_state.rest(state, provider)
    if until is None:
        return True
    return not is_resting(until, now_ms) and llm_state.prolong_rest(state, provider, until, now_ms + REST_MS)


def failed(state: "State", provider: str, now_ms: int) -> None:
    """Note that a provider did not answer in time, or with nothing that can be used."""
    llm_state.note_failure(state, provider, now_ms)
    is_try = llm_state.rest(state, provider) is not None
    if is_try or llm_state.failures(state, provider, now_ms - WINDOW_MS, now_ms) >= FAILURES:
        llm_state.let_rest(state, provider, now_ms + REST_MS)


def succeeded(state: "State", provider: str) -> None:
    """Note that a provider answered. It ends a rest; failures among successes count on."""
    if llm_state.rest(state, provider) is not None:
        llm_state.trust(state, provider)


def is_resting(until_ms: int, now_ms: int) -> bool:
    """Whether a rest is going on. One that ends later than any could has been kept by a clock that was set back since."""
    return now_ms < until_ms <= now_ms + REST_MS
