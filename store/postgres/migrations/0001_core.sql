-- Everything of all tenants. A tenant is 16 bytes made from its name, and the first column
-- of every table and of every key. Times are milliseconds since 1970 in UTC; ids are the
-- 16 bytes of a UUID; what callers name is bytes and compared as such. No sequence, no
-- trigger, no foreign key: numbers come from the tenant's row, whose lock orders its writes.

-- The system's tenant is 16 zero bytes: what is true for all of them.
CREATE TABLE loci.setting (
  tenant bytea NOT NULL,
  name   bytea NOT NULL,
  value  bytea NOT NULL,
  PRIMARY KEY (tenant, name)
);

CREATE TABLE loci.tenant (
  tenant     bytea PRIMARY KEY CHECK (octet_length(tenant) = 16),
  seq        bigint NOT NULL, -- the change counter: raised by the first statement of a write
  floor      bigint NOT NULL, -- changes up to this seq are forgotten
  events     bigint NOT NULL, -- the number of the last event
  namespaces bigint NOT NULL, -- the number of the last namespace; none is given out twice
  spaces     bigint NOT NULL,
  active     bigint NOT NULL, -- the space whose vectors are searched; 0 while there are no vectors
  head       bytea NOT NULL,  -- of the chain of events
  name_key   bytea NOT NULL,  -- another one after the tenant was erased
  name       bytea,           -- NULL: it was erased
  chain_start bigint NOT NULL DEFAULT 0, -- events up to this number are older than the chain
  due_at      bigint DEFAULT 0 -- when upkeep has something to do; 0: changed since it was done; NULL: never
) WITH (fillfactor = 50);
CREATE INDEX tenant_name ON loci.tenant (name) WHERE name IS NOT NULL;
CREATE INDEX tenant_due ON loci.tenant (due_at, name) WHERE name IS NOT NULL AND due_at IS NOT NULL;

-- Whose upkeep is being done, and until when nobody else does it: rows of the system's tenant.
CREATE TABLE loci.lease (
  tenant bytea NOT NULL,
  about  bytea NOT NULL, -- the tenant that is seen to
  owner  bytea NOT NULL,
  until  bigint NOT NULL, -- by the database's clock
  PRIMARY KEY (tenant, about)
);

CREATE TABLE loci.namespace (
  tenant    bytea NOT NULL,
  n         bigint NOT NULL,
  changed   bigint NOT NULL, -- the seq at which readers had to learn of it or of a kind in it
  mark      bytea NOT NULL,  -- stands for the name where an event needs it, 16 bytes a label; stays
  key_head  bytea,           -- the first 1,024 bytes of the key; NULL: it holds no record, and no name
  key_tail  bytea,           -- the rest
  kinds     bytea NOT NULL,  -- those it ever held with something to search: a length and a name each
  PRIMARY KEY (tenant, n)
);
CREATE UNIQUE INDEX namespace_mark ON loci.namespace (tenant, mark);
CREATE INDEX namespace_key ON loci.namespace (tenant, key_head) WHERE key_head IS NOT NULL;
CREATE INDEX namespace_changed ON loci.namespace (tenant, changed);

