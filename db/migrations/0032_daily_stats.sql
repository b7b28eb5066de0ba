-- Figures by day besides those by hour, because adding up the hours of months takes too long. Times to
-- pay have narrower ranges now. The task `update_stats` counts all payments again, into the new tables.
drop table gateway.payment_stats;

create table gateway.hourly_payment_stats (
  -- `*`: the payments of all users; `u:<user id>`: those of one user; `-`: those that belong to no user.
  scope text not null,
  start timestamptz not null,
  payment_type text not null,
  -- Empty: none.
  bank text not null,
  -- Empty: the row has only `paid_count` and the times to pay, of all statuses.
  transaction_status text not null,
  -- Payments created in this time, and those of them that were paid at any time.
  created_count bigint not null,
  paid_count bigint not null,
  -- Amounts that were captured, refunded and charged back in this time.
  gross_amount bigint not null,
  refund_amount bigint not null,
  chargeback_amount bigint not null,
  -- The paid payments created in this time, by how long the customer took to pay: the ranges of times
  -- with payments, and the number of payments in each of them.
  pay_ranges smallint[] not null,
  pay_counts integer[] not null,
  primary key (scope, start, payment_type, bank, transaction_status)
);
create index hourly_stats_of_users on gateway.hourly_payment_stats (start, scope)
  where scope <> '*';

-- The same by days of Jakarta, which is the default time zone.
create table gateway.daily_payment_stats (like gateway.hourly_payment_stats including all);

truncate gateway.counted_payments;
update gateway.stats_progress set
  rebuilt_to = case when exists (select from gateway.payments)
    then '00000000-0000-0000-0000-000000000000'::uuid end,
  as_of = case when not exists (select from gateway.payments) then now() end,
  next_position = null,
  next_xmax = null,
  position = least(position, greatest(0, coalesce(
    (select id from gateway.history order by id desc limit 1), 0) - 100000));
