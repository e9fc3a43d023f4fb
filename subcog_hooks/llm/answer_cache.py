"""Answers of LLMs that are kept in state.db, so that the same question is not asked twice. Loaded only where an LLM is set up.

Every function that takes a state raises StoreError.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.llm.providers import Provider
    from subcog_hooks.llm.question import Question
    from subcog_hooks.state.connection import State

MAX_ANSWERS = 1_000  # a busy day asks for some hundred


def key_of(provider: Provider, question: Question) -> str:
    """Return the key under which an answer is kept: who is asked what. Another wording of the question is another key."""
    from hashlib import sha256  # 2 ms, only where an LLM is configured

    parts = (provider.identity, question.system, question.user)
    return sha256("\0".join(parts).encode()).hexdigest()


def find(state: State, key: str, now_ms: int) -> str | None:
    """Return the answer kept under a key, None when there is none or its time is over."""
    rows = state.run("SELECT answer FROM llm_answers WHERE key = ? AND at <= ? AND until > ?", (key, now_ms, now_ms))
    return str(rows[0][0]) if rows else None


def keep(state: State, key: str, answer: str, now_ms: int, ttl_ms: int) -> None:
    """Keep an answer for `ttl_ms` milliseconds. Those whose time is over go, then the nearest to it above MAX_ANSWERS."""
    if ttl_ms > 0:
        state.run("INSERT OR REPLACE INTO llm_answers VALUES (?, ?, ?, ?)", (key, answer, now_ms, now_ms + ttl_ms))
    state.run("DELETE FROM llm_answers WHERE until <= ?", (now_ms,))
    state.run(
        "DELETE FROM llm_answers WHERE key IN (SELECT key FROM llm_answers ORDER BY until DESC LIMIT -1 OFFSET ?)",
        (MAX_ANSWERS,),
    )
