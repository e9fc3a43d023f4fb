"""Second looks: those that are running, and what those that have ended found, until it is handed over or dropped.

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

LOOK_MS = 10_000  # of a look, from its prompt to its end
MOST_RUNNING = 5
LOST = "lost"  # what became of one that was killed
OF_LOOKS = (HANDED_OVER, MOVED_ON, BELOW, NOTHING_FOUND, INTENT, REPEATED, FAILED, LOST)
WAITS_MS = 30 * 60_000  # what was found later than that is of another morning


class Finding:
    """A memory that a second look has found: its id, and how relevant it is to the prompt."""

    __slots__ = ("id", "relevance")

    def __init__(self, id: str, relevance: float) -> None:
        self.id = id
        self.relevance = relevance


class Waiting:
    """The answer of a second look that waits to be handed over.

    decision: the id of that about its prompt; look: of its own; at: when the prompt was typed, in milliseconds since the epoch.
    """

    __slots__ = ("at", "decision", "findings", "look")

    def __init__(self, decision: str, look: str, at: int, findings: Sequence[Finding]) -> None:
        self.decision = decision
        self.look = look
        self.at = at
        self.findings = tuple(findings)


def begin(state: State, decision: str, session: str, now_ms: int) -> bool:
    """Note that a look begins, in the transaction that is open. Return False where MOST_RUNNING are at it: then none may.

    What another look of the session has found, or will find, is not handed over any more.
    """
    leave(state, session, "another prompt")
    # those that were killed, what nobody came for, and what a clock that was ahead has written; one of the same moment is none
    gone = state.run("DELETE FROM second_looks WHERE until < ? OR at > ? RETURNING answer", (now_ms, now_ms + LOOK_MS))
    for (answer,) in gone:
        if answer is None:
            metrics.count(state, metrics.SECOND_LOOKS, f'outcome="{LOST}"')
        elif waiting := _read_answer(answer):
            decision_log.settle(state, waiting[0], MOVED_ON, "nobody came for it")
    ((running,),) = state.run("SELECT count(*) FROM second_looks WHERE answer IS NULL")
    if int(running or 0) >= MOST_RUNNING:
        return False
    state.run("INSERT OR REPLACE INTO second_looks VALUES (?, ?, ?, ?, NULL)", (decision, session, now_ms, now_ms + LOOK_MS))
    return True


def count_lost(state: State, now_ms: int) -> int:
    """Return how many of the last looks were killed or cut off."""
    ((lost,),) = state.run("SELECT count(*) FROM second_looks WHERE answer IS NULL AND until < ?", (now_ms,))
    return int(lost or 0)


def session_of(state: State, decision: str) -> str:
    """Return the session that still waits for a look, "" where none does."""
    rows = state.run("SELECT session FROM second_looks WHERE decision = ? AND answer IS NULL", (decision,))
    return str(rows[0][0]) if rows else ""


def end(state: State, decision: str, look: str, findings: Sequence[Finding], now_ms: int) -> bool:
    """Note what a look has found. Return whether it waits to be handed over: not where nothing was, or nobody waits for it.

    look: the id of the decision that it was.
    """
    if not findings or not session_of(state, decision):
        state.run("DELETE FROM second_looks WHERE decision = ?", (decision,))
        return False
    answer = light_json.dumps({"look": look, "found": [(one.id, one.relevance) for one in findings]})
    state.run("UPDATE second_looks SET answer = ?, until = ? WHERE decision = ?", (answer, now_ms + WAITS_MS, decision))
    return True


def find(state: State, session: str, now_ms: int) -> Waiting | None:
    """Return what waits for a session, None where nothing does."""
    rows = state.run(
        "SELECT decision, at, answer FROM second_looks WHERE session = ? AND answer IS NOT NULL AND ? BETWEEN at AND until",
        (session, now_ms),
    )
    if not rows:
        return None
    decision, at, answer = rows[0]
    told = _read_answer(answer)
    return Waiting(str(decision), told[0], int(at or 0), told[1]) if told else None


def settle(state: State, waiting: Waiting, outcome: str, why: str) -> None:
    """Note that what a look has found was handed over, or is not wanted any more, in the transaction that is open."""
    state.run("DELETE FROM second_looks WHERE decision = ?", (waiting.decision,))
    decision_log.settle(state, waiting.look, outcome, why)


def leave(state: State, session: str, why: str) -> None:
    """Note that a session has moved on, in the transaction that is open: nothing of what was found for it is handed over.

    Nor of what will be. A look that runs still counts as one.
    """
    left = state.run("DELETE FROM second_looks WHERE session = ? AND answer IS NOT NULL RETURNING answer", (session,))
    for (answer,) in left:
        if told := _read_answer(answer):
            decision_log.settle(state, told[0], MOVED_ON, why)
    state.run("UPDATE second_looks SET session = '' WHERE session = ?", (session,))


def _read_answer(answer: object) -> tuple[str, list[Finding]] | None:
    """Return the id of a look and what it has found, None where another program has written that."""
    try:
        told = light_json.loads(str(answer))
        assert isinstance(told, dict)
        return str(told["look"]), [Finding(str(id_), float(relevance)) for id_, relevance in told["found"]]
    except (ValueError, TypeError, KeyError, AssertionError):
        return None
