-- Finds the payments that are counted in an hour in which they were not created, for the check that
-- compares the hour's figures with the payments.
create index counted_payments_by_hour on gateway.counted_payments
  using gin (jsonb_path_query_array(counts::jsonb, '$.hours[*].hour'))
  where json_array_length(counts -> 'hours') > 1;
