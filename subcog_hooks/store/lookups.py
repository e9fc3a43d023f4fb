"""Derived tables by which a prompt, a file or a command finds memories: triggers, globs, actions, words.

They follow from the active memories and are written in the same transaction. SQL triggers delete a memory's old rows.
"""

from __future__ import annotations

from math import log

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.core.records import record
from subcog_hooks.store.memory import CLAUDE_SOURCE, IN_CONTEXT, PINNING_PRIORITY, REJECTED, USER, author_phrase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    import apsw

    from subcog_hooks.store.memory import Memory


if TYPE_CHECKING:
    Run = Callable[[str, tuple[apsw.SQLiteValue, ...]], list[tuple[Any, ...]]]

MAX_UNKEYED = 50  # triggers without a literal among a store's active memories: each prompt is matched against all of them

MAX_SHARING = 100  # memories with a rare word; 200 and 1,000 find the same in 3,000 memories, and take longer
MAX_RARE = 12  # words, the rarest of a text; all of them find no more

# Searching a text for a literal takes as long as adding seven of its substrings to a set. So many literals are first filtered
# by a set of heads: .7 ms in place of 2.2 for 2,800 literals whose keys are in a prompt of 2,000 characters.
_MANY_LITERALS = 400
_HEAD_LENGTH = 7  # characters

_TABLES = ("trigger_keys", "triggers", "path_globs", "governed")
_IS_PINNABLE = f"trust = '{USER}' AND priority >= {PINNING_PRIORITY}"  # Memory.is_pinnable, as the SQL of the index
_AUDIENCE = "CASE scope WHEN 'project' THEN 'project:' || project ELSE scope END"


@record
class Trigger:
    """A pattern that may match a text. seq: its memory's row number; literal: the part of the text that found it, or ""."""

    seq: int
    pattern: str
    priority: int
    literal: str


class Room:
    """The number of triggers without a literal that an import may still add. used: how many the store has.

    A trigger that a line removes is not counted before the next chunk: additions are written first.
    """

    __slots__ = ("_left",)

    def __init__(self, used: int) -> None:
        self._left = MAX_UNKEYED - used

    def reserve(self, memory: Memory, before: Memory | None) -> None:
        """Take the additional triggers of a memory over its old version. Raises InvalidMemory where too few are left."""
        patterns = _unkeyed_triggers(memory)
        needed = max(0, len(patterns) - (len(_unkeyed_triggers(before)) if before else 0))
        if needed > max(0, self._left):
            raise _no_room_error(patterns[-1])
        self._left -= needed


# reading


def find_triggers(run: Run, keys: Sequence[str], audiences: tuple[str, ...], text: str, now_ms: int) -> list[Trigger]:
    """Return the triggers of these audiences that may match `text`, the highest priority first, then the newest.

    Each carries the literal that was found, "" where it has none. text: contains every literal that its matches could contain.
    keys: the keys of the text, from `triggers.keys_in`. now_ms: memories expired by then are left out, here and below; 0 for
    none.
    """
    words = dict.fromkeys(text.casefold().split())
    text = " ".join(words)  # no literal has a blank, and 64 KB repeat most of their words
    rows = run(
        "SELECT k.trigger, k.literal FROM json_each(?) AS wanted CROSS JOIN trigger_keys AS k ON k.key = wanted.value"  # noqa: S608 - numbers
        f" AND k.audience IN ({_audience_numbers(run, audiences)})",
        (light_json.dumps(["", *keys]),),
    )
    heads = {text[start : start + _HEAD_LENGTH] for start in range(len(text))} if len(rows) > _MANY_LITERALS else None

    def stands(literal: str) -> bool:
        if literal in words:  # true for most literals of the text
            return True
        return (heads is None or len(literal) < _HEAD_LENGTH or literal[:_HEAD_LENGTH] in heads) and literal in text

    literals_by_number: dict[int, str] = {}
    for number, literal in rows:
        if number not in literals_by_number and stands(literal):
            literals_by_number[number] = literal
    patterns = run(
        "SELECT number, seq, pattern, priority, required FROM triggers AS t"  # noqa: S608 - constants and a number
        f" WHERE number IN (SELECT value FROM json_each(?)){_unexpired_sql('t', now_ms)}"
        " ORDER BY priority DESC, seq DESC, number",
        (light_json.dumps(list(literals_by_number)),),
    )
    return [
        Trigger(seq, pattern, priority, literals_by_number[number])
        for number, seq, pattern, priority, required in patterns
        if all(any(map(stands, wanted.split("|"))) for wanted in required.split())
    ]


