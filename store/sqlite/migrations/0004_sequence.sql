-- The sequence a record stands in, and its place there; NULL: none.
ALTER TABLE record ADD COLUMN sequence BLOB;
ALTER TABLE record ADD COLUMN position INTEGER;
