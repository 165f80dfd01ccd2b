-- What a list shows of each file in one value, in the order of lists: to read it from its record takes three times as
-- long. file_listed says what is to be there. See file_list.go, which reads it.
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

INSERT INTO file_list SELECT * FROM file_listed;

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
