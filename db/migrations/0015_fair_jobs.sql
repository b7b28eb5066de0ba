-- Asynchronous requests take turns by user: a job with a lower turn runs first. Each request gets the
-- turn after its user's last waiting request, but at least the lowest turn of all waiting requests. So a user with
-- one request does not wait for all requests of a user with hundreds. 0: not a request.
alter table gateway.jobs add column turn integer not null default 0;

-- Due jobs of each rank, by turn. Only jobs of rank 0 have turns, so the order of the other ranks stays
-- the same, and this index replaces the one without turns.
create index jobs_due_by_turn on gateway.jobs (rank, turn, run_at)
  where status in ('queued', 'running');
drop index gateway.jobs_due_by_rank;

-- The last turn of each user. Only requests are in this index.
create index jobs_by_user_turn on gateway.jobs (user_id, turn) where status = 'queued' and turn > 0;
