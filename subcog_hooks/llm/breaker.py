"""The circuit breaker of a provider, and the cache of its answers."""

from __future__ import annotations

from subcog_hooks.core.errors import ProviderError, UnusableAnswer
from subcog_hooks.store.memory import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.llm.providers import Provider
    from subcog_hooks.llm.question import Question
    from subcog_hooks.store.state import State

# Chosen, not measured: with a hanging provider, five minutes of work cost at most four calls of llm_timeout_ms, .8 s.
FAILURES = 3  # so many within the window open the breaker
WINDOW_MS = 300_000  # the window for counting failures
OPEN_MS = 300_000  # from opening the breaker to the next try


def may_call(state: State, provider: str, now_ms: int) -> bool:
    """Return whether a provider may be called now. Half-open, the first caller takes the only try. Raises StoreBusy soon."""
    until = open_until(state, provider)
    if until is None:
        return True
    return not is_open(until, now_ms) and _reopen(state, provider, until, now_ms + OPEN_MS)


def record_call_failure(state: State, provider: str, now_ms: int) -> None:
    """Record that a provider gave no usable answer in time. The third failure opens the breaker."""
    state.run("INSERT INTO llm_failures VALUES (?, ?)", (provider, now_ms))
    is_half_open = open_until(state, provider) is not None
    if is_half_open or count_failures(state, provider, now_ms - WINDOW_MS, now_ms) >= FAILURES:
        open_breaker(state, provider, now_ms + OPEN_MS)


def ask_recorded(state: State, provider: Provider, question: Question, seconds: float) -> str:
    """Return a provider's answer, and record whether it works. Raises ProviderError, StoreError."""
    from subcog_hooks.llm import providers  # the hook asks in a race

    try:
        answer = providers.ask_provider(provider, question, seconds)
    except UnusableAnswer:  # It works, though it cannot answer this question.
        record_call_success(state, provider.circuit)
        raise
    except ProviderError:
        record_call_failure(state, provider.circuit, now_ms())
        raise
    record_call_success(state, provider.circuit)
    return answer


def open_breaker(state: State, provider: str, until_ms: int) -> None:
    """Open a provider's breaker until a time (milliseconds since the epoch); then it is half-open."""
    state.run("INSERT OR REPLACE INTO llm_rests VALUES (?, ?)", (provider, until_ms))


def record_call_success(state: State, provider: str) -> None:
    """Record an answer of a provider: it closes a half-open breaker. Otherwise earlier failures still count."""
    if open_until(state, provider) is not None:
        state.run("DELETE FROM llm_failures WHERE provider = ?", (provider,))
        state.run("DELETE FROM llm_rests WHERE provider = ?", (provider,))


def is_open(until_ms: int, now_ms: int) -> bool:
    """Return whether a breaker is still open. An end beyond OPEN_MS comes from a clock that was set back."""
    return now_ms < until_ms <= now_ms + OPEN_MS


def open_until(state: State, provider: str) -> int | None:
    """Return the end of a provider's open state, which may be in the past; None when the breaker is closed."""
    rows = state.run("SELECT until FROM llm_rests WHERE provider = ?", (provider,))
    return int(rows[0][0] or 0) if rows else None


def count_failures(state: State, provider: str, from_ms: int, to_ms: int) -> int:
    """Return the number of a provider's failures between two times, both included. Earlier failures are deleted."""
    state.run("DELETE FROM llm_failures WHERE provider = ? AND at < ?", (provider, from_ms))
    rows = state.run("SELECT count(*) FROM llm_failures WHERE provider = ? AND at <= ?", (provider, to_ms))
    return int(rows[0][0] or 0)


def _reopen(state: State, provider: str, from_ms: int, until_ms: int) -> bool:
    """Open a half-open breaker again if its end is unchanged: one process gets True. Raises StoreBusy soon."""
    sql = "UPDATE llm_rests SET until = ? WHERE provider = ? AND until = ? RETURNING 1"
    return bool(state.run_briefly(sql, (until_ms, provider, from_ms)))


MAX_ANSWERS = 1_000  # a busy day asks for some hundred


def answer_key(provider: Provider, question: Question) -> str:
    """Return the cache key of a question to a provider. Another wording has another key."""
    from hashlib import sha256  # 2 ms, needed only with an LLM

    parts = (provider.identity, question.system, question.user)
    return sha256("\0".join(parts).encode()).hexdigest()


def find_cached_answer(state: State, key: str, now_ms: int) -> str | None:
    """Return the answer cached under a key, None without one or after its time."""
    rows = state.run("SELECT answer FROM llm_answers WHERE key = ? AND at <= ? AND until > ?", (key, now_ms, now_ms))
    return str(rows[0][0]) if rows else None


def cache_answer(state: State, key: str, answer: str, now_ms: int, ttl_ms: int) -> None:
    """Store an answer for `ttl_ms` milliseconds. Delete expired answers, then those above MAX_ANSWERS that expire first."""
    if ttl_ms > 0:
        state.run("INSERT OR REPLACE INTO llm_answers VALUES (?, ?, ?, ?)", (key, answer, now_ms, now_ms + ttl_ms))
    state.run("DELETE FROM llm_answers WHERE until <= ?", (now_ms,))
    sql = "DELETE FROM llm_answers WHERE key IN (SELECT key FROM llm_answers ORDER BY until DESC LIMIT -1 OFFSET ?)"
    state.run(sql, (MAX_ANSWERS,))
