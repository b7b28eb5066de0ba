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

alter table gateway.payment_filters
  add column settlement_time timestamptz,
  -- Only `challenge` and `deny`, which are rare; otherwise null.
  add column fraud_alert text;

create index payment_filters_by_settlement on gateway.payment_filters
  (settlement_time, payment_id) where settlement_time is not null;
create index payment_filters_by_user_and_settlement on gateway.payment_filters
  (user_id, settlement_time, payment_id) where settlement_time is not null;
create index payment_filters_by_fraud_alert on gateway.payment_filters
  (fraud_alert, payment_id) where fraud_alert is not null;
create index payment_filters_by_user_and_fraud_alert on gateway.payment_filters
  (user_id, fraud_alert, payment_id) where fraud_alert is not null;

create function gateway.fraud_alert(fraud_status text) returns text
language sql immutable parallel safe as $$
  select case when fraud_status in ('challenge', 'deny') then fraud_status end
$$;

create or replace function gateway.write_payment_filters() returns trigger language plpgsql as $$
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

-- Adds the keys and the new columns of the payments that existed before, 500 in each transaction. The
-- triggers write those of concurrent changes, and the copy does not overwrite them: keys are only
-- added, a settlement time is never removed, and the few payments with a fraud alert are locked.
create procedure gateway.fill_payment_search() language plpgsql as $$
declare
  previous uuid := '00000000-0000-0000-0000-000000000000';
  last uuid;
begin
  loop
    begin
      perform set_config('lock_timeout', '200ms', true);
      select id into last from (
        select id from gateway.payments where id > previous order by id limit 500
      ) batch order by id desc limit 1;
      exit when last is null;
      insert into gateway.payment_search_keys (kind, value, payment_id)
      select key.kind, key.value, payment.id
      from gateway.payments payment cross join lateral gateway.search_keys(
        payment.order_id, payment.customer_email, payment.customer_phone, payment.va_number) key
      where payment.id > previous and payment.id <= last
      on conflict do nothing;
      update gateway.payment_filters known set settlement_time = payment.settlement_time
      from gateway.payments payment
      where payment.id > previous and payment.id <= last and known.payment_id = payment.id
        and known.settlement_time is null and payment.settlement_time is not null;
      with locked as materialized (
        select id, fraud_status from gateway.payments
        where id > previous and id <= last and fraud_status in ('challenge', 'deny')
        order by id for share
      )
      update gateway.payment_filters known set fraud_alert = locked.fraud_status
      from locked
      where known.payment_id = locked.id and known.fraud_alert is null;
    exception when lock_not_available then
      perform pg_sleep(0.5);
      continue;
    end;
    commit;
    previous := last;
  end loop;
end $$;

call gateway.fill_payment_search();

create index invoices_by_email on gateway.invoices
  (gateway.email_key(customer_email), id) where customer_email is not null;
create index invoices_by_order on gateway.invoices (order_id, id);
create index invoices_by_number_of_any_status on gateway.invoices (invoice_number, id);
create index invoices_by_due_time on gateway.invoices (due_at, id);
create index invoices_by_user_and_due_time on gateway.invoices (user_id, due_at, id);

create index subscriptions_by_name_and_id on gateway.subscriptions (name, id);
create index subscriptions_by_payment_type on gateway.subscriptions (payment_type, id);
create index subscriptions_by_user_and_payment_type on gateway.subscriptions
  (user_id, payment_type, id);
