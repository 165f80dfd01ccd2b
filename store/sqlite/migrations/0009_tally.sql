-- A list of a kind of record in a namespace, live ones or those that are not, is read
-- from here in its order, and ends where its page does.
CREATE INDEX record_list ON record (namespace, kind, live, created_at DESC, id);
DROP INDEX record_place;

-- What there is of each kind in each namespace, counted as it comes and goes, so that
-- nothing is read to count it. Triggers do it, whatever way and whichever build changes
-- a record. status '' stands for none; searched are live ones with passages.
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

-- embedded: records that are searched and have vectors in the space.
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

CREATE TRIGGER tally_delete BEFORE DELETE ON record BEGIN
  UPDATE tally SET records = records - 1, searched = searched - (old.live AND old.passage_count > 0),
    passages = passages - old.passage_count, bytes = bytes - octet_length(old.text)
  WHERE namespace = old.namespace AND kind = old.kind AND live = old.live AND status = coalesce(old.status, '');
  DELETE FROM tally WHERE namespace = old.namespace AND kind = old.kind AND live = old.live
    AND status = coalesce(old.status, '') AND records = 0;
  UPDATE tally_vector SET embedded = embedded - 1
  WHERE old.live AND old.passage_count > 0 AND namespace = old.namespace AND kind = old.kind
    AND space IN (SELECT space FROM vector WHERE record = old.n);
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

-- Of a record that is deleted, the vectors go after it: they are counted with it.
CREATE TRIGGER tally_unembedded AFTER DELETE ON vector BEGIN
  UPDATE tally_vector SET embedded = embedded - 1
  WHERE space = old.space AND (namespace, kind) IN
    (SELECT namespace, kind FROM record WHERE n = old.record AND live AND passage_count > 0);
END;

INSERT INTO tally SELECT namespace, kind, live, coalesce(status, ''), count(*), sum(live AND passage_count > 0),
  sum(passage_count), sum(octet_length(text)) FROM record GROUP BY 1, 2, 3, 4;
INSERT INTO tally_vector SELECT r.namespace, r.kind, v.space, count(*) FROM vector v JOIN record r ON r.n = v.record
  WHERE r.live AND r.passage_count > 0 GROUP BY 1, 2, 3;
