-- The instance that holds a lease: the token of its session-level advisory lock. Null: the instance had
-- no such lock, so the lease ends by its time only. If the lock is free, the instance is gone, and its
-- leases can be taken over at once.
alter table gateway.idempotency_keys add column holder bigint;
alter table gateway.jobs add column holder bigint;

-- The instances that have taken their lock. Another instance deletes the row of an instance whose lock
-- is free, and then runs the jobs that it left behind.
create table gateway.instances (
  holder bigint primary key,
  started_at timestamptz not null default now()
);
