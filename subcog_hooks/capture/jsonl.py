"""Memories as JSON lines: one memory a line, parsed and dumped."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from subcog_hooks.capture.repository_files import CUE_FIELDS, LIMITED_FIELDS, clear_fields, limit_to_repository
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.core.log import to_json
from subcog_hooks.store import memory_checks
from subcog_hooks.store.memory import (
    DEFAULT_NAMESPACE,
    FILE,
    IMPORTED,
    MAX_UNPINNED_PRIORITY,
    TEAM,
    UNDATED,
    USER,
    AnsweredQuestion,
    Memory,
    questions_from_json,
)
from subcog_hooks.store.project import resolve_identity

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PERSON_TRUSTS = (USER, "transcript")  # trusts of the person's own words
_TIME_FIELDS = ("created_at", "updated_at", "expires_at")
DERIVED_FIELDS = frozenset(("urn", "content_hash", "score", "relevance"))  # fields of other outputs, which need no remark


@dataclass(slots=True)
class Row:
    """A parsed line: its memory, whether the line gave the id, and the names of unknown fields.

    is_section: it is a section of a Markdown file, with an id that follows from its headings; is_withheld: its cues and
    questions were left out; group: its file and heading, for `sections`.
    """

    memory: Memory
    has_id: bool
    unknown: tuple[str, ...] = ()
    is_section: bool = field(default=False, kw_only=True)
    is_withheld: bool = field(default=False, init=False)
    group: str = field(default="", kw_only=True)

    def limit(self, limited: Memory) -> None:
        """Keep only the part of the memory that its file may give."""
        self.is_withheld = any(getattr(self.memory, name) != getattr(limited, name) for name in LIMITED_FIELDS)
        self.memory = limited


def parse(line: str, new_id: Callable[[], str], now_ms: int, *, trusted: bool, repository_names: tuple[str, ...] = ()) -> Row:
    """Parse a line into a memory. Raises InvalidMemory with the field and the remedy.

    trusted: the user vouches for the file (`import --trust user`), so `trust` user and priorities that pin are kept. Otherwise
    no line gets the trust of the person's typed (`user`) or spoken (`transcript`) words. A file's or a teammate's line (trust
    `file`, `team`) then also loses its cues and questions.

    repository_names: of the repository that holds the file, the first its identity. It limits the line to a text about it.
    """
    fields = _parse_fields(line)
    present = {name: value for name, value in fields.items() if value is not None}
    values: dict[str, Any] = {}  # the checked fields of the Memory
    for name, check in _CHECKS.items():
        if name in present:
            values[name] = check(name, present[name])
    priority = values.get("priority", 0)
    values["priority"] = priority if trusted or priority > 100 else min(priority, MAX_UNPINNED_PRIORITY)
    if "content" not in values:
        raise InvalidMemory("there is no content", 'for instance {"content": "…"}')
    project = values.get("project")
    if isinstance(project, str):
        values["project"] = resolve_identity(project)
    if repository_names:
        remedy = f"its file lies in {repository_names[0]}: leave it out, or give --trust user if you vouch for the file"
        if values.get("scope", "project") != "project":
            raise _invalid_value("scope", values["scope"], remedy)
        if values.get("project") and values["project"] not in repository_names:
            raise _invalid_value("project", values["project"], remedy)
    values.setdefault("scope", "project" if project else "user")
    values.setdefault("namespace", DEFAULT_NAMESPACE)
    values.setdefault("created_at", UNDATED if "created_at" in fields else now_ms)
    values.setdefault("updated_at", values["created_at"])
    trust = values.get("trust")
    values["trust"] = (trust or USER) if trusted else (trust if trust and trust not in _PERSON_TRUSTS else IMPORTED)
    has_id = "id" in values
    values.setdefault("id", "" if has_id else new_id())
    unknown = tuple(name for name in fields if name not in _CHECKS and name not in DERIVED_FIELDS)
    row = Row(Memory(**values), has_id, unknown)
    if repository_names:
        row.limit(limit_to_repository(row.memory, repository_names[0]))
    elif not trusted and row.memory.trust in (FILE, TEAM):
        row.limit(clear_fields(row.memory, CUE_FIELDS))
    return row


def _parse_fields(line: str) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidMemory(f"not JSON: {error}", "one object a line") from error
    if not isinstance(fields, dict):
        raise InvalidMemory("not a JSON object", 'for instance {"content": "…"}')
    return fields


def dump(memory: Memory) -> str:
    """Return the line of a memory without its line end: fields in a fixed order, defaults left out, null for no date."""
    defaults = {"scope": "project" if memory.project else "user", "status": "active", "updated_at": memory.created_at}
    fields: dict[str, object] = {}
    for name in _CHECKS:
        value = getattr(memory, name)
        if name == "created_at":
            fields[name] = format_date(value)
        elif value is not None and value != defaults.get(name):
            value = format_time(value) if name in _TIME_FIELDS else value
            value = memory_checks.questions_to_json(memory.questions) if name == "questions" else value
            if value or value is False:
                fields[name] = value
    return to_json(fields)


def format_time(at_ms: int) -> str:
    """Format milliseconds since the epoch as ISO 8601, UTC; thousandths only if there are any.

    >>> format_time(1772445600000), format_time(1)
    ('2026-03-02T10:00:00Z', '1970-01-01T00:00:00.001Z')
    """
    moment = _EPOCH + timedelta(milliseconds=at_ms)
    return moment.isoformat(timespec="milliseconds" if at_ms % 1000 else "seconds").removesuffix("+00:00") + "Z"


def format_date(at_ms: int) -> str | None:
    """Format a time as `format_time` does, None for UNDATED."""
    return None if at_ms == UNDATED else format_time(at_ms)


def parse_time(text: str) -> int:
    """Parse ISO 8601 into milliseconds since the epoch; a time without a zone is UTC. Raises ValueError.

    >>> parse_time("2026-03-02"), parse_time("2026-03-02T11:00:00+01:00")
    (1772409600000, 1772445600000)
    """
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _invalid_value(name: str, value: object, remedy: str) -> InvalidMemory:
    return InvalidMemory(f"{name} is {json.dumps(value)[:80]}", remedy)


def _expect(kind: type, remedy: str) -> Callable[[str, object], Any]:
    def check(name: str, value: object) -> object:
        if type(value) is not kind:  # True is an int, too.
            raise _invalid_value(name, value, remedy)
        return value

    return check


_check_text = _expect(str, "expected a text")


def _check_texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise _invalid_value(name, value, "expected a list of texts")
    return tuple(dict.fromkeys(value))


def _check_questions(name: str, value: object) -> tuple[AnsweredQuestion, ...]:
    try:
        return memory_checks.without_records(questions_from_json(value))
    except ValueError as error:
        remedy = 'expected a list of texts, or of objects such as {"text": "…", "by": "agent"}'
        raise _invalid_value(name, value, remedy) from error


def _check_time(name: str, value: object) -> int:
    try:
        return parse_time(_check_text(name, value))
    except (ValueError, OverflowError) as error:
        raise _invalid_value(name, value, "expected ISO 8601, for instance 2026-03-02T10:00:00Z") from error


_CHECKS: dict[str, Callable[[str, object], object]] = {  # by field, in the order of a dumped line
    **dict.fromkeys(("id", "content", "namespace", "scope", "project", "branch"), _check_text),
    **dict.fromkeys(("tags", "keywords", "triggers", "paths"), _check_texts),
    "when": _expect(dict, "expected an object of state conditions"),
    "questions": _check_questions,
    "standing": _expect(bool, "expected true or false"),
    "priority": _expect(int, "expected a whole number, 0 to 100"),
    **dict.fromkeys(_TIME_FIELDS, _check_time),
    **dict.fromkeys(("status", "superseded_by", "source", "trust"), _check_text),
}
