-- A list of some kinds is read in its order, and a count of a kind costs what there is of it: an
-- index without kinds had the database walk all that the namespace holds. What fades or has ended
-- is found without all that does not; its condition is that of a list, word for word.
CREATE INDEX CONCURRENTLY IF NOT EXISTS record_lane ON loci.record (tenant, namespace, kind, created_at DESC, id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS record_waning ON loci.record (tenant, namespace, kind)
  WHERE live AND (due_at IS NULL OR due_at = ends_at) AND (ends_at IS NOT NULL OR confidence < 0.2);
