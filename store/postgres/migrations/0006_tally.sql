-- What a tenant has of each kind, state and status in a namespace, so that nobody counts it for
-- statistics; with the number of a space, how many of a kind have vectors in it, whatever their
-- state. What the tenant's row says comes to it: it says as of which change, and a server of the
-- version before raises the tenant's counter alone, so that all of it is counted again.
CREATE TABLE IF NOT EXISTS loci.tally (
  tenant    bytea NOT NULL,
  namespace bigint NOT NULL,
  what      bytea NOT NULL, -- SHA-256 of the length of the kind, the kind and the status, which may be long
  kind      bytea NOT NULL,
  status    bytea NOT NULL,
  live      boolean NOT NULL,
  space     bigint NOT NULL, -- 0: of records
  records   bigint NOT NULL,
  searched  bigint NOT NULL, -- live, and with passages
  passages  bigint NOT NULL,
  bytes     bigint NOT NULL, -- of texts
  PRIMARY KEY (tenant, namespace, live, space, what)
) WITH (fillfactor = 70);

ALTER TABLE loci.tenant ADD COLUMN IF NOT EXISTS tally bytea; -- NULL: not known

-- Whoever serves may do so with this, too, before anybody says --role again.
DO $$
DECLARE who name;
BEGIN
  FOR who IN SELECT DISTINCT r.rolname FROM pg_class c, aclexplode(c.relacl) a, pg_roles r
    WHERE c.oid = 'loci.record'::regclass AND a.privilege_type = 'INSERT' AND r.oid = a.grantee AND a.grantee <> c.relowner
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON loci.tally TO %I', who);
  END LOOP;
END $$;
