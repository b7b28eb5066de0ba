-- Finds paid payments without an owner, newest first. The expression makes this index the only one
-- that fits, so PostgreSQL uses it for a table of any size.
create index payment_filters_without_owner on gateway.payment_filters ((user_id is null), payment_id)
  where user_id is null and paid_at is not null;
