"""Second looks: those that still run, and the answers that wait for their session. Every function raises StoreError."""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.records import record
from subcog_hooks.store import verdicts
from subcog_hooks.store.verdicts import FAILED, HANDED_OVER, MOVED_ON, NOTHING_FOUND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any  # of JSON

    from subcog_hooks.store.state import State

LOOK_MS = 10_000  # from the prompt to the end of the look
MAX_RUNNING = 5
LOOK_OUTCOMES = (HANDED_OVER, MOVED_ON, NOTHING_FOUND, FAILED)
WAITS_MS = 30 * 60_000  # an answer older than this is out of date


@record
class WaitingAnswer:
    """The answer of a second look that waits to be handed over.

    decision: the id of the decision about its prompt; look: the id of its own decision; at_ms: when the prompt was typed, in
    milliseconds since the epoch; findings: ids and relevances of the memories, the best first.
    """

    decision: str
    look: str
    at_ms: int
    findings: Sequence[tuple[str, float]]


def begin_look(state: State, decision: str, session: str, now_ms: int) -> bool:
    """Note the start of a look, in the open transaction. Return False where MAX_RUNNING looks already run."""
    # Rows of killed looks, of unclaimed answers, and of a clock that was ahead.
    _drop_looks(state, "until < ? OR at > ?", (now_ms, now_ms + LOOK_MS), "nobody came for it")
    ((running,),) = state.run("SELECT count(*) FROM second_looks WHERE answer IS NULL")
    if int(running or 0) >= MAX_RUNNING:
        return False
    state.run("INSERT INTO second_looks VALUES (?, ?, ?, ?, NULL)", (decision, session, now_ms, now_ms + LOOK_MS))
    return True


def end_look(state: State, decision: str, look: str, findings: Sequence[tuple[str, float]], now_ms: int) -> bool:
    """Store the answer of a look, in the open transaction. Return whether it waits for its session.

    It does not where nothing was found, or where the session has moved on. look: the id of the look's own decision.
    """
    if not findings:
        state.run("DELETE FROM second_looks WHERE decision = ?", (decision,))
        return False
    answer = light_json.dumps({"look": look, "found": findings})
    sql = "UPDATE second_looks SET answer = ?, until = ? WHERE decision = ? RETURNING 1"
    return bool(state.run(sql, (answer, now_ms + WAITS_MS, decision)))


def find_waiting_answer(state: State, session: str, now_ms: int) -> WaitingAnswer | None:
    """Return the answer that waits for a session, None where there is none."""
    rows = state.run(
        "SELECT decision, at, answer FROM second_looks WHERE session = ? AND answer IS NOT NULL AND ? BETWEEN at AND until",
        (session, now_ms),
    )
    if not rows:
        return None
    decision, at_ms, answer = rows[0]
    fields: Any = light_json.loads(str(answer))
    return WaitingAnswer(str(decision), fields["look"], int(at_ms or 0), fields["found"])


def settle_look(state: State, waiting: WaitingAnswer, outcome: str, why: str) -> None:
    """Remove a waiting answer that was handed over or dropped, in the open transaction."""
    state.run("DELETE FROM second_looks WHERE decision = ?", (waiting.decision,))
    verdicts.settle_second_look(state, waiting.look, outcome, why)


def drop_session_looks(state: State, session: str) -> None:
    """Delete the looks of a session that has another prompt, with their answers, in the open transaction."""
    _drop_looks(state, "session = ?", (session,), "another prompt")


def _drop_looks(state: State, condition: str, values: tuple[str | int, ...], why: str) -> None:
    for (answer,) in state.run(f"DELETE FROM second_looks WHERE {condition} RETURNING answer", values):  # noqa: S608 - our words
        if answer is not None:
            fields: Any = light_json.loads(str(answer))
            verdicts.settle_second_look(state, fields["look"], MOVED_ON, why)
