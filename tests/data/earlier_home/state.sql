PRAGMA application_id = 1937072739;
PRAGMA user_version = 11;
BEGIN TRANSACTION;
CREATE TABLE compiled (path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, settings TEXT NOT NULL) STRICT;
CREATE TABLE counters (name TEXT NOT NULL, labels TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (name, labels))
STRICT, WITHOUT ROWID;
INSERT INTO "counters" VALUES('subcog_hook_decisions_total','outcome="spoke"',3.0);
INSERT INTO "counters" VALUES('subcog_memories_injected_total','',4.0);
CREATE TABLE decisions (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, event TEXT NOT NULL, session TEXT NOT NULL,
  project TEXT NOT NULL, outcome TEXT NOT NULL, injected INTEGER NOT NULL, units INTEGER NOT NULL, micros INTEGER NOT NULL,
  record TEXT NOT NULL
) STRICT;
INSERT INTO "decisions" VALUES(1,'1m8ajrzcxfe2xp',1795651567005,'UserPromptSubmit','s1','git.example.com/acme/shop','spoke',2,392,73794,'{"v":1,"reason":"","prompt":"How do we rotate the signing keys of the release service?","intent":{"type":"howto","confidence":0.95,"certainty":0.95,"source":"keyword","llm_status":"off","row":"no LLM was asked","topics":["rotate","signing","keys","service","release"],"signals":[["how do|can|should|would|could|might|did|must i|we|you|one|us","howto",2.17],["^how","howto",2.11],["did|have|had|do we","seeking",0.63]],"cues":["8 to 12 words","5 to 7 telling words","a question mark","a question at the end"],"llm_ms":null},"settings":{"max_characters":2000,"max_memories":6,"min_confidence":0.5,"min_relevance":0.22,"needed":0.17600000000000002},"stages":[["start",23.38],["open",36.94],["intent",0.51],["exact",1.89],["recall",8.94],["gate",1.0],["render",0.12]],"strategies":["lexical","semantic"],"note":null,"borrowed":[],"candidates":[{"id":"keys","namespace":"decisions","relevance":0.9989,"raw":0.9989,"ranks":{"lexical_exact":1,"lexical_relaxed":1,"semantic":1},"scores":{"lexical_exact":9.3473,"lexical_relaxed":9.3473,"semantic":0.7231},"terms":[["intercept",1.0,-4.1559],["intent",0.95,0.5049],["closeness",0.774,0.8425],["lead",1.0986,1.9305],["above_tenth",0.574,2.3861],["margin",0.4231,2.2395],["word_rank",1.0,0.6559],["meaning_rank",1.0,0.6937],["covered",3.7123,1.6884],["found",5.0,0.0885],["asked",3.7123,-0.9166],["terms",1.7918,-0.2654],["opening",1.0,1.5144],["title",0.0,-0.0],["phrases",1.0,0.2445],["length",3.091,-0.6343],["chronicle",0.0,-0.0],["prose",0.0,0.0]],"factors":[1.0,1.0,1.0],"outcome":"injected"},{"id":"1m8ajrxey4wt6h","namespace":"learnings","relevance":0.1817,"raw":0.1652,"ranks":{"lexical_relaxed":3},"scores":{"lexical_relaxed":1.6292,"semantic":0.2499},"terms":[["intercept",1.0,-5.197],["intent",0.95,2.0929],["closeness",0.2216,1.0599],["above_tenth",0.0216,0.0565],["covered",0.6679,0.3675],["phrases",0.0,0.0],["begun",0.0,-0.0]],"factors":[1.1,1.0,1.0],"outcome":"injected"}]}');
INSERT INTO "decisions" VALUES(2,'1m8ajrze04md1t',1795651567040,'UserPromptSubmit','s2','git.example.com/acme/shop','spoke',1,203,38203,'{"v":1,"reason":"","prompt":"How many machines does the build farm have?","intent":{"type":"explanation","confidence":0.9387,"certainty":0.9387,"source":"keyword","llm_status":"off","row":"no LLM was asked","topics":["machines","farm","build"],"signals":[["^how many|much|long|often|big|far","explanation",1.54],["^how","howto",2.11],["@build","general",0.57]],"cues":["8 to 12 words","3 or 4 telling words","a question mark","a question at the end"],"llm_ms":null},"settings":{"max_characters":2000,"max_memories":6,"min_confidence":0.5,"min_relevance":0.22,"needed":0.22},"stages":[["start",24.44],["open",0.87],["intent",0.29],["exact",1.53],["recall",9.07],["gate",0.88],["render",0.1]],"strategies":["lexical","semantic","labels"],"note":null,"borrowed":[],"candidates":[{"id":"1m8ajrx9t91daw","namespace":"learnings","relevance":0.9964,"raw":0.9964,"ranks":{"lexical_exact":1,"lexical_relaxed":1,"semantic":1,"labels":1},"scores":{"lexical_exact":8.7459,"lexical_relaxed":8.7459,"semantic":0.7052,"labels":0.8427},"terms":[["intercept",1.0,-5.197],["intent",0.9387,2.068],["closeness",0.7937,3.7958],["above_tenth",0.5937,1.5514],["covered",1.9181,1.0555],["phrases",1.0,2.3501],["begun",0.0,-0.0]],"factors":[1.0,1.0,1.0],"outcome":"injected"},{"id":"keys","namespace":"decisions","relevance":0.0054,"raw":0.0049,"ranks":{"questions":1,"semantic":2},"scores":{"questions":4.7342,"semantic":0.4749},"terms":[["intercept",1.0,-4.1559],["intent",0.9387,0.4989],["closeness",0.4949,0.5387],["lead",-0.4724,-0.8301],["above_tenth",0.2949,1.2258],["margin",-0.2303,-1.219],["word_rank",0.5,0.328],["meaning_rank",0.5,0.3468],["covered",0.0,0.0],["found",0.0,0.0],["asked",1.9181,-0.4736],["terms",1.3863,-0.2053],["opening",0.0,0.0],["title",0.0,-0.0],["phrases",0.0,0.0],["length",3.091,-0.6343],["chronicle",0.0,-0.0],["prose",0.0,0.0],["asked_like",0.4875,-0.7253]],"factors":[1.1,1.0,1.0],"outcome":"below"}]}');
INSERT INTO "decisions" VALUES(3,'1m8ajsbq55pcb8',1795651579621,'UserPromptSubmit','s1','git.example.com/acme/shop','spoke',1,194,40237,'{"v":1,"reason":"","prompt":"Please do a force push to main now","intent":{"type":"none","confidence":0.6998,"certainty":0.6998,"source":"keyword","llm_status":"off","row":"no LLM was asked","topics":["force","main","push"],"signals":[["^is|are|does|did|do|was|were|has|have|isnt|arent|doesnt|will","explanation",1.2]],"cues":["8 to 12 words","3 or 4 telling words"],"llm_ms":null},"settings":{"max_characters":2000,"max_memories":6,"min_confidence":0.5,"min_relevance":0.22,"needed":0.22},"stages":[["start",24.93],["open",0.93],["intent",0.36],["exact",3.57],["recall",8.06],["gate",0.84],["render",0.1]],"strategies":["lexical","semantic","pattern"],"note":null,"borrowed":[],"candidates":[{"id":"push","namespace":"decisions","relevance":0.9529,"raw":0.9529,"ranks":{"lexical_relaxed":1,"semantic":1,"pattern":1},"scores":{"lexical_relaxed":7.1992,"semantic":0.423,"pattern":1.0},"terms":[["intercept",1.0,-4.1559],["intent",0.6998,0.3719],["closeness",0.5589,0.6084],["lead",0.4,0.7029],["above_tenth",0.3589,1.492],["margin",0.123,0.6512],["word_rank",1.0,0.6559],["meaning_rank",1.0,0.6937],["covered",1.0833,0.4927],["found",2.0,0.0354],["asked",2.0833,-0.5144],["terms",1.3863,-0.2053],["opening",0.52,0.7875],["title",0.0,-0.0],["phrases",0.0,0.0],["length",2.0794,-0.4267],["chronicle",0.0,-0.0],["prose",0.0,0.0],["pattern",1.0,1.8172]],"factors":[1.0,1.0,1.0],"outcome":"injected"}]}');
CREATE TABLE enriched (memory TEXT PRIMARY KEY, content_hash TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE flags (name TEXT PRIMARY KEY, until INTEGER) STRICT, WITHOUT ROWID;
INSERT INTO "flags" VALUES('keeps_prompts',NULL);
INSERT INTO "flags" VALUES('teaching',1795653368063);
CREATE TABLE heard (
  path TEXT NOT NULL, place INTEGER NOT NULL, at INTEGER NOT NULL, certainty REAL NOT NULL, compared INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (path, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE histograms (
  name TEXT NOT NULL, labels TEXT NOT NULL, bound REAL NOT NULL, count INTEGER NOT NULL, sum REAL NOT NULL,
  PRIMARY KEY (name, labels, bound)
) STRICT, WITHOUT ROWID;
INSERT INTO "histograms" VALUES('search_intent_detection_duration_seconds','source="keyword"',0.0005,3,7.34431998353102244436e-04);
CREATE TABLE ledger (
  session TEXT NOT NULL, memory TEXT NOT NULL, at INTEGER NOT NULL, decision TEXT NOT NULL DEFAULT '', PRIMARY KEY (session, memory)
) STRICT, WITHOUT ROWID;
INSERT INTO "ledger" VALUES('s1','1m8ajrxey4wt6h',1795651567005,'1m8ajrzcxfe2xp');
INSERT INTO "ledger" VALUES('s1','keys',1795651567005,'1m8ajrzcxfe2xp');
INSERT INTO "ledger" VALUES('s1','push',1795651579621,'1m8ajsbq55pcb8');
INSERT INTO "ledger" VALUES('s2','1m8ajrx9t91daw',1795651567040,'1m8ajrze04md1t');
CREATE TABLE llm_answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL)
STRICT, WITHOUT ROWID;
CREATE TABLE llm_calls (day INTEGER PRIMARY KEY, calls INTEGER NOT NULL) STRICT;
CREATE TABLE llm_failures (provider TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE llm_rests (provider TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE proposed (memory TEXT PRIMARY KEY, certainty REAL NOT NULL, sessions INTEGER NOT NULL, since INTEGER NOT NULL, alone REAL NOT NULL DEFAULT 0)
STRICT, WITHOUT ROWID;
CREATE TABLE second_looks (
  decision TEXT PRIMARY KEY, session TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL, answer TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
  session TEXT PRIMARY KEY, project TEXT NOT NULL, source TEXT NOT NULL, started_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  prompts INTEGER NOT NULL, said TEXT
, units INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO "sessions" VALUES('s1','git.example.com/acme/shop','',1795651567005,1795651579621,2,NULL,586);
INSERT INTO "sessions" VALUES('s2','git.example.com/acme/shop','',1795651567040,1795651567040,1,NULL,203);
CREATE TABLE sought (
  project TEXT NOT NULL, memory TEXT NOT NULL, weight REAL NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (project, memory)
) STRICT, WITHOUT ROWID;
INSERT INTO "sought" VALUES('git.example.com/acme/shop','1m8ajrx9t91daw',0.9964,1795651567040);
INSERT INTO "sought" VALUES('git.example.com/acme/shop','1m8ajrxey4wt6h',0.1817,1795651567005);
INSERT INTO "sought" VALUES('git.example.com/acme/shop','keys',0.9989,1795651567005);
INSERT INTO "sought" VALUES('git.example.com/acme/shop','push',0.9529,1795651579621);
CREATE TABLE suggestions (
  id TEXT PRIMARY KEY, memory TEXT NOT NULL, field TEXT NOT NULL, value TEXT NOT NULL, by TEXT NOT NULL, at INTEGER NOT NULL,
  decision TEXT NOT NULL, became INTEGER NOT NULL, UNIQUE (memory, field, value, decision)
) STRICT, WITHOUT ROWID;
CREATE TABLE topics (session TEXT PRIMARY KEY, topics TEXT NOT NULL, confidence REAL NOT NULL, at INTEGER NOT NULL)
STRICT, WITHOUT ROWID;
INSERT INTO "topics" VALUES('s1','["force","main","push"]',0.6998,1795651579621);
INSERT INTO "topics" VALUES('s2','["machines","farm","build"]',0.9387,1795651567040);
CREATE TABLE transcripts (path TEXT PRIMARY KEY, size INTEGER NOT NULL, read INTEGER NOT NULL, digest TEXT NOT NULL)
STRICT, WITHOUT ROWID;
CREATE TABLE user_flags (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "user_flags" VALUES('calm','true');
CREATE INDEX ledger_by_time ON ledger (at);
CREATE INDEX llm_answers_by_time ON llm_answers (until);
CREATE INDEX sessions_by_project ON sessions (project, last_at);
COMMIT;
