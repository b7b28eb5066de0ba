-- The lines of settlements, refunds and chargebacks that agree: a line of another file about the
-- same one is `listed_twice`. They are deleted from `reconciliation_lines`, and kept here as long as
-- their file.
create table gateway.reported_lines (
  payment_id uuid not null,
  reconciliation_id uuid not null,
  line integer not null,
  kind text not null,
  transaction_id text,
  status text,
  amount bigint not null,
  -- Always `matched`.
  result text not null,
  refund_id uuid,
  primary key (payment_id, reconciliation_id, line)
);

-- Deletes the lines of a file.
create index reported_lines_by_file on gateway.reported_lines (reconciliation_id, line);
