"""Memories as JSON lines, parsed and dumped; and the redaction of every memory on its way into the store."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from subcog_hooks.capture.repository_files import CUE_FIELDS, LIMITED_FIELDS, clear_fields, limit_to_repository
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.core.log import to_json
from subcog_hooks.redaction.named_values import names_secret
from subcog_hooks.redaction.redact import has_known_secret, redact
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
    hash_content,
    questions_from_json,
)
from subcog_hooks.store.memory_checks import check_memory, distinct_questions, format_date, format_time, parse_time
from subcog_hooks.store.project import resolve_identity

Removed = tuple[tuple[str, int], ...]

_PATTERNS = {"triggers": "trigger", "paths": "path"}  # an entry without its secret would match other texts
_REDACTED_ID = "redacted-"  # prefix of the id that replaces an id with a secret
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
    """Return `memory` without secrets, private blocks and lone surrogates, and how many of each kind were removed.

    A trigger or a path with a secret is removed as a whole: `[redacted: …]` would be a class of characters. before: the stored
    memory that is being changed. Raises InvalidMemory, also for a content that names no more than a removed secret.
    """
    removed: Counter[str] = Counter()

    def clean(text: str) -> str:
        result = redact(replace_surrogates(text))
        removed.update(dict(result.removed))
        return result.text

    fields: dict[str, object] = {"content": clean(memory.content).strip()}
    for key in ("tags", "keywords"):
        fields[key] = tuple(dict.fromkeys(text for value in getattr(memory, key) if (text := clean(value)) or not value))
    for key, kind in _PATTERNS.items():
        entries = dict.fromkeys(map(replace_surrogates, getattr(memory, key)))
        fields[key] = kept = tuple(value for value in entries if clean(value) == value)
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
    for key in ("id", "superseded_by"):
        if before is None and (value := getattr(memory, key)):
            fields[key] = name = safe_id(value)
            removed["id"] += name != value
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
    """Return an id, the same hash in place of a vendor's token: a second import finds the memory."""
    return _REDACTED_ID + hash_content(identifier)[:12] if has_known_secret(identifier) else identifier


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

    trusted: the user vouches for the file (`import --trust user`). Otherwise no line pins or has the trust of the person's
    words, and a file's or a teammate's line (trust `file`, `team`) loses its cues and questions.

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
