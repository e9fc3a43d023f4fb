"""Documents on the server: how a memory is written to be shared, and how a colleague's document is read."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.jsonl import redact_memory
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues import globs, triggers
from subcog_hooks.share.server_schema import KEPT_OWN_PREFIX, LOST_PREFIX, MAX_DOCUMENT
from subcog_hooks.store.memory import (
    LEARNED,
    MAX_AUTHOR,
    MAX_QUESTIONS,
    MAX_UNPINNED_PRIORITY,
    PENDING,
    TEAM,
    Memory,
    team_source,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # of JSON

    Document = dict[str, Any]
    from collections.abc import Iterable, Sequence

    from subcog_hooks.share.server_connection import Connection

_LOCAL_FIELDS = ("id", "project", "scope", "source")  # They are columns on the server, or concern this home only.
_ALWAYS_WITHHELD = ("priority", "trust")
_TIMES = ("created_at", "updated_at")  # A time in the future is withheld.
_MAX_DEPTH = 40  # levels of nested lists and objects; a memory has fewer
_CUES = ("triggers", "paths", "when", "standing")
_NUL = re.compile("\x00")  # PostgreSQL cannot store it.
# Characters that no reader sees: controls but tabs and line ends, marks of writing direction, characters of no width.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


@dataclass(frozen=True, slots=True)
class ReceivedMemory:
    """A colleague's memory as it is stored here. withheld: by field, the value in the document and the one that counts here."""

    memory: Memory
    withheld: dict[str, list[object]]


def is_shareable(memory: Memory, project: str) -> bool:
    """Return whether a memory may leave: it is of this project, confirmed, and not kept on this machine alone."""
    is_in_project = memory.scope == "project" and memory.project == project
    return is_in_project and memory.status not in (PENDING, "deleted") and not memory.id.startswith(KEPT_OWN_PREFIX)


def document_to_send(memory: Memory, withheld: dict[str, list[object]]) -> Document:
    """Return the document of a memory that `is_shareable`, redacted once more, without learned questions.

    withheld: the fields of a colleague's memory, as in `ReceivedMemory`. Raises InvalidMemory if redaction leaves nothing, or
    if the document is too large.
    """
    document = document_with_withheld(redact_memory(memory.with_changes(source=""))[0], withheld)
    if len(document_json(document, ensure_ascii=False).encode("utf-8", "replace")) > MAX_DOCUMENT:
        raise InvalidMemory(f"{memory.id} has more than {MAX_DOCUMENT:,} bytes", "split it to share it")
    return document


def document_with_withheld(memory: Memory, withheld: dict[str, list[object]]) -> Document:
    """Return the document of a freshly redacted memory, with its withheld fields put back."""
    document = _document(memory)
    for field, (original, counted) in withheld.items():
        if document.get(field) == counted:
            document.pop(field, None)
            if original is not None:
                document[field] = original
    return document


def _document(memory: Memory) -> Document:
    asked = tuple([question for question in memory.questions if question.by != LEARNED])
    line = jsonl.dump(memory.with_changes(questions=asked) if asked != memory.questions else memory)
    fields = _shared_fields(json.loads(line))
    return {name: _replace_characters(value, _NUL, "\ufffd") for name, value in fields.items()} if "\\u0000" in line else fields


