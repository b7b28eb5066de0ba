-- The result of the last scheduled run of each task, if it succeeded.
alter table gateway.cron_runs add column result json;

-- Unfinished jobs for in-process subscribers, by subject. Queries repeat this condition, which no other
-- index has, so that PostgreSQL must use this index: its statistics usually say that almost no jobs
-- wait, which is wrong under load.
create index jobs_to_deliver on gateway.jobs (subject_id)
  where status <> 'succeeded' and status <> 'failed' and starts_with(task, 'deliver ');

-- Subscriptions with a requested action that the gateway has not confirmed yet.
create index subscriptions_intended on gateway.subscriptions (id) where intent is not null;

-- Old keys are deleted by age. Other tables need no such index: their ids are in the order of time.
create index idempotency_keys_by_age on gateway.idempotency_keys (created_at);

-- A secret that the job needs, such as a card's one-time token. It is encrypted with a key that is not in
-- the database, and erased (empty text) when the job has ended.
alter table gateway.jobs add column secret text;

-- Lists of jobs, newest first.
create index jobs_by_status on gateway.jobs (status, id);
create index jobs_by_task on gateway.jobs (task, status, id);
