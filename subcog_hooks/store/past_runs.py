"""Decisions read back from state.db, by what the terminal and second looks ask for."""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import read_regular
from subcog_hooks.core.records import record
from subcog_hooks.store import verdicts
from subcog_hooks.store.verdicts import (
    COLUMNS,
    FAILED,
    FIELDS,
    HANDED_OVER,
    LOOK_EVENT,
    MAX_LOOKED_THROUGH,
    MOVED_ON,
    NOTHING_FOUND,
    SECOND_LOOK,
    Candidate,
    Decision,
    PromptIntent,
    Thresholds,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    import apsw

    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.state import State


if TYPE_CHECKING:
    Part = TypeVar("Part", Candidate, PromptIntent, Thresholds)

_LARGEST = 1e15  # larger numbers are damage: a lifetime has fewer microseconds
_COLUMNS = "id, at, event, session, project, outcome, units, micros"  # COLUMNS of a decision


def find_second_look(state: State, decision: Decision) -> Decision | None:
    """Return the second look at the prompt of a decision, None where there was none."""
    looks = _select_decisions(
        state,
        "WHERE event = ? AND session = ? AND at >= ? ORDER BY number LIMIT ?",
        (LOOK_EVENT, decision.session, decision.at_ms, MAX_LOOKED_THROUGH),
    )
    return next((look for look in looks if look.looked_at == decision.id), None)


def find_prompt_of_late_memory(state: State, decision: Decision, memory: str) -> Decision | None:
    """Return the decision about the prompt whose second look brought this memory, None for any other memory.

    decision: of the later run that handed the memory over; memory: its id, or the beginning of its id.
    """
    late_candidates = [
        candidate for candidate in decision.candidates if candidate.id.startswith(memory) and SECOND_LOOK in candidate.ranks
    ]
    looks = _select_decisions(
        state, "WHERE event = ? AND session = ? AND outcome = ?", (LOOK_EVENT, decision.session, HANDED_OVER)
    )
    matching = [look for look in looks if late_candidates and look.reason == decision.id]
    return find_decision(state, matching[0].looked_at) if matching else None


def find_decision(state: State, id_or_prefix: str | None = None) -> Decision | None:
    """Return the decision with this id, else the latest with this prefix; without an id, the latest of all."""
    prefix = id_or_prefix or ""
    decisions = _select_decisions(
        state, "WHERE substr(id, 1, ?) = ? ORDER BY id = ? DESC, number DESC LIMIT 1", (len(prefix), prefix, prefix)
    )
    return decisions[0] if decisions else None


def find_recorded_prompts(state: State) -> set[str]:
    """Return the ids of the decisions that keep the text of their prompt."""
    rows = state.run("SELECT id FROM decisions WHERE json_valid(record) AND json_extract(record, '$.prompt') IS NOT NULL")
    return {str(row[0]) for row in rows}


def find_latest(state: State, limit: int, since_ms: int = 0, event: str | None = None) -> list[Decision]:
    """Return the latest decisions since a time, the newest first by insertion.

    event: only decisions of this event.
    """
    return _select_decisions(
        state, "WHERE at >= ? AND event = coalesce(?, event) ORDER BY number DESC LIMIT ?", (since_ms, event, limit)
    )


def _select_decisions(state: State, condition: str, values: tuple[apsw.SQLiteValue, ...]) -> list[Decision]:
    rows = state.run(f"SELECT {_COLUMNS}, record FROM decisions {condition}", values)  # noqa: S608 - the functions' own words
    return [read_decision(str(text), **dict(zip(COLUMNS, columns, strict=True))) for *columns, text in rows]


def read_decision(text: str, **columns: Any) -> Decision:  # each of its column's type
    """Return the decision that some version's `to_text` has written. Unreadable parts are left out."""
    try:
        fields = light_json.loads(text)
    except ValueError:
        fields = {}
    return Decision(**columns, **_read_fields(Decision, FIELDS, fields))


def _read_fields(cls: type, names: Sequence[str], fields: object) -> dict[str, Any]:
    """Return the values of a class's fields, each as its annotation says, empty where it is of another kind."""
    values = _dict_or_empty(fields)
    return {name: _READERS[cls.__annotations__[name]](values.get(name)) for name in names}


def _read_part(cls: type[Part], value: object) -> Part:
    return cls(**_read_fields(cls, tuple(cls.__annotations__), value))


def _read_text(value: object) -> str:
    return str(value or "")


def _number_or_zero(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < _LARGEST else 0.0


def _dict_or_empty(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list_or_empty(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _rows_of(value: object, *readers: Callable[[object], object]) -> tuple[tuple[object, ...], ...]:
    rows = [row for row in _list_or_empty(value) if isinstance(row, list) and len(row) == len(readers)]
    return tuple(tuple(read(cell) for read, cell in zip(readers, row, strict=True)) for row in rows)


_READERS: dict[str, Callable[[object], object]] = {  # by annotation
    "str": _read_text,
    "int": lambda value: int(_number_or_zero(value)),
    "float": _number_or_zero,
    "str | None": lambda value: value if isinstance(value, str) else None,
    "float | None": lambda value: None if value is None else _number_or_zero(value),
    "Sequence[str]": lambda value: tuple(text for text in _list_or_empty(value) if isinstance(text, str)),
    "Sequence[float]": lambda value: tuple(map(_number_or_zero, _list_or_empty(value))),
    "Sequence[tuple[str, float]]": lambda value: _rows_of(value, str, _number_or_zero),
    "Sequence[tuple[str, float, float]]": lambda value: _rows_of(value, str, _number_or_zero, _number_or_zero),
    "Sequence[tuple[str, str, float]]": lambda value: _rows_of(value, str, str, _number_or_zero),
    "Mapping[str, int]": lambda value: {name: int(_number_or_zero(item)) for name, item in _dict_or_empty(value).items()},
    "Mapping[str, float]": lambda value: {name: _number_or_zero(item) for name, item in _dict_or_empty(value).items()},
    "PromptIntent | None": lambda value: _read_part(PromptIntent, value) if isinstance(value, dict) else None,
    "Thresholds | None": lambda value: _read_part(Thresholds, value) if isinstance(value, dict) else None,
    "Sequence[Candidate]": lambda value: tuple(_read_part(Candidate, row) for row in _list_or_empty(value)),
}


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


MAX_CUT_OFF_BYTES = 128 * 1024  # bytes; the hook stops writing at half of that
KEPT_DAYS = 30

_DAY_MS = 86_400_000


@record
class CutOff:
    """A run that was cut off. at_ms: milliseconds since the epoch; event: the client's name of it."""

    at_ms: int
    event: str


def read_cut_offs(home: Home, now_ms: int) -> list[CutOff]:
    """Return the runs of the last KEPT_DAYS that were cut off, the newest first; [] for an unreadable file."""
    try:
        lines = read_regular(home.cut_offs, MAX_CUT_OFF_BYTES).splitlines()
    except OSError:
        return []
    cut_offs = []
    for line in lines:
        time_text, _, event = line.decode("ascii", "replace").partition(" ")
        if (
            time_text.isdigit()
            and len(time_text) < 16
            and event.isalpha()
            and now_ms - KEPT_DAYS * _DAY_MS <= int(time_text) <= now_ms
        ):
            cut_offs.append(CutOff(int(time_text), event))
    return sorted(cut_offs, key=lambda cut_off: -cut_off.at_ms)


MAX_CALL_BYTES = 128 * 1024  # bytes of each file; the hook starts a new one at a quarter of this
_BEFORE = ".before"


@record
class SilentCall:
    """A tool call at which nothing was handed over.

    at_ms: milliseconds since the epoch; about: the file or the names that were looked up. given: ids of memories about them
    that the session had been given before; lines: of the others, which had had a line, or which no line was left for.
    session: with a slash and the subagent, where one called.
    """

    at_ms: int
    tool: str
    about: tuple[str, ...]
    given: tuple[str, ...]
    lines: tuple[str, ...]
    session: str


def find_latest_silent_calls(home: Home, limit: int) -> list[SilentCall]:
    """Return the last silent calls, the newest first; [] for unreadable files."""
    lines = list(_silent_call_lines(home))[-limit:]
    calls = [call for line in lines if (call := _parse_call(line)) is not None]
    return sorted(calls, key=lambda call: -call.at_ms)[:limit]


def _silent_call_lines(home: Home) -> Iterator[bytes]:
    for path in (home.silent_calls + _BEFORE, home.silent_calls):
        try:
            yield from read_regular(path, MAX_CALL_BYTES).splitlines()
        except OSError:
            continue


def _parse_call(line: bytes) -> SilentCall | None:
    """Return the call of a line, None for a line that is half written."""
    try:
        row = light_json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    if not isinstance(row, dict) or not isinstance(at_ms := row.get("at"), int) or not 0 < at_ms < 10**15:
        return None
    about, given, lines = (_strings_in(row.get(name)) for name in ("about", "given", "lines"))
    return SilentCall(at_ms, str(row.get("tool")), about, given, lines, str(row.get("session")))


def _strings_in(value: object) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def forget_silent_calls(home: Home) -> None:
    """Delete the files of silent calls. Raises StoreError."""
    for path in (home.silent_calls, home.silent_calls + _BEFORE):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise StoreError(f"{path} cannot be deleted: {error.strerror}", "delete it") from None
