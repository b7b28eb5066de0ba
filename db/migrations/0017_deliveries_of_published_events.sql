-- The tasks that deliver the event to in-process subscribers. The publisher inserts their jobs, and the
-- webhook deliveries, together with the position of the event. Null: an instance of an earlier version
-- wrote the event together with its jobs and deliveries, so the publisher inserts none.
alter table gateway.events add column subscribers text[];

-- A publisher of an earlier version would assign positions without inserting deliveries. Its
-- statement has the old column name, so it fails from now on, and an instance of this version takes
-- its place.
alter table gateway.event_publication rename column batch to batch_number;
