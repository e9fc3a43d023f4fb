"""Documents on the server: memories that leave this machine, and how it is read again."""

from __future__ import annotations

import hashlib
import json
import os
import re

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.compose import redact_memory
from subcog_hooks.core.control_characters import to_json
from subcog_hooks.core.errors import InvalidMemory, UsageError
from subcog_hooks.core.whole_files import WholeFile
from subcog_hooks.cues import globs, triggers
from subcog_hooks.share.server_schema import KEPT_OWN, LOST, MAX_DOCUMENT
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
    from collections.abc import Callable, Iterator, Sequence

    from subcog_hooks.share.server_connection import Connection

_APART = ("id", "project", "scope", "source")  # columns, or nobody else's matter
_ALWAYS_WITHHELD = ("priority", "trust")
_TIMES = ("created_at", "updated_at")  # of which one in the future is withheld
_DEEPEST = 40  # lists and objects in each other, of a document; a memory has fewer
_CUES = ("triggers", "paths", "when", "standing")
_NUL = re.compile("\x00")  # which PostgreSQL does not keep
# controls but tabs and line ends, marks that turn the direction of writing, characters of no width: nothing that is read
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


class Arrived:
    """A memory of a colleague as it is stored here. withheld: by field of its document, what it says and what counts here."""

    __slots__ = ("memory", "withheld")

    def __init__(self, memory: Memory, withheld: dict[str, tuple[object, object]]) -> None:
        self.memory = memory
        self.withheld = withheld


def may_leave(memory: Memory, projects: frozenset[str]) -> bool:
    """Return whether a memory is shared: of one of these projects, confirmed by a person, not kept on this machine alone."""
    is_of_them = memory.scope == "project" and memory.project in projects
    return is_of_them and memory.status not in (PENDING, "deleted") and not memory.id.startswith(KEPT_OWN)


def leaving(memory: Memory, withheld: dict[str, list[object]] | None = None) -> Document:
    """Return the document of a memory that `may_leave`, redacted once more, without learned questions.

    withheld: of one that came from a colleague, as `Arrived` has it. Raises InvalidMemory where nothing is left of it, or
    where it is too large.
    """
    document = with_withheld(redact_memory(memory.with_changes(source=""))[0], withheld or {})
    if len(written(document)) > MAX_DOCUMENT and _size(document) > MAX_DOCUMENT:
        raise InvalidMemory(f"{memory.id} has more than {MAX_DOCUMENT:,} bytes", "split it to share it")
    return document


def _size(document: Document) -> int:
    return len(written(document, ensure_ascii=False).encode("utf-8", "replace"))


def with_withheld(memory: Memory, withheld: dict[str, list[object]]) -> Document:
    """Return the document of a memory that was redacted just now, with what was held back of it."""
    asked = tuple([one for one in memory.questions if one.by != LEARNED])
    document = _document(memory.with_changes(questions=asked) if asked != memory.questions else memory)
    for field, (said, counted) in withheld.items():
        if document.get(field) == counted:
            document.pop(field, None)
            if said is not None:
                document[field] = said
    return document


def _document(memory: Memory) -> Document:
    line = jsonl.dump(memory)
    fields = {name: value for name, value in json.loads(line).items() if name not in _APART}
    return {name: _told(value, _NUL, "\ufffd") for name, value in fields.items()} if "\\u0000" in line else fields


