-- Everything of one tenant. Times are milliseconds since 1970 in UTC; ids are the
-- 16 bytes of a UUID; keys and slots are bytes, compared as such.

-- tenant: whose file this is. seq: the change counter; every commit that changes a
-- record raises it. erased_floor: erased rows up to this seq are forgotten.
-- scrub: the seq of the latest erase whose leftovers may still be in
-- the file; 0 when there is none.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE namespace (
  n   INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE -- every label followed by a zero byte
) STRICT;

CREATE TABLE record (
  n          INTEGER PRIMARY KEY,
  id         BLOB NOT NULL UNIQUE,
  kind       TEXT NOT NULL,
  namespace  INTEGER NOT NULL REFERENCES namespace (n),
  slot       BLOB,
  version    INTEGER NOT NULL,
  seq        INTEGER NOT NULL, -- of the last change that search must know
  live       INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  uses       INTEGER NOT NULL DEFAULT 0,
  used_at    INTEGER,
  text       BLOB NOT NULL,
  passages   BLOB NOT NULL,    -- varints: start and length of each, in bytes of text
  passage_count INTEGER NOT NULL,
  tags       TEXT,             -- JSON array
  attributes BLOB,             -- JSON object
  body       BLOB              -- JSON object
) STRICT;
CREATE UNIQUE INDEX record_slot ON record (namespace, kind, slot) WHERE slot IS NOT NULL;
CREATE INDEX record_place ON record (namespace, created_at DESC, id);
CREATE INDEX record_seq ON record (seq);
CREATE INDEX record_expiry ON record (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE revision (
  record      INTEGER NOT NULL REFERENCES record (n) ON DELETE CASCADE,
  version     INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  replaced_at INTEGER NOT NULL,
  text        BLOB NOT NULL,
  tags        TEXT,
  attributes  BLOB,
  PRIMARY KEY (record, version)
) STRICT;

CREATE TABLE space (
  n     INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  dims  INTEGER NOT NULL,
  UNIQUE (model, dims)
) STRICT;

CREATE TABLE vector (
  record INTEGER NOT NULL REFERENCES record (n) ON DELETE CASCADE,
  space  INTEGER NOT NULL REFERENCES space (n),
  data   BLOB NOT NULL, -- for each passage: scale (float32, little-endian), then dims int8
  PRIMARY KEY (record, space)
) STRICT;

CREATE TABLE link (
  n          INTEGER PRIMARY KEY,
  from_id    BLOB NOT NULL,
  type       TEXT NOT NULL,
  to_id      BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (from_id, type, to_id)
) STRICT;
CREATE INDEX link_to ON link (to_id);

CREATE TABLE event (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  id          BLOB NOT NULL,
  type        TEXT NOT NULL,
  kind        TEXT NOT NULL,
  entity      BLOB NOT NULL,
  namespace   INTEGER NOT NULL REFERENCES namespace (n),
  occurred_at INTEGER NOT NULL,
  actor       TEXT NOT NULL,
  request_id  TEXT NOT NULL,
  payload     BLOB
) STRICT;
CREATE INDEX event_entity ON event (entity);

CREATE TABLE reply (
  key         BLOB PRIMARY KEY,
  fingerprint BLOB NOT NULL,
  value       BLOB NOT NULL,
  record      BLOB NOT NULL,
  at          INTEGER NOT NULL, -- when the request came
  expires_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX reply_record ON reply (record);
CREATE INDEX reply_expiry ON reply (expires_at);

-- What left, so that the search indexes of other processes can follow.
CREATE TABLE erased (
  n         INTEGER PRIMARY KEY,
  seq       INTEGER NOT NULL,
  id        BLOB NOT NULL,
  namespace INTEGER NOT NULL
) STRICT;
CREATE INDEX erased_seq ON erased (seq);
