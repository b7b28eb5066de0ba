-- Limits that all instances share, used only with SHARED_LIMITS=true. Unlogged: a write waits for no
-- disk, and after a crash of the server the limits begin from the start.

-- How many requests each caller may still send. The number grows with time up to the burst; it is
-- negative if instances accepted more before they knew of each other. An old row equals no row.
create unlogged table gateway.shared_rate_limits (
  user_id text primary key,
  tokens double precision not null,
  updated_at timestamptz not null
);

-- The open event streams of all instances. Those of an instance whose lock is free do not count; see
-- gateway.instances.
create unlogged table gateway.open_streams (
  id uuid primary key,
  holder bigint not null,
  user_id text not null
);
