-- The amount of a partial chargeback, as the gateway reported it. Null: not reported. The amount of a
-- full chargeback follows from the other amounts.
alter table gateway.payments add column chargeback_amount bigint;

-- Who caused a change: `api_key:<prefix>`, `jwt:<subject>`, `task:<name>` or `notification:<id>`. Null:
-- an earlier version wrote the row. `created_by` is null, too, if no caller created the record.
alter table gateway.history add column actor text;
alter table gateway.payments add column created_by text;
alter table gateway.invoices add column created_by text;
alter table gateway.subscriptions add column created_by text;
