-- A shard is read in parts, in the order of its ids. An index of its own has that order, where
-- one without ids had the database sort the shard, or walk the whole tenant, once a part.
CREATE INDEX CONCURRENTLY IF NOT EXISTS record_order ON loci.record (tenant, namespace, kind, id) WHERE live AND passage_count > 0;
DROP INDEX CONCURRENTLY IF EXISTS loci.record_shard;
