-- Figures of payments by hour, for statistics. A task counts payments that have changed; requests and
-- notifications do not write these tables.
create table gateway.payment_stats (
  -- `*`: the payments of all users; `u:<user id>`: those of one user; `-`: those that belong to no user.
  scope text not null,
  hour timestamptz not null,
  payment_type text not null,
  -- Empty: none.
  bank text not null,
  -- Empty: the row has only `paid_count` and `pay_times`, of all statuses.
  transaction_status text not null,
  -- Payments created in this hour, and those of them that were paid at any time.
  created_count bigint not null,
  paid_count bigint not null,
  -- Amounts that were captured, refunded and charged back in this hour.
  gross_amount bigint not null,
  refund_amount bigint not null,
  chargeback_amount bigint not null,
  -- The paid payments created in this hour, by how long the customer took to pay. Each element is the
  -- number of payments in one range of times. Adding up arrays takes long, so there is one for all
  -- statuses.
  pay_times integer[] not null,
  primary key (scope, hour, payment_type, bank, transaction_status)
);
create index payment_stats_of_users on gateway.payment_stats (hour, scope) where scope <> '*';

-- How each payment is counted in gateway.payment_stats, so that a change can be subtracted again.
create table gateway.counted_payments (
  payment_id uuid primary key,
  counts json not null
);

-- One row: which changes are counted.
create table gateway.stats_progress (
  is_only_row boolean primary key default true check (is_only_row),
  -- The changes of all entries of gateway.history up to this id are counted.
  position bigint not null,
  -- The last entry that a run has read, and the transactions that had begun by then. When they have
  -- ended, there can be no further entry up to that id.
  next_position bigint,
  next_xmax xid8,
  -- While all payments are counted for the first time or again: the last one that is counted.
  rebuilt_to uuid,
  -- All changes until then are counted; null: not all payments are counted yet.
  as_of timestamptz
);
insert into gateway.stats_progress (position, rebuilt_to, as_of)
select greatest(0, coalesce(max(id), 0) - 100000),
  case when exists (select from gateway.payments) then '00000000-0000-0000-0000-000000000000'::uuid end,
  case when not exists (select from gateway.payments) then now() end
from gateway.history;
