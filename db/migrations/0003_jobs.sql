-- Background work. A row is written in the transaction that makes the work necessary. Queues
-- transport only the id of the row.
create table gateway.jobs (
  id uuid primary key,
  task text not null,
  -- The id of a payment or another record. Each task has at most one queued job per subject.
  subject_id uuid,
  payload json not null,
  user_id text,
  status text not null default 'queued',
  attempts integer not null default 0,
  -- The job does not run before this time.
  run_at timestamptz not null,
  -- If a running job has not ended by then, any worker can take it over.
  lease_until timestamptz,
  result json,
  error text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index jobs_waiting on gateway.jobs (task, subject_id) where status = 'queued';
create index jobs_due on gateway.jobs (run_at) where status in ('queued', 'running');

-- The last scheduled run of each task. The instance that updates the row to a new minute runs the task
-- for that minute, so only one instance does.
create table gateway.cron_runs (
  task text primary key,
  minute timestamptz not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  error text
);