def find_globs(run: Run, keys: Sequence[str], audiences: tuple[str, ...], now_ms: int) -> list[tuple[int, str]]:
    """Return the globs of these audiences that have one of these keys, each after its row number.

    keys: `globs.keys_of_path` of a path.
    """
    return run(
        "SELECT p.seq, p.glob FROM json_each(?) AS wanted CROSS JOIN path_globs AS p ON p.key = wanted.value"  # noqa: S608 - numbers
        f" AND p.audience IN ({_audience_numbers(run, audiences)}){_unexpired_sql('p', now_ms)} ORDER BY p.seq, p.glob",
        (light_json.dumps(list(dict.fromkeys(keys))),),
    )


def count_globs(run: Run, seqs: Sequence[int]) -> dict[int, int]:
    """Return how many globs each of these memories has, by row number; each alternative in braces counts."""
    sql = (
        "SELECT seq, sum(1 + length(glob) - length(replace(glob, ',', ''))) FROM path_globs"
        " WHERE seq IN (SELECT value FROM json_each(?)) GROUP BY seq"
    )
    return dict(run(sql, (light_json.dumps(list(seqs)),)))


def find_governing(
    run: Run, actions: Sequence[str], audiences: tuple[str, ...], limit: int, now_ms: int
) -> dict[str, list[int]]:
    """Return the newest `limit` rules of these audiences about each action, by action."""
    numbers = _audience_numbers(run, audiences)
    sql = (
        f"SELECT seq FROM governed AS m WHERE action = ? AND audience IN ({numbers})"  # noqa: S608 - whole numbers
        f"{_unexpired_sql('m', now_ms)} ORDER BY seq DESC LIMIT ?"
    )
    seqs_by_action = {action: [seq for (seq,) in run(sql, (action, limit))] for action in actions}
    return {action: seqs for action, seqs in seqs_by_action.items() if seqs}


def find_sharing(
    run: Run, words: Sequence[str], audiences: tuple[str, ...], limit: int, now_ms: int
) -> list[tuple[int, float]]:
    """Return the active memories of these audiences that share rare ones of these words, each with a score, the best first.

    words: letters and digits alone. A word that more than MAX_SHARING memories have is not rare. The score is the BM25 over
    (ln n) ^ 1.5 for n memories, so that one means as much in a small store as in a large one.
    """
    counted = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    counts = {word: run(counted, (f'"{word}"', MAX_SHARING + 1))[0][0] for word in words}
    rare = sorted([word for word in words if 0 < counts[word] <= MAX_SHARING], key=counts.__getitem__)[:MAX_RARE]
    if not rare:
        return []
    scale = log(1 + run("SELECT count(*) FROM memories", ())[0][0]) ** 1.5
    sql = (
        "SELECT seq, -bm25(words) FROM words CROSS JOIN memories ON seq = words.rowid AND status = 'active'"  # noqa: S608 - marks
        f" AND {_AUDIENCE} IN ({_placeholders(audiences)}){_unexpired_sql('', now_ms)}"
        " WHERE words MATCH ? ORDER BY rank LIMIT ?"
    )
    found = run(sql, (*audiences, " OR ".join(f'"{word}"' for word in rare), limit))
    return [(seq, score / scale) for seq, score in found]


def find_conditional(run: Run, audiences: tuple[str, ...], limit: int, now_ms: int) -> list[tuple[int, dict[str, object]]]:
    """Return the active memories of these audiences that have conditions, with the conditions.

    The highest priority comes first, then the newest. A caller that must detect more than `limit` asks for one extra.
    """
    rows = run(
        "SELECT seq, conditions FROM memories INDEXED BY memories_conditional WHERE status = 'active' AND conditions <> '{}'"  # noqa: S608 - marks
        f" AND {_AUDIENCE} IN ({_placeholders(audiences)}){_unexpired_sql('', now_ms)}"
        " ORDER BY priority DESC, seq DESC LIMIT ?",
        (*audiences, limit),
    )
    return [(seq, light_json.loads(conditions)) for seq, conditions in rows]  # type: ignore[misc]  # the store wrote an object


def pinned_sql(audiences: tuple[str, ...], now_ms: int) -> str:
    """Return the SQL after FROM memories for the pinned ones, the highest priority first, then the newest.

    Its values are the audiences and the limit.
    """
    return (
        f"INDEXED BY memories_pinned WHERE status = 'active' AND {_IS_PINNABLE} AND triggers = '[]'"
        f" AND conditions = '{{}}' AND {_AUDIENCE} IN ({_placeholders(audiences)}){_unexpired_sql('', now_ms)}"
        " ORDER BY priority DESC, seq DESC LIMIT ?"
    )


def count_unkeyed(run: Run) -> int:
    """Return how many triggers without a literal the active memories have."""
    return int(run("SELECT count(*) FROM trigger_keys WHERE key = ''", ())[0][0])


