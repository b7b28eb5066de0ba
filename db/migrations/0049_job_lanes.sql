-- The service enqueues jobs without this trigger and without the schema of a library.
drop trigger if exists jobs_carried on gateway.jobs;
drop function if exists gateway.carry_job();
drop schema if exists gateway_worker cascade;

-- The lane in which a due job waits: the requests of callers, recovery, checks, or the name of a task with its
-- own limit. A worker has places for each lane. Replaces the rank.
alter table gateway.jobs add column lane text;
update gateway.jobs set lane = case
  when turn > 0 then 'requests'
  when rank = 1 then task
  when rank = 2 then 'checks'
  else 'recovery' end;
alter table gateway.jobs alter column lane set not null;

-- The queued jobs of each lane: requests by turn, others (turn 0) by time.
create index jobs_due_by_lane on gateway.jobs (lane, turn, run_at) where status = 'queued';
drop index gateway.jobs_due_by_turn;
alter table gateway.jobs drop column rank;
