"""Second looks: the searches that still run, and the answers that wait for their session.

A session is a client's id. A look whose session is "" hands nothing over: its session has moved on. Every function raises
StoreError.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.store import decision_log, metrics
from subcog_hooks.store.decision import BELOW, FAILED, HANDED_OVER, INTENT, MOVED_ON, NOTHING_FOUND, REPEATED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.store.state import State

LOOK_MS = 10_000  # from the prompt to the end of the look
MAX_RUNNING = 5
LOST = "lost"  # the look was killed
LOOK_OUTCOMES = (HANDED_OVER, MOVED_ON, BELOW, NOTHING_FOUND, INTENT, REPEATED, FAILED, LOST)
WAITS_MS = 30 * 60_000  # an answer older than this is out of date


class Finding:
    """A memory that a second look has found: its id, and its relevance to the prompt."""

    __slots__ = ("id", "relevance")

    def __init__(self, id: str, relevance: float) -> None:
        self.id = id
        self.relevance = relevance


class WaitingAnswer:
    """The answer of a second look that waits to be handed over.

    decision: the id of the decision about its prompt; look: the id of its own decision; at_ms: when the prompt was typed, in
    milliseconds since the epoch.
    """

    __slots__ = ("at_ms", "decision", "findings", "look")

    def __init__(self, decision: str, look: str, at_ms: int, findings: Sequence[Finding]) -> None:
        self.decision = decision
        self.look = look
        self.at_ms = at_ms
        self.findings = tuple(findings)


def begin_look(state: State, decision: str, session: str, now_ms: int) -> bool:
    """Note the start of a look, in the open transaction. Return False where MAX_RUNNING looks already run.

    An answer of another look of the session, present or future, is not handed over any more.
    """
    drop_session_looks(state, session, "another prompt")
    # Rows of killed looks, of unclaimed answers, and of a clock that was ahead. A row of this millisecond is kept.
    deleted = state.run("DELETE FROM second_looks WHERE until < ? OR at > ? RETURNING answer", (now_ms, now_ms + LOOK_MS))
    for (answer,) in deleted:
        if answer is None:
            metrics.increase_counter(state, metrics.SECOND_LOOKS, f'outcome="{LOST}"')
        elif waiting := _read_answer(answer):
            decision_log.settle_second_look(state, waiting[0], MOVED_ON, "nobody came for it")
    ((running,),) = state.run("SELECT count(*) FROM second_looks WHERE answer IS NULL")
    if int(running or 0) >= MAX_RUNNING:
        return False
    state.run("INSERT OR REPLACE INTO second_looks VALUES (?, ?, ?, ?, NULL)", (decision, session, now_ms, now_ms + LOOK_MS))
    return True


def count_lost_looks(state: State, now_ms: int) -> int:
    """Return how many of the last looks were killed or cut off."""
    ((lost,),) = state.run("SELECT count(*) FROM second_looks WHERE answer IS NULL AND until < ?", (now_ms,))
    return int(lost or 0)


def find_waiting_session(state: State, decision: str) -> str:
    """Return the session that still waits for a look, "" where none does."""
    rows = state.run("SELECT session FROM second_looks WHERE decision = ? AND answer IS NULL", (decision,))
    return str(rows[0][0]) if rows else ""


def end_look(state: State, decision: str, look: str, findings: Sequence[Finding], now_ms: int) -> bool:
    """Store the answer of a look. Return whether it waits for its session.

    It does not where nothing was found, or where the session has moved on. look: the id of the look's own decision.
    """
    if not findings or not find_waiting_session(state, decision):
        state.run("DELETE FROM second_looks WHERE decision = ?", (decision,))
        return False
    answer = light_json.dumps({"look": look, "found": [(finding.id, finding.relevance) for finding in findings]})
    state.run("UPDATE second_looks SET answer = ?, until = ? WHERE decision = ?", (answer, now_ms + WAITS_MS, decision))
    return True


def find_waiting_answer(state: State, session: str, now_ms: int) -> WaitingAnswer | None:
    """Return the answer that waits for a session, None where there is none."""
    rows = state.run(
        "SELECT decision, at, answer FROM second_looks WHERE session = ? AND answer IS NOT NULL AND ? BETWEEN at AND until",
        (session, now_ms),
    )
    if not rows:
        return None
    decision, at_ms, answer = rows[0]
    look = _read_answer(answer)
    return WaitingAnswer(str(decision), look[0], int(at_ms or 0), look[1]) if look else None


def settle_look(state: State, waiting: WaitingAnswer, outcome: str, why: str) -> None:
    """Remove a waiting answer that was handed over or dropped, in the open transaction."""
    state.run("DELETE FROM second_looks WHERE decision = ?", (waiting.decision,))
    decision_log.settle_second_look(state, waiting.look, outcome, why)


def drop_session_looks(state: State, session: str, why: str) -> None:
    """Delete the answers, present and future, of a session that has moved on, in the open transaction.

    A look that still runs keeps its row.
    """
    deleted = state.run("DELETE FROM second_looks WHERE session = ? AND answer IS NOT NULL RETURNING answer", (session,))
    for (answer,) in deleted:
        if look := _read_answer(answer):
            decision_log.settle_second_look(state, look[0], MOVED_ON, why)
    state.run("UPDATE second_looks SET session = '' WHERE session = ?", (session,))


def _read_answer(answer: object) -> tuple[str, list[Finding]] | None:
    """Return the id and the findings of a look, None where another program has written the row."""
    try:
        fields = light_json.loads(str(answer))
        assert isinstance(fields, dict)
        return str(fields["look"]), [Finding(str(id_), float(relevance)) for id_, relevance in fields["found"]]
    except (ValueError, TypeError, KeyError, AssertionError):
        return None
