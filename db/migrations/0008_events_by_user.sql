-- Whoever follows only what is their own finds it without reading what is everybody's.
create index events_by_user on gateway.events (user_id, generation, xact_id, id);
