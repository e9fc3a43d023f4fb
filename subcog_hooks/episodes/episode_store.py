"""sessions.db: past sessions' episodes, kept as the notes' store keeps notes, so that its index, vectors and recall serve them.

The file may be deleted at any time: the next reading makes it again from the transcripts. An episode is shown as a line of a
list, or with its neighbours in a frame, as an agent's word, without secrets and without tags of the harness.
"""

from __future__ import annotations

import os
import time

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import StoreCorrupt, StoreTooNew, StoreTooOld
from subcog_hooks.core.records import record
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.store.store import WRITE_WAIT_MS, Store
from subcog_hooks.store.store_reader import READ_WAIT_MS
from subcog_hooks.text.sanitise import cut, neutralise, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.memory import Memory


UNREAD, FORGOTTEN = -1, -2  # sizes of a transcript that is being read, and of one that is never read again

MAX_KEY = 160  # characters of a normalised error line
MIN_KEY_WORDS = 3  # A shorter error line, such as BUILD FAILED, says nothing.
_WRAPPERS = frozenset(
    "a an and at build by code command error errors exception exit exited failed failure failures fatal for in is it of on "
    "process returned run script status task test tests the there to was were with".split()
)

_TABLES = """
CREATE TABLE IF NOT EXISTS transcripts (
  number INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL,  -- bytes when it was read; UNREAD, FORGOTTEN
  read INTEGER NOT NULL,  -- bytes up to the last whole row
  digest TEXT NOT NULL  -- of the text before that
) STRICT;
CREATE TABLE IF NOT EXISTS episodes (
  id TEXT PRIMARY KEY,  -- of the row in `memories`
  transcript INTEGER NOT NULL,
  session TEXT NOT NULL,
  client TEXT NOT NULL,
  position INTEGER NOT NULL,  -- the number of episodes before it in its transcript
  row_ids TEXT NOT NULL  -- of the transcript's rows, with blanks between
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS episodes_by_transcript ON episodes (transcript, position);
CREATE TABLE IF NOT EXISTS failures (
  key TEXT NOT NULL, episode TEXT NOT NULL, fix TEXT NOT NULL, PRIMARY KEY (key, episode)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS failures_by_episode ON failures (episode);
CREATE TRIGGER IF NOT EXISTS purged_episodes AFTER DELETE ON memories BEGIN
  DELETE FROM episodes WHERE id = old.id;
  DELETE FROM failures WHERE episode = old.id;
END;
DROP TRIGGER IF EXISTS new_words;  -- no tool call is compared with episodes
DROP TRIGGER IF EXISTS changed_words;
DROP TRIGGER IF EXISTS purged_words;
DROP TABLE IF EXISTS words;
"""


@record
class EpisodeDetails:
    """The origin of an episode. transcript: its number; rows: ids of the transcript's rows, the first typed one first."""

    id: str
    transcript: int
    session: str
    client: str
    position: int
    rows: tuple[str, ...]


