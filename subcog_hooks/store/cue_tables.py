"""Derived tables by which a prompt, a file or a command finds memories without a search: triggers, globs of paths, names.

They follow from the active memories and are written in the transaction that writes those; SQL triggers take away what a memory
had before.
"""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.store.memory import PINNING_PRIORITY, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any  # what a column holds is said by the STRICT tables

    import apsw

    from subcog_hooks.store.memory import Memory

    Run = Callable[[str, tuple[apsw.SQLiteValue, ...]], list[tuple[Any, ...]]]

MAX_UNKEYED = 50  # triggers without a literal among a store's active memories: each prompt is matched against all of them

# To look for a literal in a text takes as long as to put some seven of its places into a set. So of many literals only those
# looked for whose beginning is in that set: .7 ms in place of 2.2 for 2,800 whose keys are in a prompt of 2,000 characters
_MANY = 400
_HEAD = 7  # characters

_TABLES = ("trigger_keys", "triggers", "path_globs", "mentions")
_IS_PINNABLE = f"trust = '{USER}' AND priority >= {PINNING_PRIORITY}"  # Memory.is_pinnable, in the words of the index
_AUDIENCE = "CASE scope WHEN 'project' THEN 'project:' || project ELSE scope END"


class Trigger:
    """A pattern that may match a text. seq: its memory's row number; literal: what of the text it was found by, or ""."""

    __slots__ = ("literal", "pattern", "priority", "seq")

    def __init__(self, seq: int, pattern: str, priority: int, literal: str) -> None:
        self.seq = seq
        self.pattern = pattern
        self.priority = priority
        self.literal = literal


class Room:
    """The room that an import has for triggers without a literal. used: how many the store has.

    What a line gives back is not counted before the next chunk: it is written after what the other lines add.
    """

    __slots__ = ("_left",)

    def __init__(self, used: int) -> None:
        self._left = MAX_UNKEYED - used

    def take(self, memory: Memory, before: Memory | None) -> None:
        """Take what this memory needs beyond the one that it replaces. Raises InvalidMemory where that is not left."""
        patterns = _unkeyed_triggers(memory)
        needed = max(0, len(patterns) - (len(_unkeyed_triggers(before)) if before else 0))
        if needed > max(0, self._left):
            raise _no_room(patterns[-1])
        self._left -= needed


# reading


def are_there(run: Run) -> tuple[bool, bool]:
    """Return whether there are triggers, and whether there are memories with conditions."""
    rows = run(
        "SELECT EXISTS (SELECT 1 FROM triggers), EXISTS (SELECT 1 FROM memories INDEXED BY memories_conditional"
        " WHERE status = 'active' AND conditions <> '{}')",
        (),
    )
    return bool(rows[0][0]), bool(rows[0][1])


def find_triggers(run: Run, keys: Sequence[str], audiences: tuple[str, ...], text: str, now_ms: int) -> list[Trigger]:
    """Return the triggers of these audiences that may match `text`, the highest priority first, then the newest.

    Each comes with a literal, "" where it has none. `text` has all that each of their matches has, as far as that is known.

    They come with a literal, "" where they have none, the highest priority first, then the newest.

    keys: the text's, of `triggers.keys_in`. now_ms: what has expired by then is left out, here and below; 0 for nothing.
    """
    words = dict.fromkeys(text.casefold().split())
    text = " ".join(words)  # no literal has a blank, and 64 KB repeat most of their words
    rows = run(
        "SELECT k.trigger, k.literal FROM json_each(?) AS wanted CROSS JOIN trigger_keys AS k ON k.key = wanted.value"  # noqa: S608 - numbers
        f" AND k.audience IN ({_audience_numbers(run, audiences)})",
        (light_json.dumps(["", *keys]),),
    )
    heads = {text[at : at + _HEAD] for at in range(len(text))} if len(rows) > _MANY else None

    def stands(literal: str) -> bool:
        if literal in words:  # most do that stand there at all
            return True
        return (heads is None or len(literal) < _HEAD or literal[:_HEAD] in heads) and literal in text

    found: dict[int, str] = {}
    for number, literal in rows:
        if number not in found and stands(literal):
            found[number] = literal
    patterns = run(
        "SELECT number, seq, pattern, priority, required FROM triggers AS t"  # noqa: S608 - constants and a number
        f" WHERE number IN (SELECT value FROM json_each(?)){_unexpired('t', now_ms)} ORDER BY priority DESC, seq DESC, number",
        (light_json.dumps(list(found)),),
    )
    return [
        Trigger(seq, pattern, priority, found[number])
        for number, seq, pattern, priority, required in patterns
        if all(any(map(stands, wanted.split("|"))) for wanted in required.split())
    ]


