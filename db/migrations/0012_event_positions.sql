-- The order of all events. A position is assigned after the commit of the event, by one instance at a
-- time. So a reader that continues after the highest position it has read misses no event.
-- The indexes that lists and streams need are here, so that a charge does not write them.
create table gateway.published_events (
  position bigint not null,
  event_id uuid not null,
  -- Copied from the event, for the indexes.
  name text not null,
  user_id text
);

-- One row: how far positions are assigned.
create table gateway.event_publication (
  is_only_row boolean primary key default true check (is_only_row),
  last_position bigint not null,
  -- The generation of events that get positions now; see the column of gateway.events.
  generation integer not null,
  -- Every event of this generation whose transaction is visible in this snapshot has a position.
  snapshot pg_snapshot not null,
  -- While one snapshot has more events than one batch: that snapshot, and the last event of the batch.
  target pg_snapshot,
  after_xact_id xid8,
  after_id uuid,
  -- Until then, positions follow the start of transactions, which is the order that instances of the
  -- previous version show. A reader may continue at either version during the upgrade.
  in_start_order_until timestamptz,
  -- Each batch raises it.
  batch bigint not null default 0
) with (fillfactor = 20);

insert into gateway.event_publication (last_position, generation, snapshot, in_start_order_until)
select 0, pg_get_expr(adbin, adrelid)::integer,
  format('%1$s:%1$s:', pg_snapshot_xmin(pg_current_snapshot()))::pg_snapshot,
  case when exists (select from gateway.events) then now() + interval '10 minutes' end
from pg_attribute join pg_attrdef on adrelid = attrelid and adnum = attnum
where attrelid = 'gateway.events'::regclass and attname = 'generation';

-- Existing events keep their order, and so every cursor handed out before keeps its meaning. Events of
-- transactions that are not visible in the stored snapshot are left to the publisher.
insert into gateway.published_events (position, event_id, name, user_id)
select row_number() over (order by event.generation, event.xact_id, event.id),
  event.id, event.name, event.user_id
from gateway.events event, gateway.event_publication publication
where event.generation < publication.generation
  or event.xact_id < pg_snapshot_xmin(publication.snapshot);

update gateway.event_publication
set last_position = (select count(*) from gateway.published_events);

alter table gateway.published_events add primary key (position);
create unique index published_events_by_event on gateway.published_events (event_id);
create index published_events_by_name on gateway.published_events (name, position);
create index published_events_by_user on gateway.published_events (user_id, position);

-- Dropping an index waits for every transaction that uses the table, and blocks it meanwhile. So this is
-- done here only in a new database; in an existing one the service drops them concurrently.
do $$ begin
  if not exists (select from gateway.events) then
    drop index gateway.events_by_name;
    drop index gateway.events_by_user;
  end if;
end $$;

-- Until then the delivery waits for an earlier one of its resource; null: it did not have to wait.
alter table gateway.webhook_deliveries add column hold_until timestamptz;

-- Where the next run of `prune` continues in a table; no row: at the oldest row.
create table gateway.prune_cursors (
  table_name text primary key,
  last_id uuid not null
);