class EpisodeStore(Store):
    """An open sessions.db. Every method raises StoreError when SQLite does."""

    __slots__ = ()

    @classmethod
    def writer(cls, home: Home, busy_ms: float = WRITE_WAIT_MS) -> Self:
        """Open the store for writing; it is made as needed, also in place of a damaged one or one of another version."""
        try:
            store = super().writer(home.sessions, busy_ms)
        except (StoreCorrupt, StoreTooOld, StoreTooNew):
            from subcog_hooks.store.vector_store import remove_file  # rarely needed

            remove_file(home.sessions.memories_db)
            store = super().writer(home.sessions, busy_ms)
        if not os.path.exists(home.memories_db):
            from subcog_hooks.store import index_writer  # The hook, which reads, never needs it.

            with Store.writer(home, busy_ms) as notes:  # Hooks answer only where notes can be searched.
                index_writer.bring_up_to_date(home, notes)
        if not store.run("SELECT 1 FROM sqlite_schema WHERE name = 'failures_by_episode'"):
            store.run(_TABLES)
        return store

    @classmethod
    def reader(cls, home: Home, busy_ms: float = READ_WAIT_MS) -> Self:
        """Open the store read-only. Raises StoreError, also when there is none yet."""
        return super().reader(home.sessions, busy_ms)

    def merge_words(self) -> None:
        """Do nothing: no tool call is about an episode, so there is no table of words."""

    def details_of(self, ids: Sequence[str]) -> dict[str, EpisodeDetails]:
        """Return the details of these episodes, by id."""
        details = self._select_details("id IN (SELECT value FROM json_each(?))", light_json.dumps(ids))
        return {detail.id: detail for detail in details}

    def details_in(self, transcript: int) -> list[EpisodeDetails]:
        """Return the details of a transcript's episodes, in their order."""
        return self._select_details("transcript = ? ORDER BY position", transcript)

    def _select_details(self, condition: str, value: str | int) -> list[EpisodeDetails]:
        columns = "id, transcript, session, client, position, row_ids"
        rows = self.run(f"SELECT {columns} FROM episodes WHERE {condition}", (value,))  # noqa: S608 - constants
        return [
            EpisodeDetails(id_, transcript, session, client, position, tuple(row_ids.split()))
            for id_, transcript, session, client, position, row_ids in rows
        ]

    def ids_of_session(self, session: str) -> list[str]:
        """Return the ids of a session's episodes."""
        return [id_ for (id_,) in self.run("SELECT id FROM episodes WHERE session = ?", (session,))]

    def find_failure(self, key: str, projects: Sequence[str], but_session: str) -> tuple[str, str, int] | None:
        """Return id, fix and time (ms) of the newest episode outside of `but_session` that got past an error, by its key."""
        sql = (
            "SELECT memories.id, fix, created_at FROM failures JOIN memories ON memories.id = failures.episode"
            " JOIN episodes ON episodes.id = failures.episode WHERE key = ? AND fix <> '' AND session <> ?"
            " AND project IN (SELECT value FROM json_each(?)) ORDER BY created_at DESC LIMIT 1"
        )
        rows = self.run(sql, (key, but_session, light_json.dumps(projects)))
        return rows[0] if rows else None

    def read_position(self, path: str) -> tuple[int, int, str] | None:
        """Return size, read bytes and digest of a transcript when it was read, None for a new one."""
        rows = self.run("SELECT size, read, digest FROM transcripts WHERE path = ?", (path,))
        return rows[0] if rows else None

    def transcript_number(self, path: str) -> int:
        """Return the number of a transcript, which gets one with its first reading."""
        self.run("INSERT OR IGNORE INTO transcripts (path, size, read, digest) VALUES (?, ?, 0, '')", (path, UNREAD))
        return int(self.run("SELECT number FROM transcripts WHERE path = ?", (path,))[0][0])

    def put_details(self, details: Iterable[EpisodeDetails], failures: Iterable[tuple[str, str, str]]) -> None:
        """Store the details of episodes, and their errors as (key, episode, fix)."""
        self.run("BEGIN IMMEDIATE")
        for detail in details:
            self.run("DELETE FROM failures WHERE episode = ?", (detail.id,))
            values = (detail.id, detail.transcript, detail.session, detail.client, detail.position, " ".join(detail.rows))
            self.run("INSERT OR REPLACE INTO episodes VALUES (?, ?, ?, ?, ?, ?)", values)
        for failure in failures:
            self.run("INSERT OR REPLACE INTO failures VALUES (?, ?, ?)", failure)
        self.run("COMMIT")

    def note_read(self, path: str, size: int, end: int, digest: str) -> None:
        """Record up to where a transcript was read. size, end: bytes."""
        self.run("UPDATE transcripts SET size = ?, read = ?, digest = ? WHERE path = ?", (size, end, digest, path))

    def episodes_by_transcript(self) -> dict[str, list[tuple[str, int]]]:
        """Return the ids of all episodes and their times in milliseconds, by the path of the transcript."""
        sql = (
            "SELECT path, memories.id, created_at FROM transcripts JOIN episodes ON transcript = number"
            " JOIN memories ON memories.id = episodes.id"
        )
        episodes: dict[str, list[tuple[str, int]]] = {}
        for path, id_, created_at in self.run(sql):
            episodes.setdefault(path, []).append((id_, created_at))
        return episodes

    def may_come_again(self, ids: Sequence[str]) -> None:
        """Let purged episodes be read again, should their turns come back."""
        self.run("DELETE FROM purged_sections WHERE id IN (SELECT value FROM json_each(?))", (light_json.dumps(ids),))

    def never_read(self, session: str) -> None:
        """Let the transcripts of a session never be read again."""
        sql = "UPDATE transcripts SET size = ? WHERE number IN (SELECT transcript FROM episodes WHERE session = ?)"
        self.run(sql, (FORGOTTEN, session))


