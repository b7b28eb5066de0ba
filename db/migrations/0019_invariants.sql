-- Rows that contradict each other, as the task `check_invariants` has found them. A row is deleted when
-- a later check of the record finds no contradiction.
create table gateway.contradictions (
  -- The record, and the name of what is always true of such records.
  resource_id uuid not null,
  invariant text not null,
  -- `payment`, `invoice`, `subscription`, `checkout` or `statistics`.
  resource text not null,
  found_at timestamptz not null,
  primary key (resource_id, invariant)
);
create index contradictions_by_time on gateway.contradictions (found_at);

-- How far the checks have come: the last id of each kind of record and of gateway.history, the time
-- of the last checked change of refunds and checkouts, and the last hour of the statistics.
create table gateway.invariant_cursors (
  name text primary key,
  last_id text not null
);

-- Changes without an entry in gateway.history: of refunds, and of the attempts of a checkout.
create index refunds_by_change on gateway.refunds (updated_at);
create index checkouts_by_change on gateway.checkouts (updated_at);
