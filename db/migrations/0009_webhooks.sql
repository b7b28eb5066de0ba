-- Webhook endpoints: URLs of the merchant's software to which events are sent.
create table gateway.webhook_endpoints (
  -- UUIDv7, created by the service, so ids are in the order of creation.
  id uuid primary key,
  url text not null,
  -- Null: all events.
  event_names text[],
  description text,
  -- Why the endpoint is disabled; null: it is enabled.
  disabled_reason text,
  -- Since when all attempts have failed; null: the last attempt succeeded.
  failing_since timestamptz,
  -- Signs the requests. Encrypted.
  secret text not null,
  -- The secret before the last rotation, which also signs requests until `previous_secret_until`.
  previous_secret text,
  previous_secret_until timestamptz,
  event_count integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The row is deleted later, after its deliveries.
  deleted_at timestamptz
);

-- The delivery of an event to an endpoint; written together with the event's position.
create table gateway.webhook_deliveries (
  event_id uuid not null,
  endpoint_id uuid not null,
  event_name text not null,
  -- Copied from the event. The events of a resource are sent in the order of their sequence.
  resource_id uuid not null,
  sequence integer not null,
  status text not null default 'pending',
  attempts integer not null default 0,
  -- Null: there is no further attempt.
  next_attempt_at timestamptz,
  -- The last attempt: the endpoint's response or the error, and the duration.
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
-- Finds the first pending delivery of a resource.
create index webhook_deliveries_open on gateway.webhook_deliveries
  (endpoint_id, resource_id, sequence) where status = 'pending';