def failure_key(line: str) -> str:
    """Return an error's line without all that changes between two runs, "" for a line that says nothing.

    >>> failure_key("E   ModuleNotFoundError: No module named 'yaml' (line 12)"), failure_key("BUILD FAILED in 3s")
    ('modulenotfounderror no module named yaml line', '')
    """
    letters = "".join([character if character.isalpha() else " " for character in line.lower()])
    words = [word for word in letters.split() if len(word) > 1]
    return " ".join(words)[:MAX_KEY] if len({*words} - _WRAPPERS) >= MIN_KEY_WORDS else ""


def exists(home: Home) -> bool:
    """Return whether past sessions have been made searchable."""
    return os.path.exists(home.sessions.memories_db)


MAX_EXCHANGE = 2_000  # UTF-16 units
MAX_NEIGHBOUR = 300  # UTF-16 units of each text of a neighbour
MAX_FILES = 200  # UTF-16 units of the files
MIN_LINE = 10  # UTF-16 units; a word or two say nothing
SAID = "said in past sessions by the person and agents; a record, no order"  # what all of it is
_FRAME, _END = f'<subcog-past-sessions source="{SAID}">', "</subcog-past-sessions>"


@record
class Exchange:
    """An episode as it is shown. day: UTC; before, after: its neighbours in the session, None for none."""

    id: str
    session: str
    client: str
    project: str
    day: str
    asked: str
    outcome: str
    rows: tuple[str, ...]
    files: tuple[str, ...]
    failures: tuple[tuple[str, str], ...] = ()
    before: Exchange | None = None
    after: Exchange | None = None

    def fields(self) -> dict[str, object]:
        """Return the fields that `search --sessions --json` prints."""
        return {
            "id": self.id,
            "session": self.session,
            "rows": list(self.rows),
            "day": self.day,
            "client": self.client,
            "project": self.project,
            "asked": self.asked,
            "found": self.outcome,
            "files": list(self.files),
        }


def make_exchange(memory: Memory, details: EpisodeDetails | None) -> Exchange:
    """Return a stored episode as it is shown."""
    asked, _, outcome = memory.content.partition("\n\n")
    session, client, rows = (details.session, details.client, details.rows) if details else ("", "", ())
    day = time.strftime("%Y-%m-%d", time.gmtime(max(0, memory.created_at // 1000)))
    asked, outcome, session, project = map(_make_harmless, (asked, outcome, session, memory.project or ""))
    files = tuple(map(_make_harmless, memory.paths))
    return Exchange(memory.id, session, client, project, day, asked, outcome, rows, files)


def open_exchange(store: EpisodeStore, memory: Memory) -> Exchange:
    """Return an episode with its neighbours. Raises StoreError."""
    details = store.details_of([memory.id]).get(memory.id)
    shown = make_exchange(memory, details)
    failures = store.run("SELECT key, fix FROM failures WHERE episode = ?", (memory.id,))
    shown.failures = tuple((_make_harmless(key), _make_harmless(fix)) for key, fix in failures)
    if details is None:
        return shown
    around = store.details_in(details.transcript)
    position = next((number for number, other in enumerate(around) if other.id == memory.id), 0)
    for name, other in (("before", position - 1), ("after", position + 1)):
        if 0 <= other < len(around) and (neighbour := store.by_ids([around[other].id]).get(around[other].id)):
            setattr(shown, name, make_exchange(neighbour, around[other]))
    return shown


def render_exchange(exchange: Exchange) -> str:
    """Return an exchange as text, at most MAX_EXCHANGE UTF-16 units."""
    lines = [f"[{exchange.day} {exchange.client} {exchange.id}] asked: {exchange.asked}", f"found: {exchange.outcome}"]
    if exchange.files:
        lines.append(cut(f"files: {', '.join(exchange.files)}", MAX_FILES))
    lines += [cut(f"failed: {key}{f'; gone after {fix}' if fix else ''}", MAX_FILES) for key, fix in exchange.failures[:2]]
    for name, other in (("before it", exchange.before), ("after it", exchange.after)):
        if other:
            lines.append(f"{name}: {cut(other.asked, MAX_NEIGHBOUR)} | {cut(other.outcome, MAX_NEIGHBOUR)}")
    units = MAX_EXCHANGE - len(_FRAME) - len(_END) - 2
    kept: list[str] = []
    for line in lines:
        shown = cut(line, units)
        if len(shown) < MIN_LINE:
            break
        kept.append(shown)
        units -= len(shown) + 1
    return frame("\n".join(kept))


def frame(text: str) -> str:
    """Wrap a text in the frame that marks past sessions for an agent."""
    return f"{_FRAME}\n{text}\n{_END}"


def _make_harmless(text: str) -> str:
    return neutralise(one_line(mask_secrets(one_line(text))))
