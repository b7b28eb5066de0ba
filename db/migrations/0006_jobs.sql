-- What the schedule's last tick of each task came to, where it ended well.
alter table gateway.cron_runs add column result json;

-- What those who listen still wait for, by what it is about. Its condition is worded unlike that of
-- other indexes, so that PostgreSQL takes none of them for what is asked of this one: most of the time
-- next to nothing waits, and whenever much does, it still believes so.
create index jobs_to_deliver on gateway.jobs (subject_id)
  where status <> 'succeeded' and status <> 'failed' and starts_with(task, 'deliver ');

-- Actions that the gateway was asked for and has not answered yet.
create index subscriptions_intended on gateway.subscriptions (id) where intent is not null;

-- Keys are forgotten by their age; all else that is, has ids in the order of time.
create index idempotency_keys_by_age on gateway.idempotency_keys (created_at);

-- What a job needs and nobody may read (a card's one-time token), encrypted by a key that is not in the
-- database; empty once the job was over and it was erased.
alter table gateway.jobs add column secret text;

-- Lists of jobs, newest first.
create index jobs_by_status on gateway.jobs (status, id);
create index jobs_by_task on gateway.jobs (task, status, id);
