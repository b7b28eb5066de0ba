-- Finds the payments of an order.
create index payments_by_order on gateway.payments (order_id, id);
