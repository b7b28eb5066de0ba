-- The payments of an order, for who has its number and nothing else.
create index payments_by_order on gateway.payments (order_id, id);
