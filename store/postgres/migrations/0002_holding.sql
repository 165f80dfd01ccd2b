-- What a tenant holds, as a quota counts it, as of the change held_seq: a server of the
-- version before raises seq alone, and then it is not known until it is measured again.
-- NULL or below 0: nobody has measured it.
ALTER TABLE loci.tenant ADD COLUMN held_seq bigint, ADD COLUMN held_records bigint, ADD COLUMN held_bytes bigint;
