"""The Memory model: fields, their allowed values, validation, ids and hashes. No storage here."""

from __future__ import annotations

import os
import time

from subcog_hooks.core.records import record

TYPE_CHECKING = False

NAMESPACES = (  # the suggested ones, for completion and help; others are allowed
    *("decisions", "patterns", "learnings", "context", "tech-debt", "blockers"),
    *("progress", "apis", "config", "security", "performance", "testing"),
)
DEFAULT_NAMESPACE = "learnings"
BACKGROUND = "\n\n---\n\n"  # between a record's decision and the text that led to it
SCOPES = ("project", "user", "org")
ACTIVE, PENDING = "active", "pending"  # of STATUSES; the second waits for the person's answer
STATUSES = (ACTIVE, PENDING, "superseded", "archived", "deleted")
USER, AGENT, FILE, IMPORTED = "user", "agent", "file", "import"  # of TRUSTS: by the person or an agent, from a file or import
TEAM, TRANSCRIPT = "team", "transcript"  # by a colleague; from a session
TRUSTS = (USER, AGENT, FILE, IMPORTED, TRANSCRIPT, "tool", TEAM)
AUTHOR_PHRASES = {  # by trust, except the user's
    AGENT: "noted by an agent",
    FILE: "from a file",
    IMPORTED: "imported",
    TRANSCRIPT: "from a transcript",
    "tool": "from a tool",
    TEAM: "by a colleague",
}

SECTION_PREFIX = "md-"  # the prefix of the ids of imported sections, which derive from their position
EPISODE_PREFIX = "ep-"  # the prefix of the ids of past sessions' episodes
SESSION_SOURCE = "session:"  # the prefix of the source of a memory from a session
SAID = "said in a session"  # the author phrase of a memory from a session; its date is the day on which it was said
WRITTEN_BY_MODEL = "written by a model"  # the author phrase of a model's memory, which has the trust of an agent
_COLLEAGUE, _UNNAMED = ", a colleague", "somebody"  # the end of a colleague's phrase; the name of a colleague without one
_TEAM_SOURCE = "team:"  # the prefix of the source of a colleague's memory: the colleague follows
IN_CONTEXT = ":context:"  # marks the source of a file that Claude Code itself loads in some sessions
_INSTRUCTION_FILES = (
    *("AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md", ".cursorrules", ".mdc"),
    *("copilot-instructions.md", ".instructions.md"),
)

UNDATED = 0  # the date of a memory that nobody dated
MAX_QUESTIONS = 8  # of a memory: each has a vector of its own
MAX_QUESTION = 200  # characters
PERSON = "person"
LEARNED = "learned"  # from a prompt that missed the memory, or got it late
MODEL = "model"  # written by a model
ORIGINS = (PERSON, AGENT, MODEL, LEARNED)  # of a question
MAX_AUTHOR = 40  # characters of a colleague's name
FIRST_TIME, LAST_TIME = -62_135_596_800_000, 253_402_300_799_999  # ms: the years 1 to 9999, the range of ISO 8601
ID_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
PINNING_PRIORITY = 90  # higher priorities pin a memory; only the user may set them
MAX_UNPINNED_PRIORITY = PINNING_PRIORITY - 1

_BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: no i, l, o, u


def is_from_instructions(source: str) -> bool:
    """Return whether this source is a file that some client itself puts before the model.

    >>> places = ("claude:~/.claude:context:user::::CLAUDE.md:1", "agents:github.com/a/b::web/AGENTS.md:1", "docs/adr/1.md:9")
    >>> [is_from_instructions(source) for source in places], is_from_instructions("GEMINI.md#Tests#1:12")
    ([True, True, False], True)
    """
    file = source.rpartition(":")[0].partition("#")[0]
    return IN_CONTEXT in file or file.endswith(_INSTRUCTION_FILES) or "/rules/" in file


def team_source(author: str) -> str:
    """Return the source of a memory that a colleague wrote."""
    return _TEAM_SOURCE + author


def colleague_in(noted: str) -> str:
    """Return the colleague's name in a phrase of `author_phrase`, "" where no colleague noted it.

    >>> colleague_in("by ada, a colleague"), colleague_in("by a colleague"), colleague_in("from a file")
    ('ada', 'somebody', '')
    """
    if noted == AUTHOR_PHRASES[TEAM]:
        return _UNNAMED
    return noted[len("by ") : -len(_COLLEAGUE)] if noted.endswith(_COLLEAGUE) else ""


