-- Checkouts: an order that a customer pays on the service's own page.
create table gateway.checkouts (
  id uuid not null,
  user_id text not null,
  order_id text not null,
  status text not null,
  gross_amount bigint not null check (gross_amount > 0),
  currency text not null,
  item_details json,
  customer_details json,
  -- Null: every method that can work.
  enabled_payments text[],
  -- Methods that the gateway refused for this checkout.
  refused_payments text[] not null default '{}',
  finish_url text,
  cancel_url text,
  language text,
  metadata json,
  custom_fields text[],
  expires_at timestamptz not null,
  -- When it was paid, expired or cancelled.
  ended_at timestamptz,
  -- The payment that paid it.
  payment_id uuid,
  -- Another payment that was paid as well.
  extra_payment_id uuid,
  is_late boolean not null default false,
  -- When to look at it if no payment changes earlier.
  check_at timestamptz,
  event_count integer not null default 0,
  version integer not null default 0,
  created_by text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Statistics count many checkouts, so they read these columns from the indexes alone.
  primary key (id) include (status, gross_amount)
);
create index checkouts_by_user on gateway.checkouts (user_id, id) include (status, gross_amount);
create index checkouts_by_user_and_status on gateway.checkouts (user_id, status, id);
create index checkouts_by_status on gateway.checkouts (status, id);
create index checkouts_by_order on gateway.checkouts (order_id, id);
create index checkouts_to_check on gateway.checkouts (check_at) where check_at is not null;
create index checkouts_paid_late on gateway.checkouts (id) where is_late;
create index checkouts_paid_twice on gateway.checkouts (id) where extra_payment_id is not null;

-- The customer's choices of a method, one after the other. The payments of an attempt have its
-- order id; an attempt may have none yet.
create table gateway.checkout_attempts (
  id uuid primary key,
  checkout_id uuid not null,
  -- 1, 2, 3, … for each checkout.
  number integer not null,
  method text not null,
  order_id text not null unique,
  -- The customer chose another method, or the checkout ended: the gateway has to close the attempt.
  is_closing boolean not null default false,
  -- When the gateway confirmed that the attempt can no longer be paid; null: it may be payable.
  closed_at timestamptz,
  -- How it ended: paid, or the last status of its payment; null: not yet, or it never had a payment.
  result text,
  created_at timestamptz not null,
  unique (checkout_id, number)
);

alter table gateway.payments add column checkout_id uuid;
create index payments_by_checkout on gateway.payments (checkout_id, id)
  where checkout_id is not null;

-- The secret of the links to the pages for customers. One row.
create table gateway.link_secrets (
  is_only_row boolean primary key default true check (is_only_row),
  secret bytea not null
);
