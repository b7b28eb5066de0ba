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
