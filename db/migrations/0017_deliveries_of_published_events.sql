-- The tasks that deliver the event to in-process subscribers. The publisher inserts their jobs, and the
-- webhook deliveries, together with the position of the event. Null: an instance of an earlier version
-- wrote the event together with its jobs and deliveries, so the publisher inserts none.
alter table gateway.events add column subscribers text[];
