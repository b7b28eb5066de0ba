-- Work to be done outside of requests. A row is written in the transaction that makes it necessary;
-- whoever carries it to a worker carries its id alone.
create table gateway.jobs (
  id uuid primary key,
  task text not null,
  -- What it is about, such as a payment: of one task one job waits for each.
  subject_id uuid,
  payload json not null,
  user_id text,
  status text not null default 'queued',
  attempts integer not null default 0,
  -- Not to be run before.
  run_at timestamptz not null,
  -- A running job whose worker did not come back until then is anybody's.
  lease_until timestamptz,
  result json,
  error text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index jobs_waiting on gateway.jobs (task, subject_id) where status = 'queued';
create index jobs_due on gateway.jobs (run_at) where status in ('queued', 'running');

-- The schedule's last tick of each task. Who moves it on to a new minute runs the task then: of many
-- instances one.
create table gateway.cron_runs (
  task text primary key,
  minute timestamptz not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  error text
);
