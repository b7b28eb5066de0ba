-- Finds the newest payments without a response of the gateway. With the expression, no other index
-- fits. In the order of order ids, payments that were given up would hide a pending one.
create index payments_unanswered_by_id on gateway.payments ((transaction_id is null), id)
  where transaction_id is null and not is_refused;
