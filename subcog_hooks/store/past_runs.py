"""What the runs of the hook left: verdicts and second looks in state.db, silent and cut-off runs in files, counters.

Every function on a state raises StoreError.
"""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import read_regular
from subcog_hooks.core.records import record
from subcog_hooks.store import verdicts
from subcog_hooks.store.state import BUCKETS
from subcog_hooks.store.verdicts import LOOK_EVENT, MOVED_ON, RecordedVerdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any  # of JSON

    import apsw

    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.state import State

MAX_LOOKED_THROUGH = 200  # the latest verdicts, among which a second look is searched
LOOK_MS = 10_000  # from the prompt to the end of the look
MAX_RUNNING = 5
WAITS_MS = 30 * 60_000  # an answer older than this is out of date
MAX_TRACE_BYTES = 128 * 1024  # of a file of traces; the hook begins a new one, or stops writing, at half of that or before
KEPT_DAYS = 30  # of runs that were cut off

_COLUMNS = "id, at, event, session, project, outcome, units, micros"  # `verdicts.COLUMNS`
_DAY_MS = 86_400_000
_BEFORE = ".before"


# verdicts


def find_verdict(state: State, id_or_prefix: str | None = None) -> RecordedVerdict | None:
    """Return the verdict with this id, else the latest with this prefix; without an id, the latest of all."""
    prefix = id_or_prefix or ""
    condition = "WHERE substr(id, 1, ?) = ? ORDER BY id = ? DESC, number DESC LIMIT 1"
    return next(iter(_select_verdicts(state, condition, (len(prefix), prefix, prefix))), None)


def find_latest(state: State, limit: int, since_ms: int = 0, event: str | None = None) -> list[RecordedVerdict]:
    """Return the latest verdicts since a time, the newest first by insertion. event: only verdicts of this event."""
    condition = "WHERE at >= ? AND event = coalesce(?, event) ORDER BY number DESC LIMIT ?"
    return _select_verdicts(state, condition, (since_ms, event, limit))


def find_openings(state: State) -> list[tuple[str, str]]:
    """Return the openings of memories from lines, as (memory, verdict of the line), the latest first."""
    return state.run("SELECT memory, verdict FROM pointers WHERE opened_at IS NOT NULL ORDER BY opened_at DESC, memory")


def forget_prompt_texts(state: State) -> None:
    """Delete the texts of prompts from verdicts, topics and LLM answers, also from free pages of the file."""
    state.begin()
    verdicts.forget_texts(state, -1)
    state.commit()
    state.run("VACUUM")
    state.run("PRAGMA wal_checkpoint(TRUNCATE)")


def find_second_look(state: State, verdict: RecordedVerdict) -> RecordedVerdict | None:
    """Return the second look at the prompt of a verdict, None where there was none."""
    condition = "WHERE event = ? AND session = ? AND at >= ? ORDER BY number LIMIT ?"
    looks = _select_verdicts(state, condition, (LOOK_EVENT, verdict.session, verdict.at_ms, MAX_LOOKED_THROUGH))
    return next((look for look in looks if look.looked_at == verdict.id), None)


def find_prompt_of_late_memory(state: State, verdict: RecordedVerdict, memory: str) -> RecordedVerdict | None:
    """Return the verdict on the prompt whose second look brought this memory, None for any other memory.

    verdict: of the later run that handed the memory over; memory: its id, or the beginning of its id.
    """
    if not any(candidate.id.startswith(memory) and verdicts.SECOND_LOOK in candidate.ranks for candidate in verdict.candidates):
        return None
    values = LOOK_EVENT, verdict.session, verdicts.HANDED_OVER
    looks = _select_verdicts(state, "WHERE event = ? AND session = ? AND outcome = ?", values)
    return next((find_verdict(state, look.looked_at) for look in looks if look.reason == verdict.id), None)


def _select_verdicts(state: State, condition: str, values: tuple[apsw.SQLiteValue, ...]) -> list[RecordedVerdict]:
    rows = state.run(f"SELECT {_COLUMNS}, record FROM verdicts {condition}", values)  # noqa: S608 - the functions' own words
    return [read_verdict(text, **dict(zip(verdicts.COLUMNS, columns, strict=True))) for *columns, text in rows]


