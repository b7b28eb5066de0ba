-- Copies of columns of gateway.payments by which payments are found. Triggers write them, so that
-- every statement that writes payments keeps them equal.

-- The columns by which lists and sweeps filter payments. gateway.payments has no index on a column
-- that changes often: otherwise each change of a payment would write all indexes of that table again
-- (it would not be a heap-only update).
create table gateway.payment_filters (
  payment_id uuid primary key,
  user_id text,
  transaction_status text not null,
  payment_type text not null,
  check_at timestamptz,
  paid_at timestamptz,
  settlement_time timestamptz,
  -- The fraud status if it is `challenge` or `deny`, which are rare; otherwise null.
  fraud_alert text
);

-- A list that is filtered only by type merges one index range per status; only by status, one per
-- type.
create index payment_filters_by_status on gateway.payment_filters
  (transaction_status, payment_type, payment_id);
create index payment_filters_by_user on gateway.payment_filters
  (user_id, transaction_status, payment_type, payment_id);
create index payment_filters_to_check on gateway.payment_filters (check_at)
  where check_at is not null;
-- Other indexes have the payment type as well. The expression makes this one the only index that
-- fits, so PostgreSQL uses it for a table of any size.
create index payment_filters_by_paid_time on gateway.payment_filters
  ((payment_type || ''), paid_at, payment_id) where paid_at is not null;
create index payment_filters_by_settlement on gateway.payment_filters
  (settlement_time, payment_id) where settlement_time is not null;
create index payment_filters_by_user_and_settlement on gateway.payment_filters
  (user_id, settlement_time, payment_id) where settlement_time is not null;
create index payment_filters_by_fraud_alert on gateway.payment_filters
  (fraud_alert, payment_id) where fraud_alert is not null;
create index payment_filters_by_user_and_fraud_alert on gateway.payment_filters
  (user_id, fraud_alert, payment_id) where fraud_alert is not null;
-- Finds paid payments without an owner, newest first. With the expression, no other index fits.
create index payment_filters_without_owner on gateway.payment_filters
  ((user_id is null), payment_id) where user_id is null and paid_at is not null;

-- Exact keys by which payments are found: e-mail address, phone number, virtual account number, and
-- the order id for a search by its beginning. Written when a charge is created or answered (or a
-- transaction is adopted), so a notification about a known payment writes none. Each key is a row,
-- because an answer that adds a virtual account number then writes no other key again.
create table gateway.payment_search_keys (
  -- e: e-mail, p: phone, v: virtual account, o: order id.
  kind "char" not null,
  -- In byte order, so that a range of the index has all values with the same beginning.
  value text collate "C" not null,
  payment_id uuid not null,
  primary key (kind, value, payment_id)
);

-- Digits only. An Indonesian number is equal with +62, 62 or 0 in front, and 00 equals +. Null if
-- fewer than 4 digits are left.
create function gateway.phone_key(phone text) returns text language sql immutable parallel safe as $$
  -- Without a FROM clause, so that PostgreSQL inlines it: a call would take longer than the rest.
  select case when length(regexp_replace(phone, '[^0-9]', '', 'g')) >= 4 then
    regexp_replace(regexp_replace(regexp_replace(
      phone, '[^0-9]', '', 'g'), '^00', ''), '^(620|0)', '62') end
$$;

-- With the collation C, upper and lower case are equal for ASCII letters only, on every server.
create function gateway.email_key(email text) returns text language sql immutable parallel safe as $$
  select lower(email collate "C")
$$;

create function gateway.search_keys(order_id text, email text, phone text, va_number text)
returns table (kind "char", value text) language sql immutable parallel safe as $$
  select known.kind, known.value from (values
    ('o'::"char", order_id),
    ('e'::"char", gateway.email_key(email)),
    ('p'::"char", gateway.phone_key(phone)),
    ('v'::"char", va_number)
  ) known(kind, value) where known.value <> ''
$$;

create function gateway.fraud_alert(fraud_status text) returns text
language sql immutable parallel safe as $$
  select case when fraud_status in ('challenge', 'deny') then fraud_status end
$$;

-- Runs once per statement, as part of it.
create function gateway.write_payment_filters() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into gateway.payment_filters
      (payment_id, user_id, transaction_status, payment_type, check_at, paid_at, settlement_time,
        fraud_alert)
    select id, user_id, transaction_status, payment_type, check_at, paid_at, settlement_time,
      gateway.fraud_alert(fraud_status) from written;
    insert into gateway.payment_search_keys (kind, value, payment_id)
    select key.kind, key.value, written.id
    from written cross join lateral gateway.search_keys(
      written.order_id, written.customer_email, written.customer_phone, written.va_number) key;
  elsif tg_op = 'DELETE' then
    delete from gateway.payment_filters known using written where known.payment_id = written.id;
    delete from gateway.payment_search_keys known
    using written cross join lateral gateway.search_keys(
      written.order_id, written.customer_email, written.customer_phone, written.va_number) key
    where known.kind = key.kind and known.value = key.value and known.payment_id = written.id;
  else
    update gateway.payment_filters known
    set user_id = written.user_id, transaction_status = written.transaction_status,
      payment_type = written.payment_type, check_at = written.check_at, paid_at = written.paid_at,
      settlement_time = written.settlement_time,
      fraud_alert = gateway.fraud_alert(written.fraud_status)
    from written
    where known.payment_id = written.id
      and (known.user_id, known.transaction_status, known.payment_type, known.check_at,
          known.paid_at, known.settlement_time, known.fraud_alert)
        is distinct from (written.user_id, written.transaction_status, written.payment_type,
          written.check_at, written.paid_at, written.settlement_time,
          gateway.fraud_alert(written.fraud_status));
  end if;
  return null;
end $$;

create trigger write_payment_filters_of_new after insert on gateway.payments
  referencing new table as written
  for each statement execute function gateway.write_payment_filters();
create trigger write_payment_filters_of_changed after update on gateway.payments
  referencing new table as written
  for each statement execute function gateway.write_payment_filters();
-- The service deletes no payments, but an operator may.
create trigger write_payment_filters_of_deleted after delete on gateway.payments
  referencing old table as written
  for each statement execute function gateway.write_payment_filters();

-- The gateway's answer to a charge brings the number. The statement of notifications does not write
-- the column, so this trigger does not run for them.
create function gateway.write_va_number_key() returns trigger language plpgsql as $$
begin
  if old.va_number is not null then
    delete from gateway.payment_search_keys
    where kind = 'v' and value = old.va_number and payment_id = old.id;
  end if;
  insert into gateway.payment_search_keys (kind, value, payment_id)
  select 'v', new.va_number, new.id where new.va_number <> '' on conflict do nothing;
  return null;
end $$;

create trigger write_va_number_key after update of va_number on gateway.payments
  for each row when (new.va_number is distinct from old.va_number)
  execute function gateway.write_va_number_key();
