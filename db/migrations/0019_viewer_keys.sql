-- A viewer sees what staff see, and changes nothing.
alter table gateway.api_keys
  add column is_viewer boolean not null default false,
  add constraint api_keys_have_one_role check (not (is_staff and is_viewer));

-- The pages of the list of keys, newest first.
create index api_keys_by_age on gateway.api_keys (created_at, prefix);
