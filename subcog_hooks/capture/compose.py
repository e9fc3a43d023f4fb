"""The one way in for a memory: its texts are redacted, and what was removed is reported."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.redaction.redact import holds_known_secret, redact
from subcog_hooks.store.memory import AnsweredQuestion, Memory, check_memory, hash_content, is_unnamable
from subcog_hooks.store.project import resolve_identity
from subcog_hooks.store.questions import distinct_questions

if TYPE_CHECKING:
    from collections.abc import Callable

Removed = tuple[tuple[str, int], ...]

_PATTERNS = {"triggers": "trigger", "paths": "path"}  # without its secret such an entry would match something else
_REDACTED = "redacted-"  # begins an id that takes the place of one with a secret
_RENAMED = "renamed-"  # begins an id that takes the place of one that no command can name
_DEEPEST = 20  # lists and objects in each other, of a condition; `check` allows fewer


def cleaned(memory: Memory, before: Memory | None = None) -> tuple[Memory, Removed]:
    """Return `memory` without secrets and private blocks in any of its texts, and what was removed, by kind.

    A trigger or a path that has one goes as a whole: `[redacted: …]` is a class of characters there.
    Lone surrogates become U+FFFD: they can not be stored.

    before: what is stored under its id and is being changed. Raises InvalidMemory when a field does not hold, or when
    nothing is left of the content.
    """
    removed: Counter[str] = Counter()

    def clean(text: str) -> str:
        result = redact(storable(text))
        removed.update(dict(result.removed))
        return result.text

    content = clean(memory.content).strip()
    changes: dict[str, object] = {"content": content} if content != memory.content else {}
    for field in ("tags", "keywords"):
        values = getattr(memory, field)
        kept = tuple(dict.fromkeys(text for value in values if (text := clean(value)) or not value)) if values else ()
        if kept != values:
            changes[field] = kept
    for field, kind in _PATTERNS.items():
        given = dict.fromkeys(map(storable, getattr(memory, field)))
        kept = tuple(value for value in given if clean(value) == value)
        if kept != getattr(memory, field):
            changes[field] = kept
        if len(kept) < len(given):
            removed[kind] += len(given) - len(kept)
    changes |= _cleaned_questions(memory, clean)
    if memory.when:
        changes["when"] = {clean(key): _cleaned_value(value, clean) for key, value in memory.when.items()}
    if memory.project and (project := _clean_project(memory.project, clean)) != memory.project:
        changes["project"] = project
    if before is None:
        names = {field: safe_id(value) for field in ("id", "superseded_by") if (value := getattr(memory, field))}
        renamed = {field: name for field, name in names.items() if name != getattr(memory, field)}
        changes |= renamed
        removed["id"] += sum(name.startswith(_REDACTED) for name in renamed.values())
    for field in ("source", "branch"):
        value = getattr(memory, field)
        if value and (kept_text := clean(value)) != value:
            changes[field] = kept_text or (None if field == "branch" else "")
    return check_memory(memory.with_changes(**changes) if changes else memory), tuple(sorted((+removed).items()))


def _cleaned_questions(memory: Memory, clean: Callable[[str], str]) -> dict[str, object]:
    """Return the memory's questions, of one line each, as a change; one of which nothing is left is left out."""
    if not memory.questions:
        return {}
    made = [(AnsweredQuestion(" ".join(clean(one.text).split()), one.by, one.decision), one) for one in memory.questions]
    return {"questions": distinct_questions([new for new, old in made if new.text or not old.text])}


def safe_id(identifier: str) -> str:
    """Return an id that holds no secret and that a command can name, which follows from the given one.

    Importing the same id again so finds the same memory. Ids are drawn by lot themselves, so only what a vendor's token looks
    like counts as a secret.

    >>> safe_id("1m7x59"), safe_id("v1..2"), safe_id("--help")[:8], safe_id("..")[:8]
    ('1m7x59', 'v1..2', 'renamed-', 'renamed-')
    """
    if holds_known_secret(identifier):
        return _REDACTED + hash_content(identifier)[:12]
    return _RENAMED + hash_content(identifier)[:12] if is_unnamable(identifier) else identifier


def _clean_project(project: str, clean: Callable[[str], str]) -> str:
    """Return a project's identity without secrets. What only looks drawn by lot stays: sessions in a folder have its name."""
    project = resolve_identity(storable(project))
    return clean(project) if holds_known_secret(project) else project


def _cleaned_value(value: object, clean: Callable[[str], str], depth: int = 1) -> object:
    if depth > _DEEPEST:
        raise InvalidMemory("when has conditions too deep in each other", "expected a value, a list, or operators by name")
    if isinstance(value, list):
        return [_cleaned_value(entry, clean, depth + 1) for entry in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned_value(entry, clean, depth + 1) for key, entry in value.items()}
    return clean(value) if isinstance(value, str) else value


def storable(text: str) -> str:
    """Return a text with U+FFFD in place of lone surrogates."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def total(parts: list[Removed]) -> Removed:
    """Return what was removed in all, by kind."""
    counted: Counter[str] = Counter()
    for part in parts:
        counted.update(dict(part))
    return tuple(sorted(counted.items()))
