"""Checks of a memory before it is stored: each field's form and length, cues, ids and names. Times and questions as JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.store import memory as fields
from subcog_hooks.store.memory import (
    ID_CHARACTERS,
    MAX_QUESTION,
    MAX_QUESTIONS,
    ORIGINS,
    UNDATED,
    AnsweredQuestion,
    Memory,
    now_ms,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAMESPACE_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
MAX_LIST = 200  # entries of tags, keywords, triggers, paths
MAX_ENTRY = 1_000  # characters of an entry
MAX_SKEW_MS = 60_000  # ms; the tolerance for several changes in one millisecond, and for clocks
MAX_CONTENT = 1_000_000  # characters; beyond that it is a document, to be imported by headings


def next_change_date(changed_at: int) -> int:
    """Return the date of a change made now: later than the date of the last change, unless that lies ahead."""
    now = now_ms()
    return max(now, changed_at + 1) if changed_at < now + MAX_SKEW_MS else now


def check_memory(memory: Memory) -> Memory:
    """Return `memory` itself when every field holds. Raises InvalidMemory naming the first field that does not."""
    check_id(memory.id)
    if not memory.content.strip():
        raise InvalidMemory("content is empty", "give the text to remember")
    if len(memory.content) > MAX_CONTENT:
        length = f"{len(memory.content):,} characters, at most {MAX_CONTENT:,} are kept"
        raise InvalidMemory(f"content has {length}", "split it; `subcog import FOLDER` splits Markdown by heading")
    if not memory.namespace or len(memory.namespace) > 64 or not set(memory.namespace) <= _NAMESPACE_CHARACTERS:
        examples = ", ".join(fields.NAMESPACES[:3])
        raise InvalidMemory(f"namespace is {memory.namespace!r}", f"use up to 64 of a-z 0-9 . _ -, for instance {examples}")
    for field, allowed in (("scope", fields.SCOPES), ("status", fields.STATUSES), ("trust", fields.TRUSTS)):
        if getattr(memory, field) not in allowed:
            raise InvalidMemory(f"{field} is {getattr(memory, field)!r}", "expected one of " + ", ".join(allowed))
    if (memory.scope == "project") != bool(memory.project):
        raise InvalidMemory(f"scope is {memory.scope} and project is {memory.project!r}", "only scope project has a project")
    if not 0 <= memory.priority <= 100:
        raise InvalidMemory(f"priority is {memory.priority}", "expected 0 to 100")
    for field in ("created_at", "updated_at", "expires_at"):
        time_ms = getattr(memory, field)
        if time_ms is not None and not fields.FIRST_TIME <= time_ms <= fields.LAST_TIME:
            raise InvalidMemory(f"{field} is outside of the years 1 to 9999", "give another date")
    if memory.superseded_by is not None:
        check_id(memory.superseded_by, "superseded_by")
    _check_lists_and_cues(memory)
    _check_questions(memory.questions)
    return memory


def _check_questions(questions: tuple[AnsweredQuestion, ...]) -> None:
    if len(questions) > MAX_QUESTIONS:
        raise InvalidMemory(f"there are {len(questions)} questions, at most {MAX_QUESTIONS} are kept", "keep the likeliest")
    for question in questions:
        if not question.text.strip():
            raise InvalidMemory("a question is empty", "give its words")
        if len(question.text) > MAX_QUESTION:
            length = f"{len(question.text)} characters, at most {MAX_QUESTION} are kept"
            raise InvalidMemory(f"the question {question.text[:40]!r}… has {length}", "put it shorter")
        if question.by not in ORIGINS:
            raise InvalidMemory(f"a question is by {question.by!r}", "expected one of " + ", ".join(ORIGINS))


def _check_lists_and_cues(memory: Memory) -> None:
    for field in ("paths", "tags", "keywords", "triggers"):
        values = getattr(memory, field)
        if len(values) > MAX_LIST:
            raise InvalidMemory(f"{field} has {len(values)} entries", f"at most {MAX_LIST} are kept")
        for value in values:
            if not value.strip() or len(value) > MAX_ENTRY:
                raise InvalidMemory(f"{field} has the entry {value[:80]!r}", f"an entry has 1 to {MAX_ENTRY} characters")
    if not (memory.triggers or memory.paths or memory.when):
        return
    from subcog_hooks.cues import condition_syntax, globs, triggers  # Few memories have any.

    for trigger in memory.triggers:
        triggers.check_trigger(trigger)
    for path in memory.paths:
        globs.check_glob(path)
    condition_syntax.check_conditions(memory.when)


def check_id(value: str, field: str = "id") -> None:
    """Raise InvalidMemory unless `value` is an id that a command can name: no option, and no folder."""
    is_legal = 0 < len(value) <= 64 and set(value) <= ID_CHARACTERS
    if not is_legal or value.startswith("-") or not value.strip("."):
        raise InvalidMemory(f"{field} is {value[:80]!r}", "an id has 1 to 64 of A-Z a-z 0-9 . _ -, and no - at its beginning")


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


def questions_to_json(questions: Iterable[AnsweredQuestion]) -> list[object]:
    """Return the stored and exported form: a person's question as a text, any other as an object with its origin.

    >>> questions_to_json([AnsweredQuestion("who rotates the keys?"), AnsweredQuestion("key rotation", "agent")])
    ['who rotates the keys?', {'text': 'key rotation', 'by': 'agent'}]
    """
    values: list[object] = []
    for question in questions:
        record = {"decision": question.verdict} if question.verdict else {}
        values.append(question.text if question.by == fields.PERSON else {"text": question.text, "by": question.by, **record})
    return values


def distinct_questions(questions: Iterable[AnsweredQuestion]) -> tuple[AnsweredQuestion, ...]:
    """Return the questions without repeated texts; the first of each stays."""
    by_text: dict[str, AnsweredQuestion] = {}
    for question in questions:
        by_text.setdefault(question.text, question)
    return tuple(by_text.values())


def without_records(questions: Iterable[AnsweredQuestion]) -> tuple[AnsweredQuestion, ...]:
    """Return the questions, each without the ids of the decisions that it was learned from."""
    return tuple([AnsweredQuestion(question.text, question.by) for question in questions])


def questions_by(texts: Iterable[str], by: str, before: Sequence[AnsweredQuestion] = ()) -> tuple[AnsweredQuestion, ...]:
    """Return questions with these texts and this origin. before: questions that keep their own origin.

    >>> [question.by for question in questions_by(["who?", "when?"], "agent", [AnsweredQuestion("who?")])]
    ['person', 'agent']
    """
    by_text = {question.text: question for question in before}
    return distinct_questions([by_text.get(text) or AnsweredQuestion(text, by) for text in texts])
