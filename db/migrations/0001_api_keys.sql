-- The callers' API keys. Only the hash of a key is stored, so that a reader of this table cannot call
-- the service. A key has 32 random bytes, so a fast hash is safe.
create table gateway.api_keys (
  hash bytea primary key,
  -- The first characters of the key, to tell keys apart in lists and to revoke one.
  prefix text not null unique,
  user_id text not null,
  is_staff boolean not null,
  -- Created by the embedded default; other installations refuse it.
  is_development boolean not null default false,
  name text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz
);
