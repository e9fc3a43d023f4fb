PRAGMA application_id = 1937072739;
PRAGMA user_version = 8;
BEGIN TRANSACTION;
CREATE TABLE audiences (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO "audiences" VALUES(1,'user');
CREATE TABLE marks (
  seq INTEGER NOT NULL,  -- of the memory
  decision TEXT NOT NULL,  -- where it was called wrong
  terms TEXT NOT NULL,  -- {term: how much it says}
  at INTEGER NOT NULL,  -- milliseconds since the epoch, UTC
  PRIMARY KEY (seq, decision)
) STRICT, WITHOUT ROWID;
INSERT INTO "marks" VALUES(6,'1m8ajrzcxfe2xp','{"servic":0.8333,"key":0.7358,"rotat":0.7358,"sign":0.7358,"releas":0.6667}',1795651579027);
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
  revision INTEGER NOT NULL
, questions TEXT NOT NULL DEFAULT '[]', standing INTEGER CHECK (standing IN (0, 1))) STRICT;
INSERT INTO "memories" VALUES(1,'keys','The signing keys of the release service are rotated every quarter, with the steps of the runbook for the vault.','decisions','user',NULL,NULL,'["deploy/**"]','["release"]','[]','[]','{}',0,'active',NULL,'','import',1767600000000,1795651579539,NULL,'41f13e9edc28a7e0f523c44a31d6266c',1795651579539000,'["who renews the certificates of the build farm?",{"text":"How many machines does the build farm have?","by":"learned"}]',NULL);
INSERT INTO "memories" VALUES(2,'push','Never push to main without a review.','decisions','user',NULL,NULL,'[]','[]','[]','["force push"]','{}',89,'active',NULL,'','import',1767686400000,1767686400000,NULL,'2ee00d1e72e8651d7c034ed2933d61bc',1795651564735000,'[]',1);
INSERT INTO "memories" VALUES(3,'branch','On the branch release only fixes are merged.','context','user',NULL,NULL,'[]','[]','[]','[]','{"branch":"release"}',0,'active',NULL,'','import',1767772800000,1767772800000,NULL,'3f20932541d7fdb933df826cf77960aa',1795651564735000,'[]',NULL);
INSERT INTO "memories" VALUES(4,'old','The signing keys were once rotated by hand.','learnings','user',NULL,NULL,'[]','[]','[]','[]','{}',0,'superseded','keys','','import',1736236800000,1736236800000,NULL,'f5d93848a7ec3e04331a044de1e4c289',1795651564735000,'[]',NULL);
INSERT INTO "memories" VALUES(5,'1m8ajrx9t91daw','The build farm has nine machines in Lyon.','learnings','project','git.example.com/acme/shop',NULL,'[]','["farm"]','[]','[]','{}',0,'active',NULL,'','user',1795651564858,1795651564858,NULL,'77f795495362c3e48500d2f8a33502e8',1795651564903000,'[]',1);
INSERT INTO "memories" VALUES(6,'1m8ajrxey4wt6h','The vault is opened at nine by the release manager.','learnings','project','git.example.com/acme/shop',NULL,'[]','[]','[]','[]','{}',0,'active',NULL,'','agent',1795651565022,1795651565022,NULL,'9046e3f872f2e7471bd322cf41e86342',1795651565067000,'[]',NULL);
INSERT INTO "memories" VALUES(7,'1m8ajrxkp49gg1','The farm once had three machines in Oslo.','learnings','project','git.example.com/acme/shop',NULL,'[]','[]','[]','[]','{}',0,'deleted',NULL,'','user',1795651565174,1795651565331,NULL,'a7a67a986af51155b9818830481a470a',1795651565331000,'[]',NULL);
INSERT INTO "memories" VALUES(8,'1m8ajrxvg1zmmw','Notes on cargo number 1 and its papers for the customs office.','learnings','project','git.example.com/acme/shop',NULL,'[]','[]','[]','[]','{}',0,'active',NULL,'','user',1795651565424,1795651565424,NULL,'c29623565e0c3608d1cbd1910a5526b7',1795651565467000,'[]',0);
INSERT INTO "memories" VALUES(9,'1m8ajry022ck07','Notes on cargo number 2 and its papers for the customs office.','learnings','project','git.example.com/acme/shop',NULL,'[]','[]','[]','[]','{}',0,'active',NULL,'','user',1795651565570,1795651565570,NULL,'59640c70b7cdfeab35bdd2e1226421da',1795651565613000,'[]',0);
INSERT INTO "memories" VALUES(10,'1m8ajry4s2h7mb','Notes on cargo number 3 and its papers for the customs office.','learnings','project','git.example.com/acme/shop',NULL,'[]','[]','[]','[]','{}',0,'active',NULL,'','user',1795651565721,1795651565721,NULL,'627ec20e708abf29f7ad1830acc2f63f',1795651565763000,'[]',0);
INSERT INTO "memories" VALUES(11,'1m8ajry9cavre7','Notes on cargo number 4 and its papers for the customs office.','learnings','project','git.example.com/acme/shop',NULL,'[]','[]','[]','[]','{}',0,'active',NULL,'','user',1795651565868,1795651565868,NULL,'9ea282a89b7013e98d4baaca00793748',1795651565913000,'[]',0);
INSERT INTO "memories" VALUES(12,'1m8ajryfpepfp1','Notes on cargo number 5 and its papers for the customs office.','learnings','project','git.example.com/acme/shop',NULL,'[]','[]','[]','[]','{}',0,'active',NULL,'','user',1795651566070,1795651566070,NULL,'7d9c369538fdde981ac0598a3b408a5a',1795651566116000,'[]',0);
INSERT INTO "memories" VALUES(13,'1m8ajryn91dybg','Notes on cargo number 6 and its papers for the customs office.','learnings','project','git.example.com/acme/shop',NULL,'[]','[]','[]','[]','{}',0,'active',NULL,'','user',1795651566249,1795651566249,NULL,'3aff4614c9a5624ab38e8e06bdb7e701',1795651566296000,'[]',0);
INSERT INTO "memories" VALUES(14,'1m8ajrythb5bpf','Notes on cargo number 7 and its papers for the customs office.','learnings','project','git.example.com/acme/shop',NULL,'[]','[]','[]','[]','{}',0,'active',NULL,'','user',1795651566417,1795651566417,NULL,'77e243a1d3b529d60e3690e22128075d',1795651566465000,'[]',0);
INSERT INTO "memories" VALUES(15,'1m8ajryzr8555h','Notes on cargo number 8 and its papers for the customs office.','learnings','project','git.example.com/acme/shop',NULL,'[]','[]','[]','[]','{}',0,'active',NULL,'','user',1795651566584,1795651566584,NULL,'0668d999d8536cfa018dee934e8e5b38',1795651566631000,'[]',0);
CREATE TABLE mentions (
  name TEXT NOT NULL, audience INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (name, audience, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO "mentions" VALUES('action:push',1,2);
INSERT INTO "mentions" VALUES('action:release',1,3);
CREATE TABLE path_globs (
  key TEXT NOT NULL, audience INTEGER NOT NULL, seq INTEGER NOT NULL, glob TEXT NOT NULL,
  PRIMARY KEY (key, audience, seq, glob)
) STRICT, WITHOUT ROWID;
INSERT INTO "path_globs" VALUES('deploy',1,1,'deploy/**');
CREATE TABLE purged (seq INTEGER PRIMARY KEY, revision INTEGER NOT NULL) STRICT;
INSERT INTO "purged" VALUES(16,1795651578892000);
CREATE TABLE purged_sections (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID
;
CREATE TABLE revisions (number INTEGER PRIMARY KEY) STRICT;
INSERT INTO "revisions" VALUES(1795651564735000);
INSERT INTO "revisions" VALUES(1795651564737000);
INSERT INTO "revisions" VALUES(1795651564903000);
INSERT INTO "revisions" VALUES(1795651565067000);
INSERT INTO "revisions" VALUES(1795651565218000);
INSERT INTO "revisions" VALUES(1795651565331000);
INSERT INTO "revisions" VALUES(1795651565467000);
INSERT INTO "revisions" VALUES(1795651565613000);
INSERT INTO "revisions" VALUES(1795651565763000);
INSERT INTO "revisions" VALUES(1795651565913000);
INSERT INTO "revisions" VALUES(1795651566116000);
INSERT INTO "revisions" VALUES(1795651566296000);
INSERT INTO "revisions" VALUES(1795651566465000);
INSERT INTO "revisions" VALUES(1795651566631000);
INSERT INTO "revisions" VALUES(1795651566811000);
INSERT INTO "revisions" VALUES(1795651578892000);
INSERT INTO "revisions" VALUES(1795651579364000);
INSERT INTO "revisions" VALUES(1795651579539000);
CREATE TABLE trigger_keys (
  key TEXT NOT NULL, literal TEXT NOT NULL, trigger INTEGER NOT NULL, audience INTEGER NOT NULL,
  PRIMARY KEY (key, literal, trigger)
) STRICT, WITHOUT ROWID;
INSERT INTO "trigger_keys" VALUES('forc','force',1,1);
CREATE TABLE triggers (
  number INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: a reader comes to them in two statements
  seq INTEGER NOT NULL,  -- of the memory, as below
  pattern TEXT NOT NULL,
  priority INTEGER NOT NULL,
  required TEXT NOT NULL  -- literals, with blanks between, all of which each match has; of some with | between, one
) STRICT;
INSERT INTO "triggers" VALUES(1,2,'force push',89,'force push');
CREATE INDEX memories_by_revision ON memories (revision);
CREATE INDEX memories_by_hash ON memories (content_hash);
CREATE INDEX memories_by_project ON memories (project, status);
CREATE INDEX purged_by_revision ON purged (revision);
CREATE TRIGGER forgotten_marks AFTER UPDATE OF status ON memories WHEN new.status = 'deleted'
BEGIN DELETE FROM marks WHERE seq = new.seq; END;
CREATE TRIGGER purged_marks AFTER DELETE ON memories
BEGIN DELETE FROM marks WHERE seq = old.seq; END;
CREATE INDEX triggers_by_memory ON triggers (seq);
CREATE INDEX trigger_keys_by_trigger ON trigger_keys (trigger);
CREATE INDEX path_globs_by_memory ON path_globs (seq);
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
CREATE INDEX memories_conditional ON memories (priority, seq, scope, project, expires_at, conditions)
WHERE status = 'active' AND conditions <> '{}';
CREATE INDEX memories_pinned ON memories (priority, seq, scope, project, expires_at)
WHERE status = 'active' AND trust = 'user' AND priority >= 90 AND triggers = '[]' AND conditions = '{}';
CREATE INDEX memories_standing ON memories (project, scope) WHERE status = 'active' AND standing = 1
;
CREATE INDEX memories_pending ON memories (seq) WHERE status = 'pending';
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('memories',16);
INSERT INTO "sqlite_sequence" VALUES('triggers',1);
COMMIT;
