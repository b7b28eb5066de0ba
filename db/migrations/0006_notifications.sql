-- Every accepted notification of the gateway, and its result.
create table gateway.notifications (
  -- UUIDv7, created by the service, so ids are in the order of arrival.
  id uuid primary key,
  -- Null: the notification matches no payment.
  payment_id uuid,
  order_id text not null,
  transaction_id text,
  transaction_status text not null,
  fraud_status text,
  payment_type text,
  status_code text not null,
  -- The text that the signature covers.
  gross_amount text not null,
  status text not null,
  error_message text,
  -- Without the signature and tokens.
  raw_payload json not null,
  created_at timestamptz not null
);
create index notifications_by_order on gateway.notifications (order_id, id);
create index notifications_by_status on gateway.notifications (status, id);
