-- Which claim of a job or a key holds it. Null: none. Writes of the holder compare it, so that a
-- former holder cannot write. A key without a lease has no `lease_until`, like a job.
alter table gateway.jobs add column lease_id uuid;
alter table gateway.idempotency_keys add column lease_id uuid, alter column lease_until drop not null;