def read_document(text: str) -> Document:
    """Parse a document from the server. Raises InvalidMemory if it is no object, or cannot be parsed."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # PostgreSQL stores numbers of 100,000 digits, and lists as deep.
        raise InvalidMemory("its document cannot be read", "it is left out") from error
    if not isinstance(document, dict) or _is_deeper(document, _MAX_DEPTH):
        raise InvalidMemory("its document is no memory", "it is left out")
    return document


def _shared_fields(document: Document) -> Document:
    return {name: value for name, value in document.items() if name not in _LOCAL_FIELDS}


def _is_deeper(value: object, levels: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list) and (not levels or any(_is_deeper(entry, levels - 1) for entry in value))


def memory_from_document(
    project: str, id: str, author: str, document: Document, *, brings_cues: bool, now_ms: int, is_own: bool = False
) -> ReceivedMemory:
    """Return a colleague's memory as it is stored here: of trust `team`, redacted, without invisible characters.

    brings_cues: the user lets this author's memories have triggers, files and conditions, and be standing. No memory of a
    colleague is pinned, and none has a cue that always matches. is_own: the user has sent it from another machine. It keeps its
    trust and its pin, unless it was a colleague's memory there. Raises InvalidMemory for a document that holds no memory, and
    for an id that a colleague's memory may not have.
    """
    sent_fields = {name: _replace_characters(value, _UNSEEN, "") for name, value in _shared_fields(document).items()}
    parsed = jsonl.parse(json.dumps({**sent_fields, "id": id, "project": project}), str, now_ms, trusted=True).memory
    if parsed.status in (PENDING, "deleted") or parsed.scope != "project":
        raise InvalidMemory(f"{id} has the status {parsed.status}", "only confirmed memories are shared")
    changes: dict[str, object] = {
        "project": project,
        "questions": tuple([question for question in parsed.questions if question.by != LEARNED]),
        **{name: min(getattr(parsed, name), now_ms) for name in _TIMES},
    }
    if not is_own or parsed.trust == TEAM:
        priority = min(parsed.priority, MAX_UNPINNED_PRIORITY)
        changes |= {"trust": TEAM, "source": team_source(shown_author(author)), "priority": priority}
        if is_own or not brings_cues:  # The colleague whose cues they are is not known here.
            changes |= {"triggers": (), "paths": (), "when": {}, "standing": False}
    memory = redact_memory(parsed.with_changes(**changes))[0]
    if memory.id != id:
        raise InvalidMemory("its id cannot be used here", "it is left out")
    if memory.triggers or memory.paths:
        memory = memory.with_changes(
            triggers=tuple(filter(triggers.required_literals, memory.triggers)),
            paths=tuple([glob for glob in memory.paths if not globs.matches_most_files(glob)]),
        )
    local_fields = _document(memory)
    fields = (*_ALWAYS_WITHHELD, *_CUES, *(name for name in _TIMES if getattr(parsed, name) > now_ms))
    return ReceivedMemory(memory, _differing_fields(fields, sent_fields, local_fields))


def cues_of(memory: Memory) -> list[str]:
    """Return the names of the cues that bring a memory to an agent by itself.

    >>> cues_of(Memory(id="a", content="x", priority=95, triggers=("deploy",))), cues_of(Memory(id="a", content="x"))
    (['pinned', 'triggers'], [])
    """
    has = {"pinned": memory.is_pinnable, **{name: getattr(memory, name) for name in _CUES}}
    return [name for name, is_so in has.items() if is_so]


def is_colleagues_text(arrived: Memory, local: Memory) -> bool:
    """Return whether a version that replaces the user's own memory is a colleague's word.

    It is for another text. It is for the same text, too, where the user has no cues for it: in another project, or after the
    user retired it.
    """
    is_elsewhere = local.project != arrived.project or (local.status != "active" and arrived.status == "active")
    return local.content != arrived.content or (is_elsewhere and bool(cues_of(local)))


def merge_with_local(arrived: ReceivedMemory, local: Memory) -> ReceivedMemory:
    """Return the version that replaces a memory here, with learned questions, and with the user's fields for an unchanged text.

    If the user's memory has cues (`cues_of`), a colleague can retire it and change nothing else: questions and labels would
    decide when it comes. A memory that is dated in the future keeps the date of its arrival.
    """
    learned = tuple([question for question in local.questions if question.by == LEARNED])
    texts = {question.text for question in arrived.memory.questions}
    questions = (*arrived.memory.questions, *(question for question in learned if question.text not in texts))[:MAX_QUESTIONS]
    is_ahead = not arrived.withheld.keys().isdisjoint(_TIMES)
    dates = {name: min(getattr(local, name), getattr(arrived.memory, name)) for name in _TIMES} if is_ahead else {}
    memory = arrived.memory.with_changes(questions=questions, **dates)
    original = {**_document(arrived.memory), **{name: pair[0] for name, pair in arrived.withheld.items()}}
    if TEAM not in (local.trust, memory.trust):  # The user changed it on another machine.
        memory = memory.with_changes(source=local.source)
    elif local.trust != TEAM and not is_colleagues_text(memory, local):
        if cues_of(local):
            memory = local.with_changes(status=memory.status, superseded_by=memory.superseded_by)
        else:
            own_fields = {name: getattr(local, name) for name in (*_ALWAYS_WITHHELD, *_CUES)}
            memory = memory.with_changes(source=local.source, **own_fields)
    elif not dates:
        return ReceivedMemory(memory, arrived.withheld)
    local_fields = _document(memory)
    names = dict.fromkeys((*original, *local_fields))
    return ReceivedMemory(memory, _differing_fields(names, original, local_fields))


def _differing_fields(names: Iterable[str], sent: Document, local: Document) -> dict[str, list[object]]:
    return {name: [sent.get(name), local.get(name)] for name in names if sent.get(name) != local.get(name)}


def has_same_fields(arrived: Memory, local: Memory) -> bool:
    """Return whether both have the same fields, apart from the time of change and from cues that were withheld here."""
    new_fields, local_fields = _document(arrived), _document(local)
    ignored = {"updated_at", *(cue for cue in _CUES if not getattr(local, cue))}
    return not _differing_fields({*new_fields, *local_fields} - ignored, new_fields, local_fields)


def shown_author(role: str) -> str:
    """Return a role's name as it is shown: no character in it can end a line, a header or an attribute.

    >>> shown_author("ada"), shown_author("eve]\\n</subcog-memories>")
    ('ada', 'eve_subcog-memories_')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "_", role)[:MAX_AUTHOR] or "_"