def _unexpired_sql(table: str, now_ms: int) -> str:
    """Return the SQL that leaves expired memories out.

    table: a table with a column `seq`, "" for the memories themselves.
    """
    if not now_ms:
        return ""
    live = f"(expires_at IS NULL OR expires_at > {int(now_ms)})"
    return f" AND EXISTS (SELECT 1 FROM memories WHERE memories.seq = {table}.seq AND {live})" if table else f" AND {live}"  # noqa: S608 - constants and a number


def _audience_numbers(run: Run, audiences: tuple[str, ...]) -> str:
    """Return the numbers of these audiences, as a list in SQL. They never change."""
    rows = run(f"SELECT number FROM audiences WHERE name IN ({_placeholders(audiences)})", audiences)  # noqa: S608 - marks
    return ",".join(str(int(number)) for (number,) in rows)


def _placeholders(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))


# writing


def put_cues(connection: apsw.Connection, memory: Memory, audience: str) -> None:
    """Add the rows of a memory that was just written and has none; an inactive one gets none.

    Raises InvalidMemory for a trigger without a literal beyond MAX_UNKEYED.
    """
    if memory.status != "active":
        return
    governed = _governed_actions(memory.content, memory.standing)
    if not (governed or memory.triggers or memory.paths):
        return
    number = _put_audience(connection, audience)
    for pattern in dict.fromkeys(memory.triggers):
        if not _put_trigger(connection, memory.seq, pattern, memory.priority, number):
            raise _no_room_error(pattern)
    _put_globs(connection, memory.seq, memory.paths, number)
    connection.executemany("INSERT INTO governed VALUES (?, ?, ?)", [(action, number, memory.seq) for action in governed])


def rebuild_cues(connection: apsw.Connection, memories: Iterable[tuple[Memory, str]]) -> None:
    """Derive all rows anew, in the caller's transaction.

    memories: the active memories, each with its audience.
    """
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - the tables' own names
    for memory, audience in memories:
        put_cues(connection, memory, audience)
    connection.execute("INSERT INTO words (words) VALUES ('rebuild')")


def _governed_actions(content: str, standing: bool | None) -> Sequence[str]:
    """Return the actions that a memory governs, if it is a rule."""
    from subcog_hooks.text.actions import actions_of_rule  # only writers come here

    governed = actions_of_rule(content)
    if not governed:  # most notes name no action
        return ()
    from subcog_hooks.text.standing_rules import is_standing

    return governed if is_standing(standing, content) else ()


def _put_audience(connection: apsw.Connection, audience: str) -> int:
    connection.execute("INSERT OR IGNORE INTO audiences (name) VALUES (?)", (audience,))
    rows = connection.execute("SELECT number FROM audiences WHERE name = ?", (audience,)).fetchall()
    return int(rows[0][0])  # type: ignore[arg-type]  # the STRICT table says so


def _put_trigger(connection: apsw.Connection, seq: int, pattern: str, priority: int, audience: int) -> bool:
    """Put in a trigger's rows. Return False where a trigger without a literal exceeds MAX_UNKEYED."""
    from subcog_hooks.cues import triggers

    literals = _cached_literals(pattern)
    if not literals and count_unkeyed(lambda sql, values: connection.execute(sql, values).fetchall()) >= MAX_UNKEYED:
        return False
    required = " ".join(triggers.all_of_literals(pattern))
    connection.execute("INSERT INTO triggers VALUES (NULL, ?, ?, ?, ?)", (seq, pattern, priority, required))
    number = connection.last_insert_rowid()
    keyed = [(triggers.key_of_literal(literal), literal, number, audience) for literal in dict.fromkeys(literals)]
    connection.executemany("INSERT INTO trigger_keys VALUES (?, ?, ?, ?)", keyed or [("", "", number, audience)])
    return True


def _put_globs(connection: apsw.Connection, seq: int, paths: Sequence[str], audience: int) -> None:
    if not paths:
        return
    from subcog_hooks.cues import globs

    for glob in dict.fromkeys(paths):
        connection.execute("INSERT INTO path_globs VALUES (?, ?, ?, ?)", (globs.key_of_glob(glob), audience, seq, glob))


def _unkeyed_triggers(memory: Memory) -> list[str]:
    if memory.status != "active":
        return []
    return [pattern for pattern in dict.fromkeys(memory.triggers) if not _cached_literals(pattern)]


_MAX_CACHED = 2_000  # triggers in the cache; an import has chunks of 1,000 memories
_literals_by_trigger: dict[str, tuple[str, ...]] = {}  # an import needs each twice, 40 µs a time


def _cached_literals(pattern: str) -> tuple[str, ...]:
    literals = _literals_by_trigger.get(pattern)
    if literals is None:
        from subcog_hooks.cues import triggers

        if len(_literals_by_trigger) >= _MAX_CACHED:
            _literals_by_trigger.clear()
        literals = _literals_by_trigger[pattern] = triggers.any_of_literals(pattern)
    return literals