CREATE TABLE loci.record (
  tenant        bytea NOT NULL,
  id            bytea NOT NULL,
  namespace     bigint NOT NULL,
  version       bigint NOT NULL,
  created_at    bigint NOT NULL,
  updated_at    bigint NOT NULL,
  expires_at    bigint,
  uses          bigint NOT NULL,
  used_at       bigint,
  ends_at       bigint,
  due_at        bigint,
  position      bigint,
  passage_count bigint NOT NULL,
  confidence    double precision,
  decay_rate    double precision, -- a day
  decay_from    bigint,
  live          boolean NOT NULL,
  kind          bytea NOT NULL,
  slot_hash     bytea,           -- SHA-256 of namespace, kind and slot: at most one record holds it
  slot_head     bytea,           -- the first 1,024 bytes of the slot, which an index can hold
  slot_tail     bytea,           -- the rest, empty for most
  scope         bytea,
  status        bytea,
  sequence      bytea,
  heading       bytea,
  passages      bytea NOT NULL,  -- varints: start and length of each, in bytes of text
  tags          bytea,           -- JSON array
  attributes    bytea,           -- JSON object
  body          bytea,           -- JSON object
  text          bytea NOT NULL,
  PRIMARY KEY (tenant, id)
) WITH (fillfactor = 85); -- room to count a use in the page
CREATE UNIQUE INDEX record_slot ON loci.record (tenant, slot_hash) WHERE slot_hash IS NOT NULL;
CREATE INDEX record_slots ON loci.record (tenant, namespace, kind, slot_head) WHERE slot_head IS NOT NULL;
CREATE INDEX record_place ON loci.record (tenant, namespace, created_at DESC, id);
CREATE INDEX record_shard ON loci.record (tenant, namespace, kind) WHERE live AND passage_count > 0;
CREATE INDEX record_expiry ON loci.record (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX record_due ON loci.record (tenant, due_at) WHERE due_at IS NOT NULL;

-- What search must know: every record that came, changed or left, up to the tenant's floor.
CREATE TABLE loci.change (
  tenant    bytea NOT NULL,
  seq       bigint NOT NULL,
  id        bytea NOT NULL,
  namespace bigint NOT NULL,
  gone      boolean NOT NULL,
  kind      bytea NOT NULL,
  PRIMARY KEY (tenant, seq, id, gone)
);

CREATE TABLE loci.revision (
  tenant      bytea NOT NULL,
  record      bytea NOT NULL,
  version     bigint NOT NULL,
  updated_at  bigint NOT NULL,
  replaced_at bigint NOT NULL,
  text        bytea NOT NULL,
  tags        bytea,
  attributes  bytea,
  PRIMARY KEY (tenant, record, version)
);

CREATE TABLE loci.space (
  tenant  bytea NOT NULL,
  n       bigint NOT NULL,
  dims    bigint NOT NULL,
  dropped bigint NOT NULL, -- the seq of the latest change that removed vectors of the space alone
  model   bytea NOT NULL,
  PRIMARY KEY (tenant, n)
);

CREATE TABLE loci.vector (
  tenant bytea NOT NULL,
  record bytea NOT NULL,
  space  bigint NOT NULL,
  data   bytea NOT NULL, -- for each passage: scale (float32, little-endian), then dims int8
  PRIMARY KEY (tenant, record, space)
);
ALTER TABLE loci.vector ALTER COLUMN data SET STORAGE EXTERNAL; -- it does not compress

CREATE TABLE loci.link (
  tenant     bytea NOT NULL,
  from_id    bytea NOT NULL,
  type       bytea NOT NULL,
  to_id      bytea NOT NULL,
  created_at bigint NOT NULL,
  seq        bigint NOT NULL,
  PRIMARY KEY (tenant, from_id, type, to_id)
);
CREATE INDEX link_to ON loci.link (tenant, to_id);

CREATE TABLE loci.event (
  tenant      bytea NOT NULL,
  seq         bigint NOT NULL,
  id          bytea NOT NULL,
  namespace   bigint NOT NULL,
  occurred_at bigint NOT NULL,
  type        bytea NOT NULL,
  kind        bytea NOT NULL,
  entity      bytea NOT NULL,
  actor       bytea NOT NULL,
  request_id  bytea NOT NULL,
  digest      bytea NOT NULL,
  sealed      bytea NOT NULL,
  nonce       bytea,
  payload     bytea,
  former      bytea, -- the hash of an event from before namespaces had marks
  PRIMARY KEY (tenant, seq)
);
CREATE INDEX event_entity ON loci.event (tenant, entity);

CREATE TABLE loci.reply (
  tenant      bytea NOT NULL,
  key_hash    bytea NOT NULL, -- SHA-256 of the key
  at          bigint NOT NULL, -- when the request came
  expires_at  bigint NOT NULL,
  record      bytea NOT NULL,
  key         bytea NOT NULL,
  fingerprint bytea NOT NULL,
  value       bytea NOT NULL,
  PRIMARY KEY (tenant, key_hash)
);
CREATE INDEX reply_record ON loci.reply (tenant, record);
CREATE INDEX reply_expiry ON loci.reply (tenant, expires_at);
