"""Redact the texts of a memory on its way into the store, and count the removed parts."""

import re
from collections import Counter
from collections.abc import Callable

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.redaction.named_values import names_secret
from subcog_hooks.redaction.redact import has_known_secret, redact
from subcog_hooks.store.memory import AnsweredQuestion, Memory, hash_content
from subcog_hooks.store.memory_checks import check_memory, distinct_questions, is_unnamable
from subcog_hooks.store.project import resolve_identity

Removed = tuple[tuple[str, int], ...]

_PATTERNS = {"triggers": "trigger", "paths": "path"}  # an entry without its secret would match other texts
_REDACTED_ID = "redacted-"  # prefix of the id that replaces an id with a secret
_RENAMED_ID = "renamed-"  # prefix of the id that replaces an id no command can name
MIN_LETTERS = 3  # letters and digits of a note
MAX_NAMING_WORDS = 4  # words that may do no more than name a removed secret and its owner: "password", "staging", "admin"
MAX_OWNER_WORDS = 1  # such words if no noun for a secret is among them
MAX_REMARK_WORDS = 1  # words of a sentence without a secret that say nothing by themselves
_MARK = re.compile(r"\[redacted\b[^\]]*\]")
_SENTENCE_END = re.compile(r"[.!?;](?=\s)|[\n。]")
# In scripts without blanks, four characters count as a word.
_LONG_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,4}|[^\W\d_]{4,}")
_CALL_OR_ADDRESS = re.compile(r"://|(?:^|\s)--?[A-Za-z]")  # It is of use without its secret.
_MAX_DEPTH = 20  # nested lists and objects of a condition; `check` allows fewer


def redact_memory(memory: Memory, before: Memory | None = None) -> tuple[Memory, Removed]:
    """Return `memory` without secrets and private blocks, and how many of each kind were removed.

    A trigger or a path with a secret is removed as a whole: `[redacted: …]` would be a class of characters. Lone surrogates,
    which cannot be stored, become U+FFFD.

    before: the stored memory that is being changed. Raises InvalidMemory for an invalid field, for an empty content, and for a
    content that names no more than a removed secret.
    """
    removed: Counter[str] = Counter()

    def clean(text: str) -> str:
        result = redact(replace_surrogates(text))
        removed.update(dict(result.removed))
        return result.text

    fields: dict[str, object] = {"content": clean(memory.content).strip()}
    for field in ("tags", "keywords"):
        fields[field] = tuple(dict.fromkeys(text for value in getattr(memory, field) if (text := clean(value)) or not value))
    for field, kind in _PATTERNS.items():
        entries = dict.fromkeys(map(replace_surrogates, getattr(memory, field)))
        fields[field] = kept = tuple(value for value in entries if clean(value) == value)
        removed[kind] += len(entries) - len(kept)
    texts = [(" ".join(clean(question.text).split()), question) for question in memory.questions]
    kept_questions = [
        AnsweredQuestion(text, question.by, question.verdict) for text, question in texts if text or not question.text
    ]
    fields["questions"] = distinct_questions(kept_questions)
    fields["when"] = {clean(key): _redact_value(value, clean) for key, value in memory.when.items()}
    if memory.project:  # A random-looking name stays: the sessions' folder has it, too.
        project = resolve_identity(replace_surrogates(memory.project))
        fields["project"] = clean(project) if has_known_secret(project) else project
    for field in ("id", "superseded_by"):
        if before is None and (value := getattr(memory, field)):
            fields[field] = name = safe_id(value)
            removed["id"] += name != value and name.startswith(_REDACTED_ID)
    fields["source"] = clean(memory.source)
    fields["branch"] = memory.branch and (clean(memory.branch) or None)
    changes = {name: value for name, value in fields.items() if value != getattr(memory, name)}
    redacted = check_memory(memory.with_changes(**changes) if changes else memory)
    if (before is None or redacted.content != before.content) and only_names_secret(redacted.content):
        raise InvalidMemory(
            f"the text says nothing without its secret, it would be {redacted.content!r}",
            "write where the secret is kept, or say it in other words if it is none",
        )
    return redacted, tuple(sorted((+removed).items()))


def only_names_secret(text: str) -> bool:
    """Return whether a redacted text names no more than the secret that was removed, and its owner.

    >>> only_names_secret("the deploy token is [redacted: secret]"), only_names_secret("the deploy token lies in the vault")
    (True, False)
    >>> only_names_secret("Deploy with `make ship`; the token is [redacted: secret]")
    False
    """
    if not _MARK.search(text) or _CALL_OR_ADDRESS.search(text):
        return False
    sentences = _SENTENCE_END.split(text)
    words = [_LONG_WORD.findall(_MARK.sub(" ", sentence)) for sentence in sentences]
    if any(len(own) > MAX_REMARK_WORDS and not _MARK.search(sentence) for own, sentence in zip(words, sentences, strict=True)):
        return False
    return sum(map(len, words)) <= (MAX_NAMING_WORDS if names_secret(text) else MAX_OWNER_WORDS)


def clean_content(content: str) -> str:
    """Return a content as `redact_memory` leaves it."""
    return redact(replace_surrogates(content)).text.strip()


def redact_note(memory: Memory) -> tuple[Memory, Removed]:
    """Redact a new note as `redact_memory` does. Raises InvalidMemory, also for a text with hardly any letters."""
    redacted, removed = redact_memory(memory)
    if sum(map(str.isalnum, redacted.content)) < MIN_LETTERS:
        raise InvalidMemory(f"{redacted.content!r} is too short to be found again", "write a sentence")
    return redacted, removed


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
