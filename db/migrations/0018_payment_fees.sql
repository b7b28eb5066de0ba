-- The gateway's fees, as the compared reports name them.

create table gateway.payment_fees (
  payment_id uuid not null,
  -- What the fee is for, so that a line of several reports counts once: `settlement`,
  -- `refund:<id of the refund>`, or `chargeback:<number>:<amount>`. The number tells apart
  -- chargebacks of the same amount.
  item text not null,
  -- In hundredths of a rupiah. Negative: the gateway has returned a fee.
  fee_cents bigint not null,
  primary key (payment_id, item)
);

-- The fees of the payments that were paid in this time.
alter table gateway.hourly_payment_stats add column fee_cents bigint not null default 0;
alter table gateway.daily_payment_stats add column fee_cents bigint not null default 0;
