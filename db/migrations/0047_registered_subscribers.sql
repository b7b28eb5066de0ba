-- When an instance registered the subscriber the last time. `if not exists`, because some databases have
-- the column already: for a while, 0036 created it.
alter table gateway.subscribers
  add column if not exists registered_at timestamptz not null default now();
