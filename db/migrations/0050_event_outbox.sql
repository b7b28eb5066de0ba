-- Unused since 1.0.0.

-- The events that have no position yet. The statement that writes an event adds the row, and the
-- publisher deletes it in the transaction that gives the event its position. The ids of a resource's
-- events ascend, because a writer takes them after it has locked the resource.
create table gateway.event_outbox (
  id bigint generated always as identity primary key,
  event_id uuid not null
);

-- While these locks are held, no event is written or published.
lock table gateway.events, gateway.event_publication in access exclusive mode;
insert into gateway.event_outbox (event_id)
select event.id
from gateway.event_publication publication, gateway.events event
where (event.generation, event.xact_id)
    >= (publication.generation, pg_snapshot_xmin(publication.snapshot))
  and not exists (select from gateway.published_events where event_id = event.id)
order by event.generation, event.xact_id, event.id;

-- Together with their indexes.
alter table gateway.events drop column generation, drop column xact_id;
alter table gateway.event_publication
  drop column generation, drop column snapshot, drop column target, drop column after_xact_id,
  drop column after_id, drop column in_start_order_until, drop column batch_number,
  -- The ids of the outbox that can have a row for the publisher: all above the last one that it has
  -- read, and below it those whose transactions were open or rolled back.
  add column unread int8multirange not null default '{[1,)}',
  -- Transactions with lower numbers than gaps_before have taken all ids up to gaps_to. When these
  -- transactions have ended, the ids that are still unread will have no row.
  add column gaps_to bigint not null default 0,
  add column gaps_before xid8 not null default '0';