def read(text: str) -> Document:
    """Return the document that the server has. Raises InvalidMemory for one that is no object, or that no program can read."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # PostgreSQL takes numbers of 100,000 digits, and lists as deep
        raise InvalidMemory("its document can not be read", "it is left out") from error
    if not isinstance(document, dict) or _is_deeper(document, _DEEPEST):
        raise InvalidMemory("its document is no memory", "it is left out")
    return document


def _is_deeper(value: object, levels: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list) and (not levels or any(_is_deeper(entry, levels - 1) for entry in value))


def arriving(project: str, id: str, author: str, document: Document, *, brings_cues: bool, now: int) -> Arrived:
    """Return what a colleague wrote as it is stored here: of trust `team`, redacted, without what nobody sees.

    brings_cues: the user lets this author's memories have triggers, files and conditions, and be standing. None is pinned, and
    none has a cue that is always there. Raises InvalidMemory for a document that holds no memory, and for an id that no memory
    of a colleague may have.
    """
    given = {name: _told(value, _UNSEEN, "") for name, value in document.items() if name not in _APART}
    row = jsonl.parse(json.dumps({**given, "id": id, "project": project}), str, now, trusted=True)
    said = row.memory
    if said.status in (PENDING, "deleted") or said.scope != "project":
        raise InvalidMemory(f"{id} has the status {said.status}", "only confirmed memories are shared")
    changes: dict[str, object] = {
        "trust": TEAM,
        "source": team_source(shown_author(author)),
        "project": project,
        "priority": min(said.priority, MAX_UNPINNED_PRIORITY),
        "questions": tuple([one for one in said.questions if one.by != LEARNED]),
        **{name: min(getattr(said, name), now) for name in _TIMES},
    }
    if not brings_cues:
        changes |= {"triggers": (), "paths": (), "when": {}, "standing": False}
    memory = redact_memory(said.with_changes(**changes))[0]
    if memory.id != id:
        raise InvalidMemory("its id cannot be used here", "it is left out")
    if memory.triggers or memory.paths:
        memory = memory.with_changes(
            triggers=tuple(filter(triggers.literals, memory.triggers)),
            paths=tuple([glob for glob in memory.paths if not globs.means_everything(glob)]),
        )
    here = _document(memory)
    fields = (*_ALWAYS_WITHHELD, *_CUES, *(name for name in _TIMES if getattr(said, name) > now))
    return Arrived(memory, {name: (given.get(name), here.get(name)) for name in fields if given.get(name) != here.get(name)})


def cues_of(memory: Memory) -> list[str]:
    """Return, in words, what brings a memory before an agent by itself.

    >>> cues_of(Memory(id="a", content="x", priority=95, triggers=("deploy",))), cues_of(Memory(id="a", content="x"))
    (['pinned', 'triggers'], [])
    """
    has = {"pinned": memory.is_pinnable, **{name: getattr(memory, name) for name in _CUES}}
    return [name for name, is_so in has.items() if is_so]


def is_anothers(arrived: Memory, local: Memory) -> bool:
    """Return whether what arrives in the place of one's own memory is a colleague's word: another text, or the same text where
    its person does not have it come by itself, in another project or after it was retired."""
    is_elsewhere = local.project != arrived.project or (local.status != "active" and arrived.status == "active")
    return local.content != arrived.content or (is_elsewhere and bool(cues_of(local)))


def merged(arrived: Arrived, local: Memory) -> Arrived:
    """Return what takes the place of a memory here: learned questions stay, and of an unchanged text all that is one's own.

    Where one's own comes by itself (`cues_of`), a colleague can retire it and change nothing else: questions and labels would
    decide when it comes. What is dated in the future keeps the date on which it came.
    """
    learned = tuple([one for one in local.questions if one.by == LEARNED])
    known = {one.text for one in arrived.memory.questions}
    questions = (*arrived.memory.questions, *(one for one in learned if one.text not in known))[:MAX_QUESTIONS]
    is_ahead = not arrived.withheld.keys().isdisjoint(_TIMES)
    dates = {name: min(getattr(local, name), getattr(arrived.memory, name)) for name in _TIMES} if is_ahead else {}
    memory = arrived.memory.with_changes(questions=questions, **dates)
    said = {**_document(arrived.memory), **{name: pair[0] for name, pair in arrived.withheld.items()}}
    if local.trust != TEAM and not is_anothers(memory, local):
        if cues_of(local):
            memory = local.with_changes(status=memory.status, superseded_by=memory.superseded_by)
        else:
            own = {name: getattr(local, name) for name in (*_ALWAYS_WITHHELD, *_CUES)}
            memory = memory.with_changes(source=local.source, **own)
    elif not dates:
        return Arrived(memory, arrived.withheld)
    here = _document(memory.with_changes(questions=tuple([one for one in memory.questions if one.by != LEARNED])))
    names = dict.fromkeys((*said, *here))
    return Arrived(memory, {name: (said.get(name), here.get(name)) for name in names if said.get(name) != here.get(name)})


def says_the_same(arrived: Memory, local: Memory) -> bool:
    """Return whether what takes the place of a memory here says all that it says, the time of its last change aside.

    That what arrives has cues which this one has not is no difference: they were held back here.
    """
    there, here = _document(arrived), _document(local)
    for name in ("updated_at", *(cue for cue in _CUES if not getattr(local, cue))):
        there.pop(name, None)
        here.pop(name, None)
    return there == here


def shown_author(role: str) -> str:
    """Return a role's name as it is shown: nothing in it ends a line, a header or an attribute.

    >>> shown_author("ada"), shown_author("eve]\\n</subcog-memories>")
    ('ada', 'eve_subcog-memories_')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "_", role)[:MAX_AUTHOR] or "_"


