-- What filters ask of the lifecycle: scope and status, the curve of confidence, when
-- a record leaves the live set by it, and when upkeep has a transition to write down.
-- NULL stands for none; a record without a curve counts as 1.0 for ever.
ALTER TABLE record ADD COLUMN scope TEXT;
ALTER TABLE record ADD COLUMN status TEXT;
ALTER TABLE record ADD COLUMN confidence REAL;
ALTER TABLE record ADD COLUMN decay_rate REAL; -- a day
ALTER TABLE record ADD COLUMN decay_from INTEGER;
ALTER TABLE record ADD COLUMN ends_at INTEGER;
ALTER TABLE record ADD COLUMN due_at INTEGER;
CREATE INDEX record_due ON record (due_at) WHERE due_at IS NOT NULL;

-- Facts from before this step have no curve: they stay as they are.
UPDATE record SET
  scope = coalesce(json_extract(CAST(body AS TEXT), '$.scope'), 'global'),
  status = json_extract(CAST(body AS TEXT), '$.validity')
WHERE kind = 'fact';

-- The chain of events: each hash covers the event and the hash before it. The digest
-- stands for nonce and payload, which an erase takes away.
-- chain_start: events up to this seq are older than the chain.
ALTER TABLE event ADD COLUMN nonce BLOB;
ALTER TABLE event ADD COLUMN digest BLOB;
ALTER TABLE event ADD COLUMN hash BLOB;
INSERT INTO meta (key, value) VALUES ('chain_head', zeroblob(32)), ('chain_start', (SELECT coalesce(max(seq), 0) FROM event));
