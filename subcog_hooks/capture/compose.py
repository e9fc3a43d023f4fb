"""Redact the texts of a memory on its way into the store, and count the removed parts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.redaction.redact import has_known_secret, redact
from subcog_hooks.store.memory import AnsweredQuestion, Memory, hash_content
from subcog_hooks.store.memory_checks import check_memory, is_unnamable
from subcog_hooks.store.project import resolve_identity
from subcog_hooks.store.questions import distinct_questions

if TYPE_CHECKING:
    from collections.abc import Callable

Removed = tuple[tuple[str, int], ...]

_PATTERNS = {"triggers": "trigger", "paths": "path"}  # an entry without its secret would match other texts
_REDACTED_ID = "redacted-"  # prefix of the id that replaces an id with a secret
_RENAMED_ID = "renamed-"  # prefix of the id that replaces an id no command can name
_MAX_DEPTH = 20  # nested lists and objects of a condition; `check` allows fewer


def redact_memory(memory: Memory, before: Memory | None = None) -> tuple[Memory, Removed]:
    """Return `memory` without secrets and private blocks, and how many of each kind were removed.

    A trigger or a path with a secret is removed as a whole: `[redacted: …]` would be a class of characters. Lone surrogates,
    which cannot be stored, become U+FFFD.

    before: the stored memory that is being changed. Raises InvalidMemory for an invalid field or an empty content.
    """
    removed: Counter[str] = Counter()

    def clean(text: str) -> str:
        result = redact(replace_surrogates(text))
        removed.update(dict(result.removed))
        return result.text

    content = clean(memory.content).strip()
    changes: dict[str, object] = {"content": content} if content != memory.content else {}
    for field in ("tags", "keywords"):
        values = getattr(memory, field)
        cleaned_values = tuple(dict.fromkeys(text for value in values if (text := clean(value)) or not value)) if values else ()
        if cleaned_values != values:
            changes[field] = cleaned_values
    for field, kind in _PATTERNS.items():
        entries = dict.fromkeys(map(replace_surrogates, getattr(memory, field)))
        cleaned_values = tuple(value for value in entries if clean(value) == value)
        if cleaned_values != getattr(memory, field):
            changes[field] = cleaned_values
        if len(cleaned_values) < len(entries):
            removed[kind] += len(entries) - len(cleaned_values)
    changes |= _redact_questions(memory, clean)
    if memory.when:
        changes["when"] = {clean(key): _redact_value(value, clean) for key, value in memory.when.items()}
    if memory.project and (project := _redact_project(memory.project, clean)) != memory.project:
        changes["project"] = project
    if before is None:
        names = {field: safe_id(value) for field in ("id", "superseded_by") if (value := getattr(memory, field))}
        renamed = {field: name for field, name in names.items() if name != getattr(memory, field)}
        changes |= renamed
        removed["id"] += sum(name.startswith(_REDACTED_ID) for name in renamed.values())
    for field in ("source", "branch"):
        value = getattr(memory, field)
        if value and (cleaned_text := clean(value)) != value:
            changes[field] = cleaned_text or (None if field == "branch" else "")
    return check_memory(memory.with_changes(**changes) if changes else memory), tuple(sorted((+removed).items()))


def _redact_questions(memory: Memory, clean: Callable[[str], str]) -> dict[str, object]:
    """Return the memory's questions, of one line each, as a change; a question that becomes empty is dropped."""
    if not memory.questions:
        return {}
    pairs = [
        (AnsweredQuestion(" ".join(clean(question.text).split()), question.by, question.decision), question)
        for question in memory.questions
    ]
    return {"questions": distinct_questions([new for new, old in pairs if new.text or not old.text])}


def safe_id(identifier: str) -> str:
    """Derive an id without a secret that a command can name.

    The same id always becomes the same one, so that a second import finds the memory. Ids are random, so only the patterns of
    vendors' tokens count as secrets.

    >>> safe_id("1m7x59"), safe_id("v1..2"), safe_id("--help")[:8], safe_id("..")[:8]
    ('1m7x59', 'v1..2', 'renamed-', 'renamed-')
    """
    if has_known_secret(identifier):
        return _REDACTED_ID + hash_content(identifier)[:12]
    return _RENAMED_ID + hash_content(identifier)[:12] if is_unnamable(identifier) else identifier


def _redact_project(project: str, clean: Callable[[str], str]) -> str:
    """Return a project's identity without known secrets. A random-looking name stays: the sessions' folder has it, too."""
    project = resolve_identity(replace_surrogates(project))
    return clean(project) if has_known_secret(project) else project


def _redact_value(value: object, clean: Callable[[str], str], depth: int = 1) -> object:
    if depth > _MAX_DEPTH:
        raise InvalidMemory("when has conditions too deep in each other", "expected a value, a list, or operators by name")
    if isinstance(value, list):
        return [_redact_value(entry, clean, depth + 1) for entry in value]
    if isinstance(value, dict):
        return {clean(key): _redact_value(entry, clean, depth + 1) for key, entry in value.items()}
    return clean(value) if isinstance(value, str) else value


def replace_surrogates(text: str) -> str:
    """Return a text with U+FFFD in place of lone surrogates."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def sum_removed(parts: list[Removed]) -> Removed:
    """Add up counts of removed parts by kind."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(dict(part))
    return tuple(sorted(counts.items()))
