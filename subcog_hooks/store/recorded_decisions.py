"""Decisions read back from state.db, by what the terminal and second looks ask for."""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.store.verdicts import (
    COLUMNS,
    FIELDS,
    HANDED_OVER,
    LOOK_EVENT,
    MAX_LOOKED_THROUGH,
    SECOND_LOOK,
    Candidate,
    Decision,
    PromptIntent,
    Thresholds,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    import apsw

    from subcog_hooks.store.state import State

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
