"""Derived tables by which a prompt, a file or a command finds memories: triggers, globs, actions, words.

They follow from the active memories and are written in the same transaction. SQL triggers delete a memory's old rows.
"""

from __future__ import annotations

from math import log

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.core.records import record
from subcog_hooks.store.memory import PINNING_PRIORITY, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any  # the STRICT tables guarantee the column types

    import apsw

    from subcog_hooks.store.memory import Memory

    Run = Callable[[str, tuple[apsw.SQLiteValue, ...]], list[tuple[Any, ...]]]

MAX_UNKEYED = 50  # triggers without a literal among a store's active memories: each prompt is matched against all of them

MAX_SHARING = 100  # memories with a rare word; 200 and 1,000 find the same in 3,000 memories, and take longer
K1, B = 1.2, 0.75  # of BM25, as usual
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

    words: letters and digits alone. A word that more than MAX_SHARING memories have is not rare. The score is the BM25 of words
    that stand once in a memory, the usual length being that of those found, over (ln n) ^ 1.5 for n memories, so that one
    means as much in a small store as in a large one. SQLite's own `bm25` counts each word twice more, and takes as long again.
    """
    counted = "SELECT count(*), group_concat(rowid) FROM (SELECT rowid FROM words WHERE words MATCH ? LIMIT ?)"
    found = [run(counted, (f'"{word}"', MAX_SHARING + 1))[0] for word in words]
    rare = sorted([row for row in found if 0 < row[0] <= MAX_SHARING])[:MAX_RARE]
    if not rare:
        return []
    total = run("SELECT count(*) FROM memories", ())[0][0]
    weights: dict[str, float] = {}
    for count, seqs in rare:
        weight = max(0.0, log((total - count + 0.5) / (count + 0.5)))
        for seq in seqs.split(","):
            weights[seq] = weights.get(seq, 0.0) + weight
    sql = (
        f"SELECT seq, octet_length(content) FROM memories WHERE seq IN ({','.join(weights)}) AND status = 'active'"  # noqa: S608 - numbers
        f" AND {_AUDIENCE} IN ({_placeholders(audiences)}){_unexpired_sql('', now_ms)}"
    )
    rows = run(sql, audiences)
    usual_size = sum(size for _, size in rows) / max(1, len(rows))
    scale = log(1 + total) ** 1.5
    scores = [(weights[str(seq)] * (K1 + 1) / (1 + K1 * (1 - B + B * size / usual_size)) / scale, seq) for seq, size in rows]
    return [(seq, score) for score, seq in sorted(scores, reverse=True)[:limit]]


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


def _placeholders(values: tuple[str, ...]) -> str:
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
