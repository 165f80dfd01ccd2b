-- The shards of the search index: each kind of record that a namespace ever held with
-- something to search. Numbered, so that a reader learns the new ones.
CREATE TABLE shard (
  n         INTEGER PRIMARY KEY,
  namespace INTEGER NOT NULL REFERENCES namespace (n),
  kind      TEXT NOT NULL,
  UNIQUE (namespace, kind)
) STRICT;
INSERT INTO shard (namespace, kind)
  SELECT DISTINCT namespace, kind FROM record WHERE passage_count > 0 ORDER BY namespace, kind;

-- What a shard is loaded from; what is not searched costs it nothing.
CREATE INDEX record_shard ON record (namespace, kind) WHERE live AND passage_count > 0;
