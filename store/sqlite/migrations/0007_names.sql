-- The mark stands for the name where an event needs it: a keyed hash for each label,
-- and what begins with it. A namespace without records keeps the mark alone; its key
-- is then two zero bytes and the mark, which is the key of no namespace.
-- names (in meta): raised whenever a name goes or comes back.
-- former: the hash of an event from before there were marks. An older build, which
-- may still have the file open, finds no column of the old name and writes nothing.
ALTER TABLE namespace ADD COLUMN mark BLOB;
CREATE UNIQUE INDEX namespace_mark ON namespace (mark);
ALTER TABLE event RENAME COLUMN hash TO former;
ALTER TABLE event ADD COLUMN sealed BLOB;
INSERT INTO meta (key, value) VALUES ('names', 0);