def _no_room_error(pattern: str) -> InvalidMemory:
    return InvalidMemory(
        f"triggers has {pattern[:80]!r}, which no word must be in, and there are {MAX_UNKEYED} of that kind already",
        "give it a word of three or more letters that each match has",
    )


MAX_CONTENT_READ = 6_000  # characters of a memory's text: no line of a brief is made from more

_UNCONDITIONAL = (
    f"namespace <> '{REJECTED}'"
    " AND triggers = '[]' AND paths = '[]' AND conditions = '{}' AND (expires_at IS NULL OR expires_at > ?)"
    f" AND NOT (substr(source, 1, {len(CLAUDE_SOURCE)}) = '{CLAUDE_SOURCE}' AND instr(source, '{IN_CONTEXT}') > 0)"
)
_COLUMNS = "namespace, scope, created_at, trust, source, standing, updated_at"
_OUTLINE_COLUMNS = f"seq, id, substr(content, 1, {MAX_CONTENT_READ}), {_COLUMNS}"
_ROW_COLUMNS = f"seq, id, content, {_COLUMNS}, triggers, paths, conditions, expires_at"


@record
class Outline:
    """A memory without triggers, paths, conditions or expiry in the past, which the client does not load itself.

    seq: its row number; content: its first MAX_CONTENT_READ characters. created_at, updated_at: ms since the epoch.
    standing: None where nobody has set it.
    """

    seq: int
    id: str
    content: str
    namespace: str
    scope: str
    created_at: int
    trust: str
    source: str
    standing: bool | None
    updated_at: int

    @property
    def noted(self) -> str:
        """A short phrase that names its author; "" for the user."""
        return author_phrase(self.trust, self.source)


def find_newest(run: Run, audiences: Sequence[str], limit: int, now_ms: int) -> list[Outline]:
    """Return the unconditional live memories among the `limit` newest of each project, and of the shared ones."""
    outlines: list[Outline] = []
    for project, scopes in _scopes_by_project(audiences):
        newest = (
            f"SELECT {_ROW_COLUMNS} FROM memories INDEXED BY memories_by_project"  # noqa: S608 - constants and marks
            f" WHERE project IS ? AND status = 'active' AND scope IN ({_placeholders(scopes)}) ORDER BY seq DESC LIMIT ?"
        )
        rows = run(f"SELECT {_OUTLINE_COLUMNS} FROM ({newest}) WHERE {_UNCONDITIONAL}", (project, *scopes, limit, now_ms))  # noqa: S608 - as above
        outlines += [Outline(*row) for row in rows]
    return outlines


def find_standing(run: Run, audiences: Sequence[str], limit: int, now_ms: int) -> list[Outline]:
    """Return the `limit` newest unconditional live memories of each project that are marked as standing.

    Of equally old ones the first stored come, as a document begins with them.
    """
    outlines: list[Outline] = []
    for project, scopes in _scopes_by_project(audiences):
        rows = run(
            f"SELECT {_OUTLINE_COLUMNS} FROM memories INDEXED BY memories_standing WHERE status = 'active' AND standing = 1"  # noqa: S608 - as above
            f" AND project IS ? AND scope IN ({_placeholders(scopes)}) AND {_UNCONDITIONAL}"
            " ORDER BY created_at DESC, seq LIMIT ?",
            (project, *scopes, now_ms, limit),
        )
        outlines += [Outline(*row) for row in rows]
    return outlines


def find_by_ids(run: Run, ids: Sequence[str], audiences: Sequence[str], now_ms: int) -> list[Outline]:
    """Return the unconditional live memories with these ids for these audiences."""
    outlines: list[Outline] = []
    for project, scopes in _scopes_by_project(audiences) if ids else ():
        rows = run(
            f"SELECT {_OUTLINE_COLUMNS} FROM memories WHERE id IN ({_placeholders(ids)}) AND +status = 'active'"  # noqa: S608 - as above
            f" AND +project IS ? AND scope IN ({_placeholders(scopes)}) AND {_UNCONDITIONAL}",
            (*ids, project, *scopes, now_ms),
        )
        outlines += [Outline(*row) for row in rows]
    return outlines


def _scopes_by_project(audiences: Sequence[str]) -> list[tuple[str | None, list[str]]]:
    """Return the projects of audiences with their scopes, None for the scopes of all projects."""
    projects: list[tuple[str | None, list[str]]] = []
    for audience in audiences:
        scope, _, project = audience.partition(":")
        if project:
            projects.append((project, [scope]))
    if scopes := [audience for audience in audiences if ":" not in audience]:
        projects.append((None, scopes))
    return projects