def read_verdict(text: str, **columns: Any) -> RecordedVerdict:  # each of its column's type
    """Return the verdict that `to_text` has written; a damaged record leaves the columns."""
    try:
        fields: Any = light_json.loads(text)
        values: dict[str, Any] = {name: fields[name] for name in verdicts.FIELDS}
        for name, kind in (("intent", verdicts.PromptIntent), ("settings", verdicts.Thresholds)):
            values[name] = kind(**_with_tuples(values[name])) if values[name] else None
        values["candidates"] = [verdicts.Candidate(**_with_tuples(candidate)) for candidate in values["candidates"]]
        return RecordedVerdict(**columns, **_with_tuples(values))
    except (ValueError, TypeError, KeyError):
        return RecordedVerdict(**columns)


def _with_tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


# second looks


@record
class WaitingAnswer:
    """The answer of a second look that waits to be handed over.

    verdict, look: the ids of the verdicts on its prompt and on itself; at_ms: when the prompt was typed, milliseconds since the
    epoch; findings: ids and relevances of the memories, the best first.
    """

    verdict: str
    look: str
    at_ms: int
    findings: Sequence[tuple[str, float]]


def begin_look(state: State, verdict: str, session: str, now_ms: int) -> bool:
    """Note the start of a look, in the open transaction. Return False where MAX_RUNNING looks already run."""
    # Rows of killed looks, of unclaimed answers, and of a clock that was ahead.
    _drop_looks(state, "until < ? OR at > ?", (now_ms, now_ms + LOOK_MS), "nobody came for it")
    ((running,),) = state.run("SELECT count(*) FROM second_looks WHERE answer IS NULL")
    if running >= MAX_RUNNING:
        return False
    state.run("INSERT INTO second_looks VALUES (?, ?, ?, ?, NULL)", (verdict, session, now_ms, now_ms + LOOK_MS))
    return True


def end_look(state: State, verdict: str, look: str, findings: Sequence[tuple[str, float]], now_ms: int) -> bool:
    """Store the answer of a look, in the open transaction. Return whether it waits for its session.

    It does not where nothing was found, or where the session has moved on. look: the id of the look's own verdict.
    """
    if not findings:
        state.run("DELETE FROM second_looks WHERE verdict = ?", (verdict,))
        return False
    answer = light_json.dumps({"look": look, "found": findings})
    sql = "UPDATE second_looks SET answer = ?, until = ? WHERE verdict = ? RETURNING 1"
    return bool(state.run(sql, (answer, now_ms + WAITS_MS, verdict)))


def find_waiting_answer(state: State, session: str, now_ms: int) -> WaitingAnswer | None:
    """Return the answer that waits for a session, None where there is none."""
    sql = "SELECT verdict, at, answer FROM second_looks WHERE session = ? AND answer IS NOT NULL AND ? BETWEEN at AND until"
    for verdict, at_ms, answer in state.run(sql, (session, now_ms)):
        fields: Any = light_json.loads(answer)
        return WaitingAnswer(verdict, fields["look"], at_ms, fields["found"])
    return None


def settle_look(state: State, waiting: WaitingAnswer, outcome: str, why: str) -> None:
    """Remove a waiting answer that was handed over or dropped, in the open transaction."""
    state.run("DELETE FROM second_looks WHERE verdict = ?", (waiting.verdict,))
    _settle_verdict(state, waiting.look, outcome, why)


def drop_session_looks(state: State, session: str) -> None:
    """Delete the looks of a session that has another prompt, with their answers, in the open transaction."""
    _drop_looks(state, "session = ?", (session,), "another prompt")


def _drop_looks(state: State, condition: str, values: tuple[str | int, ...], why: str) -> None:
    for (answer,) in state.run(f"DELETE FROM second_looks WHERE {condition} RETURNING answer", values):  # noqa: S608 - our words
        if answer is not None:
            fields: Any = light_json.loads(answer)
            _settle_verdict(state, fields["look"], MOVED_ON, why)


