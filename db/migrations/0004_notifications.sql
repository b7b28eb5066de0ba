-- Every call of the gateway's that was accepted, and what came of it.
create table gateway.notifications (
  -- UUIDv7, made by the service: in the order of their coming.
  id uuid primary key,
  -- Null: it is about nothing that is known here.
  payment_id uuid,
  order_id text not null,
  transaction_id text,
  transaction_status text not null,
  fraud_status text,
  payment_type text,
  status_code text not null,
  -- As it was signed: text.
  gross_amount text not null,
  status text not null,
  error_message text,
  -- Without its signature and without tokens.
  raw_payload json not null,
  created_at timestamptz not null
);
create index notifications_by_order on gateway.notifications (order_id, id);
create index notifications_by_status on gateway.notifications (status, id);

-- Notifications may come before the answer to the charge: then the order id is all there is.
create index payments_unanswered on gateway.payments (order_id)
  where transaction_id is null and not is_refused;

-- Where an event stands among all others: readers see none of a transaction before all transactions
-- that began earlier are over, and so nothing ever appears before what was read. Transactions are
-- numbered by the server; who moves to another server begins a new generation.
alter table gateway.events
  add column generation integer not null default 0,
  add column xact_id xid8 not null default pg_current_xact_id();
create index events_in_order on gateway.events (generation, xact_id, id);
create index events_by_name on gateway.events (name, generation, xact_id, id);

-- Of the jobs of one task about one thing one runs at a time where their order counts.
create index jobs_running on gateway.jobs (task, subject_id) where status = 'running';
