"""Texts of prompts in state.db: whether there are any, and taking them all out. Every function raises StoreError."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.state.connection import State

FORGOTTEN = 100  # decisions whose prompts are forgotten at a time: 5 ms

_FLAG = "keeps_prompts"  # there may be texts of prompts in here, behind the decision that it names


def note(state: State) -> None:
    """Note that a text of a prompt is kept now."""
    state.run(
        "INSERT INTO flags VALUES (?, NULL) ON CONFLICT (name) DO UPDATE SET until = NULL WHERE until IS NOT NULL",
        (_FLAG,),
    )


def may_exist(state: State) -> bool:
    """Return whether there may be texts of prompts in here."""
    return bool(state.run("SELECT 1 FROM flags WHERE name = ?", (_FLAG,)))


def forget_all(state: State) -> None:
    """Take all texts of prompts out: of the decisions, the topics, the answers of LLMs. No free page holds any then."""
    state.begin()
    _forget(state, 0, -1)
    state.run("DELETE FROM flags WHERE name = ?", (_FLAG,))
    state.commit()
    state.run("VACUUM")
    state.run("PRAGMA wal_checkpoint(TRUNCATE)")


def forget_some(state: State) -> None:
    """Take the texts out of FORGOTTEN decisions, the oldest that still have one, in the transaction that is open.

    For the hook, whose next runs go on. Topics and answers go at once.
    """
    (done,) = state.run("SELECT coalesce(max(until), 0) FROM flags WHERE name = ?", (_FLAG,))[0]
    last = _forget(state, int(done or 0), FORGOTTEN)
    if last is None:
        state.run("DELETE FROM flags WHERE name = ?", (_FLAG,))
    else:
        state.run("UPDATE flags SET until = ? WHERE name = ?", (last, _FLAG))


def _forget(state: State, after: int, most: int) -> int | None:
    """Forget those of `most` decisions behind a number, -1: of all. Return the last one's number, None when no more follow."""
    state.run("PRAGMA secure_delete = ON")
    numbers = [int(row[0] or 0) for row in state.run("SELECT number FROM decisions WHERE number > ? LIMIT ?", (after, most))]
    if numbers:
        state.run(
            "UPDATE decisions SET record = json_set(json_remove(record, '$.intent.topics'), '$.prompt', NULL,"
            " '$.borrowed', json('[]')) WHERE number BETWEEN ? AND ? AND json_valid(record)",
            (numbers[0], numbers[-1]),
        )
    state.run("DELETE FROM topics")
    state.run("DELETE FROM llm_answers")
    return numbers[-1] if numbers and len(numbers) == most else None
