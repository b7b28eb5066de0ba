-- Lists the requests of one action, such as `POST /payments/{pk}/refund/`.
create index audit_by_action on gateway.audit (action, id);
