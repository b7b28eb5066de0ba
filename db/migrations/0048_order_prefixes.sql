-- What the order ids begin with that callers with this key use. Other users cannot use such order ids
-- while the key is valid. Null: no prefix.
alter table gateway.api_keys add column order_prefix text;

create index api_keys_by_order_prefix on gateway.api_keys (order_prefix)
  where order_prefix is not null;
