-- Payments are no longer the only ones that have a story, and that are asked for with a key.
alter table gateway.payment_history rename to history;
alter table gateway.history rename column payment_id to resource_id;
alter table gateway.history add column resource text not null default 'payment';
alter table gateway.history alter column resource drop default;
alter index gateway.payment_history_by_payment rename to history_by_resource;
alter table gateway.idempotency_keys rename column payment_id to resource_id;

-- Bills with a page to pay them on. What is paid there are payments, linked to their invoice.
create table gateway.invoices (
  -- UUIDv7, made by the service: in the order of their making.
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
  -- A day of Western Indonesia (YYYY-MM-DD), and the last second of it.
  due_date text not null,
  due_at timestamptz not null,
  paid_at timestamptz,
  notes text,
  -- Why it was to be voided, whether or not it was.
  void_reason text,
  payment_link_url text,
  pdf_url text,
  metadata json,
  -- When it was first sent to the gateway, or about to be.
  sent_at timestamptz not null,
  -- When to ask the gateway, should nobody have heard from it until then.
  check_at timestamptz,
  event_count integer not null default 0,
  -- Each change raises it, and holds only for the version it was made of.
  version integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index invoices_by_user on gateway.invoices (user_id, id);
create index invoices_by_user_and_status on gateway.invoices (user_id, status, id);
create index invoices_by_status on gateway.invoices (status, id);
create index invoices_to_check on gateway.invoices (check_at) where check_at is not null;
-- Only one that the gateway refused leaves its number to another.
create unique index invoices_by_number on gateway.invoices (invoice_number)
  where status <> 'failed';

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

-- What the gateway charges a customer for by itself, time and again.
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
  -- Null: without end.
  max_interval integer,
  -- Cycles that were begun.
  current_interval integer not null default 0,
  start_time timestamptz,
  next_execution_at timestamptz,
  status text not null,
  -- The action that the gateway was asked for and has not answered yet: it will be asked again.
  intent text,
  -- When it was disabled or cancelled; null while it is not.
  ended_at timestamptz,
  customer_first_name text,
  customer_last_name text,
  customer_email text,
  customer_phone text,
  metadata json,
  -- When it was first sent to the gateway, or about to be.
  sent_at timestamptz not null,
  -- When the gateway was last asked about it.
  checked_at timestamptz,
  -- When to ask the gateway, should nobody have heard from it until then.
  check_at timestamptz,
  event_count integer not null default 0,
  version integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index subscriptions_by_user on gateway.subscriptions (user_id, id);
create index subscriptions_by_user_and_status on gateway.subscriptions (user_id, status, id);
create index subscriptions_by_status on gateway.subscriptions (status, id);
-- Their charges have orders that begin with it.
create index subscriptions_by_name on gateway.subscriptions (name);

-- The charges of subscriptions that were told of: each is told once.
create table gateway.subscription_charges (
  transaction_id text primary key,
  subscription_id uuid not null,
  payment_id uuid not null,
  created_at timestamptz not null
);
create index subscription_charges_by_subscription
  on gateway.subscription_charges (subscription_id);

create index payments_by_invoice on gateway.payments (invoice_id, id)
  where invoice_id is not null;
create index payments_by_subscription on gateway.payments (subscription_id, id)
  where subscription_id is not null;
