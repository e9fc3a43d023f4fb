"""The log of decisions in state.db: written by the hook, read by `why` and `report`."""

from __future__ import annotations

from subcog_hooks.store import metrics
from subcog_hooks.store.decision import WAITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.store.decision import Decision
    from subcog_hooks.store.state import State

FORGOTTEN_AT_ONCE = 100  # decisions whose texts are deleted at a time: 5 ms

_FLAG = "keeps_prompts"  # set where texts of prompts may remain; its number is the last cleared decision


def note_kept_prompt_text(state: State) -> None:
    """Set the flag that state.db holds texts of prompts."""
    state.run(
        "INSERT INTO flags VALUES (?, NULL) ON CONFLICT (name) DO UPDATE SET until = NULL WHERE until IS NOT NULL", (_FLAG,)
    )


def may_hold_prompt_texts(state: State) -> bool:
    """Return whether state.db may hold texts of prompts."""
    return bool(state.run("SELECT 1 FROM flags WHERE name = ?", (_FLAG,)))


def forget_prompt_texts(state: State) -> None:
    """Delete the texts of prompts from decisions, topics and LLM answers, also from free pages of the file."""
    state.begin()
    _forget_texts_after(state, 0, -1)
    state.run("DELETE FROM flags WHERE name = ?", (_FLAG,))
    state.commit()
    state.run("VACUUM")
    state.run("PRAGMA wal_checkpoint(TRUNCATE)")


def forget_some_prompt_texts(state: State) -> None:
    """Delete the texts of the oldest FORGOTTEN_AT_ONCE decisions that have one, in the open transaction.

    The hook calls it; its next runs continue. Topics and answers go at once.
    """
    (cleared,) = state.run("SELECT coalesce(max(until), 0) FROM flags WHERE name = ?", (_FLAG,))[0]
    last_number = _forget_texts_after(state, int(cleared or 0), FORGOTTEN_AT_ONCE)
    if last_number is None:
        state.run("DELETE FROM flags WHERE name = ?", (_FLAG,))
    else:
        state.run("UPDATE flags SET until = ? WHERE name = ?", (last_number, _FLAG))


def _forget_texts_after(state: State, after: int, limit: int) -> int | None:
    """Delete the texts of up to `limit` decisions after this number; -1 for all. Return the last number, None at the end."""
    state.run("PRAGMA secure_delete = ON")
    numbers = [int(row[0] or 0) for row in state.run("SELECT number FROM decisions WHERE number > ? LIMIT ?", (after, limit))]
    if numbers:
        state.run(
            "UPDATE decisions SET record = json_set(json_remove(record, '$.intent.topics', '$.intent.reasoning'),"
            " '$.prompt', NULL, '$.borrowed', json('[]')) WHERE number BETWEEN ? AND ? AND json_valid(record)",
            (numbers[0], numbers[-1]),
        )
    state.run("DELETE FROM topics")
    state.run("DELETE FROM llm_answers")
    return numbers[-1] if numbers and len(numbers) == limit else None


KEPT_DAYS = 30
MAX_DECISIONS = 1_000  # some days' prompts, 4 to 8 kB each
LOOK_EVENT = "SecondLook"  # not an event of the client
MAX_LOOKED_THROUGH = 200  # the latest decisions, among which a second look is searched
PRUNED_AT_ONCE = 50  # decisions deleted at a time: single deletions would write twice as many pages

_DAY_MS = 86_400_000


def keep_decision(state: State, decision: Decision, now_ms: int) -> None:
    """Store a decision, and delete old ones: by age, and the oldest of more than MAX_DECISIONS.

    A decision whose prompt has taught a memory stays until it is too old, because the question would go with it.
    """
    values = (
        *(decision.id, decision.at_ms, decision.event, decision.session, decision.project, decision.outcome),
        *(len(decision.injected), decision.units, decision.micros, decision.to_text()),
    )
    state.run("INSERT INTO decisions VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    (oldest, oldest_at), (newest, _) = state.run(
        "SELECT * FROM (SELECT number, at FROM decisions ORDER BY number LIMIT 1)"
        " UNION ALL SELECT * FROM (SELECT number, at FROM decisions ORDER BY number DESC LIMIT 1)"
    )
    oldest_kept_ms = now_ms - KEPT_DAYS * _DAY_MS
    if int(oldest_at or 0) < oldest_kept_ms:
        state.run("DELETE FROM decisions WHERE at < ?", (oldest_kept_ms,))
    newest_number = int(newest or 0)
    if newest_number % PRUNED_AT_ONCE == 1 and newest_number - int(oldest or 0) > MAX_DECISIONS - PRUNED_AT_ONCE:
        state.run(
            "DELETE FROM decisions WHERE number <= ? AND id NOT IN (SELECT decision FROM lessons)",
            (newest_number - MAX_DECISIONS + PRUNED_AT_ONCE,),
        )
    counted = metrics.SECOND_LOOKS if decision.looked_at else metrics.DECISIONS
    if decision.outcome != WAITING:  # a second look is counted at its end
        metrics.increase_counter(state, counted, f'outcome="{decision.outcome}"')
    if decision.injected:
        metrics.increase_counter(state, metrics.INJECTED, by=len(decision.injected))
    if decision.pointed:
        metrics.increase_counter(state, metrics.POINTED, by=len(decision.pointed))
    if decision.prompt is not None:
        note_kept_prompt_text(state)


def settle_second_look(state: State, id: str, outcome: str, why: str) -> None:
    """Set the outcome of a second look that was waiting, in the open transaction. why: the reason."""
    row = state.run(
        "UPDATE decisions SET outcome = ?, record = json_set(record, '$.reason', ?) WHERE id = ? AND outcome = ?"
        " AND json_valid(record) AND number > (SELECT max(number) FROM decisions) - ? RETURNING 1",
        (outcome, why, id, WAITING, MAX_LOOKED_THROUGH),
    )
    if row:
        metrics.increase_counter(state, metrics.SECOND_LOOKS, f'outcome="{outcome}"')
