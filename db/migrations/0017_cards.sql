-- What the gateway says about the card of a payment, as JSON: the masked number, the approval code
-- of the bank, and the result of 3-D Secure. Null: not a card, or not known.
alter table gateway.payments add column card json;

-- Payments are also found by the last four digits of the card, the search key of the kind c. The
-- gateway names them in its answer to the charge, or in the first report about a transaction.

-- `48111111-1114` as `1114`.
create function gateway.card_key(card json) returns text language sql immutable parallel safe as $$
  select substring(card ->> 'masked_number' from '[0-9]{4}$')
$$;

create function gateway.write_card_key() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    delete from gateway.payment_search_keys
    where kind = 'c' and value = gateway.card_key(old.card) and payment_id = old.id;
  end if;
  if tg_op <> 'DELETE' then
    insert into gateway.payment_search_keys (kind, value, payment_id)
    select 'c', gateway.card_key(new.card), new.id where gateway.card_key(new.card) is not null
    on conflict do nothing;
  end if;
  return null;
end $$;

create trigger write_card_key_of_new after insert on gateway.payments
  for each row when (new.card is not null) execute function gateway.write_card_key();
-- A notification adds the approval code and the result of 3-D Secure, but keeps the number.
create trigger write_card_key_of_changed after update of card on gateway.payments
  for each row when (gateway.card_key(new.card) is distinct from gateway.card_key(old.card))
  execute function gateway.write_card_key();
create trigger write_card_key_of_deleted after delete on gateway.payments
  for each row when (old.card is not null) execute function gateway.write_card_key();
