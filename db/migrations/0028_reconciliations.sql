-- Reports of the gateway that were compared with the payments here.
create table gateway.reconciliations (
  id uuid primary key,
  -- Who uploaded the file.
  user_id text not null,
  -- SHA-256 of the file and of the options, so that the same file is not compared twice.
  file_hash bytea,
  -- uploading, queued, running, succeeded
  status text not null,
  job_id uuid,
  line_count integer not null default 0,
  -- The last line that was compared.
  compared_to integer not null default 0,
  -- Days in Jakarta that the file covers; null: unknown.
  first_day date,
  last_day date,
  -- More than the usual number of checks may be queued.
  is_confirmed boolean not null,
  queued_checks integer not null default 0,
  -- Counts by result, and sums by day; null until it has succeeded.
  summary json,
  created_at timestamptz not null,
  finished_at timestamptz
);
create unique index reconciliations_by_file on gateway.reconciliations (file_hash)
  where status <> 'uploading';

-- The lines of a file. When a reconciliation has succeeded, only the differences are kept. A payment
-- that is missing in the file has a negative number.
create table gateway.reconciliation_lines (
  reconciliation_id uuid not null,
  line integer not null,
  kind text not null,
  order_id text,
  transaction_id text,
  refund_key text,
  -- The status in the file.
  status text,
  amount bigint not null,
  -- In hundredths of a rupiah: fees can have fractions.
  fee_cents bigint,
  net_cents bigint,
  day date,
  -- Null: not compared yet.
  result text,
  payment_id uuid,
  refund_id uuid,
  -- What the service has stored.
  known_amount bigint,
  known_status text,
  primary key (reconciliation_id, line)
);
create index reconciliation_lines_by_payment
  on gateway.reconciliation_lines (reconciliation_id, payment_id);
