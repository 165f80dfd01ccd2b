-- The search index of a shard as servers keep it for one another: what the image says is in
-- pieces, which are derived, and read by no server of the version before. It removes them with
-- nothing, so whole tenants are to be erased when all servers are of this version.
CREATE TABLE loci.image (
  tenant    bytea NOT NULL,
  namespace bigint NOT NULL,
  kind      bytea NOT NULL,
  mark      bytea NOT NULL, -- another one with each image
  value     bytea NOT NULL, -- JSON: the state that it shows, and its segments
  PRIMARY KEY (tenant, namespace, kind)
);

CREATE TABLE loci.piece (
  tenant  bytea NOT NULL,
  segment bytea NOT NULL,
  n       bigint NOT NULL, -- from 0
  made_at bigint NOT NULL, -- by the database's clock
  data    bytea NOT NULL,
  PRIMARY KEY (tenant, segment, n)
);
ALTER TABLE loci.piece ALTER COLUMN data SET STORAGE EXTERNAL; -- nobody waits for it to be compressed

-- Whoever serves may do so with these, too, before anybody says --role again.
DO $$
DECLARE who name;
BEGIN
  FOR who IN SELECT DISTINCT r.rolname FROM pg_class c, aclexplode(c.relacl) a, pg_roles r
    WHERE c.oid = 'loci.record'::regclass AND a.privilege_type = 'INSERT' AND r.oid = a.grantee AND a.grantee <> c.relowner
  LOOP
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON loci.image, loci.piece TO %I', who);
  END LOOP;
END $$;
