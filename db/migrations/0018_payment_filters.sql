-- The columns by which lists and sweeps filter payments. They are copies of the columns in
-- gateway.payments, which has no index on a column that changes often: otherwise each change of a
-- payment would write all indexes of that table again (it would not be a heap-only update).
create table gateway.payment_filters (
  payment_id uuid primary key,
  user_id text,
  transaction_status text not null,
  payment_type text not null,
  check_at timestamptz,
  paid_at timestamptz
);

-- A list that is filtered only by type merges one index range per status; only by status, one per
-- type.
create index payment_filters_by_status on gateway.payment_filters
  (transaction_status, payment_type, payment_id);
create index payment_filters_by_user on gateway.payment_filters
  (user_id, transaction_status, payment_type, payment_id);
create index payment_filters_to_check on gateway.payment_filters (check_at)
  where check_at is not null;
-- Other indexes have the payment type as well. The expression makes this one the only index that fits, so
-- PostgreSQL uses it for a table of any size.
create index payment_filters_by_paid_time on gateway.payment_filters
  ((payment_type || ''), paid_at, payment_id) where paid_at is not null;

-- A trigger writes the copies, so that every statement that writes payments keeps them equal,
-- including statements of the previous version during the upgrade. It runs once per statement, as
-- part of it.
create function gateway.write_payment_filters() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into gateway.payment_filters
      (payment_id, user_id, transaction_status, payment_type, check_at, paid_at)
    select id, user_id, transaction_status, payment_type, check_at, paid_at from written;
  elsif tg_op = 'DELETE' then
    delete from gateway.payment_filters known using written where known.payment_id = written.id;
  else
    update gateway.payment_filters known
    set user_id = written.user_id, transaction_status = written.transaction_status,
      payment_type = written.payment_type, check_at = written.check_at, paid_at = written.paid_at
    from written
    where known.payment_id = written.id
      and (known.user_id, known.transaction_status, known.payment_type, known.check_at, known.paid_at)
        is distinct from (written.user_id, written.transaction_status, written.payment_type,
          written.check_at, written.paid_at);
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

-- Copies the payments that existed before the triggers, 500 in each transaction. Their row locks make
-- concurrent updates wait until the copy exists, so that the trigger finds it. If a row stays locked,
-- the locks of the other rows are released before the next try.
create procedure gateway.fill_payment_filters() language plpgsql as $$
declare
  previous uuid := '00000000-0000-0000-0000-000000000000';
  last uuid;
begin
  loop
    begin
      perform set_config('lock_timeout', '200ms', true);
      with locked as materialized (
        select id, user_id, transaction_status, payment_type, check_at, paid_at
        from gateway.payments where id > previous order by id limit 500 for share
      ), copied as (
        insert into gateway.payment_filters
          (payment_id, user_id, transaction_status, payment_type, check_at, paid_at)
        select * from locked on conflict do nothing
      )
      select id into last from locked order by id desc limit 1;
    exception when lock_not_available then
      perform pg_sleep(0.5);
      continue;
    end;
    commit;
    exit when last is null;
    previous := last;
  end loop;
end $$;

call gateway.fill_payment_filters();

-- Room for the next version of each row in its page, which a heap-only update needs.
alter table gateway.payments set (fillfactor = 75);

-- Dropping an index waits for every transaction that uses the table, and blocks the table
-- meanwhile. So only a new database drops them here; in an existing one the service drops them
-- concurrently.
do $$ begin
  if not exists (select from gateway.payments) then
    drop index gateway.payments_by_user_and_status;
    drop index gateway.payments_by_status;
    drop index gateway.payments_by_user_and_kind;
    drop index gateway.payments_by_kind;
    drop index gateway.payments_to_check;
    drop index gateway.payments_by_paid_time;
  end if;
end $$;