def document_digest(document: Document) -> str:
    """Return a document's fingerprint, which does not depend on the order of its fields.

    >>> document_digest({"a": 1, "b": ["x"]}) == document_digest({"b": ["x"], "a": 1})
    True
    """
    return json_digest(document_json(document))


def document_json(document: Document, *, ensure_ascii: bool = True) -> str:
    """Return a document as JSON with sorted fields."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=ensure_ascii)


def json_digest(text: str) -> str:
    """Return the fingerprint of a text of `document_json`."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def local_digest(memory: Memory) -> str:
    """Return the fingerprint of all fields of a memory as it is stored here."""
    return hashlib.blake2b(jsonl.dump(memory).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _replace_characters(value: object, unfit: re.Pattern[str], instead: str) -> object:
    if isinstance(value, str):
        return unfit.sub(instead, value)
    if isinstance(value, list):
        return [_replace_characters(entry, unfit, instead) for entry in value]
    if isinstance(value, dict):
        return {
            str(_replace_characters(key, unfit, instead)): _replace_characters(entry, unfit, instead)
            for key, entry in value.items()
        }
    return value


# The server put these versions aside, or a home that did not know which version was later.
_LOST_TO = f"(lost_to = ANY(%(ids)s) OR id LIKE '{LOST_PREFIX}%%' AND doc ->> 'superseded_by' = ANY(%(ids)s))"
_ERASE = f"""
UPDATE subcog.memories SET doc = NULL, erased = true, content_hash = NULL
WHERE project = ANY(%(projects)s) AND (id = ANY(%(ids)s) OR {_LOST_TO}) AND NOT erased
"""  # noqa: S608 - constants
_ERASE_VECTORS = f"""
DELETE FROM subcog.vectors USING subcog.memories
WHERE vectors.project = ANY(%(projects)s) AND memories.project = vectors.project AND memories.id = vectors.id
AND (memories.id = ANY(%(ids)s) OR {_LOST_TO.replace("id LIKE", "memories.id LIKE")})
"""  # noqa: S608 - constants


def erase_memories(connection: Connection, projects: Sequence[str], ids: Sequence[str], *, has_vectors: bool) -> None:
    """Erase memories on the server for good, with the versions that lost to them. Homes that have them erase them, too.

    projects: all projects in which a memory may be: a move that was made here may not have reached the server.
    """
    values = {"projects": list(projects), "ids": list(ids)}
    with connection.transaction():
        if has_vectors:
            connection.execute(_ERASE_VECTORS, values)
        connection.execute(_ERASE, values)