def find_globs(run: Run, keys: Sequence[str], audiences: tuple[str, ...], now_ms: int) -> list[tuple[int, str]]:
    """Return the globs of these audiences that have one of these keys, each after its row number.

    keys: `globs.keys_of` of a path.
    """
    return run(
        "SELECT p.seq, p.glob FROM json_each(?) AS wanted CROSS JOIN path_globs AS p ON p.key = wanted.value"  # noqa: S608 - numbers
        f" AND p.audience IN ({_audience_numbers(run, audiences)}){_unexpired('p', now_ms)} ORDER BY p.seq, p.glob",
        (light_json.dumps(list(dict.fromkeys(keys))),),
    )


def find_mentioning(run: Run, names: Sequence[str], audiences: tuple[str, ...], most: int, now_ms: int) -> dict[str, list[int]]:
    """Return the memories of these audiences that name these things exactly, by name: the newest `most` of each name."""
    numbers = _audience_numbers(run, audiences)
    sql = (
        f"SELECT seq FROM mentions AS m WHERE name = ? AND audience IN ({numbers})"  # noqa: S608 - whole numbers
        f"{_unexpired('m', now_ms)} ORDER BY seq DESC LIMIT ?"
    )
    found = {name: [seq for (seq,) in run(sql, (name, most))] for name in names}
    return {name: seqs for name, seqs in found.items() if seqs}


def find_conditional(run: Run, audiences: tuple[str, ...], limit: int, now_ms: int) -> list[tuple[int, dict[str, object]]]:
    """Return the active memories of these audiences that have conditions, and these.

    The highest priority comes first, then the newest.

    Who has to know whether there are more asks for one more than is wanted.
    """
    rows = run(
        "SELECT seq, conditions FROM memories INDEXED BY memories_conditional WHERE status = 'active' AND conditions <> '{}'"  # noqa: S608 - marks
        f" AND {_AUDIENCE} IN ({_placeholders(audiences)}){_unexpired('', now_ms)} ORDER BY priority DESC, seq DESC LIMIT ?",
        (*audiences, limit),
    )
    return [(seq, light_json.loads(conditions)) for seq, conditions in rows]  # type: ignore[misc]  # the store wrote an object


def pinned(audiences: tuple[str, ...], now_ms: int) -> str:
    """Return the SQL after FROM memories for those that a session begins with, the highest priority first, then the newest.

    Its values are the audiences and how many are wanted at most.
    """
    return (
        f"INDEXED BY memories_pinned WHERE status = 'active' AND {_IS_PINNABLE} AND triggers = '[]'"
        f" AND conditions = '{{}}' AND {_AUDIENCE} IN ({_placeholders(audiences)}){_unexpired('', now_ms)}"
        " ORDER BY priority DESC, seq DESC LIMIT ?"
    )


def count_unkeyed(run: Run) -> int:
    """Return how many triggers without a literal the active memories have."""
    return int(run("SELECT count(*) FROM trigger_keys WHERE key = ''", ())[0][0])


def _unexpired(table: str, now_ms: int) -> str:
    """Return the SQL by which rows of expired memories are left out.

    table: whose `seq` is theirs, "" for the memories themselves.
    """
    if not now_ms:
        return ""
    live = f"(expires_at IS NULL OR expires_at > {int(now_ms)})"
    return f" AND EXISTS (SELECT 1 FROM memories WHERE memories.seq = {table}.seq AND {live})" if table else f" AND {live}"  # noqa: S608 - constants and a number


def _audience_numbers(run: Run, audiences: tuple[str, ...]) -> str:
    """Return the numbers that these audiences have, as a list in SQL. They never change."""
    rows = run(f"SELECT number FROM audiences WHERE name IN ({_placeholders(audiences)})", audiences)  # noqa: S608 - marks
    return ",".join(str(int(number)) for (number,) in rows)


def _placeholders(values: tuple[str, ...]) -> str:
    return ",".join("?" * len(values))


# writing


