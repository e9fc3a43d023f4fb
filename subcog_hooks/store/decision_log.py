"""The log of decisions in state.db: written by the hook, read by `why` and `stats`."""

from __future__ import annotations

from subcog_hooks.store import metrics
from subcog_hooks.store.decision import HANDED_OVER, SECOND_LOOK, WAITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from subcog_hooks.store.decision import Decision
    from subcog_hooks.store.state import State

FORGOTTEN = 100  # decisions whose prompts are forgotten at a time: 5 ms

_FLAG = "keeps_prompts"  # there may be texts of prompts in here, behind the decision that it names


def note_kept_texts(state: State) -> None:
    """Note that a text of a prompt is kept now."""
    state.run(
        "INSERT INTO flags VALUES (?, NULL) ON CONFLICT (name) DO UPDATE SET until = NULL WHERE until IS NOT NULL",
        (_FLAG,),
    )


def may_hold_texts(state: State) -> bool:
    """Return whether there may be texts of prompts in here."""
    return bool(state.run("SELECT 1 FROM flags WHERE name = ?", (_FLAG,)))


def forget_texts(state: State) -> None:
    """Take all texts of prompts out: of the decisions, the topics, the answers of LLMs. No free page holds any then."""
    state.begin()
    _forget(state, 0, -1)
    state.run("DELETE FROM flags WHERE name = ?", (_FLAG,))
    state.commit()
    state.run("VACUUM")
    state.run("PRAGMA wal_checkpoint(TRUNCATE)")


def forget_some_texts(state: State) -> None:
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


KEPT_DAYS = 30
MAX_DECISIONS = 1_000  # some days' prompts, 4 to 8 kB each
LOOK_EVENT = "SecondLook"  # the event of a second look, which the client does not have
MAX_LOOKED_THROUGH = 200  # of the last decisions, for a second look
PRUNED = 50  # decisions that go at a time: one for each that comes would write twice as many pages

_DAY_MS = 86_400_000
_COLUMNS = "record, id, at, event, session, project, outcome, units, micros"  # as Decision.from_text wants them


def keep(state: State, decision: Decision, now_ms: int) -> None:
    """Keep what became of a run. Those of long ago are forgotten, and the oldest where there are more than MAX_DECISIONS.

    Those about prompts from which something was learned, or may be, stay as long as time allows: with them that would go.
    """
    values = (
        *(decision.id, decision.at, decision.event, decision.session, decision.project, decision.outcome),
        *(len(decision.injected), decision.units, decision.micros, decision.to_text()),
    )
    state.run("INSERT INTO decisions VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    (oldest, oldest_at), (newest, _) = state.run(
        "SELECT * FROM (SELECT number, at FROM decisions ORDER BY number LIMIT 1)"
        " UNION ALL SELECT * FROM (SELECT number, at FROM decisions ORDER BY number DESC LIMIT 1)"
    )
    long_ago = now_ms - KEPT_DAYS * _DAY_MS
    if int(oldest_at or 0) < long_ago:
        state.run("DELETE FROM decisions WHERE at < ?", (long_ago,))
    last = int(newest or 0)
    if last % PRUNED == 1 and last - int(oldest or 0) > MAX_DECISIONS - PRUNED:
        state.run(
            "DELETE FROM decisions WHERE number <= ? AND id NOT IN (SELECT decision FROM suggestions)",
            (last - MAX_DECISIONS + PRUNED,),
        )
    counted = metrics.SECOND_LOOKS if decision.looked_at else metrics.DECISIONS
    if decision.outcome != WAITING:  # it is counted when that has ended
        metrics.count(state, counted, f'outcome="{decision.outcome}"')
    if decision.injected:
        metrics.count(state, metrics.INJECTED, by=len(decision.injected))
    if decision.pointed:
        metrics.count(state, metrics.POINTED, by=len(decision.pointed))
    if decision.prompt is not None:
        note_kept_texts(state)


def settle(state: State, id: str, outcome: str, why: str) -> None:
    """Note what became of a second look that was waiting, in the transaction that is open. why: with what, or why not."""
    row = state.run(
        "UPDATE decisions SET outcome = ?, record = json_set(record, '$.reason', ?) WHERE id = ? AND outcome = ?"
        " AND json_valid(record) AND number > (SELECT max(number) FROM decisions) - ? RETURNING 1",
        (outcome, why, id, WAITING, MAX_LOOKED_THROUGH),
    )
    if row:
        metrics.count(state, metrics.SECOND_LOOKS, f'outcome="{outcome}"')


def second_look_at(state: State, decision: Decision) -> Decision | None:
    """Return the second look at the prompt of a decision, None where there was none."""
    later = _select(
        state,
        "WHERE event = ? AND session = ? AND at >= ? ORDER BY number LIMIT ?",
        (LOOK_EVENT, decision.session, decision.at, MAX_LOOKED_THROUGH),
    )
    return next((look for look in later if look.looked_at == decision.id), None)


def prompt_behind(state: State, decision: Decision, memory: str) -> Decision | None:
    """Return the decision about the prompt for which a memory was handed over late, with another; None where it was not.

    memory: its id, or the beginning of that.
    """
    late = [one for one in decision.candidates if one.id.startswith(memory) and SECOND_LOOK in one.ranks]
    looks = _select(state, "WHERE event = ? AND session = ? AND outcome = ?", (LOOK_EVENT, decision.session, HANDED_OVER))
    of_it = [look for look in looks if late and look.reason == decision.id]
    return find(state, of_it[0].looked_at) if of_it else None


def find(state: State, id_or_prefix: str | None = None) -> Decision | None:
    """Return the decision of an id, else the latest whose id begins so; without one, the latest of all."""
    sought = id_or_prefix or ""
    found = _select(
        state, "WHERE substr(id, 1, ?) = ? ORDER BY id = ? DESC, number DESC LIMIT 1", (len(sought), sought, sought)
    )
    return found[0] if found else None


def recorded_prompts(state: State) -> set[str]:
    """Return the ids of the decisions about prompts whose text is kept."""
    rows = state.run("SELECT id FROM decisions WHERE json_valid(record) AND json_extract(record, '$.prompt') IS NOT NULL")
    return {str(row[0]) for row in rows}


def latest(state: State, limit: int, since_ms: int = 0, event: str | None = None) -> list[Decision]:
    """Return the latest decisions from a time on, the newest first, whatever a clock that was wrong has said of them.

    event: of this one alone.
    """
    return _select(state, "WHERE at >= ? AND event = coalesce(?, event) ORDER BY number DESC LIMIT ?", (since_ms, event, limit))


def _select(state: State, condition: str, values: tuple[apsw.SQLiteValue, ...]) -> list[Decision]:
    from subcog_hooks.store.decision import Decision  # .3 ms; only the terminal reads them

    return [
        Decision.from_text(
            str(record),
            id=str(id_),
            at=int(at or 0),
            event=str(event),
            session=str(session),
            project=str(project),
            outcome=str(outcome),
            units=int(units or 0),
            micros=int(micros or 0),
        )
        for record, id_, at, event, session, project, outcome, units, micros in state.run(
            f"SELECT {_COLUMNS} FROM decisions {condition}",  # noqa: S608 - the functions' own words
            values,
        )
    ]
