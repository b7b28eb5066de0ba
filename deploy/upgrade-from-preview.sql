-- Upgrades a database of the last version before 1.0.0 to the schema of 1.0.0, with all its data.
-- How to run it: "Upgrading" in docs/production.md.

do $$ begin
  if to_regclass('gateway.migrations') is null
    or not exists (select from gateway.migrations where name = '0001_api_keys') then
    raise exception 'This database has no schema of a version before 1.0.0.';
  end if;
  if not exists (select from gateway.migrations where name = '0048_order_prefixes')
    or exists (select from gateway.migrations where name like '% without indexes') then
    raise exception 'This database belongs to an older version. Start the last version before 1.0.0 '
      'once with it, then stop that version and run this script.';
  end if;
end $$;

-- Jobs: the service finds due jobs by lane, without the schema of a library.
drop trigger if exists jobs_carried on gateway.jobs;
drop function if exists gateway.carry_job();
drop schema if exists gateway_worker cascade;
alter table gateway.jobs add column lane text not null default 'recovery';
update gateway.jobs set
  lane = case when turn > 0 then 'requests' when rank = 1 then task else 'checks' end,
  turn = case when run_at > now() then 0 else turn end
where status <> 'succeeded' and (turn > 0 or rank > 0);
alter table gateway.jobs drop column rank;
drop index gateway.jobs_due;
create index jobs_due_by_lane on gateway.jobs (lane, turn, run_at) where status = 'queued';
create index jobs_due_by_time on gateway.jobs (run_at) where status = 'queued';
update gateway.jobs set task = 'resume_webhooks' where task = 'hasten_webhooks';
update gateway.jobs
set payload = (payload::jsonb - 'is_left_out' || '{"is_skipped": true}')::json
where payload ->> 'is_left_out' is not null;
update gateway.jobs
set payload = jsonb_set(payload::jsonb, '{caller,isViewer}', 'false')::json
where payload -> 'caller' is not null and payload -> 'caller' -> 'isViewer' is null;

-- Leases have ids. None is held, because no instance runs.
alter table gateway.jobs add column lease_id uuid;
alter table gateway.idempotency_keys
  add column lease_id uuid,
  alter column lease_until drop not null;
update gateway.jobs set lease_until = now(), holder = null where status = 'running';
update gateway.idempotency_keys set lease_until = null, holder = null;
delete from gateway.instances;

-- Events without a position are in an outbox.
create table gateway.event_outbox (
  id bigint generated always as identity primary key,
  event_id uuid not null
);
insert into gateway.event_outbox (event_id)
select id from gateway.events event
where not exists (select from gateway.published_events where event_id = event.id)
order by generation, xact_id, id;
update gateway.events set subscribers = '{}' where subscribers is null;
alter table gateway.events
  drop column generation,
  drop column xact_id,
  alter subscribers set default '{}',
  alter subscribers set not null;
alter table gateway.event_publication
  drop column generation,
  drop column snapshot,
  drop column target,
  drop column after_xact_id,
  drop column after_id,
  drop column in_start_order_until,
  drop column batch_number,
  add column unread int8multirange not null default '{[1,)}',
  add column gaps_to bigint not null default 0,
  add column gaps_before xid8 not null default '0';

-- Payments in stored replies and results: all of them have all members.
update gateway.idempotency_keys set reply = jsonb_set(reply::jsonb, '{body}',
  '{"chargeback_amount": "0.00", "has_unknown_chargeback": false, "allowed_actions": []}'
    || (reply::jsonb -> 'body'))::json
where reply -> 'body' -> 'transaction_status' is not null
  and reply -> 'body' -> 'allowed_actions' is null;
update gateway.jobs set result = jsonb_set(result::jsonb, '{payment}',
  '{"chargeback_amount": "0.00", "has_unknown_chargeback": false, "allowed_actions": []}'
    || (result::jsonb -> 'payment'))::json
where result -> 'payment' -> 'transaction_status' is not null
  and result -> 'payment' -> 'allowed_actions' is null;

-- Reports that were stored before repeated lines were searched for.
update gateway.reconciliations
set summary = jsonb_set(summary::jsonb, '{results,listed_twice}', '0')::json
where summary is not null and summary -> 'results' -> 'listed_twice' is null;

-- Names, and what only earlier versions used.
alter index gateway.payment_history_pkey rename to history_pkey;
alter sequence gateway.payment_history_id_seq rename to history_id_seq;
drop index gateway.subscriptions_by_name;
alter index gateway.subscriptions_by_name_and_id rename to subscriptions_by_name;
alter table gateway.webhook_deliveries drop column hold_until;
drop trigger write_refund_owner on gateway.refunds;
drop function gateway.write_refund_owner();
drop procedure gateway.fill_refund_owners();
drop procedure gateway.fill_payment_filters();
drop procedure gateway.fill_payment_search();
drop index if exists
  gateway.payments_by_user_and_status,
  gateway.payments_by_status,
  gateway.payments_by_user_and_kind,
  gateway.payments_by_kind,
  gateway.payments_to_check,
  gateway.payments_by_paid_time;

-- The migrations of 1.0.0.
delete from gateway.migrations;
insert into gateway.migrations (name, checksum) values
  ('0001_keys_and_sessions',
    '45d0829a8b3a870b40e7e685fc5bec0c0ff04ee62e9fd8b47aaaf2ca6e12b853'),
  ('0002_payments',
    '4c145ddef22491fb7f8825c46993438b6f9384170d8b89058e71952208d18e3b'),
  ('0003_payment_search',
    '0845684636d9ab34278145cf146b6276e5d21888fbc16fb4bf580ab21566f079'),
  ('0004_invoices_and_subscriptions',
    'eec749e39299f22cfdea56713c44f8415e1e48de942166747a434e06f874d028'),
  ('0005_history_and_repeated_requests',
    '1af29f990040f787061932c8bdd1025182fe94f580bc471d202cb0c6e19b4c80'),
  ('0006_notifications',
    'fd86d88d9e23698fae6cbb62dfcf511a40462614294b3173033d3c58e19f00a5'),
  ('0007_jobs',
    'eff769375a8e9b7db292aafca24f74ba8022d8e7c23609a59ba4783b003b26fd'),
  ('0008_events',
    '5bbf5f574dc14de70ff3afdde44e1caf836d3e58a75f73c35ba52a29b3f82adf'),
  ('0009_webhooks',
    '457b22ccf5ac1cd2d5e513ea0d4dd72fc6be15d0fbeb826d30505601f4661f10'),
  ('0010_audit',
    '32864733c498904a0ebe0f1aa63c1f5e92917de2e2f3adeced312ea876ae89ef'),
  ('0011_reports',
    'f6e588bf00e13d3dbd18ae28440d9ce64b3e8b7bdaded258c129b9fee59332b0');
