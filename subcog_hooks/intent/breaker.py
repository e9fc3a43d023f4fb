"""The circuit breaker: an LLM that fails again and again is left alone for a while. The rules; State keeps what they need.

Three failures within five minutes: five minutes of rest; then one try, whose success ends it and whose failure begins another
rest. Who tries prolongs the rest first: of several hooks at once one tries, and a hook that is killed over it has failed.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state import State

FAILURES = 3
WINDOW_MS = 300_000
REST_MS = 300_000


def may_ask(state: "State", provider: str, now_ms: int) -> bool:
    """Whether a provider (its identity) may be asked now. After a rest the first to ask is told so, and takes the one try."""
    until = state.llm_rest(provider)
    if until is None:
        return True
    return not is_resting(until, now_ms) and state.prolong_llm_rest(provider, until, now_ms + REST_MS)


def failed(state: "State", provider: str, now_ms: int) -> None:
    """Note that a provider did not answer in time, or with nothing that can be used."""
    state.note_llm_failure(provider, now_ms)
    is_try = state.llm_rest(provider) is not None
    if is_try or state.llm_failures(provider, now_ms - WINDOW_MS, now_ms) >= FAILURES:
        state.let_llm_rest(provider, now_ms + REST_MS)


def succeeded(state: "State", provider: str) -> None:
    """Note that a provider answered. It ends a rest; failures among successes count on."""
    if state.llm_rest(provider) is not None:
        state.trust_llm(provider)


def is_resting(until_ms: int, now_ms: int) -> bool:
    """Whether a rest is going on. One that ends later than any could has been kept by a clock that was set back since."""
    return now_ms < until_ms <= now_ms + REST_MS
