-- Where events are sent to: addresses of the merchant's own software.
create table gateway.webhook_endpoints (
  -- UUIDv7, made by the service: in the order of their making.
  id uuid primary key,
  url text not null,
  -- Null: every event.
  event_names text[],
  description text,
  -- Why nothing is sent to it for the time being; null: it is enabled.
  disabled_reason text,
  -- Since when every attempt has failed; null: the last one did not.
  failing_since timestamptz,
  -- What is sent is signed with it. Encrypted.
  secret text not null,
  -- The one before it, with which it is signed, too, until then.
  previous_secret text,
  previous_secret_until timestamptz,
  event_count integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- It goes when what was to be sent to it is gone.
  deleted_at timestamptz
);

-- An event on its way to an endpoint, written together with it.
create table gateway.webhook_deliveries (
  event_id uuid not null,
  endpoint_id uuid not null,
  event_name text not null,
  -- Of the event: of one resource they are sent in the order of their sequence.
  resource_id uuid not null,
  sequence integer not null,
  status text not null default 'pending',
  attempts integer not null default 0,
  -- Null: it is over.
  next_attempt_at timestamptz,
  -- Of the last attempt: what the endpoint answered, or why it did not, and how long that took.
  status_code integer,
  answer text,
  error text,
  duration_ms integer,
  last_attempt_at timestamptz,
  delivered_at timestamptz,
  created_at timestamptz not null,
  primary key (event_id, endpoint_id)
);
create index webhook_deliveries_by_status
  on gateway.webhook_deliveries (endpoint_id, status, event_id);
create index webhook_deliveries_due on gateway.webhook_deliveries (endpoint_id, next_attempt_at)
  where status = 'pending';
-- Which of a resource is first.
create index webhook_deliveries_open on gateway.webhook_deliveries (endpoint_id, resource_id, sequence)
  where status = 'pending';

-- Whoever follows only what is their own finds it without reading what is everybody's.
create index events_by_user on gateway.events (user_id, generation, xact_id, id);
