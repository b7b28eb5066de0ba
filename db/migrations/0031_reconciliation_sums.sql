-- The filter of the differences by result. Lines that agree are not in the index.
create index reconciliation_lines_by_result
  on gateway.reconciliation_lines (reconciliation_id, result, line) where result <> 'matched';

-- Uploads that were interrupted are deleted.
create index reconciliations_uploading on gateway.reconciliations (id) where status = 'uploading';

-- Finds the refunds that earlier lines of the same file have been matched to. A payment has few refunds, but can have many lines.
create index reconciliation_lines_by_refund
  on gateway.reconciliation_lines (reconciliation_id, payment_id) where refund_id is not null;

-- `summary` is now stored with the upload: the sums of the file by day, the results of the lines that
-- are compared so far, and how far payments that are missing in the file were searched. The files that
-- are not compared yet get it here.
delete from gateway.reconciliation_lines line using gateway.reconciliations file
where line.reconciliation_id = file.id and line.line < 0 and file.summary is null;

update gateway.reconciliations file set summary = json_build_object(
  'results', (
    select json_build_object(
      'matched', count(*) filter (where result = 'matched'),
      'amount_differs', count(*) filter (where result = 'amount_differs'),
      'status_differs', count(*) filter (where result = 'status_differs'),
      'missing_here', count(*) filter (where result = 'missing_here'),
      'missing_there', 0)
    from gateway.reconciliation_lines where reconciliation_id = file.id),
  'days', (
    select coalesce(json_agg(by_day order by by_day.date), '[]') from (
      select day::text as date, count(*) as lines,
        sum(case when kind in ('refund', 'chargeback') then -amount
          when kind = 'settlement' then amount else 0 end)::bigint as gross,
        coalesce(sum(fee_cents), 0)::bigint as fee_cents,
        coalesce(sum(net_cents), 0)::bigint as net_cents
      from gateway.reconciliation_lines where reconciliation_id = file.id
      group by day
    ) by_day),
  'searched', null)
where summary is null and status <> 'uploading';
