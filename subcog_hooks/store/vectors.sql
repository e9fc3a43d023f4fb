CREATE TABLE vectors (
  key INTEGER PRIMARY KEY,        -- row number of the memory * 256 + passage, 0 for the whole
  content_hash TEXT NOT NULL,     -- of the memory's whole text
  is_final INTEGER NOT NULL,      -- 0: to be replaced by the document model's
  status INTEGER NOT NULL,        -- place in STATUSES
  reach INTEGER NOT NULL,         -- who may be given it: reach_of(audience)
  vector BLOB                     -- int8, one byte a dimension; NULL: none yet
) STRICT;
CREATE INDEX final_by_content ON vectors (content_hash) WHERE is_final;
CREATE INDEX pending ON vectors (key) WHERE NOT is_final;
CREATE TABLE codes (
  status INTEGER NOT NULL, reach INTEGER NOT NULL, key INTEGER NOT NULL,
  code BLOB NOT NULL,             -- the signs of the vector, one bit a dimension
  PRIMARY KEY (status, reach, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE space (
  watermark INTEGER NOT NULL,
  dimension INTEGER NOT NULL,
  finals_made_by TEXT NOT NULL,   -- the document model's files and recipe
  firsts_made_by TEXT NOT NULL    -- the same of the model that gives the provisional vectors
) STRICT;
