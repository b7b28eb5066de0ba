-- The priority among due jobs: 0 jobs that a caller waits for, 1 deliveries of events, 2 status checks,
-- which a scheduled task enqueues by the thousand.
alter table gateway.jobs add column rank smallint not null default 0;
update gateway.jobs set rank = 1
  where status in ('queued', 'running') and starts_with(task, 'deliver ');

-- The due jobs of each rank, so that many jobs of one rank do not slow down the others.
create index jobs_due_by_rank on gateway.jobs (rank, run_at) where status in ('queued', 'running');
