-- Staff mark a difference of a reconciliation as resolved.
alter table gateway.reconciliation_lines
  add column resolved_at timestamptz,
  -- The user who marked it.
  add column resolved_by text;

-- How many differences are resolved, so that lists do not count lines.
alter table gateway.reconciliations add column resolved_count integer not null default 0;

-- Lists resolved differences. Lines that are uploaded and compared do not write this index.
create index reconciliation_lines_resolved
  on gateway.reconciliation_lines (reconciliation_id, line) where resolved_at is not null;
