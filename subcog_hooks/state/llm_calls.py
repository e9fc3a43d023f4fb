"""The calls of an LLM at rest: how many today, and which memories it was asked about. Every function raises StoreError."""

from __future__ import annotations

from subcog_hooks.state import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from subcog_hooks.state.connection import State

_ASKED_REVISION = "asked revision"
DAY_MS = 86_400_000


def made_today(state: State, now_ms: int) -> int:
    """Return how many calls there were since midnight, UTC."""
    rows = state.run("SELECT calls FROM llm_calls WHERE day = ?", (now_ms // DAY_MS,))
    return sum(calls for (calls,) in rows if isinstance(calls, int))


def take(state: State, now_ms: int, most: int) -> bool:
    """Return whether there may be one call more today, of `most`; it is counted then."""
    if made_today(state, now_ms) >= most:
        return False
    day = now_ms // DAY_MS
    state.run("DELETE FROM llm_calls WHERE day < ?", (day,))
    state.run("INSERT INTO llm_calls VALUES (?, 1) ON CONFLICT (day) DO UPDATE SET calls = calls + 1", (day,))
    return True


def untried(state: State, texts: Mapping[str, str]) -> list[str]:
    """Return the ids of those memories about whose text nobody was asked yet. texts: the hash of each text, by the id."""
    tried = {str(row[0]): str(row[1]) for row in state.run("SELECT memory, content_hash FROM enriched", ())}
    return [id_ for id_, content_hash in texts.items() if tried.get(id_) != content_hash]


def find_asked_revision(state: State) -> int:
    """Return the store's revision up to which an LLM was asked about everything, 0 for never."""
    return numbers.find(state, _ASKED_REVISION) or 0


def note_asked_revision(state: State, revision: int) -> None:
    """Note that an LLM was asked about everything that the store held at this revision."""
    numbers.put(state, _ASKED_REVISION, revision)


def note_tried(state: State, id: str, content_hash: str) -> None:
    """Note that an LLM was asked about a memory's text, whatever came of it."""
    state.run("INSERT OR REPLACE INTO enriched VALUES (?, ?)", (id, content_hash))
