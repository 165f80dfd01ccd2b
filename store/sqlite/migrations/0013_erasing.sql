-- Where many records go at once, what they are counted by is taken off in one statement for
-- all of them. Meanwhile a row here, which no transaction leaves behind, keeps the triggers from
-- taking it off again; whoever does not know of it goes on by them.
CREATE TABLE erasing (
  n INTEGER PRIMARY KEY CHECK (n = 1)
) STRICT;

DROP TRIGGER tally_delete;
DROP TRIGGER holding_delete;
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

DROP TRIGGER tally_unembedded;
CREATE TRIGGER tally_unembedded AFTER DELETE ON vector WHEN NOT EXISTS (SELECT 1 FROM erasing) BEGIN
  UPDATE tally_vector SET embedded = embedded - 1
  WHERE space = old.space AND (namespace, kind) IN
    (SELECT namespace, kind FROM record WHERE n = old.record AND live AND passage_count > 0);
END;