def _settle_verdict(state: State, id: str, outcome: str, why: str) -> None:
    """Set the outcome of a second look that was waiting, in the open transaction. why: the reason."""
    row = state.run(
        "UPDATE verdicts SET outcome = ?, record = json_set(record, '$.reason', ?) WHERE id = ? AND outcome = ?"
        " AND json_valid(record) AND number > (SELECT max(number) FROM verdicts) - ? RETURNING 1",
        (outcome, why, id, verdicts.WAITING, MAX_LOOKED_THROUGH),
    )
    if row:
        state.increase_counter(verdicts.SECOND_LOOKS_TOTAL, f'outcome="{outcome}"')


# runs that were cut off, and silent tool calls, in files beside state.db


@record
class CutOff:
    """A run that was cut off. at_ms: since the epoch; event: `hook` where it was not read; session: "" for none."""

    at_ms: int
    event: str
    session: str


def read_cut_offs(home: Home, now_ms: int) -> list[CutOff]:
    """Return the runs of the last KEPT_DAYS that were cut off, the newest first; [] for an unreadable file."""
    cut_offs = []
    for line in _trace_lines(home.cut_offs):
        time_text, event, session = (*line.split(" ", 2), "", "")[:3]
        if time_text.isdecimal() and event.isalpha() and now_ms - KEPT_DAYS * _DAY_MS <= int(time_text[:16]) <= now_ms:
            cut_offs.append(CutOff(int(time_text), event, session))
    return sorted(cut_offs, key=lambda cut_off: -cut_off.at_ms)


@record
class SilentCall:
    """A tool call at which nothing was handed over. about: the file or the names that were looked up.

    given: ids of memories about them that the session had been given before; lines: of the others, which had had a line, or
    which no line was left for.
    """

    at_ms: int
    tool: str
    about: tuple[str, ...]
    given: tuple[str, ...]
    lines: tuple[str, ...]


def find_latest_silent_calls(home: Home, limit: int) -> list[SilentCall]:
    """Return the last silent calls, the newest first; [] for unreadable files."""
    calls = []
    for line in [*_trace_lines(home.silent_calls + _BEFORE), *_trace_lines(home.silent_calls)][-limit:]:
        try:
            row: Any = light_json.loads(line)
            about, given, lines = (tuple(row[name]) for name in ("about", "given", "lines"))
            calls.append(SilentCall(row["at"], row["tool"], about, given, lines))
        except (ValueError, TypeError, KeyError):  # The line is half written.
            continue
    return sorted(calls, key=lambda call: -call.at_ms)


def forget_silent_calls(home: Home) -> None:
    """Delete the files of silent calls. Raises StoreError."""
    for path in (home.silent_calls, home.silent_calls + _BEFORE):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StoreError(f"{path} cannot be deleted: {error.strerror}", "delete it") from None


def _trace_lines(path: str) -> list[str]:
    try:
        return read_regular(path, MAX_TRACE_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


# counters


@record
class Counter:
    """A count of events. labels: in Prometheus' notation, `status="success"`, or ""."""

    name: str
    labels: str
    value: float


@record
class Histogram:
    """A histogram of durations. buckets: (upper bound in seconds, number of durations up to it); the last bound is infinite.

    sum: the total of the durations in seconds. labels: in Prometheus' notation.
    """

    name: str
    labels: str
    buckets: Sequence[tuple[float, int]]
    sum: float

    @property
    def count(self) -> int:
        """The number of durations."""
        return self.buckets[-1][1]


def read_metrics(state: State) -> list[Counter | Histogram]:
    """Return all counters and histograms, by name and labels."""
    metrics: list[Counter | Histogram] = [Counter(*row) for row in state.run("SELECT name, labels, value FROM counters")]
    series: dict[tuple[str, str], dict[float, tuple[int, float]]] = {}
    for name, labels, bound, number, total in state.run("SELECT name, labels, bound, count, sum FROM histograms"):
        series.setdefault((name, labels), {})[bound] = (number, total)
    for (name, labels), rows in series.items():
        buckets, cumulative = [], 0
        for upper in sorted({*BUCKETS, *rows, float("inf")}):
            cumulative += rows.get(upper, (0, 0.0))[0]
            buckets.append((upper, cumulative))
        metrics.append(Histogram(name, labels, buckets, sum(total for _, total in rows.values())))
    return sorted(metrics, key=lambda metric: (metric.name, metric.labels))
