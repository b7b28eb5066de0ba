-- The status that the gateway reports for the payment, if the service does not know it. The payment
-- keeps its last known status until the gateway reports one that the service knows.
alter table gateway.payments add column unrecognized_status text;

-- Few payments have one. The status comes first so that reading them in this order can only use this
-- index.
create index payments_unrecognized on gateway.payments (unrecognized_status, id)
  where unrecognized_status is not null;