def author_phrase(trust: str, source: str) -> str:
    """Return a short phrase for the author of a memory of this trust and source; "" for the user.

    >>> author_phrase(TEAM, team_source("ada")), author_phrase(AGENT, ""), author_phrase(USER, "")
    ('by ada, a colleague', 'noted by an agent', '')
    >>> author_phrase(AGENT, "session:/home/ada/.claude/projects/-shop/4f56.jsonl:b1c2")
    'written by a model'
    """
    if trust == TEAM and source.startswith(_TEAM_SOURCE):  # an imported file may have such a source, too
        author = "".join([letter for letter in source[len(_TEAM_SOURCE) :][:MAX_AUTHOR] if letter in ID_CHARACTERS])
        return f"by {author or _UNNAMED}{_COLLEAGUE}"
    if source.startswith(SESSION_SOURCE) and trust in (AGENT, TRANSCRIPT):
        return WRITTEN_BY_MODEL if trust == AGENT else SAID
    return AUTHOR_PHRASES.get(trust, "")


_NO_CONDITIONS: dict[str, object] = {}


@record
class AnsweredQuestion:
    """A question that a memory answers. by: its author, one of ORIGINS.

    verdict: the one on the prompt that taught it without a person's approval, else "". It is deleted with that record.
    """

    text: str
    by: str = PERSON
    verdict: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnsweredQuestion) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # Nothing hashes it.


def questions_from_json(values: object) -> tuple[AnsweredQuestion, ...]:
    """Return the questions of a list that `questions_to_json` has written. Raises ValueError for anything else.

    >>> [question.by for question in questions_from_json(["who rotates the keys?", {"text": "key rotation", "by": "agent"}])]
    ['person', 'agent']
    """
    if not isinstance(values, list):
        raise ValueError(f"{values!r} is no list")
    questions = []
    for value in values:
        fields = {"text": value} if isinstance(value, str) else value
        if not isinstance(fields, dict) or not {"text"} <= fields.keys() <= {"text", "by", "decision"}:
            raise ValueError(f"{value!r} is no question")
        if fields.get("by", PERSON) not in ORIGINS or not all(isinstance(field, str) for field in fields.values()):
            raise ValueError(f"{value!r} is no question")
        questions.append(AnsweredQuestion(fields["text"], fields.get("by", PERSON), fields.get("decision", "")))
    return tuple(questions)


@record
class Memory:
    """A memory. Times are integer milliseconds since the epoch, UTC; lists are tuples; absent values are None.

    `when` maps the names of facts to conditions on them (`conditions` lists the names). `questions` are questions that it
    answers, in other words than its own. `standing`: whether it holds in every session, None where nobody has set it; else
    `standing_rules` estimates it. `seq` is the store's row number (0 before it is stored), which the caches use as their key.
    """

    id: str
    content: str
    namespace: str = DEFAULT_NAMESPACE
    scope: str = "user"
    project: str | None = None
    branch: str | None = None
    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    when: dict[str, object] = _NO_CONDITIONS
    questions: tuple[AnsweredQuestion, ...] = ()
    standing: bool | None = None
    priority: int = 0
    status: str = "active"
    superseded_by: str | None = None
    source: str = ""
    trust: str = "user"
    created_at: int = 0
    updated_at: int = 0
    expires_at: int | None = None
    content_hash: str = ""
    seq: int = 0

    def __post_init__(self) -> None:
        self.content_hash = self.content_hash or hash_content(self.content)

    @property
    def urn(self) -> str:
        return f"subcog://{self.scope}/{self.namespace}/{self.id}"

    @property
    def written_at(self) -> int:
        """The time of its last edit, in milliseconds since the epoch."""
        return max(self.created_at, self.updated_at)

    @property
    def is_pinnable(self) -> bool:
        """True where its priority and the user's own trust pin it before all others."""
        return self.priority >= PINNING_PRIORITY and self.trust == USER

    @property
    def noted(self) -> str:
        """A short phrase that names its author; "" for the user."""
        return author_phrase(self.trust, self.source)

    def is_live(self, now_ms: int) -> bool:
        """Return whether the memory is active and not expired at `now_ms`: only such memories are ever injected."""
        return self.status == "active" and (self.expires_at is None or self.expires_at > now_ms)

    def with_changes(self, **changes: object) -> Memory:
        """Return a copy with these fields changed; the content hash follows the content."""
        if "content" in changes:
            changes["content_hash"] = ""
        return Memory(**{**vars(self), **changes})


def now_ms() -> int:
    """Return the wall clock in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def hash_content(content: str) -> str:
    """Return the key of a content in every cache: 32 hexadecimal characters of BLAKE2b."""
    import hashlib  # 2 ms; the hook only reads stored hashes

    return hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class IdMaker:
    """Makes ids of 14 characters that sort by time, strictly rising within one maker.

    Nine characters of base 32 hold milliseconds (until the year 3084), five are random, and count up within a millisecond.
    """

    __slots__ = ("_last", "_tail")

    def __init__(self) -> None:
        self._last = -1
        self._tail = 0

    def new(self, at_ms: int | None = None) -> str:
        time_ms = max(now_ms() if at_ms is None else at_ms, self._last)
        self._tail = self._tail + 1 if time_ms == self._last else int.from_bytes(os.urandom(3), "big")
        self._last = time_ms
        number = time_ms << 25 | self._tail
        return "".join([_BASE32[number >> shift & 31] for shift in range(65, -1, -5)])
