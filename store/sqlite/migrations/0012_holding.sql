-- What the tenant holds, as a quota counts it: one row, so that it costs the same however
-- many records there are. Triggers keep it, whatever way and whichever build changes a
-- record.
CREATE TABLE holding (
  n       INTEGER PRIMARY KEY CHECK (n = 1),
  records INTEGER NOT NULL,
  bytes   INTEGER NOT NULL -- of texts, headings, attributes and bodies
) STRICT;

CREATE TRIGGER holding_insert AFTER INSERT ON record BEGIN
  UPDATE holding SET records = records + 1, bytes = bytes + octet_length(new.text) + coalesce(octet_length(new.heading), 0)
    + coalesce(octet_length(new.attributes), 0) + coalesce(octet_length(new.body), 0);
END;

CREATE TRIGGER holding_delete AFTER DELETE ON record BEGIN
  UPDATE holding SET records = records - 1, bytes = bytes - octet_length(old.text) - coalesce(octet_length(old.heading), 0)
    - coalesce(octet_length(old.attributes), 0) - coalesce(octet_length(old.body), 0);
END;

CREATE TRIGGER holding_update AFTER UPDATE OF text, heading, attributes, body ON record
WHEN octet_length(new.text) <> octet_length(old.text) OR octet_length(new.heading) IS NOT octet_length(old.heading)
  OR octet_length(new.attributes) IS NOT octet_length(old.attributes) OR octet_length(new.body) IS NOT octet_length(old.body) BEGIN
  UPDATE holding SET bytes = bytes + octet_length(new.text) + coalesce(octet_length(new.heading), 0)
    + coalesce(octet_length(new.attributes), 0) + coalesce(octet_length(new.body), 0)
    - octet_length(old.text) - coalesce(octet_length(old.heading), 0)
    - coalesce(octet_length(old.attributes), 0) - coalesce(octet_length(old.body), 0);
END;

INSERT INTO holding SELECT 1, count(*), coalesce(sum(octet_length(text) + coalesce(octet_length(heading), 0)
  + coalesce(octet_length(attributes), 0) + coalesce(octet_length(body), 0)), 0) FROM record;
