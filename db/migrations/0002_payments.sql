-- Payments and what belongs to them. Amounts are whole rupiah. Ids are UUIDv7, created by the
-- service, so they are in the order of creation.
create table gateway.payments (
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
  -- The amount of a partial chargeback, as the gateway reported it. Null: not reported. The amount
  -- of a full chargeback follows from the other amounts.
  chargeback_amount bigint,
  currency text not null,
  transaction_status text not null,
  -- The status that the gateway reports, if the service does not know it. The payment keeps its last
  -- known status until the gateway reports one that the service knows.
  unrecognized_status text,
  fraud_status text,
  status_code text,
  status_message text,
  customer_first_name text,
  customer_last_name text,
  customer_email text,
  customer_phone text,
  -- What the customer needs to pay; which of them exist depends on the payment type.
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
  -- The invoice or subscription that the payment pays.
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
  -- The actor that created it, such as `api_key:<prefix>`; see gateway.history. Null: no caller did.
  created_by text,
  created_at timestamptz not null,
  updated_at timestamptz not null
-- Room for the next version of each row in its page, which a heap-only update needs.
) with (fillfactor = 75);

-- For lists of one user, newest first.
create index payments_by_user on gateway.payments (user_id, id);
create index payments_by_order on gateway.payments (order_id, id);
create index payments_by_invoice on gateway.payments (invoice_id, id)
  where invoice_id is not null;
create index payments_by_subscription on gateway.payments (subscription_id, id)
  where subscription_id is not null;
-- A notification can arrive before the response to the charge. Then only the order id finds the
-- payment.
create index payments_unanswered on gateway.payments (order_id)
  where transaction_id is null and not is_refused;
-- Few payments have one. The status comes first so that reading them in this order can only use this
-- index.
create index payments_unrecognized on gateway.payments (unrecognized_status, id)
  where unrecognized_status is not null;

-- Items, history and refunds are written in the same statement as their payment, and payments are
-- never deleted. So there are no foreign keys, which would slow down every charge.
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
  -- The owner of the payment, for lists of one user's refunds.
  user_id text,
  -- The gateway creates only one refund for each key, even if the request is repeated.
  refund_key text not null,
  amount bigint not null check (amount > 0),
  reason text,
  is_direct boolean not null,
  status text not null,
  status_code text,
  status_message text,
  -- The actor that requested it; null: it was not requested here.
  created_by text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (payment_id, refund_key)
);
create index refunds_by_user on gateway.refunds (user_id, id);

-- Which payment or invoice holds an order id. An order id has one holder, but it can have several
-- payments: each attempt on a payment link is one.
create table gateway.order_ids (
  order_id text primary key,
  user_id text not null,
  holder_id uuid not null
);

-- Paid payments are checked again some time after they were paid. How far each of these checks has
-- come: all payments of the type up to this one were checked `after_seconds` after they were paid.
create table gateway.paid_checks (
  payment_type text not null,
  after_seconds integer not null,
  paid_at timestamptz not null,
  payment_id uuid not null,
  primary key (payment_type, after_seconds)
);
