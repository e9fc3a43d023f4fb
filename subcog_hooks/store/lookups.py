"""Memories that SQL finds without a search: by trigger, glob, action, rare word or condition, and those for a brief.

The rows of triggers, globs and actions follow from the active memories; `store` writes them in the same transaction. Every
function raises StoreError.
"""

from __future__ import annotations

from math import log

from subcog_hooks.core import light_json
from subcog_hooks.core.records import record
from subcog_hooks.store.memory import PINNING_PRIORITY, USER, author_phrase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import apsw

    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.store_reader import StoreReader

MAX_SHARING = 100  # memories with a rare word; 200 and 1,000 find the same in 3,000 memories, and take longer
K1, B = 1.2, 0.75  # of BM25, as usual
MAX_RARE = 12  # words, the rarest of a text; all of them find no more

# Searching a text for a literal takes as long as adding seven of its substrings to a set. So many literals are first filtered
# by a set of heads: .7 ms in place of 2.2 for 2,800 literals whose keys are in a prompt of 2,000 characters.
_MANY_LITERALS = 400
_HEAD_LENGTH = 7  # characters

_AUDIENCE = "CASE scope WHEN 'project' THEN 'project:' || project ELSE scope END"


@record
class Trigger:
    """A pattern that may match a text. seq: its memory's row number; literal: the part of the text that found it, or ""."""

    seq: int
    pattern: str
    priority: int
    literal: str


