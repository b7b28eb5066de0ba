-- Who may call the service, and the gateway account that all records belong to.

-- The callers' API keys. Only the hash of a key is stored, so that a reader of this table cannot call
-- the service. A key has 32 random bytes, so a fast hash is safe.
create table gateway.api_keys (
  hash bytea primary key,
  -- The first characters of the key, to tell keys apart in lists and to revoke one.
  prefix text not null unique,
  user_id text not null,
  is_staff boolean not null,
  -- A viewer sees what staff see, and changes nothing.
  is_viewer boolean not null default false,
  -- Created by the embedded default; other installations refuse it.
  is_development boolean not null default false,
  name text,
  -- What the order ids begin with that callers with this key use. Other users cannot use such order
  -- ids while the key is valid. Null: no prefix.
  order_prefix text,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  constraint api_keys_have_one_role check (not (is_staff and is_viewer))
);
-- The pages of the list of keys, newest first.
create index api_keys_by_age on gateway.api_keys (created_at, prefix);
create index api_keys_by_order_prefix on gateway.api_keys (order_prefix)
  where order_prefix is not null;

-- Sign-ins to the console. Only a hash of the cookie is stored.
create table gateway.console_sessions (
  id uuid primary key,
  token_hash bytea not null unique,
  user_id text not null,
  is_staff boolean not null,
  -- The API key that signed in; null with a JWT.
  key_prefix text,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null
);

-- The gateway account that the records belong to; one row.
create table gateway.gateway_account (
  is_only_row boolean primary key default true check (is_only_row),
  environment text not null,
  -- Null until the gateway has named it in a response.
  merchant_id text,
  -- Payments that were created earlier belong to another account.
  since timestamptz not null
);
