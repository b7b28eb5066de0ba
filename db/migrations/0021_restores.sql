-- When the database was restored from a backup: the command `after-restore` adds a row. The service
-- then expects repeated requests whose idempotency keys the database has lost.
create table gateway.restores (
  restored_at timestamptz primary key
);
