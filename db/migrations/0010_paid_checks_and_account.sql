-- Paid payments are checked again some time after they were paid. They are found by the time of
-- payment, which is written once: a later change of a payment does not move it in this index.
-- Other indexes begin with the payment type as well. The expression makes this one the only index
-- that fits, so PostgreSQL uses it for a table of any size.
create index payments_by_paid_time on gateway.payments ((payment_type || ''), paid_at, id)
  where paid_at is not null;

-- How far each of these checks has come: all payments of the type up to this one were checked
-- `after_seconds` after they were paid.
create table gateway.paid_checks (
  payment_type text not null,
  after_seconds integer not null,
  paid_at timestamptz not null,
  payment_id uuid not null,
  primary key (payment_type, after_seconds)
);

-- The gateway account that the records belong to; one row.
create table gateway.gateway_account (
  is_only_row boolean primary key default true check (is_only_row),
  environment text not null,
  -- Null until the gateway has named it in a response.
  merchant_id text,
  -- Payments that were created earlier belong to another account.
  since timestamptz not null
);
