-- A list over more namespaces than are merged is read in its order: the records of a kind are
-- walked from the newest, and each is looked at. What is no longer live is mostly little, and
-- is found without all that is.
CREATE INDEX CONCURRENTLY IF NOT EXISTS record_time ON loci.record (tenant, kind, created_at DESC, id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS record_gone ON loci.record (tenant, namespace, kind, created_at DESC, id) WHERE NOT live;
