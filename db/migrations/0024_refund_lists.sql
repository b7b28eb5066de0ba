-- The owner of the refund's payment, for lists of one user's refunds, and who requested the refund (null:
-- it was not requested here, or an earlier version wrote the row).
alter table gateway.refunds
  add column user_id text,
  add column created_by text;

-- An instance of the previous version, during the upgrade, inserts refunds without the owner.
create function gateway.write_refund_owner() returns trigger language plpgsql as $$
begin
  if new.user_id is null then
    new.user_id := (select user_id from gateway.payments where id = new.payment_id);
  end if;
  return new;
end $$;
create trigger write_refund_owner before insert on gateway.refunds
  for each row execute function gateway.write_refund_owner();

-- The owners of existing refunds, 500 in each transaction.
create procedure gateway.fill_refund_owners() language plpgsql as $$
declare
  previous uuid := '00000000-0000-0000-0000-000000000000';
  last uuid;
begin
  loop
    with page as materialized (
      select id from gateway.refunds where id > previous order by id limit 500
    ), filled as (
      update gateway.refunds refund set user_id = payment.user_id
      from page, gateway.payments payment
      where refund.id = page.id and payment.id = refund.payment_id
        and refund.user_id is null and payment.user_id is not null
    )
    select id into last from page order by id desc limit 1;
    commit;
    exit when last is null;
    previous := last;
  end loop;
end $$;

call gateway.fill_refund_owners();

-- The refunds of a user, newest first. Only refunds write this index: a notification that pays a payment
-- does not.
create index refunds_by_user on gateway.refunds (user_id, id);
