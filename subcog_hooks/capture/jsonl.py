"""Memories as JSON lines: one memory a line, read and written."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from subcog_hooks.core.control_characters import to_json
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.store import questions
from subcog_hooks.store.memory import (
    DEFAULT_NAMESPACE,
    FILE,
    MAX_UNPINNED_PRIORITY,
    TEAM,
    USER,
    AnsweredQuestion,
    Memory,
    is_loaded_by_client,
)
from subcog_hooks.store.project import resolve_identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_NAMES = {"entity_id": "id", "recognition": "content", "trigger_patterns": "triggers", "state_conditions": "when"}
_TYPE = "entity_type"
_FACTS = {"is_first_conversation": "first_session"}  # S3's names of what is known here by another


def is_entity(fields: dict[str, object]) -> bool:
    """Return whether a line's fields are those of an entity.

    >>> is_entity({"entity_id": "handler_crisis"}), is_entity({"id": "a", "content": "x"})
    (True, False)
    """
    return "entity_id" in fields


def as_memory(fields: dict[str, object]) -> dict[str, object]:
    """Return an entity's fields as those of a memory. Raises InvalidMemory where a field is given by both of its names.

    `recognition` is the text, and without a text the entity's id is. The type becomes the namespace.

    >>> as_memory({"entity_id": "calm", "entity_type": "SCRIPT", "keywords": "calm, lose it", "trigger_patterns": None})
    {'id': 'calm', 'namespace': 'script', 'keywords': ['calm', 'lose it'], 'content': 'calm'}
    """
    given: dict[str, object] = {}
    for name, value in fields.items():
        meant = "namespace" if name == _TYPE else _NAMES.get(name, name)
        if value is None or (name == "recognition" and fields.get("content") is not None):
            continue
        if meant in given:
            raise InvalidMemory(f"{meant} is given twice, as {name} too", "give one of them")
        given[meant] = value
    namespace = given.get("namespace")
    if isinstance(namespace, str):
        given["namespace"] = namespace.strip().lower().replace(" ", "-")
    if isinstance(given.get("keywords"), str):
        given["keywords"] = _split_at_commas(str(given["keywords"]))
    when = given.get("when")
    if isinstance(when, dict):
        given["when"] = {_FACTS.get(name, name): condition for name, condition in when.items()}
    given.setdefault("content", given.get("id"))
    return given


def _split_at_commas(text: str) -> list[str]:
    """Return the words that commas part, each once.

    >>> _split_at_commas("calm, lose it,, calm ")
    ['calm', 'lose it']
    """
    return list(dict.fromkeys(word for word in map(str.strip, text.split(",")) if word))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TEXTS = ("namespace", "scope", "project", "branch", "status", "superseded_by", "source", "trust")
_LISTS = ("tags", "keywords", "triggers", "paths")
_OF_THE_PERSON = (USER, "transcript")  # trusts
_TIMES = ("created_at", "updated_at", "expires_at")
PUSHING = ("triggers", "paths", "when", "questions", "standing")  # bring a memory where nobody asks for it in its own words
FIELDS = frozenset(("id", "content", "priority", "when", "questions", "standing", *_TEXTS, *_LISTS, *_TIMES))
DERIVED = frozenset(("urn", "content_hash", "score", "relevance"))  # of other outputs: not worth a remark


class Row:
    """One line that was read: the memory, whether the line gave its id, and the names of fields that mean nothing.

    is_section: it is no line at all, but a section of a Markdown file, whose id follows from its place; is_withheld: its cues
    and questions were left out.
    """

    __slots__ = ("has_id", "is_section", "is_withheld", "memory", "unknown")

    def __init__(self, memory: Memory, has_id: bool, unknown: tuple[str, ...] = (), *, is_section: bool = False) -> None:
        self.memory = memory
        self.has_id = has_id
        self.unknown = unknown
        self.is_section = is_section
        self.is_withheld = False


def parse(line: str, new_id: Callable[[], str], now: int, *, trusted: bool) -> Row:
    """Return the memory that a line describes. Raises InvalidMemory with the field and the remedy.

    trusted: the user vouches for the file, so that `trust` user and priorities that pin hold (`import --trust user`);
    otherwise nothing in it raises its own trust to the person's word, typed (`user`) or said in a session (`transcript`), and
    what is a file's or a colleague's word (trust `file`, `team`) comes without what would push it: triggers, paths, conditions,
    questions, that it holds always.
    """
    fields = _parse_fields(line)
    given = {name: value for name, value in fields.items() if value is not None}
    values: dict[str, Any] = {}  # each is checked here, as the field of a Memory that it fills
    for name in ("id", "content", *_TEXTS):
        if name in given:
            values[name] = _text(name, given[name])
    for name in _LISTS:
        if name in given:
            values[name] = _texts(name, given[name])
    for name in _TIMES:
        if name in given:
            values[name] = _time(name, given[name])
    if "questions" in given:
        values["questions"] = _questions(given["questions"])
    if "standing" in given:
        values["standing"] = _yes_or_no("standing", given["standing"])
    _numbers(given, values, trusted)
    if "content" not in values:
        raise InvalidMemory("there is no content", 'for instance {"content": "…"}')
    project = values.get("project")
    if isinstance(project, str):
        values["project"] = resolve_identity(project)
    values.setdefault("scope", "project" if project else "user")
    values.setdefault("namespace", DEFAULT_NAMESPACE)
    values.setdefault("created_at", now)
    values.setdefault("updated_at", values["created_at"])
    trust = values.get("trust")
    values["trust"] = (trust or USER) if trusted else (trust if trust and trust not in _OF_THE_PERSON else "import")
    has_id = "id" in values
    values.setdefault("id", "" if has_id else new_id())
    unknown = tuple(name for name in fields if name not in FIELDS and name not in DERIVED)
    row = Row(Memory(**values), has_id, unknown)
    if not trusted:
        _withhold(row)
    return row


def _withhold(row: Row) -> None:
    """Leave out what nobody vouches for: an origin that keeps away what is like it, and of another's word what pushes it."""
    if is_loaded_by_client(row.memory.source):
        row.memory = row.memory.with_changes(source="")
    if row.memory.trust not in (FILE, TEAM):
        return
    bare = Memory(id=row.memory.id, content=row.memory.content)
    row.is_withheld = any(getattr(row.memory, name) for name in PUSHING)
    row.memory = row.memory.with_changes(**{name: getattr(bare, name) for name in PUSHING})


