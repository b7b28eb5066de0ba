-- Payments and what belongs to them. Amounts are whole rupiah.
create table gateway.payments (
  -- UUIDv7, created by the service, so ids are in the order of creation.
  id uuid primary key,
  -- Null: created outside of the service and linked to no user; only staff and viewers see it.
  user_id text,
  order_id text not null,
  -- Null until the gateway has answered for the first time.
  transaction_id text unique,
  payment_type text not null,
  bank text,
  store text,
  acquirer text,
  gross_amount bigint not null check (gross_amount > 0),
  -- The part of the amount that was captured; null: nothing yet.
  captured_amount bigint check (captured_amount > 0),
  refunded_amount bigint not null default 0 check (refunded_amount >= 0),
  -- The sum of the pending refunds.
  reserved_amount bigint not null default 0 check (reserved_amount >= 0),
  currency text not null,
  transaction_status text not null,
  fraud_status text,
  status_code text,
  status_message text,
  customer_first_name text,
  customer_last_name text,
  customer_email text,
  customer_phone text,
  va_number text,
  bill_key text,
  biller_code text,
  payment_code text,
  redirect_url text,
  deeplink_url text,
  qr_string text,
  qr_url text,
  transaction_time timestamptz,
  settlement_time timestamptz,
  expiry_time timestamptz,
  metadata json,
  custom_field1 text,
  custom_field2 text,
  custom_field3 text,
  invoice_id uuid,
  subscription_id uuid,
  -- The card charge was only to authorize the amount, which can be captured in part.
  is_hold boolean not null default false,
  -- The gateway refused the charge: there is no transaction, and there never will be one.
  is_refused boolean not null default false,
  -- When the service first knew that the payment was paid.
  paid_at timestamptz,
  -- How often the bank denied the capture.
  denied_captures integer not null default 0,
  -- When the charge was last sent; written just before.
  sent_at timestamptz not null,
  -- When to check the status at the gateway if no report arrives earlier.
  check_at timestamptz,
  event_count integer not null default 0,
  -- Each change increments it. A change is written only if the version is still the one it read.
  version integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- For lists, newest first: of one user or of all users, also by type and status.
create index payments_by_user on gateway.payments (user_id, id);
create index payments_by_user_and_status on gateway.payments (user_id, transaction_status, id);
create index payments_by_status on gateway.payments (transaction_status, id);
create index payments_by_user_and_kind on gateway.payments
  (user_id, payment_type, transaction_status, id);
create index payments_by_kind on gateway.payments (payment_type, transaction_status, id);
create index payments_to_check on gateway.payments (check_at) where check_at is not null;

-- Items, history and refunds are written in the same statement as their payment, and payments are never
-- deleted. So there are no foreign keys, which would slow down every charge.
create table gateway.payment_items (
  id uuid primary key,
  payment_id uuid not null,
  position integer not null,
  item_id text,
  name text not null,
  price bigint not null,
  quantity integer not null,
  brand text,
  category text,
  merchant_name text,
  url text
);
create index payment_items_by_payment on gateway.payment_items (payment_id);

create table gateway.refunds (
  id uuid primary key,
  payment_id uuid not null,
  -- The gateway creates only one refund for each key, even if the request is repeated.
  refund_key text not null,
  amount bigint not null check (amount > 0),
  reason text,
  is_direct boolean not null,
  status text not null,
  status_code text,
  status_message text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (payment_id, refund_key)
);

-- Every change of a payment's state, and what caused it.
create table gateway.payment_history (
  id bigint generated always as identity primary key,
  payment_id uuid not null,
  -- Null: the payment was created.
  from_status text,
  to_status text not null,
  fraud_status text,
  source text not null,
  created_at timestamptz not null
);
create index payment_history_by_payment on gateway.payment_history (payment_id);

-- Events about changes; written in the same statement as the change.
create table gateway.events (
  id uuid primary key,
  name text not null,
  resource text not null,
  resource_id uuid not null,
  -- 1, 2, 3, … for each resource.
  sequence integer not null,
  user_id text,
  data json not null,
  created_at timestamptz not null,
  unique (resource_id, sequence)
);

-- Which payment or invoice holds an order id. An order id has one holder, but it can have several
-- payments: each attempt on a payment link is one.
create table gateway.order_ids (
  order_id text primary key,
  user_id text not null,
  holder_id uuid not null
);

-- Requests with an Idempotency-Key: their reply, or that they are still running.
create table gateway.idempotency_keys (
  user_id text not null,
  -- Method and path.
  scope text not null,
  key text not null,
  body_hash bytea not null,
  -- The records with which an interrupted request continues.
  payment_id uuid,
  refund_id uuid,
  -- The reply, which is sent again to a repeated request; null: none yet.
  reply json,
  -- Until then, the request counts as running.
  lease_until timestamptz not null,
  created_at timestamptz not null,
  primary key (user_id, scope, key)
);