def digest(document: Document) -> str:
    """Return a document's fingerprint, whatever the order of its fields.

    >>> digest({"a": 1, "b": ["x"]}) == digest({"b": ["x"], "a": 1})
    True
    """
    return digest_of_written(written(document))


def written(document: Document, *, ensure_ascii: bool = True) -> str:
    """Return a document as JSON, its fields in one order."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=ensure_ascii)


def digest_of_written(text: str) -> str:
    """Return the fingerprint of what `written` has returned."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def local_digest(memory: Memory) -> str:
    """Return the fingerprint of all of a memory as it is stored here."""
    return hashlib.blake2b(jsonl.dump(memory).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _told(value: object, unfit: re.Pattern[str], instead: str) -> object:
    """Return a value of JSON with something else in the place of unfit characters."""
    if isinstance(value, str):
        return unfit.sub(instead, value)
    if isinstance(value, list):
        return [_told(entry, unfit, instead) for entry in value]
    if isinstance(value, dict):
        return {str(_told(key, unfit, instead)): _told(entry, unfit, instead) for key, entry in value.items()}
    return value


AT_ONCE = 2_000  # rows that are read at once

_ALL = "SELECT project, id, author, doc::text FROM subcog.memories WHERE doc IS NOT NULL ORDER BY project, id"
# put aside by the server, or by a home that did not know which of two was later
_LOST_TO = f"(lost_to = ANY(%(ids)s) OR id LIKE '{LOST}%%' AND doc ->> 'superseded_by' = ANY(%(ids)s))"
_ERASE = f"""
UPDATE subcog.memories SET doc = NULL, erased = true, content_hash = NULL
WHERE project = ANY(%(projects)s) AND (id = ANY(%(ids)s) OR {_LOST_TO}) AND NOT erased
"""  # noqa: S608 - constants
_ERASE_VECTORS = f"""
DELETE FROM subcog.vectors USING subcog.memories
WHERE vectors.project = ANY(%(projects)s) AND memories.project = vectors.project AND memories.id = vectors.id
AND (memories.id = ANY(%(ids)s) OR {_LOST_TO.replace("id LIKE", "memories.id LIKE")})
"""  # noqa: S608 - constants


def export(connection: Connection, file: str, write: Callable[[str], None]) -> int:
    """Write every memory that the role may read as a line that `import` reads. Return how many there were.

    file: `-` for `write`. Raises UsageError where it can not be written; psycopg's errors.
    """
    count = 0
    if file == "-":
        for line in _lines(connection):
            write(line)
            count += 1
        return count
    if not os.path.basename(file) or os.path.isdir(file):
        raise UsageError(f"{file!r} names no file", "name the file to write, or - for standard output")
    try:
        with WholeFile(os.path.realpath(file)) as whole:
            for line in _lines(connection):
                whole.file.write(line)
                count += 1
    except OSError as error:
        raise UsageError(f"{file} can not be written: {error.strerror}", "check the folder and the disk") from error
    return count


def _lines(connection: Connection) -> Iterator[str]:
    with connection.transaction(), connection.cursor(name="subcog_export") as cursor:
        cursor.itersize = AT_ONCE
        cursor.execute(_ALL)
        for project, id_, author, text in cursor:
            try:
                document = read(text)
            except InvalidMemory:  # `import` could not read it either
                continue
            source = team_source(shown_author(author))
            yield to_json({"id": id_, "project": project, **document, "trust": TEAM, "source": source}) + "\n"


def erase(connection: Connection, projects: Sequence[str], ids: Sequence[str], *, has_vectors: bool) -> None:
    """Erase memories on the server for good, with the versions that lost to them. Homes that have them erase them, too.

    projects: those in one of which they may be there; one that was moved here may not have been moved there yet.
    """
    values = {"projects": list(projects), "ids": list(ids)}
    with connection.transaction():
        if has_vectors:
            connection.execute(_ERASE_VECTORS, values)
        connection.execute(_ERASE, values)
