-- What needs the attention of staff, one row for each cause that has occurred so far. The instance
-- that updates a row writes the event about it, so only one instance does.
create table gateway.attention (
  -- The resource of the events.
  id uuid primary key,
  -- Such as `jobs_failed`.
  cause text not null unique,
  -- Since when it needs attention; null: it no longer does.
  since timestamptz,
  event_count integer not null default 0,
  updated_at timestamptz not null
);

-- Refunds without a final result are few, and any of them can need attention, however old it is.
create index refunds_pending on gateway.refunds (id) where status = 'pending';
