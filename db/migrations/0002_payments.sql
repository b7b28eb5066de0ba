-- Payments and all that happens to them. Amounts are whole rupiah.
create table gateway.payments (
  -- UUIDv7, made by the service: in the order of their making.
  id uuid primary key,
  -- Null: made outside of the service and linked to nobody; for staff only.
  user_id text,
  order_id text not null,
  -- Null until the gateway has answered for the first time.
  transaction_id text unique,
  payment_type text not null,
  bank text,
  store text,
  acquirer text,
  gross_amount bigint not null check (gross_amount > 0),
  -- What was taken of it; null while nothing is.
  captured_amount bigint check (captured_amount > 0),
  refunded_amount bigint not null default 0 check (refunded_amount >= 0),
  -- The sum of the refunds that are under way.
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
  -- A card's amount was only to be held: it can be captured in part.
  is_hold boolean not null default false,
  -- The gateway refused the charge: no transaction exists, and none will.
  is_refused boolean not null default false,
  -- When it was first known to be paid.
  paid_at timestamptz,
  -- How often the bank refused to capture it.
  denied_captures integer not null default 0,
  -- When its charge was last sent, or about to be.
  sent_at timestamptz not null,
  -- When to ask the gateway, should nobody have heard from it until then.
  check_at timestamptz,
  event_count integer not null default 0,
  -- Each change raises it, and holds only for the version it was made of.
  version integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

-- Lists, newest first: all of a caller's, all of them, and by any type and status at no greater cost.
create index payments_by_user on gateway.payments (user_id, id);
create index payments_by_user_and_status on gateway.payments (user_id, transaction_status, id);
create index payments_by_status on gateway.payments (transaction_status, id);
create index payments_by_user_and_kind on gateway.payments
  (user_id, payment_type, transaction_status, id);
create index payments_by_kind on gateway.payments (payment_type, transaction_status, id);
create index payments_to_check on gateway.payments (check_at) where check_at is not null;

-- Items, history and refunds are written in their payment's own statement and nothing is ever
-- deleted, so that no foreign key has to look after them: they would cost every charge time.
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
  -- The gateway makes one refund of a key, however often it is asked.
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

-- The story of each payment: every change of its state, and who brought it about.
create table gateway.payment_history (
  id bigint generated always as identity primary key,
  payment_id uuid not null,
  -- Null: it was made.
  from_status text,
  to_status text not null,
  fraud_status text,
  source text not null,
  created_at timestamptz not null
);
create index payment_history_by_payment on gateway.payment_history (payment_id);

-- What happened, for those who listen; written with the change itself.
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

-- Who has an order id. Unlike payments, of which one order may have several at the gateway (each try
-- on a payment link is one), an order has one holder.
create table gateway.order_ids (
  order_id text primary key,
  user_id text not null,
  holder_id uuid not null
);

-- Requests that bear an Idempotency-Key: what came of them, or that they still run.
create table gateway.idempotency_keys (
  user_id text not null,
  -- Method and path.
  scope text not null,
  key text not null,
  body_hash bytea not null,
  -- What a request that was cut short goes on with.
  payment_id uuid,
  refund_id uuid,
  -- The answer, to be given again; null while there is none to keep.
  reply json,
  -- Until then the request counts as running.
  lease_until timestamptz not null,
  created_at timestamptz not null,
  primary key (user_id, scope, key)
);
