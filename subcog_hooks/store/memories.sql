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
  trust TEXT NOT NULL CHECK (trust IN ('user', 'agent', 'file', 'import', 'transcript', 'tool', 'team')),
  created_at INTEGER NOT NULL,  -- milliseconds since the epoch, UTC, like the two below
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  content_hash TEXT NOT NULL,
  revision INTEGER NOT NULL,
  questions TEXT NOT NULL DEFAULT '[]',  -- the questions that it answers, as `questions_to_json` writes them
  standing INTEGER CHECK (standing IN (0, 1))  -- whether it holds in every session; NULL where nobody has said so
) STRICT;
CREATE INDEX memories_by_revision ON memories (revision);
CREATE INDEX memories_by_hash ON memories (content_hash);
CREATE INDEX memories_by_project ON memories (project, status);
-- a brief has the standing memories, however old they are
CREATE INDEX memories_standing ON memories (project, scope) WHERE status = 'active' AND standing = 1;
-- pending memories are counted when a session begins
CREATE INDEX memories_pending ON memories (seq) WHERE status = 'pending';

-- purged rows: the caches delete them too
CREATE TABLE purged (seq INTEGER PRIMARY KEY, revision INTEGER NOT NULL) STRICT;
CREATE INDEX purged_by_revision ON purged (revision);

-- a purged section stays away when its file is imported again
CREATE TABLE purged_sections (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- one row a write transaction: a cache with an unknown revision was made from another store
CREATE TABLE revisions (number INTEGER PRIMARY KEY) STRICT;

-- Memories that the user marked as wrong for a prompt (`subcog why bad`): a mark has the prompt's terms, never the prompt.
-- The marks of a memory are deleted with it.
CREATE TABLE marks (
  seq INTEGER NOT NULL,  -- of the memory
  decision TEXT NOT NULL,  -- the verdict on the prompt for which the memory was called wrong
  terms TEXT NOT NULL,  -- {term: how much it says}
  at INTEGER NOT NULL,  -- milliseconds since the epoch, UTC
  PRIMARY KEY (seq, decision)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER forgotten_marks AFTER UPDATE OF status ON memories WHEN new.status = 'deleted'
BEGIN DELETE FROM marks WHERE seq = new.seq; END;
CREATE TRIGGER purged_marks AFTER DELETE ON memories
BEGIN DELETE FROM marks WHERE seq = old.seq; END;

-- Tables that find memories by cues without a search. Only active memories have rows here: the store rewrites them with the
-- memory. Conditions and pinned memories have indexes instead, since their rows would repeat the memory.
CREATE TABLE audiences (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;  -- a number for ever
CREATE TABLE triggers (
  number INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: a reader comes to them in two statements
  seq INTEGER NOT NULL,  -- of the memory, as below
  pattern TEXT NOT NULL,
  priority INTEGER NOT NULL,
  required TEXT NOT NULL  -- sets of literals, with blanks between; each match has one of each set, with | between
) STRICT;
CREATE INDEX triggers_by_memory ON triggers (seq);
-- Each match of a trigger has one of these literals; key '' and literal '' where it has none. A query has thousands of keys:
-- filtering the rows by audience takes half the time of a look-up of each key for each audience.
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
-- rules by the actions that they govern
CREATE TABLE governed (
  action TEXT NOT NULL, audience INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (action, audience, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX governed_by_memory ON governed (seq);
CREATE TRIGGER changed_cues AFTER UPDATE ON memories BEGIN
  DELETE FROM triggers WHERE seq = old.seq;
  DELETE FROM path_globs WHERE seq = old.seq;
  DELETE FROM governed WHERE seq = old.seq;
END;
CREATE TRIGGER purged_cues AFTER DELETE ON memories BEGIN
  DELETE FROM triggers WHERE seq = old.seq;
  DELETE FROM path_globs WHERE seq = old.seq;
  DELETE FROM governed WHERE seq = old.seq;
END;
CREATE TRIGGER forgotten_trigger_keys AFTER DELETE ON triggers
BEGIN DELETE FROM trigger_keys WHERE trigger = old.number; END;
-- the further columns of these two indexes answer a query without the memories' own rows
CREATE INDEX memories_conditional ON memories (priority, seq, scope, project, expires_at, conditions)
WHERE status = 'active' AND conditions <> '{}';
CREATE INDEX memories_pinned ON memories (priority, seq, scope, project, expires_at)
WHERE status = 'active' AND trust = 'user' AND priority >= 90 AND triggers = '[]' AND conditions = '{}';

-- The words of all memories, by which a tool call finds the few that share rare ones with it: a search without tantivy.
CREATE VIRTUAL TABLE words USING fts5(
  content, tags, keywords, content = 'memories', content_rowid = 'seq', tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
INSERT INTO words (words) VALUES ('rebuild');
CREATE TRIGGER new_words AFTER INSERT ON memories BEGIN
  INSERT INTO words (rowid, content, tags, keywords) VALUES (new.seq, new.content, new.tags, new.keywords);
END;
CREATE TRIGGER changed_words AFTER UPDATE OF content, tags, keywords ON memories BEGIN
  INSERT INTO words (words, rowid, content, tags, keywords) VALUES ('delete', old.seq, old.content, old.tags, old.keywords);
  INSERT INTO words (rowid, content, tags, keywords) VALUES (new.seq, new.content, new.tags, new.keywords);
END;
CREATE TRIGGER purged_words AFTER DELETE ON memories BEGIN
  INSERT INTO words (words, rowid, content, tags, keywords) VALUES ('delete', old.seq, old.content, old.tags, old.keywords);
END;