def put(connection: apsw.Connection, memory: Memory, audience: str) -> None:
    """Derive the rows of a memory that has just been written, and has none by now; an inactive one gets none.

    Raises InvalidMemory for a trigger without a literal for which there is no room.
    """
    if memory.status != "active":
        return
    names = _names_of(memory.content, memory.standing)
    if not (names or memory.triggers or memory.paths):
        return
    number = _put_audience(connection, audience)
    for pattern in dict.fromkeys(memory.triggers):
        if not _put_trigger(connection, memory.seq, pattern, memory.priority, number):
            raise _no_room(pattern)
    _put_globs(connection, memory.seq, memory.paths, number)
    _put_mentions(connection, memory.seq, names, number)


def rebuild(connection: apsw.Connection, memories: Iterable[tuple[Memory, str]]) -> None:
    """Derive all rows anew, in the caller's transaction.

    memories: the active memories, each with its audience.
    """
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - the tables' own names
    for memory, audience in memories:
        put(connection, memory, audience)


def _names_of(content: str, standing: bool | None) -> tuple[str, ...]:
    """Return the names that a memory is kept under: what it mentions, and, of a rule, the actions that it is about."""
    from subcog_hooks.text.actions import governed_by  # only writers come here
    from subcog_hooks.text.mentions import mentions

    names, governed = mentions(content), governed_by(content)
    if not governed:  # most notes name no action
        return names
    from subcog_hooks.text.standing import is_standing

    return (*names, *governed) if is_standing(standing, content) else names


def _put_audience(connection: apsw.Connection, audience: str) -> int:
    connection.execute("INSERT OR IGNORE INTO audiences (name) VALUES (?)", (audience,))
    rows = connection.execute("SELECT number FROM audiences WHERE name = ?", (audience,)).fetchall()
    return int(rows[0][0])  # type: ignore[arg-type]  # the STRICT table says so


def _put_trigger(connection: apsw.Connection, seq: int, pattern: str, priority: int, audience: int) -> bool:
    """Put in a trigger's rows. Return whether there was room for it: there always is for one that has a literal."""
    from subcog_hooks.cues import triggers

    literals = _literals(pattern)
    if not literals and count_unkeyed(lambda sql, values: connection.execute(sql, values).fetchall()) >= MAX_UNKEYED:
        return False
    required = " ".join(triggers.required(pattern))
    connection.execute("INSERT INTO triggers VALUES (NULL, ?, ?, ?, ?)", (seq, pattern, priority, required))
    number = connection.last_insert_rowid()
    keyed = [(triggers.key_of(literal), literal, number, audience) for literal in dict.fromkeys(literals)]
    connection.executemany("INSERT INTO trigger_keys VALUES (?, ?, ?, ?)", keyed or [("", "", number, audience)])
    return True


def _put_globs(connection: apsw.Connection, seq: int, paths: Sequence[str], audience: int) -> None:
    if not paths:
        return
    from subcog_hooks.cues import globs

    for glob in dict.fromkeys(paths):
        connection.execute("INSERT INTO path_globs VALUES (?, ?, ?, ?)", (globs.key_of(glob), audience, seq, glob))


def _put_mentions(connection: apsw.Connection, seq: int, names: Sequence[str], audience: int) -> None:
    connection.executemany("INSERT INTO mentions VALUES (?, ?, ?)", [(name, audience, seq) for name in names])


def _unkeyed_triggers(memory: Memory) -> list[str]:
    """Return the triggers without a literal that an active memory has."""
    if memory.status != "active":
        return []
    return [pattern for pattern in dict.fromkeys(memory.triggers) if not _literals(pattern)]


_MOST_READ = 2_000  # triggers that are kept; an import has chunks of 1,000 memories
_read: dict[str, tuple[str, ...]] = {}  # literals by trigger: an import asks for them twice, 40 µs a time


def _literals(pattern: str) -> tuple[str, ...]:
    found = _read.get(pattern)
    if found is None:
        from subcog_hooks.cues import triggers

        if len(_read) >= _MOST_READ:
            _read.clear()
        found = _read[pattern] = triggers.literals(pattern)
    return found


def _no_room(pattern: str) -> InvalidMemory:
    return InvalidMemory(
        f"triggers has {pattern[:80]!r}, which no word must be in, and there are {MAX_UNKEYED} of that kind already",
        "give it a word of three or more letters that each match has",
    )