def find_triggers(
    store: StoreReader, keys: Sequence[str], audiences: tuple[str, ...], text: str, now_ms: int = 0
) -> list[Trigger]:
    """Return the triggers of these audiences that may match `text`, the highest priority first, then the newest.

    Each carries the literal that was found, "" where it has none. text: in the form of `triggers.plain_text`; keys: from
    `triggers.keys_in_text`. now_ms: memories expired by then are left out, here and below.
    """
    words = dict.fromkeys(text.casefold().split())
    text = " ".join(words)  # no literal has a blank, and 64 KB repeat most of their words
    rows = store.run(
        "SELECT k.trigger, k.literal FROM json_each(?) AS wanted CROSS JOIN trigger_keys AS k ON k.key = wanted.value"  # noqa: S608 - numbers
        f" AND k.audience IN ({_audience_numbers(store, audiences)})",
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
    if not literals_by_number:
        return []
    patterns = store.run(
        "SELECT number, seq, pattern, priority, required FROM triggers AS t"  # noqa: S608 - constants and a number
        f" WHERE number IN (SELECT value FROM json_each(?)){_unexpired_sql('t', now_ms)}"
        " ORDER BY priority DESC, seq DESC, number",
        (light_json.dumps(list(literals_by_number)),),
    )
    return [
        Trigger(seq, pattern, priority, literals_by_number[number])
        for number, seq, pattern, priority, required in patterns
        if all(any(map(stands, literals.split("|"))) for literals in required.split())
    ]


def find_globs(store: StoreReader, keys: Sequence[str], audiences: tuple[str, ...], now_ms: int = 0) -> list[tuple[int, str]]:
    """Return the globs of these audiences with one of these keys (`globs.keys_of_path`), each after its row number."""
    return store.run(
        "SELECT p.seq, p.glob FROM json_each(?) AS wanted CROSS JOIN path_globs AS p ON p.key = wanted.value"  # noqa: S608 - numbers
        f" AND p.audience IN ({_audience_numbers(store, audiences)}){_unexpired_sql('p', now_ms)} ORDER BY p.seq, p.glob",
        (light_json.dumps(list(dict.fromkeys(keys))),),
    )


def count_globs(store: StoreReader, seqs: Sequence[int]) -> dict[int, int]:
    """Return how many globs each of these memories has, by row number; each alternative in braces counts."""
    counted = "sum(1 + length(glob) - length(replace(glob, ',', '')))"
    sql = f"SELECT seq, {counted} FROM path_globs WHERE seq IN (SELECT value FROM json_each(?)) GROUP BY seq"  # noqa: S608 - a constant
    return dict(store.run(sql, (light_json.dumps(list(seqs)),)))


def find_governing(
    store: StoreReader, actions: Sequence[str], audiences: tuple[str, ...], limit: int, now_ms: int = 0
) -> dict[str, list[int]]:
    """Return the newest `limit` rules of these audiences about each action, by action."""
    numbers = _audience_numbers(store, audiences)
    sql = (
        f"SELECT seq FROM governed AS m WHERE action = ? AND audience IN ({numbers})"  # noqa: S608 - whole numbers
        f"{_unexpired_sql('m', now_ms)} ORDER BY seq DESC LIMIT ?"
    )
    seqs_by_action = {action: [seq for (seq,) in store.run(sql, (action, limit))] for action in actions}
    return {action: seqs for action, seqs in seqs_by_action.items() if seqs}


def find_sharing(
    store: StoreReader, words: Sequence[str], audiences: tuple[str, ...], limit: int, now_ms: int = 0
) -> list[tuple[int, float]]:
    """Return the active memories of these audiences that share rare ones of these words, each with a score, the best first.

    words: letters and digits alone. A word that more than MAX_SHARING memories have is not rare. The score is the BM25 of words
    that stand once in a memory, the usual length being that of those found, over (ln n) ^ 1.5 for n memories, so that one
    means as much in a small store as in a large one. SQLite's own `bm25` counts each word twice more, and takes as long again.
    """
    # With a bound limit SQLite would prepare the statement anew for each word.
    matching = f"SELECT rowid FROM words WHERE words MATCH ? LIMIT {MAX_SHARING + 1}"  # noqa: S608 - a constant
    counted = f"SELECT count(*), group_concat(rowid) FROM ({matching})"  # noqa: S608 - a constant
    found = [store.run(counted, (f'"{word}"',))[0] for word in words]
    rare = sorted([row for row in found if 0 < row[0] <= MAX_SHARING])[:MAX_RARE]
    if not rare:
        return []
    total = store.run("SELECT count(*) FROM memories")[0][0]
    weights: dict[str, float] = {}
    for count, seqs in rare:
        weight = max(0.0, log((total - count + 0.5) / (count + 0.5)))
        for seq in seqs.split(","):
            weights[seq] = weights.get(seq, 0.0) + weight
    sql = (
        f"SELECT seq, octet_length(content) FROM memories WHERE seq IN ({','.join(weights)}) AND status = 'active'"  # noqa: S608 - numbers
        f" AND {_AUDIENCE} IN ({_placeholders(audiences)}){_unexpired_sql('', now_ms)}"
    )
    rows = store.run(sql, audiences)
    usual_size = sum(size for _, size in rows) / max(1, len(rows))
    scale = log(1 + total) ** 1.5
    scores = [(weights[str(seq)] * (K1 + 1) / (1 + K1 * (1 - B + B * size / usual_size)) / scale, seq) for seq, size in rows]
    return [(seq, score) for score, seq in sorted(scores, reverse=True)[:limit]]


def find_conditional(
    store: StoreReader, audiences: tuple[str, ...], limit: int, now_ms: int = 0
) -> list[tuple[int, dict[str, object]]]:
    """Return the active memories of these audiences with conditions, and these, the highest priority first, then the newest."""
    rows = store.run(
        "SELECT seq, conditions FROM memories INDEXED BY memories_conditional WHERE status = 'active' AND conditions <> '{}'"  # noqa: S608 - marks
        f" AND {_AUDIENCE} IN ({_placeholders(audiences)}){_unexpired_sql('', now_ms)}"
        " ORDER BY priority DESC, seq DESC LIMIT ?",
        (*audiences, limit),
    )
    try:
        return [(seq, light_json.loads(conditions)) for seq, conditions in rows]  # type: ignore[misc]  # the store wrote an object
    except ValueError as error:
        raise store.unreadable(error) from error


def find_pinned(store: StoreReader, audiences: tuple[str, ...], limit: int, now_ms: int = 0) -> list[Memory]:
    """Return the pinned memories for a session's start: the user's own without cues, by priority, then the newest."""
    sql = (
        "SELECT seq FROM memories INDEXED BY memories_pinned WHERE status = 'active'"  # noqa: S608 - constants and marks
        f" AND trust = '{USER}' AND priority >= {PINNING_PRIORITY} AND triggers = '[]' AND conditions = '{{}}'"
        f" AND {_AUDIENCE} IN ({_placeholders(audiences)}){_unexpired_sql('', now_ms)}"
        " ORDER BY priority DESC, seq DESC LIMIT ?"
    )
    seqs = [seq for (seq,) in store.run(sql, (*audiences, limit))]
    memories = store.by_seqs(seqs)
    return [memories[seq] for seq in seqs if seq in memories]  # another process may have erased one since


def _unexpired_sql(table: str, now_ms: int) -> str:
    """Return the SQL that leaves expired memories out. table: one with a column `seq`, "" for the memories themselves."""
    live = f"(expires_at IS NULL OR expires_at > {int(now_ms)})"
    return f" AND EXISTS (SELECT 1 FROM memories WHERE memories.seq = {table}.seq AND {live})" if table else f" AND {live}"  # noqa: S608 - constants and a number


def _audience_numbers(store: StoreReader, audiences: tuple[str, ...]) -> str:
    """Return the numbers of these audiences, as a list in SQL. They never change."""
    rows = store.run(f"SELECT number FROM audiences WHERE name IN ({_placeholders(audiences)})", audiences)  # noqa: S608 - marks
    return ",".join(str(int(number)) for (number,) in rows)


def _placeholders(values: Collection[object]) -> str:
    return ",".join("?" * len(values))


# for a brief

MAX_CONTENT_READ = 6_000  # characters of a memory's text: no line of a brief is made from more

_UNCONDITIONAL = "triggers = '[]' AND paths = '[]' AND conditions = '{}' AND (expires_at IS NULL OR expires_at > ?)"
_COLUMNS = "namespace, scope, created_at, trust, source, standing, updated_at"
_OUTLINE_COLUMNS = f"seq, id, substr(content, 1, {MAX_CONTENT_READ}), {_COLUMNS}"
_ROW_COLUMNS = f"seq, id, content, {_COLUMNS}, triggers, paths, conditions, expires_at"


@record
class Outline:
    """A memory without triggers, paths, conditions or expiry in the past.

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


def find_outlines(
    store: StoreReader, audiences: Sequence[str], limit: int, now_ms: int, also: Sequence[str] = ()
) -> list[Outline]:
    """Return the unconditional live memories that a session's brief considers, each once.

    They are those among the `limit` newest of each project and of the shared ones, those with the ids in `also`, and the
    `limit` newest standing ones. Of equally old standing ones the first stored come, as a document begins with them.
    """
    outlines: dict[str, Outline] = {}

    def read(source: str, *values: apsw.SQLiteValue) -> None:
        for row in store.run(f"SELECT {_OUTLINE_COLUMNS} FROM {source}", values):  # noqa: S608 - constants and marks
            outlines.setdefault(row[1], Outline(*row))

    shared = [audience for audience in audiences if ":" not in audience]
    owners: list[tuple[str | None, list[str]]] = [(None, shared)] if shared else []  # None owns the shared memories.
    owners[:0] = [(audience.partition(":")[2], ["project"]) for audience in audiences if ":" in audience]
    for project, scopes in owners:
        own = f"project IS ? AND scope IN ({_placeholders(scopes)})"
        newest = f"SELECT {_ROW_COLUMNS} FROM memories INDEXED BY memories_by_project WHERE status = 'active' AND {own}"  # noqa: S608 - as above
        read(f"({newest} ORDER BY seq DESC LIMIT ?) WHERE {_UNCONDITIONAL}", project, *scopes, limit, now_ms)
        if also:
            by_id = f"memories WHERE id IN ({_placeholders(also)}) AND +status = 'active' AND +{own}"
            read(f"{by_id} AND {_UNCONDITIONAL}", *also, project, *scopes, now_ms)
        standing = f"memories INDEXED BY memories_standing WHERE status = 'active' AND standing = 1 AND {own}"
        read(f"{standing} AND {_UNCONDITIONAL} ORDER BY created_at DESC, seq LIMIT ?", project, *scopes, now_ms, limit)
    return list(outlines.values())
