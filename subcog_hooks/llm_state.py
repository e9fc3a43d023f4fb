"""What state.db knows of LLMs: their answers, their failures, who is left alone. Loaded only where one is set up."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state import State

MAX_ANSWERS = 1_000  # a busy day asks for some hundred


def answer(state: "State", key: str, now_ms: int) -> str | None:
    """The answer kept under a key, None when there is none or its time is over. Raises StoreError, as all of these do."""
    rows = state.run("SELECT answer FROM llm_answers WHERE key = ? AND at <= ? AND until > ?", (key, now_ms, now_ms))
    return str(rows[0][0]) if rows else None


def keep_answer(state: "State", key: str, answer: str, now_ms: int, ttl_ms: int) -> None:
    """Keep an answer for `ttl_ms` milliseconds. Those whose time is over go, then the nearest to it above MAX_ANSWERS."""
    if ttl_ms > 0:
        state.run("INSERT OR REPLACE INTO llm_answers VALUES (?, ?, ?, ?)", (key, answer, now_ms, now_ms + ttl_ms))
    state.run("DELETE FROM llm_answers WHERE until <= ?", (now_ms,))
    state.run(
        "DELETE FROM llm_answers WHERE key IN (SELECT key FROM llm_answers ORDER BY until DESC LIMIT -1 OFFSET ?)",
        (MAX_ANSWERS,),
    )


# failures and rests, by a provider's identity; the rules are intent.breaker's


def note_failure(state: "State", provider: str, at_ms: int) -> None:
    state.run("INSERT INTO llm_failures VALUES (?, ?)", (provider, at_ms))


def failures(state: "State", provider: str, from_ms: int, to_ms: int) -> int:
    """How often a provider has failed between two times, both included. What was before is forgotten."""
    state.run("DELETE FROM llm_failures WHERE provider = ? AND at < ?", (provider, from_ms))
    rows = state.run("SELECT count(*) FROM llm_failures WHERE provider = ? AND at <= ?", (provider, to_ms))
    return int(rows[0][0] or 0)


def rest(state: "State", provider: str) -> int | None:
    """Until when a provider is left alone, a time that may be over; None: it is not."""
    rows = state.run("SELECT until FROM llm_rests WHERE provider = ?", (provider,))
    return int(rows[0][0] or 0) if rows else None


def let_rest(state: "State", provider: str, until_ms: int) -> None:
    state.run("INSERT OR REPLACE INTO llm_rests VALUES (?, ?)", (provider, until_ms))


def prolong_rest(state: "State", provider: str, from_ms: int, until_ms: int) -> bool:
    """Move a rest's end, if it is where it was seen: of several processes at once, one is told True.

    Raises StoreBusy soon when another process is writing.
    """
    sql = "UPDATE llm_rests SET until = ? WHERE provider = ? AND until = ? RETURNING 1"
    return bool(state.run_briefly(sql, (until_ms, provider, from_ms)))


def trust(state: "State", provider: str) -> None:
    """Forget a provider's failures and its rest."""
    state.run("DELETE FROM llm_failures WHERE provider = ?", (provider,))
    state.run("DELETE FROM llm_rests WHERE provider = ?", (provider,))
