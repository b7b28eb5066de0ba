-- What comes first where much is due: 0 what somebody waits for, 1 deliveries to those who listen, 2 looks
-- that a sweep queued by the thousand.
alter table gateway.jobs add column rank smallint not null default 0;
update gateway.jobs set rank = 1
  where status in ('queued', 'running') and starts_with(task, 'deliver ');

-- What is due, of each rank by itself: however much of the others is.
create index jobs_due_by_rank on gateway.jobs (rank, run_at) where status in ('queued', 'running');
