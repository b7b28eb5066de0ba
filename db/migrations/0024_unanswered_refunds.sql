-- Finds the refunds with an unknown outcome. With the expression, no other index fits. Those that the
-- bank still has to make (201) are pending for days, and would hide the others.
create index refunds_unanswered on gateway.refunds ((status_code is distinct from '201'), id)
  where status = 'pending' and status_code is distinct from '201';
