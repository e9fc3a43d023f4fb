"""The tables of memories.db, one migration a version. A migration that has shipped is never edited.

What reads them does without what a later version has added: between an upgrade and the next command that writes, the hook
meets a store of the version before.
"""

from __future__ import annotations

from subcog_hooks.database import Schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

_VERSION_1 = """
CREATE TABLE memories (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,  -- the caches' key: never used twice
  id TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL,
  namespace TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('project', 'user', 'org')),
  project TEXT CHECK ((scope = 'project') = (project IS NOT NULL)),
  branch TEXT,
  paths TEXT NOT NULL DEFAULT '[]',
  tags TEXT NOT NULL DEFAULT '[]',
  keywords TEXT NOT NULL DEFAULT '[]',
  triggers TEXT NOT NULL DEFAULT '[]',
  conditions TEXT NOT NULL DEFAULT '{}',  -- the field `when`, a reserved word of SQL
  priority INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN 0 AND 100),
  status TEXT NOT NULL CHECK (status IN ('active', 'pending', 'superseded', 'archived', 'deleted')),
  superseded_by TEXT,
  source TEXT NOT NULL DEFAULT '',
  trust TEXT NOT NULL CHECK (trust IN ('user', 'file', 'import', 'transcript', 'tool', 'team')),
  created_at INTEGER NOT NULL,  -- milliseconds since the epoch, UTC, like the two below
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  content_hash TEXT NOT NULL,
  revision INTEGER NOT NULL
) STRICT;
CREATE INDEX memories_by_revision ON memories (revision);
CREATE INDEX memories_by_hash ON memories (content_hash);
CREATE INDEX memories_by_project ON memories (project, status);

-- rows that are gone for good, so that the caches can forget them too
CREATE TABLE purged (seq INTEGER PRIMARY KEY, revision INTEGER NOT NULL) STRICT;
CREATE INDEX purged_by_revision ON purged (revision);

-- one row a write transaction: a cache that names a revision which is not here was made from another store
CREATE TABLE revisions (number INTEGER PRIMARY KEY) STRICT;
"""

# memories that the user called wrong for a prompt (`subcog why --bad`): the prompt's terms, never the prompt; however a memory
# is forgotten, its marks go with it
_VERSION_2 = """
CREATE TABLE marks (
  seq INTEGER NOT NULL,  -- of the memory
  decision TEXT NOT NULL,  -- where it was called wrong
  terms TEXT NOT NULL,  -- {term: how much it says}
  at INTEGER NOT NULL,  -- milliseconds since the epoch, UTC
  PRIMARY KEY (seq, decision)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER forgotten_marks AFTER UPDATE OF status ON memories WHEN new.status = 'deleted'
BEGIN DELETE FROM marks WHERE seq = new.seq; END;
CREATE TRIGGER purged_marks AFTER DELETE ON memories
BEGIN DELETE FROM marks WHERE seq = old.seq; END;
"""

# what memories are found by without a search (`cues`): rows of the active ones alone, which the store writes anew whenever it
# writes a memory; conditions and pinned memories have indexes, since their rows would hold nothing that the memory does not
_VERSION_3 = """
CREATE TABLE audiences (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;  -- a number for ever
CREATE TABLE triggers (
  number INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: a reader comes to them in two statements
  seq INTEGER NOT NULL,  -- of the memory, as below
  pattern TEXT NOT NULL,
  priority INTEGER NOT NULL,
  required TEXT NOT NULL  -- literals, with blanks between, all of which each match has; of some with | between, one
) STRICT;
CREATE INDEX triggers_by_memory ON triggers (seq);
-- each match of a trigger has one of its literals; key '' and literal '' where it has none. Thousands of keys are asked for at
-- once: to look at the audience of what is found takes half the time that it takes to look each key up for each audience
CREATE TABLE trigger_keys (
  key TEXT NOT NULL, literal TEXT NOT NULL, trigger INTEGER NOT NULL, audience INTEGER NOT NULL,
  PRIMARY KEY (key, literal, trigger)
) STRICT, WITHOUT ROWID;
CREATE INDEX trigger_keys_by_trigger ON trigger_keys (trigger);
CREATE TABLE path_globs (
  key TEXT NOT NULL, audience INTEGER NOT NULL, seq INTEGER NOT NULL, glob TEXT NOT NULL,
  PRIMARY KEY (key, audience, seq, glob)
) STRICT, WITHOUT ROWID;
CREATE INDEX path_globs_by_memory ON path_globs (seq);
-- 19 MB for 100,000 memories; 40 with the audiences' names
CREATE TABLE mentions (
  name TEXT NOT NULL, audience INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (name, audience, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_by_memory ON mentions (seq);
CREATE TRIGGER changed_cues AFTER UPDATE ON memories BEGIN
  DELETE FROM triggers WHERE seq = old.seq;
  DELETE FROM path_globs WHERE seq = old.seq;
  DELETE FROM mentions WHERE seq = old.seq;
END;
CREATE TRIGGER purged_cues AFTER DELETE ON memories BEGIN
  DELETE FROM triggers WHERE seq = old.seq;
  DELETE FROM path_globs WHERE seq = old.seq;
  DELETE FROM mentions WHERE seq = old.seq;
END;
CREATE TRIGGER forgotten_trigger_keys AFTER DELETE ON triggers
BEGIN DELETE FROM trigger_keys WHERE trigger = old.number; END;
-- the columns of these two that stand behind the first answer a query without the memories' own rows
CREATE INDEX memories_conditional ON memories (priority, seq, scope, project, expires_at, conditions)
WHERE status = 'active' AND conditions <> '{}';
CREATE INDEX memories_pinned ON memories (priority, seq, scope, project, expires_at)
WHERE status = 'active' AND trust = 'user' AND priority >= 90 AND triggers = '[]' AND conditions = '{}';
"""

