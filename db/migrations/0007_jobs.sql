-- Background work. A row is written in the transaction that makes the work necessary, and workers
-- find it here.
create table gateway.jobs (
  id uuid primary key,
  task text not null,
  -- The id of a payment or another record. Each task has at most one queued job per subject.
  subject_id uuid,
  payload json not null,
  -- A secret that the job needs, such as a card's one-time token. It is encrypted with a key that is
  -- not in the database, and erased (empty text) when the job has ended.
  secret text,
  user_id text,
  status text not null default 'queued',
  attempts integer not null default 0,
  -- The lane in which a due job waits: the requests of callers, recovery, checks, or the name of a
  -- task with its own limit. A worker has places for each lane.
  lane text not null default 'recovery',
  -- The requests of callers take turns by user: a job with a lower turn runs first. Each request
  -- gets the turn after its user's last waiting request, but at least the lowest turn of all waiting
  -- requests. So a user with one request does not wait for all requests of a user with hundreds. 0:
  -- not a request, or one that waits for a retry.
  turn integer not null default 0,
  -- The job does not run before this time.
  run_at timestamptz not null,
  -- The lease of the worker that runs the job, if one does; the same columns as those of
  -- gateway.idempotency_keys. When the lease is over, any worker can take the job over.
  lease_id uuid,
  lease_until timestamptz,
  holder bigint,
  result json,
  error text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index jobs_waiting on gateway.jobs (task, subject_id) where status = 'queued';
-- The queued jobs of each lane: requests by turn, others (turn 0) by time.
create index jobs_due_by_lane on gateway.jobs (lane, turn, run_at) where status = 'queued';
-- Finds the job that has waited longest, without those that run.
create index jobs_due_by_time on gateway.jobs (run_at) where status = 'queued';
-- The last turn of each user. Only requests are in this index.
create index jobs_by_user_turn on gateway.jobs (user_id, turn) where status = 'queued' and turn > 0;
-- For tasks whose order matters: only one job of the same task and subject runs at a time.
create index jobs_running on gateway.jobs (task, subject_id) where status = 'running';
-- Unfinished jobs for in-process subscribers, by subject. Queries repeat this condition, which no
-- other index has, so that PostgreSQL must use this index: its statistics usually say that almost no
-- jobs wait, which is wrong under load.
create index jobs_to_deliver on gateway.jobs (subject_id)
  where status <> 'succeeded' and status <> 'failed' and starts_with(task, 'deliver ');
-- Lists of jobs, newest first.
create index jobs_by_status on gateway.jobs (status, id);
create index jobs_by_task on gateway.jobs (task, status, id);

-- The instances that have taken their lock, a session-level advisory lock with this number. If the
-- lock is free, the instance is gone: another one deletes the row and takes over its leases at once.
create table gateway.instances (
  holder bigint primary key,
  started_at timestamptz not null default now()
);

-- The last scheduled run of each task. The instance that updates the row to a new minute runs the
-- task for that minute, so only one instance does.
create table gateway.cron_runs (
  task text primary key,
  minute timestamptz not null,
  started_at timestamptz not null,
  finished_at timestamptz,
  error text,
  -- If the run succeeded.
  result json
);

-- Where the next run of `prune` continues in a table; no row: at the oldest row.
create table gateway.prune_cursors (
  table_name text primary key,
  last_id uuid not null
);
