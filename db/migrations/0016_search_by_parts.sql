-- Payments are also found by the customer's name and by the amount. Order ids, email addresses and
-- names are searched by any part of them. The index for that needs the extension pg_trgm, which not
-- every role may create, so `trigram_index.ts` builds it after the migrations.

-- In lower case like the key of an email address. At most 255 characters, because entries of the
-- primary key have a limited size.
create function gateway.name_key(first_name text, last_name text) returns text
language sql immutable parallel safe as $$
  select lower(left(btrim(coalesce(first_name, '') || ' ' || coalesce(last_name, '')), 255)
    collate "C")
$$;

-- The kind n is the customer's name; the other kinds are as before. The former function with four
-- parameters stays: a charge that runs meanwhile may still call it.
create function gateway.search_keys(
  order_id text, email text, phone text, va_number text, first_name text, last_name text)
returns table (kind "char", value text) language sql immutable parallel safe as $$
  select known.kind, known.value from (values
    ('o'::"char", order_id),
    ('e'::"char", gateway.email_key(email)),
    ('p'::"char", gateway.phone_key(phone)),
    ('v'::"char", va_number),
    ('n'::"char", gateway.name_key(first_name, last_name))
  ) known(kind, value) where known.value <> ''
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
      written.order_id, written.customer_email, written.customer_phone, written.va_number,
      written.customer_first_name, written.customer_last_name) key;
  elsif tg_op = 'DELETE' then
    delete from gateway.payment_filters known using written where known.payment_id = written.id;
    delete from gateway.payment_search_keys known
    using written cross join lateral gateway.search_keys(
      written.order_id, written.customer_email, written.customer_phone, written.va_number,
      written.customer_first_name, written.customer_last_name) key
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

-- Writes the names of the existing payments. New payments get theirs from the trigger.
create procedure gateway.fill_name_keys() language plpgsql as $$
declare
  first_id uuid := '00000000-0000-0000-0000-000000000000';
  last_id uuid;
begin
  loop
    select id into last_id from (
      select id from gateway.payments where id > first_id order by id limit 10000
    ) batch order by id desc limit 1;
    exit when last_id is null;
    insert into gateway.payment_search_keys (kind, value, payment_id)
    select 'n', name, id from (
      select id, gateway.name_key(customer_first_name, customer_last_name) as name
      from gateway.payments where id > first_id and id <= last_id
    ) named
    where name <> '' order by name, id on conflict do nothing;
    commit;
    first_id := last_id;
  end loop;
end $$;

call gateway.fill_name_keys();

-- The amount never changes, so changes of a payment stay heap-only updates. All payments have one
-- above 0: with the condition, only statements that contain it use the index. Otherwise PostgreSQL
-- 18 may use it for an id alone (a skip scan), if few amounts are different.
create index payments_by_amount on gateway.payments (gross_amount, id) where gross_amount > 0;

-- For the page of a customer. The tables are small compared with payments, and no charge writes them.
create index invoices_by_phone on gateway.invoices
  (gateway.phone_key(customer_phone), id) where customer_phone is not null;
create index subscriptions_by_email on gateway.subscriptions
  (gateway.email_key(customer_email), id) where customer_email is not null;
create index subscriptions_by_phone on gateway.subscriptions
  (gateway.phone_key(customer_phone), id) where customer_phone is not null;
