-- While a transaction is open, PostgreSQL keeps every former version of the only row. With this key
-- the publisher finds the current version at the end of an index, and reads no former one. An
-- update changes the key, so a page needs no free space for the next version.
-- Unused since 1.0.0.
alter table gateway.event_publication
  drop column is_only_row,
  add primary key (last_position),
  reset (fillfactor);
