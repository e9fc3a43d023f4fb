-- the memories that a session has been given
CREATE TABLE ledger (
  session TEXT NOT NULL, memory TEXT NOT NULL, at INTEGER NOT NULL, verdict TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (session, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_by_time ON ledger (at);
-- lines that pointed a session at a memory; `opened_at` when its agent opened the memory, NULL before
CREATE TABLE pointers (
  session TEXT NOT NULL, memory TEXT NOT NULL, at INTEGER NOT NULL, verdict TEXT NOT NULL, opened_at INTEGER,
  PRIMARY KEY (session, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX pointers_by_time ON pointers (at);
-- units: the UTF-16 units that a session has been given
CREATE TABLE sessions (
  session TEXT PRIMARY KEY, project TEXT NOT NULL, source TEXT NOT NULL, last_at INTEGER NOT NULL,
  prompts INTEGER NOT NULL, said TEXT, units INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_project ON sessions (project, last_at);
CREATE TABLE topics (session TEXT PRIMARY KEY, topics TEXT NOT NULL, confidence REAL NOT NULL, at INTEGER NOT NULL)
STRICT, WITHOUT ROWID;
-- the memories that the prompts of a project were near to; weight: the sum of a memory's relevances
CREATE TABLE sought (
  project TEXT NOT NULL, memory TEXT NOT NULL, weight REAL NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (project, memory)
) STRICT, WITHOUT ROWID;

-- Only the terminal reads verdicts, so they have no index. `record` stands last: the columns before it are read
-- without its overflow pages.
CREATE TABLE verdicts (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, event TEXT NOT NULL, session TEXT NOT NULL,
  project TEXT NOT NULL, outcome TEXT NOT NULL, injected INTEGER NOT NULL, units INTEGER NOT NULL, micros INTEGER NOT NULL,
  record TEXT NOT NULL
) STRICT;
-- second looks, by the verdict on their prompt: `until` when a look ends at the latest, `answer` its findings, NULL before
CREATE TABLE second_looks (
  verdict TEXT PRIMARY KEY, session TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL, answer TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (name TEXT NOT NULL, labels TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (name, labels))
STRICT, WITHOUT ROWID;
-- a row counts the observations of one bucket and adds them up: an observation is one statement
CREATE TABLE histograms (
  name TEXT NOT NULL, labels TEXT NOT NULL, bound REAL NOT NULL, count INTEGER NOT NULL, sum REAL NOT NULL,
  PRIMARY KEY (name, labels, bound)
) STRICT, WITHOUT ROWID;

-- at most one row: the pause of the hooks, without an end where `until` is NULL
CREATE TABLE pause (since INTEGER NOT NULL, until INTEGER) STRICT;
-- sessions whose client lately ran commands without asking the person
CREATE TABLE unasked (session TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
-- when something is due again
CREATE TABLE due_times (task TEXT PRIMARY KEY CHECK (task IN ('reminder', 'teaching')), at INTEGER NOT NULL)
STRICT, WITHOUT ROWID;
CREATE TABLE user_flags (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE compiled (path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, settings TEXT NOT NULL) STRICT;

CREATE TABLE llm_answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL)
STRICT, WITHOUT ROWID;
CREATE INDEX llm_answers_by_time ON llm_answers (until);
CREATE TABLE llm_failures (provider TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE llm_rests (provider TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
-- the background calls of an LLM by day, counted from 1970, and by job; characters: of what was sent
CREATE TABLE llm_calls (
  day INTEGER NOT NULL, job TEXT NOT NULL, calls INTEGER NOT NULL, characters INTEGER NOT NULL, last_at INTEGER NOT NULL,
  PRIMARY KEY (day, job)
) STRICT, WITHOUT ROWID;

-- one row: how far the work at rest has come
CREATE TABLE progress (
  cleared_verdict INTEGER,                    -- the last one without its prompt's text; NULL: no verdict has such a text
  asked_revision INTEGER NOT NULL DEFAULT 0,  -- of the store, up to which an LLM was asked about every memory
  taught_stamp INTEGER,                       -- a checksum of what teaching has gone through
  is_uncompared INTEGER NOT NULL DEFAULT 0    -- whether turns wait to be compared with each other
) STRICT;
INSERT INTO progress DEFAULT VALUES;
-- the memories whose text an LLM was asked about
CREATE TABLE asked_texts (memory TEXT PRIMARY KEY, content_hash TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- the verdicts whose prompts have taught a memory a question; their records stay as long
CREATE TABLE lessons (verdict TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
-- the positions up to which transcripts were read, or a model was asked about them: pointers and numbers, no text
CREATE TABLE transcripts (path TEXT PRIMARY KEY, size INTEGER NOT NULL, read INTEGER NOT NULL, digest TEXT NOT NULL)
STRICT, WITHOUT ROWID;
CREATE TABLE asked_transcripts (path TEXT PRIMARY KEY, size INTEGER NOT NULL, read INTEGER NOT NULL, digest TEXT NOT NULL)
STRICT, WITHOUT ROWID;
-- the positions of heard turns; compared: whether the turn was compared with the others
CREATE TABLE heard (
  path TEXT NOT NULL, place INTEGER NOT NULL, at INTEGER NOT NULL, certainty REAL NOT NULL, compared INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (path, place)
) STRICT, WITHOUT ROWID;
-- alone: the certainty of a proposal by its own session, 0 for unknown; it is compared with the others' certainty
CREATE TABLE proposed (
  memory TEXT PRIMARY KEY, certainty REAL NOT NULL, sessions INTEGER NOT NULL, since INTEGER NOT NULL, alone REAL NOT NULL,
  stored_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- which memory a waiting one replaces once it is accepted
CREATE TABLE replacements (memory TEXT PRIMARY KEY, replaced TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- how many proposals of a model had each certainty
CREATE TABLE certainties (
  model TEXT NOT NULL, twentieth INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (model, twentieth)
) STRICT, WITHOUT ROWID;
-- memories from sessions that were stored without the person's answer; `told_at` when a session's start named them, NULL before
CREATE TABLE noted (memory TEXT PRIMARY KEY, told_at INTEGER) STRICT, WITHOUT ROWID;
-- lines for the person, which the next session's start shows
CREATE TABLE news (line TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
