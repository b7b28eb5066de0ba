-- Statistics, and comparisons of the gateway's reports with the payments here.

-- Figures of payments by hour. A task counts payments that have changed; requests and notifications
-- do not write these tables.
create table gateway.hourly_payment_stats (
  -- `*`: the payments of all users; `u:<user id>`: those of one user; `-`: those that belong to no
  -- user.
  scope text not null,
  start timestamptz not null,
  payment_type text not null,
  -- Empty: none.
  bank text not null,
  -- Empty: the row has only `paid_count` and the times to pay, of all statuses.
  transaction_status text not null,
  -- Payments created in this time, and those of them that were paid at any time.
  created_count bigint not null,
  paid_count bigint not null,
  -- Amounts that were captured, refunded and charged back in this time.
  gross_amount bigint not null,
  refund_amount bigint not null,
  chargeback_amount bigint not null,
  -- The paid payments created in this time, by how long the customer took to pay: the ranges of times
  -- with payments, and the number of payments in each of them.
  pay_ranges smallint[] not null,
  pay_counts integer[] not null,
  primary key (scope, start, payment_type, bank, transaction_status)
);
create index hourly_stats_of_users on gateway.hourly_payment_stats (start, scope)
  where scope <> '*';

-- The same by days of Jakarta, which is the default time zone: adding up the hours of months takes too
-- long.
create table gateway.daily_payment_stats (like gateway.hourly_payment_stats including all);

-- How each payment is counted in these figures, so that a change can be subtracted again.
create table gateway.counted_payments (
  payment_id uuid primary key,
  counts json not null
);

-- One row: which changes are counted.
create table gateway.stats_progress (
  is_only_row boolean primary key default true check (is_only_row),
  -- The changes of all entries of gateway.history up to this id are counted.
  position bigint not null,
  -- The last entry that a run has read, and the transactions that had begun by then. When they have
  -- ended, there can be no further entry up to that id.
  next_position bigint,
  next_xmax xid8,
  -- While all payments are counted again: the last one that is counted.
  rebuilt_to uuid,
  -- All changes until then are counted; null: not all payments are counted yet.
  as_of timestamptz
);
insert into gateway.stats_progress (position, as_of) values (0, now());

-- Reports of the gateway that were compared with the payments here.
create table gateway.reconciliations (
  id uuid primary key,
  -- Who uploaded the file.
  user_id text not null,
  -- SHA-256 of the file and of the options, so that the same file is not compared twice.
  file_hash bytea,
  -- `uploading`, `queued`, `running` or `succeeded`.
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
  -- How many differences are resolved, so that lists do not count lines.
  resolved_count integer not null default 0,
  -- The sums of the file by day, the results of the lines that are compared so far, and how far
  -- payments that are missing in the file were searched. Null while the file is uploaded.
  summary json,
  created_at timestamptz not null,
  finished_at timestamptz
);
create unique index reconciliations_by_file on gateway.reconciliations (file_hash)
  where status <> 'uploading';
-- Uploads that were interrupted are deleted.
create index reconciliations_uploading on gateway.reconciliations (id) where status = 'uploading';

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
  -- When staff marked the difference as resolved, and the user who did.
  resolved_at timestamptz,
  resolved_by text,
  primary key (reconciliation_id, line)
);
create index reconciliation_lines_by_payment
  on gateway.reconciliation_lines (reconciliation_id, payment_id);
-- The filter of the differences by result. Lines that agree are not in the index.
create index reconciliation_lines_by_result
  on gateway.reconciliation_lines (reconciliation_id, result, line) where result <> 'matched';
-- Finds the lines of a file that were compared with a payment before: a further line about the same
-- settlement or refund is `listed_twice`. Those are not in the index, so that a payment has few
-- entries, however often the file lists it.
create index reconciliation_lines_compared
  on gateway.reconciliation_lines (reconciliation_id, payment_id)
  where result in ('matched', 'amount_differs', 'status_differs');
-- Lists resolved differences. Lines that are uploaded and compared do not write this index.
create index reconciliation_lines_resolved
  on gateway.reconciliation_lines (reconciliation_id, line) where resolved_at is not null;

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
