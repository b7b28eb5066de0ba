-- Unused since 1.0.0.

-- The service finds due jobs in gateway.jobs, without this trigger and without the schema of a
-- library.
drop trigger if exists jobs_carried on gateway.jobs;
drop function if exists gateway.carry_job();
drop schema if exists gateway_worker cascade;

-- The lane in which a due job waits: the requests of callers, recovery, checks, or the name of a
-- task with its own limit. A worker has places for each lane. Replaces the rank.
alter table gateway.jobs add column lane text not null default 'recovery';
update gateway.jobs set
  lane = case when turn > 0 then 'requests' when rank = 1 then task else 'checks' end,
  turn = case when run_at > now() then 0 else turn end
where status <> 'succeeded' and (turn > 0 or rank > 0);
alter table gateway.jobs drop column rank;

-- The queued jobs of each lane: requests by turn, others (turn 0) by time. Requests that wait for a
-- retry have turn 0, too, and get a turn when they are due.
create index jobs_due_by_lane on gateway.jobs (lane, turn, run_at) where status = 'queued';

-- Finds the job that has waited longest, without those that run. Replaces jobs_due.
create index jobs_due_by_time on gateway.jobs (run_at) where status = 'queued';
drop index gateway.jobs_due;
