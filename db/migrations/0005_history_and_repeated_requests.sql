-- What payments, invoices and subscriptions share: their history, and the requests that created or
-- changed them.

-- Every change of a record's state, and what caused it.
create table gateway.history (
  id bigint generated always as identity primary key,
  -- `payment`, `invoice` or `subscription`.
  resource text not null,
  resource_id uuid not null,
  -- Null: the record was created.
  from_status text,
  to_status text not null,
  fraud_status text,
  -- The kind of cause, such as `charge`, `notification` or `check`.
  source text not null,
  -- Who caused it: `api_key:<prefix>`, `jwt:<subject>`, `task:<name>` or `notification:<id>`. Null:
  -- not known.
  actor text,
  created_at timestamptz not null
);
create index history_by_resource on gateway.history (resource_id);

-- Requests with an Idempotency-Key: their reply, or that they are still running.
create table gateway.idempotency_keys (
  user_id text not null,
  -- Method and path.
  scope text not null,
  key text not null,
  body_hash bytea not null,
  -- The records with which an interrupted request continues.
  resource_id uuid,
  refund_id uuid,
  -- The reply, which is sent again to a repeated request; null: none yet.
  reply json,
  -- The lease of the request that runs, if one does: its id, until when it lasts, and the instance
  -- that holds it; see gateway.instances. Without an instance it ends by its time only. Writes of the
  -- holder compare the id, so that a former holder cannot write.
  lease_id uuid,
  lease_until timestamptz,
  holder bigint,
  created_at timestamptz not null,
  primary key (user_id, scope, key)
);
-- Old keys are deleted by age. Other tables need no such index: their ids are in the order of time.
create index idempotency_keys_by_age on gateway.idempotency_keys (created_at);
