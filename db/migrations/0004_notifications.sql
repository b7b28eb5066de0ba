-- Every accepted notification of the gateway, and its result.
create table gateway.notifications (
  -- UUIDv7, created by the service, so ids are in the order of arrival.
  id uuid primary key,
  -- Null: the notification matches no payment.
  payment_id uuid,
  order_id text not null,
  transaction_id text,
  transaction_status text not null,
  fraud_status text,
  payment_type text,
  status_code text not null,
  -- The text that the signature covers.
  gross_amount text not null,
  status text not null,
  error_message text,
  -- Without the signature and tokens.
  raw_payload json not null,
  created_at timestamptz not null
);
create index notifications_by_order on gateway.notifications (order_id, id);
create index notifications_by_status on gateway.notifications (status, id);

-- A notification can arrive before the response to the charge. Then only the order id finds the payment.
create index payments_unanswered on gateway.payments (order_id)
  where transaction_id is null and not is_refused;

-- The order of events, until 0012 replaced it. Readers saw the events of a transaction only when all
-- transactions that began earlier had ended, so no event appeared before one that was already read.
-- The server numbers transactions; after a move to another server, a new generation began.
alter table gateway.events
  add column generation integer not null default 0,
  add column xact_id xid8 not null default pg_current_xact_id();
create index events_in_order on gateway.events (generation, xact_id, id);
create index events_by_name on gateway.events (name, generation, xact_id, id);

-- For tasks whose order matters: only one job of the same task and subject runs at a time.
create index jobs_running on gateway.jobs (task, subject_id) where status = 'running';
