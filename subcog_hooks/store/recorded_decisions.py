"""Decisions read back from state.db, by what the terminal and second looks ask for."""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.store.decision import HANDED_OVER, SECOND_LOOK, Candidate, Decision, PromptIntent, Thresholds
from subcog_hooks.store.decision_log import LOOK_EVENT, MAX_LOOKED_THROUGH

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from subcog_hooks.store.state import State

_LARGEST = 1e15  # larger numbers are damage: a lifetime has fewer microseconds
_COLUMNS = "record, id, at, event, session, project, outcome, units, micros"  # the arguments of read_decision


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
    return [
        read_decision(
            str(record),
            id=str(id_),
            at_ms=int(at_ms or 0),
            event=str(event),
            session=str(session),
            project=str(project),
            outcome=str(outcome),
            units=int(units or 0),
            micros=int(micros or 0),
        )
        for record, id_, at_ms, event, session, project, outcome, units, micros in state.run(
            f"SELECT {_COLUMNS} FROM decisions {condition}",  # noqa: S608 - the functions' own words
            values,
        )
    ]


def read_decision(
    text: str, *, id: str, at_ms: int, event: str, session: str, project: str, outcome: str, units: int, micros: int
) -> Decision:
    """Return the decision that some version's `to_text` has written. Unreadable parts are left out."""
    try:
        record = _dict_or_empty(light_json.loads(text))
    except ValueError:
        record = {}
    prompt, note = record.get("prompt"), record.get("note")
    return Decision(
        id,
        at_ms,
        event,
        session,
        project,
        outcome,
        reason=str(record.get("reason") or ""),
        units=units,
        micros=micros,
        prompt=prompt if isinstance(prompt, str) else None,
        intent=_read_intent(record.get("intent")),
        thresholds=_read_thresholds(record.get("settings")),
        stages=[(str(name), _number_or_zero(ms)) for name, ms in _rows_of_width(record.get("stages"), 2)],
        strategies=_strings_in(record.get("strategies")),
        note=note if isinstance(note, str) else None,
        borrowed=_strings_in(record.get("borrowed")),
        candidates=[_read_candidate(_dict_or_empty(row)) for row in _list_or_empty(record.get("candidates"))],
        looked_at=str(record.get("looked_at") or ""),
        later_ms=int(_number_or_zero(record.get("later_ms"))),
    )


def _read_intent(value: object) -> PromptIntent | None:
    if not isinstance(value, dict):
        return None
    llm_ms = value.get("llm_ms")
    return PromptIntent(
        str(value.get("type", "")),
        _number_or_zero(value.get("confidence")),
        _number_or_zero(value.get("certainty")),
        _strings_in(value.get("topics")),
        source=str(value.get("source", "")),
        llm_status=str(value.get("llm_status", "")),
        llm_ms=None if llm_ms is None else _number_or_zero(llm_ms),
        reasoning=str(value.get("reasoning", "")),
        row=str(value.get("row", "")),
        signals=[
            (str(name), str(family), _number_or_zero(weight))
            for name, family, weight in _rows_of_width(value.get("signals"), 3)
        ],
        cues=_strings_in(value.get("cues")),
    )


def _read_thresholds(value: object) -> Thresholds | None:
    if not isinstance(value, dict):
        return None
    numbers = {name: _number_or_zero(value.get(name)) for name in Thresholds.__slots__}
    return Thresholds(
        numbers["min_relevance"],
        numbers["min_confidence"],
        int(numbers["max_memories"]),
        int(numbers["max_characters"]),
        numbers["needed"],
    )


def _read_candidate(row: dict[str, object]) -> Candidate:
    return Candidate(
        str(row.get("id", "")),
        str(row.get("namespace", "")),
        _number_or_zero(row.get("relevance")),
        _number_or_zero(row.get("raw")),
        str(row.get("outcome", "")),
        {name: int(_number_or_zero(rank)) for name, rank in _dict_or_empty(row.get("ranks")).items()},
        {name: _number_or_zero(score) for name, score in _dict_or_empty(row.get("scores")).items()},
        [(str(name), _number_or_zero(term), _number_or_zero(adds)) for name, term, adds in _rows_of_width(row.get("terms"), 3)],
        [_number_or_zero(factor) for factor in _list_or_empty(row.get("factors"))],
    )


def _number_or_zero(value: object) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < _LARGEST else 0.0


def _dict_or_empty(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list_or_empty(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _strings_in(value: object) -> list[str]:
    return [text for text in _list_or_empty(value) if isinstance(text, str)]


def _rows_of_width(value: object, width: int) -> list[list[object]]:
    return [row for row in _list_or_empty(value) if isinstance(row, list) and len(row) == width]
