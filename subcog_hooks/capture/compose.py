"""The one way in for a memory: its texts are redacted, and what was removed is reported."""

from collections import Counter
from collections.abc import Callable

from subcog_hooks.capture.redact import redact
from subcog_hooks.memory.model import Memory, check

Removed = tuple[tuple[str, int], ...]


def cleaned(memory: Memory) -> tuple[Memory, Removed]:
    """`memory` without secrets and private blocks in any of its texts, and what was removed, by kind.

    Lone surrogates become U+FFFD: they can not be stored. Raises InvalidMemory when a field does not hold, or when nothing
    is left of the content.
    """
    removed: Counter[str] = Counter()

    def clean(text: str) -> str:
        result = redact(_storable(text))
        removed.update(dict(result.removed))
        return result.text

    content = clean(memory.content).strip()
    changes: dict[str, object] = {"content": content} if content != memory.content else {}
    for field in ("tags", "keywords", "paths", "triggers"):
        values = getattr(memory, field)
        kept = tuple(dict.fromkeys(clean(value) for value in values)) if values else ()
        if kept != values:
            changes[field] = kept
    if memory.when:
        changes["when"] = {clean(key): _cleaned_value(value, clean) for key, value in memory.when.items()}
    if memory.project and (project := _storable(memory.project)) != memory.project:
        changes["project"] = project  # not redacted: it has to equal what a session in it is called, which has no credentials
    for field in ("source", "branch"):
        value = getattr(memory, field)
        if value and (kept_text := clean(value)) != value:
            changes[field] = kept_text
    return check(memory.replaced(**changes) if changes else memory), tuple(sorted(removed.items()))


def _cleaned_value(value: object, clean: Callable[[str], str]) -> object:
    if isinstance(value, list):
        return [_cleaned_value(entry, clean) for entry in value]
    return clean(value) if isinstance(value, str) else value


def _storable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def total(parts: "list[Removed]") -> Removed:
    """What was removed in all, by kind."""
    counted: Counter[str] = Counter()
    for part in parts:
        counted.update(dict(part))
    return tuple(sorted(counted.items()))
