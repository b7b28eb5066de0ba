-- Events about changes; written in the same statement as the change.
create table gateway.events (
  id uuid primary key,
  name text not null,
  -- What changed: `payment`, `invoice`, `subscription` or `webhook_endpoint`.
  resource text not null,
  resource_id uuid not null,
  -- 1, 2, 3, … for each resource.
  sequence integer not null,
  user_id text,
  -- The resource as it was after the change.
  data json not null,
  -- The tasks that deliver the event to in-process subscribers of the instance that wrote it.
  subscribers text[] not null default '{}',
  created_at timestamptz not null,
  unique (resource_id, sequence)
);

-- The events that have no position yet. The statement that writes an event adds the row, and the
-- publisher deletes it in the transaction that gives the event its position. The ids of a resource's
-- events ascend, because a writer takes them after it has locked the resource.
create table gateway.event_outbox (
  id bigint generated always as identity primary key,
  event_id uuid not null
);

-- The order of all events. A position is assigned after the commit of the event, by one instance at a
-- time. So a reader that continues after the highest position it has read misses no event.
-- The indexes that lists and streams need are here, so that a charge does not write them.
create table gateway.published_events (
  position bigint primary key,
  event_id uuid not null,
  -- Copied from the event, for the indexes.
  name text not null,
  user_id text
);
create unique index published_events_by_event on gateway.published_events (event_id);
create index published_events_by_name on gateway.published_events (name, position);
create index published_events_by_user on gateway.published_events (user_id, position);

-- One row: how far positions are assigned.
create table gateway.event_publication (
  is_only_row boolean primary key default true check (is_only_row),
  last_position bigint not null,
  -- The ids of the outbox that can have a row for the publisher: all above the last one that it has
  -- read, and below it those whose transactions were open or rolled back.
  unread int8multirange not null default '{[1,)}',
  -- Transactions with lower numbers than gaps_before have taken all ids up to gaps_to. When these
  -- transactions have ended, the ids that are still unread will have no row.
  gaps_to bigint not null default 0,
  gaps_before xid8 not null default '0'
) with (fillfactor = 20);
insert into gateway.event_publication (last_position) values (0);

-- The in-process subscribers of all instances, one row for each event name that they subscribed to.
-- The publisher creates their deliveries, no matter which process wrote the event.
create table gateway.subscribers (
  -- The task that delivers events to the subscriber.
  task text,
  event_name text,
  -- When an instance registered the subscriber the last time.
  registered_at timestamptz not null default now(),
  -- How many runs of `prune` in succession found that no instance has registered it again.
  missed_prunes integer not null default 0,
  primary key (task, event_name)
);
