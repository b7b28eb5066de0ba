-- Invoices with a payment page. A payment made there is linked to its invoice.
create table gateway.invoices (
  id uuid primary key,
  user_id text not null,
  invoice_number text not null,
  order_id text not null,
  -- Null until the gateway has answered.
  gateway_invoice_id text unique,
  status text not null,
  customer_name text not null,
  customer_email text,
  customer_phone text,
  customer_id text,
  total_amount bigint not null check (total_amount > 0),
  currency text not null,
  -- A day in Western Indonesia Time (YYYY-MM-DD), and its last second.
  due_date text not null,
  due_at timestamptz not null,
  paid_at timestamptz,
  notes text,
  -- The reason of the request to void the invoice, even if that request failed.
  void_reason text,
  payment_link_url text,
  pdf_url text,
  metadata json,
  -- When the invoice was first sent to the gateway; written just before.
  sent_at timestamptz not null,
  -- When to check the status at the gateway if no report arrives earlier.
  check_at timestamptz,
  event_count integer not null default 0,
  -- Each change increments it. A change is written only if the version is still the one it read.
  version integer not null default 0,
  -- The actor that created it.
  created_by text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index invoices_by_user on gateway.invoices (user_id, id);
create index invoices_by_user_and_status on gateway.invoices (user_id, status, id);
create index invoices_by_status on gateway.invoices (status, id);
create index invoices_by_email on gateway.invoices
  (gateway.email_key(customer_email), id) where customer_email is not null;
create index invoices_by_order on gateway.invoices (order_id, id);
create index invoices_by_due_time on gateway.invoices (due_at, id);
create index invoices_by_user_and_due_time on gateway.invoices (user_id, due_at, id);
create index invoices_to_check on gateway.invoices (check_at) where check_at is not null;
-- Only an invoice that the gateway refused frees its number.
create unique index invoices_by_number on gateway.invoices (invoice_number)
  where status <> 'failed';
create index invoices_by_number_of_any_status on gateway.invoices (invoice_number, id);

create table gateway.invoice_items (
  id uuid primary key,
  invoice_id uuid not null,
  position integer not null,
  item_id text,
  description text not null,
  price bigint not null,
  quantity integer not null
);
create index invoice_items_by_invoice on gateway.invoice_items (invoice_id);

-- Subscriptions, which the gateway charges at regular intervals.
create table gateway.subscriptions (
  id uuid primary key,
  user_id text not null,
  -- Null until the gateway has answered.
  gateway_subscription_id text unique,
  name text not null,
  payment_type text not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  interval integer not null,
  interval_unit text not null,
  -- Null: no limit.
  max_interval integer,
  -- The number of cycles that have begun.
  current_interval integer not null default 0,
  start_time timestamptz,
  next_execution_at timestamptz,
  status text not null,
  -- A requested action that the gateway has not confirmed yet; the request is repeated.
  intent text,
  -- When the subscription was disabled or cancelled; null: neither.
  ended_at timestamptz,
  customer_first_name text,
  customer_last_name text,
  customer_email text,
  customer_phone text,
  metadata json,
  -- When the subscription was first sent to the gateway; written just before.
  sent_at timestamptz not null,
  -- When the status was last checked at the gateway.
  checked_at timestamptz,
  -- Not null: the subscription is checked at the gateway. The time itself is not used.
  check_at timestamptz,
  event_count integer not null default 0,
  -- Each change increments it. A change is written only if the version is still the one it read.
  version integer not null default 0,
  -- The actor that created it.
  created_by text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index subscriptions_by_user on gateway.subscriptions (user_id, id);
create index subscriptions_by_user_and_status on gateway.subscriptions (user_id, status, id);
create index subscriptions_by_status on gateway.subscriptions (status, id);
create index subscriptions_by_payment_type on gateway.subscriptions (payment_type, id);
create index subscriptions_by_user_and_payment_type on gateway.subscriptions
  (user_id, payment_type, id);
-- The order ids of a subscription's charges begin with its name.
create index subscriptions_by_name on gateway.subscriptions (name, id);
-- Subscriptions with a requested action that the gateway has not confirmed yet.
create index subscriptions_intended on gateway.subscriptions (id) where intent is not null;

-- The charges of subscriptions that have an event. The row ensures that each charge has only one.
create table gateway.subscription_charges (
  transaction_id text primary key,
  subscription_id uuid not null,
  payment_id uuid not null,
  created_at timestamptz not null
);
create index subscription_charges_by_subscription
  on gateway.subscription_charges (subscription_id);
