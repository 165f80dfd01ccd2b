-- What fades or has ended, as far as upkeep has written it down, in the order of lists;
-- what it has not is found by record_due. Ordinary memories have no row here.
CREATE INDEX record_waning ON record (namespace, kind, created_at DESC, id, ends_at)
WHERE live AND (due_at IS NULL OR due_at = ends_at) AND (ends_at IS NOT NULL OR confidence < 0.2);
