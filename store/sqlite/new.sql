-- What all migrations make of an empty file. Written by: go test ./store/sqlite -run NewFile -update

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE namespace (
  n   INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE -- every label followed by a zero byte
, mark BLOB) STRICT;

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
, scope TEXT, status TEXT, confidence REAL, decay_rate REAL, decay_from INTEGER, ends_at INTEGER, due_at INTEGER, sequence BLOB, position INTEGER, heading BLOB) STRICT;

CREATE UNIQUE INDEX record_slot ON record (namespace, kind, slot) WHERE slot IS NOT NULL;

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
  dims  INTEGER NOT NULL, dropped INTEGER NOT NULL DEFAULT 0,
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
, nonce BLOB, digest BLOB, former BLOB, sealed BLOB) STRICT;

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

CREATE TABLE erased (
  n         INTEGER PRIMARY KEY,
  seq       INTEGER NOT NULL,
  id        BLOB NOT NULL,
  namespace INTEGER NOT NULL
) STRICT;

CREATE INDEX erased_seq ON erased (seq);

CREATE INDEX record_due ON record (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE shard (
  n         INTEGER PRIMARY KEY,
  namespace INTEGER NOT NULL REFERENCES namespace (n),
  kind      TEXT NOT NULL,
  UNIQUE (namespace, kind)
) STRICT;

CREATE INDEX record_shard ON record (namespace, kind) WHERE live AND passage_count > 0;

CREATE UNIQUE INDEX namespace_mark ON namespace (mark);

CREATE INDEX record_list ON record (namespace, kind, live, created_at DESC, id);

CREATE TABLE tally (
  namespace INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  live      INTEGER NOT NULL,
  status    TEXT NOT NULL,
  records   INTEGER NOT NULL,
  searched  INTEGER NOT NULL,
  passages  INTEGER NOT NULL,
  bytes     INTEGER NOT NULL, -- of text
  PRIMARY KEY (namespace, kind, live, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE tally_vector (
  namespace INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  space     INTEGER NOT NULL,
  embedded  INTEGER NOT NULL,
  PRIMARY KEY (namespace, kind, space)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER tally_insert AFTER INSERT ON record BEGIN
  INSERT INTO tally VALUES (new.namespace, new.kind, new.live, coalesce(new.status, ''), 1,
    new.live AND new.passage_count > 0, new.passage_count, octet_length(new.text))
  ON CONFLICT DO UPDATE SET records = records + 1, searched = searched + excluded.searched,
    passages = passages + excluded.passages, bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER tally_update AFTER UPDATE OF namespace, kind, live, status, text, passage_count ON record
WHEN new.live <> old.live OR new.status IS NOT old.status OR new.passage_count <> old.passage_count
  OR octet_length(new.text) <> octet_length(old.text) OR new.namespace <> old.namespace OR new.kind <> old.kind BEGIN
  UPDATE tally SET records = records - 1, searched = searched - (old.live AND old.passage_count > 0),
    passages = passages - old.passage_count, bytes = bytes - octet_length(old.text)
  WHERE namespace = old.namespace AND kind = old.kind AND live = old.live AND status = coalesce(old.status, '');
  INSERT INTO tally VALUES (new.namespace, new.kind, new.live, coalesce(new.status, ''), 1,
    new.live AND new.passage_count > 0, new.passage_count, octet_length(new.text))
  ON CONFLICT DO UPDATE SET records = records + 1, searched = searched + excluded.searched,
    passages = passages + excluded.passages, bytes = bytes + excluded.bytes;
  DELETE FROM tally WHERE namespace = old.namespace AND kind = old.kind AND live = old.live
    AND status = coalesce(old.status, '') AND records = 0;
END;

CREATE TRIGGER tally_searched AFTER UPDATE OF namespace, kind, live, passage_count ON record
WHEN (new.live AND new.passage_count > 0) <> (old.live AND old.passage_count > 0)
  OR new.namespace <> old.namespace OR new.kind <> old.kind BEGIN
  UPDATE tally_vector SET embedded = embedded - 1
  WHERE old.live AND old.passage_count > 0 AND namespace = old.namespace AND kind = old.kind
    AND space IN (SELECT space FROM vector WHERE record = old.n);
  INSERT INTO tally_vector SELECT new.namespace, new.kind, space, 1 FROM vector
  WHERE record = new.n AND new.live AND new.passage_count > 0
  ON CONFLICT DO UPDATE SET embedded = embedded + 1;
END;

CREATE TRIGGER tally_embedded AFTER INSERT ON vector BEGIN
  INSERT INTO tally_vector SELECT namespace, kind, new.space, 1 FROM record
  WHERE n = new.record AND live AND passage_count > 0
  ON CONFLICT DO UPDATE SET embedded = embedded + 1;
END;

CREATE INDEX record_waning ON record (namespace, kind, created_at DESC, id, ends_at)
WHERE live AND (due_at IS NULL OR due_at = ends_at) AND (ends_at IS NOT NULL OR confidence < 0.2);

CREATE TABLE holding (
  n       INTEGER PRIMARY KEY CHECK (n = 1),
  records INTEGER NOT NULL,
  bytes   INTEGER NOT NULL -- of texts, headings, attributes and bodies
) STRICT;

CREATE TRIGGER holding_insert AFTER INSERT ON record BEGIN
  UPDATE holding SET records = records + 1, bytes = bytes + octet_length(new.text) + coalesce(octet_length(new.heading), 0)
    + coalesce(octet_length(new.attributes), 0) + coalesce(octet_length(new.body), 0);
END;

CREATE TRIGGER holding_update AFTER UPDATE OF text, heading, attributes, body ON record
WHEN octet_length(new.text) <> octet_length(old.text) OR octet_length(new.heading) IS NOT octet_length(old.heading)
  OR octet_length(new.attributes) IS NOT octet_length(old.attributes) OR octet_length(new.body) IS NOT octet_length(old.body) BEGIN
  UPDATE holding SET bytes = bytes + octet_length(new.text) + coalesce(octet_length(new.heading), 0)
    + coalesce(octet_length(new.attributes), 0) + coalesce(octet_length(new.body), 0)
    - octet_length(old.text) - coalesce(octet_length(old.heading), 0)
    - coalesce(octet_length(old.attributes), 0) - coalesce(octet_length(old.body), 0);
END;

CREATE TABLE erasing (
  n INTEGER PRIMARY KEY CHECK (n = 1)
) STRICT;

CREATE TRIGGER tally_delete BEFORE DELETE ON record WHEN NOT EXISTS (SELECT 1 FROM erasing) BEGIN
  UPDATE tally SET records = records - 1, searched = searched - (old.live AND old.passage_count > 0),
    passages = passages - old.passage_count, bytes = bytes - octet_length(old.text)
  WHERE namespace = old.namespace AND kind = old.kind AND live = old.live AND status = coalesce(old.status, '');
  DELETE FROM tally WHERE namespace = old.namespace AND kind = old.kind AND live = old.live
    AND status = coalesce(old.status, '') AND records = 0;
  UPDATE tally_vector SET embedded = embedded - 1
  WHERE old.live AND old.passage_count > 0 AND namespace = old.namespace AND kind = old.kind
    AND space IN (SELECT space FROM vector WHERE record = old.n);
  UPDATE holding SET records = records - 1, bytes = bytes - octet_length(old.text) - coalesce(octet_length(old.heading), 0)
    - coalesce(octet_length(old.attributes), 0) - coalesce(octet_length(old.body), 0);
END;

CREATE TRIGGER tally_unembedded AFTER DELETE ON vector WHEN NOT EXISTS (SELECT 1 FROM erasing) BEGIN
  UPDATE tally_vector SET embedded = embedded - 1
  WHERE space = old.space AND (namespace, kind) IN
    (SELECT namespace, kind FROM record WHERE n = old.record AND live AND passage_count > 0);
END;

CREATE TABLE event_span (
  type      TEXT NOT NULL,
  block     INTEGER NOT NULL, -- from 1
  first_seq INTEGER NOT NULL,
  last_seq  INTEGER NOT NULL,
  first_at  INTEGER NOT NULL,
  last_at   INTEGER NOT NULL,
  PRIMARY KEY (type, block)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER event_block AFTER INSERT ON event WHEN new.seq % 256 = 0 BEGIN
  INSERT INTO event_span SELECT '', new.seq / 256, min(seq), max(seq), min(occurred_at), max(occurred_at) FROM event
    WHERE seq > new.seq - 256 AND seq <= new.seq;
  INSERT INTO event_span SELECT type, new.seq / 256, min(seq), max(seq), min(occurred_at), max(occurred_at) FROM event
    WHERE seq > new.seq - 256 AND seq <= new.seq AND type <> '' GROUP BY type;
END;

CREATE TABLE file_list (
  key   BLOB PRIMARY KEY, -- the number of the namespace in eight bytes, then the slot
  value BLOB,             -- NULL: it is long or has more to say, and is read where it lies
  n     INTEGER NOT NULL  -- of the record
) STRICT, WITHOUT ROWID;

CREATE VIEW file_listed (key, value, n) AS SELECT
  CAST(unhex(printf('%016x', namespace)) || slot AS BLOB),
  CASE WHEN live AND expires_at IS NULL AND ends_at IS NULL
    AND length(slot) + coalesce(octet_length(status), 0) + coalesce(length(attributes), 0) <= 500
  THEN CAST(unhex(printf('%016x%016x%016x%016x%04x%04x', namespace, version, created_at, updated_at, length(slot), octet_length(status)))
    || id || slot || coalesce(status, '') || coalesce(attributes, x'') AS BLOB) END, n
FROM record WHERE kind = 'file' AND slot IS NOT NULL;

CREATE TRIGGER file_list_insert AFTER INSERT ON record WHEN new.kind = 'file' AND new.slot IS NOT NULL BEGIN
  INSERT INTO file_list SELECT * FROM file_listed WHERE n = new.n;
END;

CREATE TRIGGER file_list_update
AFTER UPDATE OF namespace, kind, slot, version, live, created_at, updated_at, expires_at, ends_at, status, attributes ON record
WHEN 'file' IN (old.kind, new.kind) BEGIN
  DELETE FROM file_list WHERE old.kind = 'file' AND key = CAST(unhex(printf('%016x', old.namespace)) || old.slot AS BLOB)
    AND (new.slot IS NOT old.slot OR new.namespace <> old.namespace OR new.kind <> old.kind);
  INSERT INTO file_list SELECT * FROM file_listed WHERE n = new.n ON CONFLICT DO UPDATE SET value = excluded.value, n = excluded.n;
END;

CREATE TRIGGER file_list_delete AFTER DELETE ON record
WHEN old.kind = 'file' AND old.slot IS NOT NULL AND NOT EXISTS (SELECT 1 FROM erasing) BEGIN
  DELETE FROM file_list WHERE key = CAST(unhex(printf('%016x', old.namespace)) || old.slot AS BLOB);
END;

INSERT INTO holding VALUES (1, 0, 0);

INSERT INTO meta VALUES ('active_space', 0);

INSERT INTO meta VALUES ('chain_head', X'0000000000000000000000000000000000000000000000000000000000000000');

INSERT INTO meta VALUES ('chain_start', 0);

INSERT INTO meta VALUES ('erased_floor', 0);

INSERT INTO meta VALUES ('names', 0);

INSERT INTO meta VALUES ('scrub', 0);

INSERT INTO meta VALUES ('seq', 0);
