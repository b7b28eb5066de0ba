-- Finds the lines of a file that were compared with a payment before: a further line about the same
-- settlement or refund is `listed_twice`. Those are not in the index, so that a payment has few entries,
-- however often the file lists it.
create index reconciliation_lines_compared
  on gateway.reconciliation_lines (reconciliation_id, payment_id)
  where result in ('matched', 'amount_differs', 'status_differs');

-- The index above replaces it.
drop index gateway.reconciliation_lines_by_refund;
