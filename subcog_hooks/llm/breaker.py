"""The circuit breaker of a provider, and the cache of its answers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.llm.providers import Provider
    from subcog_hooks.llm.question import Question
    from subcog_hooks.store.state import State

# Chosen, not measured: of a provider that hangs, five minutes of work cost at most four calls of llm_timeout_ms, .8 s.
FAILURES = 3  # within the window: they open the breaker
WINDOW_MS = 300_000  # in which failures are counted
OPEN_MS = 300_000  # from opening the breaker to the one try


def may_call(state: State, provider: str, now_ms: int) -> bool:
    """Return whether a provider (its identity) may be called now. Half-open, the first to ask takes the one try.

    Raises StoreBusy soon when the one try can not be noted, because another process is writing.
    """
    until = open_until(state, provider)
    if until is None:
        return True
    return not is_open(until, now_ms) and _reopen(state, provider, until, now_ms + OPEN_MS)


def note_failure(state: State, provider: str, now_ms: int) -> None:
    """Note that a provider did not answer in time, or with nothing that can be used. The third failure opens the breaker."""
    state.run("INSERT INTO llm_failures VALUES (?, ?)", (provider, now_ms))
    is_half_open = open_until(state, provider) is not None
    if is_half_open or count_failures(state, provider, now_ms - WINDOW_MS, now_ms) >= FAILURES:
        open_it(state, provider, now_ms + OPEN_MS)


def open_it(state: State, provider: str, until_ms: int) -> None:
    """Open a provider's breaker until a time (milliseconds since the epoch); from then on it is half-open."""
    state.run("INSERT OR REPLACE INTO llm_rests VALUES (?, ?)", (provider, until_ms))


def note_success(state: State, provider: str) -> None:
    """Note that a provider answered: a half-open breaker closes. Failures among successes count on."""
    if open_until(state, provider) is not None:
        state.run("DELETE FROM llm_failures WHERE provider = ?", (provider,))
        state.run("DELETE FROM llm_rests WHERE provider = ?", (provider,))


def is_open(until_ms: int, now_ms: int) -> bool:
    """Return whether a breaker that is open until a time still is.

    One that would be open for longer than any can be was opened by a clock that was set back since.
    """
    return now_ms < until_ms <= now_ms + OPEN_MS


def open_until(state: State, provider: str) -> int | None:
    """Return until when a provider's breaker is open, a time that may be over; None when it is closed."""
    rows = state.run("SELECT until FROM llm_rests WHERE provider = ?", (provider,))
    return int(rows[0][0] or 0) if rows else None


def count_failures(state: State, provider: str, from_ms: int, to_ms: int) -> int:
    """Return how often a provider has failed between two times, both included. What was before is forgotten."""
    state.run("DELETE FROM llm_failures WHERE provider = ? AND at < ?", (provider, from_ms))
    rows = state.run("SELECT count(*) FROM llm_failures WHERE provider = ? AND at <= ?", (provider, to_ms))
    return int(rows[0][0] or 0)


def _reopen(state: State, provider: str, from_ms: int, until_ms: int) -> bool:
    """Open a half-open breaker again, if its end is where it was seen: of several processes at once, one is told True.

    Raises StoreBusy soon when another process is writing.
    """
    sql = "UPDATE llm_rests SET until = ? WHERE provider = ? AND until = ? RETURNING 1"
    return bool(state.run_briefly(sql, (until_ms, provider, from_ms)))


MAX_ANSWERS = 1_000  # a busy day asks for some hundred


def answer_key(provider: Provider, question: Question) -> str:
    """Return the key under which an answer is kept: who is asked what. Another wording of the question is another key."""
    from hashlib import sha256  # 2 ms, only where an LLM is configured

    parts = (provider.identity, question.system, question.user)
    return sha256("\0".join(parts).encode()).hexdigest()


def find_answer(state: State, key: str, now_ms: int) -> str | None:
    """Return the answer kept under a key, None when there is none or its time is over."""
    rows = state.run("SELECT answer FROM llm_answers WHERE key = ? AND at <= ? AND until > ?", (key, now_ms, now_ms))
    return str(rows[0][0]) if rows else None


def keep_answer(state: State, key: str, answer: str, now_ms: int, ttl_ms: int) -> None:
    """Keep an answer for `ttl_ms` milliseconds. Those whose time is over go, then the nearest to it above MAX_ANSWERS."""
    if ttl_ms > 0:
        state.run("INSERT OR REPLACE INTO llm_answers VALUES (?, ?, ?, ?)", (key, answer, now_ms, now_ms + ttl_ms))
    state.run("DELETE FROM llm_answers WHERE until <= ?", (now_ms,))
    state.run(
        "DELETE FROM llm_answers WHERE key IN (SELECT key FROM llm_answers ORDER BY until DESC LIMIT -1 OFFSET ?)",
        (MAX_ANSWERS,),
    )
