-- The in-process subscribers of all instances, one row for each event name that they subscribed to. The
-- publisher creates their deliveries, no matter which process wrote the event.
create table gateway.subscribers (
  -- The task that delivers events to the subscriber.
  task text,
  event_name text,
  -- How many runs of `prune` in succession found that no instance has registered it again.
  missed_prunes integer not null default 0,
  primary key (task, event_name)
);