_VERSION_4 = ""  # `_allow_agents` does all of it
_TRUSTS = "CHECK (trust IN ('user', 'file', 'import', 'transcript', 'tool', 'team'))"
_TRUSTS_WITH_AGENTS = "CHECK (trust IN ('user', 'agent', 'file', 'import', 'transcript', 'tool', 'team'))"


# what a memory answers, as `questions.to_json` writes it
_VERSION_5 = "ALTER TABLE memories ADD COLUMN questions TEXT NOT NULL DEFAULT '[]'"


# whether a memory holds in every session; NULL where nobody has said so
_VERSION_6 = "ALTER TABLE memories ADD COLUMN standing INTEGER CHECK (standing IN (0, 1))"

# what somebody has called standing is in a brief however old it is
_VERSION_7 = """
CREATE INDEX memories_standing ON memories (project, scope) WHERE status = 'active' AND standing = 1
"""

# what waits for the person's word is counted when a session begins; what was purged stays away when its file is imported again
_VERSION_8 = """
CREATE INDEX memories_pending ON memories (seq) WHERE status = 'pending';
CREATE TABLE purged_sections (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID
"""


def _derive_cues(connection: apsw.Connection) -> None:
    from subcog_hooks.memory import cue_tables  # only the store's writers migrate it

    cue_tables.rebuild(connection)


def _derive_mentions(connection: apsw.Connection) -> None:
    from subcog_hooks.memory import cue_tables  # as above

    cue_tables.rebuild_mentions(connection)


def _allow_agents(connection: apsw.Connection) -> None:
    """Let `trust` be `agent`: the condition's text is changed alone, as SQLite's page on ALTER TABLE describes it.

    To copy the table, which is the other way, takes seconds among 100,000 memories, and leaves the old texts in free pages.
    """
    version = connection.pragma("schema_version")
    connection.pragma("writable_schema", True)
    connection.execute(
        "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE type = 'table' AND name = 'memories'",
        (_TRUSTS, _TRUSTS_WITH_AGENTS),
    )
    connection.pragma("schema_version", version + 1)
    connection.pragma("writable_schema", "RESET")


MARKS_SINCE = 2  # the version that brought the marks
CUES_SINCE = 3  # the version that brought triggers, path_globs, mentions, and the indexes of what is conditional or pinned
AGENTS_SINCE = 4  # the version that brought the trust `agent`
QUESTIONS_SINCE = 5  # the version that brought the questions
STANDING_SINCE = 6  # the version that brought `standing`, and the rules about what an agent does
INDEXED_STANDING_SINCE = 7  # the version that brought the index of what was called standing
PENDING_SINCE = 8  # the version that brought the index of what waits, and the ids of purged sections
SCHEMA = Schema(
    migrations=(_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4, _VERSION_5, _VERSION_6, _VERSION_7, _VERSION_8),
    synchronous="FULL",
    readable_from=1,
    then={CUES_SINCE: _derive_cues, AGENTS_SINCE: _allow_agents, STANDING_SINCE: _derive_mentions},
)
