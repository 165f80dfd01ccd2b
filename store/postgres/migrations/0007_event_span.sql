-- Where the events of each type are in each block of 256 of a tenant, and from when to when they
-- are; of the type '' all of them are. Blocks are described in their order, when they are whole: a
-- server of the version before describes none, and the next ones do it for it.
CREATE TABLE IF NOT EXISTS loci.event_span (
  tenant    bytea NOT NULL,
  type      bytea NOT NULL, -- the first 200 bytes
  block     bigint NOT NULL, -- from 1
  first_seq bigint NOT NULL,
  last_seq  bigint NOT NULL,
  first_at  bigint NOT NULL,
  last_at   bigint NOT NULL,
  PRIMARY KEY (tenant, type, block)
);

INSERT INTO loci.event_span SELECT e.tenant, k.type, (e.seq + 255) / 256, min(e.seq), max(e.seq), min(e.occurred_at), max(e.occurred_at)
  FROM loci.tenant t JOIN loci.event e ON e.tenant = t.tenant AND e.seq <= t.events / 256 * 256
  CROSS JOIN LATERAL (VALUES (substring(e.type from 1 for 200)), (''::bytea)) k (type)
  GROUP BY e.tenant, k.type, (e.seq + 255) / 256 ON CONFLICT DO NOTHING;

-- Whoever serves may do so with this, too, before anybody says --role again.
DO $$
DECLARE who name;
BEGIN
  FOR who IN SELECT DISTINCT r.rolname FROM pg_class c, aclexplode(c.relacl) a, pg_roles r
    WHERE c.oid = 'loci.record'::regclass AND a.privilege_type = 'INSERT' AND r.oid = a.grantee AND a.grantee <> c.relowner
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON loci.event_span TO %I', who);
  END LOOP;
END $$;
