CREATE TABLE server (id TEXT NOT NULL) STRICT;  -- one row
CREATE TABLE projects (
  name TEXT PRIMARY KEY,
  fetched INTEGER NOT NULL DEFAULT 0,  -- the server's revision up to which all is here
  looked INTEGER NOT NULL DEFAULT -1  -- the store's revision up to which all is there
) STRICT, WITHOUT ROWID;
CREATE TABLE known (
  project TEXT NOT NULL,
  id TEXT NOT NULL,
  seq INTEGER NOT NULL DEFAULT 0,  -- of the memory here, 0 for none
  revision INTEGER,  -- the server's, that what is here was last equal to; NULL for none
  local TEXT NOT NULL DEFAULT '',  -- fingerprint of the memory here, '' for none
  shared TEXT NOT NULL DEFAULT '',  -- fingerprint of its document on the server, '' for a deleted one
  sending TEXT NOT NULL DEFAULT '',  -- of a document that may have got there without an answer
  missed INTEGER NOT NULL DEFAULT 0,  -- to be sent: a version there gave way to it, or a restore has lost it
  author TEXT NOT NULL DEFAULT '',  -- the colleague who wrote it, '' for this home
  withheld TEXT NOT NULL DEFAULT '{}',
  vectors TEXT NOT NULL DEFAULT '',  -- content hash whose vectors are on the server
  PRIMARY KEY (project, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX known_by_seq ON known (seq);
CREATE INDEX known_by_id ON known (id);
CREATE INDEX known_by_revision ON known (project, revision);
CREATE INDEX known_missed ON known (project, id) WHERE missed OR sending <> '';
CREATE INDEX known_without_vectors ON known (project, id) WHERE vectors = '' AND author = '' AND shared <> '';
CREATE INDEX known_arriving ON known (project, id) WHERE local = 'arriving';
CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
-- the agreement of the person holds for one server
CREATE TABLE agreements (
  project TEXT NOT NULL,
  place TEXT NOT NULL,  -- the server's address as it was then
  server TEXT NOT NULL DEFAULT '',  -- the id of the database there, '' until it was met
  PRIMARY KEY (project, place)
) STRICT, WITHOUT ROWID;
-- colleagues' changes of one's own memories
CREATE TABLE overruled (
  id TEXT PRIMARY KEY,
  author TEXT NOT NULL,  -- the colleague
  kind TEXT NOT NULL CHECK (kind IN ('changed', 'deleted', 'erased')),
  updated_at INTEGER NOT NULL,  -- of the memory as it was left: an edit since then settles it
  status TEXT NOT NULL,  -- the memory's before
  superseded_by TEXT
) STRICT, WITHOUT ROWID;
