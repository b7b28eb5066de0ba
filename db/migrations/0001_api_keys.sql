-- The callers' API keys. Only the hash of a key is kept: 32 random bytes need no slow hash, and
-- nobody who reads this table can call the service.
create table gateway.api_keys (
  hash bytea primary key,
  -- The first characters of the key, to tell keys apart in lists and to revoke one.
  prefix text not null unique,
  user_id text not null,
  is_staff boolean not null,
  -- Made by the embedded default; counts nowhere else.
  is_development boolean not null default false,
  name text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz
);