def for_colleagues(memory: Memory) -> Memory:
    """Return a memory as a file of the project's repository has it: the file's word, without where it came from here."""
    return memory.with_changes(trust=FILE, source="")


def for_export(memory: Memory, *, with_learned: bool) -> Memory:
    """Return a memory as it leaves this machine. with_learned: also the questions that were learned from prompts."""
    kept = memory.questions if with_learned else questions.without_learned(memory.questions)
    return memory.with_changes(questions=questions.without_records(kept)) if memory.questions else memory


def _parse_fields(line: str) -> dict[str, Any]:
    """Return the fields that a line gives to a memory, by their names. Raises InvalidMemory."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidMemory(f"not JSON: {error}", "one object a line") from error
    if not isinstance(fields, dict):
        raise InvalidMemory("not a JSON object", 'for instance {"content": "…"}')
    return as_memory(fields) if is_entity(fields) else fields


def dump(memory: Memory) -> str:
    """Return the line of a memory, without its end of line: fields in a fixed order, those at their defaults left out."""
    everything: dict[str, object] = {
        "id": memory.id,
        "content": memory.content,
        "namespace": memory.namespace,
        "scope": memory.scope if memory.scope != ("project" if memory.project else "user") else None,
        "project": memory.project,
        "branch": memory.branch,
        "tags": list(memory.tags),
        "keywords": list(memory.keywords),
        "triggers": list(memory.triggers),
        "paths": list(memory.paths),
        "when": memory.when,
        "questions": questions.to_json(memory.questions),
        "standing": memory.standing,
        "priority": memory.priority,
        "created_at": written_time(memory.created_at),
        "updated_at": written_time(memory.updated_at) if memory.updated_at != memory.created_at else None,
        "expires_at": written_time(memory.expires_at) if memory.expires_at is not None else None,
        "status": memory.status if memory.status != "active" else None,
        "superseded_by": memory.superseded_by,
        "source": memory.source,
        "trust": memory.trust,
    }
    fields = {name: value for name, value in everything.items() if value or value is False}
    return to_json(fields)


def written_time(at_ms: int) -> str:
    """Return milliseconds since the epoch as ISO 8601, UTC; thousandths only where there are any.

    >>> written_time(1772445600000), written_time(1)
    ('2026-03-02T10:00:00Z', '1970-01-01T00:00:00.001Z')
    """
    moment = _EPOCH + timedelta(milliseconds=at_ms)
    return moment.isoformat(timespec="milliseconds" if at_ms % 1000 else "seconds").removesuffix("+00:00") + "Z"


def read_time(text: str) -> int:
    """Return ISO 8601 as milliseconds since the epoch; a time without a zone is UTC. Raises ValueError.

    >>> read_time("2026-03-02"), read_time("2026-03-02T11:00:00+01:00")
    (1772409600000, 1772445600000)
    """
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidMemory(f"{name} is {_shown(value)}", "expected a text")
    return value


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise InvalidMemory(f"{name} is {_shown(value)}", "expected a list of texts")
    return tuple(dict.fromkeys(value))


def _questions(value: object) -> tuple[AnsweredQuestion, ...]:
    try:
        return questions.without_records(questions.from_json(value))
    except ValueError as error:
        raise InvalidMemory(
            f"questions is {_shown(value)}", 'expected a list of texts, or of objects such as {"text": "…", "by": "agent"}'
        ) from error


def _yes_or_no(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidMemory(f"{name} is {_shown(value)}", "expected true or false")
    return value


def _time(name: str, value: object) -> int:
    try:
        return read_time(_text(name, value))
    except (ValueError, OverflowError) as error:
        raise InvalidMemory(f"{name} is {_shown(value)}", "expected ISO 8601, for instance 2026-03-02T10:00:00Z") from error


def _numbers(given: dict[str, object], values: dict[str, object], trusted: bool) -> None:
    priority = given.get("priority", 0)
    if not isinstance(priority, int) or isinstance(priority, bool):
        raise InvalidMemory(f"priority is {_shown(priority)}", "expected a whole number, 0 to 100")
    values["priority"] = priority if trusted or priority > 100 else min(priority, MAX_UNPINNED_PRIORITY)
    when = given.get("when", {})
    if not isinstance(when, dict):
        raise InvalidMemory(f"when is {_shown(when)}", "expected an object of state conditions")
    values["when"] = when


def _shown(value: object) -> str:
    return json.dumps(value)[:80]
