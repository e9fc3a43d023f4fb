"""The tables of memories.db, one migration a version. A migration that has shipped is never edited.

What reads them does without what a later version has added: between an upgrade and the next command that writes, the hook
meets a store of the version before.
"""

from subcog_hooks.database import Schema

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

MARKS_SINCE = 2  # the version that brought the marks
SCHEMA = Schema(migrations=(_VERSION_1, _VERSION_2), synchronous="FULL", readable_from=1)
