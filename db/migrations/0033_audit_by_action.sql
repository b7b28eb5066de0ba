-- Lists who did one kind of thing, such as `POST /payments/{pk}/refund/`.
create index audit_by_action on gateway.audit (action, id);
