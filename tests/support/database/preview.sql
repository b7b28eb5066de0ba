-- A database of the last version before 1.0.0, with data of every kind, as pg_dump writes it. The
-- upgrade test changes it with deploy/upgrade-from-preview.sql.

CREATE SCHEMA gateway;

CREATE FUNCTION gateway.carry_job() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog'
    AS $$
  -- after insert or update of run_at, status, rank on gateway.jobs for each row when (new.status = 'queued')
  begin
    perform gateway_worker.add_job(
      'job',
      json_build_object('job', new.id, 'kind', json_build_object(
        'task', new.task, 'rank', new.rank, 'turn', new.turn, 'user_id', new.user_id)),
      run_at => new.run_at, job_key => new.id::text,
      priority => case when new.rank > 0 then 32758 + new.rank
        else least(-32768 + new.turn, 32758) end);
    return null;
  end $$;

CREATE FUNCTION gateway.email_key(email text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  select lower(email collate "C")
$$;

CREATE PROCEDURE gateway.fill_payment_filters()
    LANGUAGE plpgsql
    AS $$
declare
  previous uuid := '00000000-0000-0000-0000-000000000000';
  last uuid;
begin
  loop
    begin
      perform set_config('lock_timeout', '200ms', true);
      with locked as materialized (
        select id, user_id, transaction_status, payment_type, check_at, paid_at
        from gateway.payments where id > previous order by id limit 500 for share
      ), copied as (
        insert into gateway.payment_filters
          (payment_id, user_id, transaction_status, payment_type, check_at, paid_at)
        select * from locked on conflict do nothing
      )
      select id into last from locked order by id desc limit 1;
    exception when lock_not_available then
      perform pg_sleep(0.5);
      continue;
    end;
    commit;
    exit when last is null;
    previous := last;
  end loop;
end $$;

CREATE PROCEDURE gateway.fill_payment_search()
    LANGUAGE plpgsql
    AS $$
declare
  previous uuid := '00000000-0000-0000-0000-000000000000';
  last uuid;
begin
  loop
    begin
      perform set_config('lock_timeout', '200ms', true);
      select id into last from (
        select id from gateway.payments where id > previous order by id limit 500
      ) batch order by id desc limit 1;
      exit when last is null;
      insert into gateway.payment_search_keys (kind, value, payment_id)
      select key.kind, key.value, payment.id
      from gateway.payments payment cross join lateral gateway.search_keys(
        payment.order_id, payment.customer_email, payment.customer_phone, payment.va_number) key
      where payment.id > previous and payment.id <= last
      on conflict do nothing;
      update gateway.payment_filters known set settlement_time = payment.settlement_time
      from gateway.payments payment
      where payment.id > previous and payment.id <= last and known.payment_id = payment.id
        and known.settlement_time is null and payment.settlement_time is not null;
      with locked as materialized (
        select id, fraud_status from gateway.payments
        where id > previous and id <= last and fraud_status in ('challenge', 'deny')
        order by id for share
      )
      update gateway.payment_filters known set fraud_alert = locked.fraud_status
      from locked
      where known.payment_id = locked.id and known.fraud_alert is null;
    exception when lock_not_available then
      perform pg_sleep(0.5);
      continue;
    end;
    commit;
    previous := last;
  end loop;
end $$;

CREATE PROCEDURE gateway.fill_refund_owners()
    LANGUAGE plpgsql
    AS $$
declare
  previous uuid := '00000000-0000-0000-0000-000000000000';
  last uuid;
begin
  loop
    with page as materialized (
      select id from gateway.refunds where id > previous order by id limit 500
    ), filled as (
      update gateway.refunds refund set user_id = payment.user_id
      from page, gateway.payments payment
      where refund.id = page.id and payment.id = refund.payment_id
        and refund.user_id is null and payment.user_id is not null
    )
    select id into last from page order by id desc limit 1;
    commit;
    exit when last is null;
    previous := last;
  end loop;
end $$;

CREATE FUNCTION gateway.fraud_alert(fraud_status text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  select case when fraud_status in ('challenge', 'deny') then fraud_status end
$$;

CREATE FUNCTION gateway.phone_key(phone text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  -- Without a FROM clause, so that PostgreSQL inlines it: a call would take longer than the rest.
  select case when length(regexp_replace(phone, '[^0-9]', '', 'g')) >= 4 then
    regexp_replace(regexp_replace(regexp_replace(
      phone, '[^0-9]', '', 'g'), '^00', ''), '^(620|0)', '62') end
$$;

CREATE FUNCTION gateway.search_keys(order_id text, email text, phone text, va_number text) RETURNS TABLE(kind "char", value text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
  select known.kind, known.value from (values
    ('o'::"char", order_id),
    ('e'::"char", gateway.email_key(email)),
    ('p'::"char", gateway.phone_key(phone)),
    ('v'::"char", va_number)
  ) known(kind, value) where known.value <> ''
$$;

CREATE FUNCTION gateway.write_payment_filters() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if tg_op = 'INSERT' then
    insert into gateway.payment_filters
      (payment_id, user_id, transaction_status, payment_type, check_at, paid_at, settlement_time,
        fraud_alert)
    select id, user_id, transaction_status, payment_type, check_at, paid_at, settlement_time,
      gateway.fraud_alert(fraud_status) from written;
    insert into gateway.payment_search_keys (kind, value, payment_id)
    select key.kind, key.value, written.id
    from written cross join lateral gateway.search_keys(
      written.order_id, written.customer_email, written.customer_phone, written.va_number) key;
  elsif tg_op = 'DELETE' then
    delete from gateway.payment_filters known using written where known.payment_id = written.id;
    delete from gateway.payment_search_keys known
    using written cross join lateral gateway.search_keys(
      written.order_id, written.customer_email, written.customer_phone, written.va_number) key
    where known.kind = key.kind and known.value = key.value and known.payment_id = written.id;
  else
    update gateway.payment_filters known
    set user_id = written.user_id, transaction_status = written.transaction_status,
      payment_type = written.payment_type, check_at = written.check_at, paid_at = written.paid_at,
      settlement_time = written.settlement_time,
      fraud_alert = gateway.fraud_alert(written.fraud_status)
    from written
    where known.payment_id = written.id
      and (known.user_id, known.transaction_status, known.payment_type, known.check_at,
          known.paid_at, known.settlement_time, known.fraud_alert)
        is distinct from (written.user_id, written.transaction_status, written.payment_type,
          written.check_at, written.paid_at, written.settlement_time,
          gateway.fraud_alert(written.fraud_status));
  end if;
  return null;
end $$;

CREATE FUNCTION gateway.write_refund_owner() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if new.user_id is null then
    new.user_id := (select user_id from gateway.payments where id = new.payment_id);
  end if;
  return new;
end $$;

CREATE FUNCTION gateway.write_va_number_key() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
  if old.va_number is not null then
    delete from gateway.payment_search_keys
    where kind = 'v' and value = old.va_number and payment_id = old.id;
  end if;
  insert into gateway.payment_search_keys (kind, value, payment_id)
  select 'v', new.va_number, new.id where new.va_number <> '' on conflict do nothing;
  return null;
end $$;

CREATE TABLE gateway.api_keys (
    hash bytea NOT NULL,
    prefix text NOT NULL,
    user_id text NOT NULL,
    is_staff boolean NOT NULL,
    is_development boolean DEFAULT false NOT NULL,
    name text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    is_viewer boolean DEFAULT false NOT NULL,
    order_prefix text,
    CONSTRAINT api_keys_have_one_role CHECK ((NOT (is_staff AND is_viewer)))
);

CREATE TABLE gateway.audit (
    id uuid NOT NULL,
    actor text NOT NULL,
    user_id text NOT NULL,
    action text NOT NULL,
    resource_id text,
    outcome text NOT NULL,
    status integer NOT NULL,
    code text,
    attempts integer DEFAULT 1 NOT NULL,
    request_id text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE gateway.console_sessions (
    id uuid NOT NULL,
    token_hash bytea NOT NULL,
    user_id text NOT NULL,
    is_staff boolean NOT NULL,
    key_prefix text,
    created_at timestamp with time zone NOT NULL,
    last_used_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE gateway.counted_payments (
    payment_id uuid NOT NULL,
    counts json NOT NULL
);

CREATE TABLE gateway.cron_runs (
    task text NOT NULL,
    minute timestamp with time zone NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    error text,
    result json
);

CREATE TABLE gateway.daily_payment_stats (
    scope text NOT NULL,
    start timestamp with time zone NOT NULL,
    payment_type text NOT NULL,
    bank text NOT NULL,
    transaction_status text NOT NULL,
    created_count bigint NOT NULL,
    paid_count bigint NOT NULL,
    gross_amount bigint NOT NULL,
    refund_amount bigint NOT NULL,
    chargeback_amount bigint NOT NULL,
    pay_ranges smallint[] NOT NULL,
    pay_counts integer[] NOT NULL
);

CREATE TABLE gateway.event_publication (
    is_only_row boolean DEFAULT true NOT NULL,
    last_position bigint NOT NULL,
    generation integer NOT NULL,
    snapshot pg_snapshot NOT NULL,
    target pg_snapshot,
    after_xact_id xid8,
    after_id uuid,
    in_start_order_until timestamp with time zone,
    batch_number bigint DEFAULT 0 NOT NULL,
    CONSTRAINT event_publication_is_only_row_check CHECK (is_only_row)
)
WITH (fillfactor='20');

CREATE TABLE gateway.events (
    id uuid NOT NULL,
    name text NOT NULL,
    resource text NOT NULL,
    resource_id uuid NOT NULL,
    sequence integer NOT NULL,
    user_id text,
    data json NOT NULL,
    created_at timestamp with time zone NOT NULL,
    generation integer DEFAULT 0 NOT NULL,
    xact_id xid8 DEFAULT pg_current_xact_id() NOT NULL,
    subscribers text[]
);

CREATE TABLE gateway.gateway_account (
    is_only_row boolean DEFAULT true NOT NULL,
    environment text NOT NULL,
    merchant_id text,
    since timestamp with time zone NOT NULL,
    CONSTRAINT gateway_account_is_only_row_check CHECK (is_only_row)
);

CREATE TABLE gateway.history (
    id bigint NOT NULL,
    resource_id uuid NOT NULL,
    from_status text,
    to_status text NOT NULL,
    fraud_status text,
    source text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    resource text NOT NULL,
    actor text
);

CREATE TABLE gateway.hourly_payment_stats (
    scope text NOT NULL,
    start timestamp with time zone NOT NULL,
    payment_type text NOT NULL,
    bank text NOT NULL,
    transaction_status text NOT NULL,
    created_count bigint NOT NULL,
    paid_count bigint NOT NULL,
    gross_amount bigint NOT NULL,
    refund_amount bigint NOT NULL,
    chargeback_amount bigint NOT NULL,
    pay_ranges smallint[] NOT NULL,
    pay_counts integer[] NOT NULL
);

CREATE TABLE gateway.idempotency_keys (
    user_id text NOT NULL,
    scope text NOT NULL,
    key text NOT NULL,
    body_hash bytea NOT NULL,
    resource_id uuid,
    refund_id uuid,
    reply json,
    lease_until timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    holder bigint
);

CREATE TABLE gateway.instances (
    holder bigint NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE gateway.invoice_items (
    id uuid NOT NULL,
    invoice_id uuid NOT NULL,
    "position" integer NOT NULL,
    item_id text,
    description text NOT NULL,
    price bigint NOT NULL,
    quantity integer NOT NULL
);

CREATE TABLE gateway.invoices (
    id uuid NOT NULL,
    user_id text NOT NULL,
    invoice_number text NOT NULL,
    order_id text NOT NULL,
    gateway_invoice_id text,
    status text NOT NULL,
    customer_name text NOT NULL,
    customer_email text,
    customer_phone text,
    customer_id text,
    total_amount bigint NOT NULL,
    currency text NOT NULL,
    due_date text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    paid_at timestamp with time zone,
    notes text,
    void_reason text,
    payment_link_url text,
    pdf_url text,
    metadata json,
    sent_at timestamp with time zone NOT NULL,
    check_at timestamp with time zone,
    event_count integer DEFAULT 0 NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    created_by text,
    CONSTRAINT invoices_total_amount_check CHECK ((total_amount > 0))
);

CREATE TABLE gateway.jobs (
    id uuid NOT NULL,
    task text NOT NULL,
    subject_id uuid,
    payload json NOT NULL,
    user_id text,
    status text DEFAULT 'queued'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    run_at timestamp with time zone NOT NULL,
    lease_until timestamp with time zone,
    result json,
    error text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    secret text,
    rank smallint DEFAULT 0 NOT NULL,
    holder bigint,
    turn integer DEFAULT 0 NOT NULL
);

CREATE TABLE gateway.migrations (
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE gateway.notifications (
    id uuid NOT NULL,
    payment_id uuid,
    order_id text NOT NULL,
    transaction_id text,
    transaction_status text NOT NULL,
    fraud_status text,
    payment_type text,
    status_code text NOT NULL,
    gross_amount text NOT NULL,
    status text NOT NULL,
    error_message text,
    raw_payload json NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE gateway.order_ids (
    order_id text NOT NULL,
    user_id text NOT NULL,
    holder_id uuid NOT NULL
);

CREATE TABLE gateway.paid_checks (
    payment_type text NOT NULL,
    after_seconds integer NOT NULL,
    paid_at timestamp with time zone NOT NULL,
    payment_id uuid NOT NULL
);

CREATE TABLE gateway.payment_filters (
    payment_id uuid NOT NULL,
    user_id text,
    transaction_status text NOT NULL,
    payment_type text NOT NULL,
    check_at timestamp with time zone,
    paid_at timestamp with time zone,
    settlement_time timestamp with time zone,
    fraud_alert text
);

ALTER TABLE gateway.history ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME gateway.payment_history_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE gateway.payment_items (
    id uuid NOT NULL,
    payment_id uuid NOT NULL,
    "position" integer NOT NULL,
    item_id text,
    name text NOT NULL,
    price bigint NOT NULL,
    quantity integer NOT NULL,
    brand text,
    category text,
    merchant_name text,
    url text
);

CREATE TABLE gateway.payment_search_keys (
    kind "char" NOT NULL,
    value text NOT NULL COLLATE pg_catalog."C",
    payment_id uuid NOT NULL
);

CREATE TABLE gateway.payments (
    id uuid NOT NULL,
    user_id text,
    order_id text NOT NULL,
    transaction_id text,
    payment_type text NOT NULL,
    bank text,
    store text,
    acquirer text,
    gross_amount bigint NOT NULL,
    captured_amount bigint,
    refunded_amount bigint DEFAULT 0 NOT NULL,
    reserved_amount bigint DEFAULT 0 NOT NULL,
    currency text NOT NULL,
    transaction_status text NOT NULL,
    fraud_status text,
    status_code text,
    status_message text,
    customer_first_name text,
    customer_last_name text,
    customer_email text,
    customer_phone text,
    va_number text,
    bill_key text,
    biller_code text,
    payment_code text,
    redirect_url text,
    deeplink_url text,
    qr_string text,
    qr_url text,
    transaction_time timestamp with time zone,
    settlement_time timestamp with time zone,
    expiry_time timestamp with time zone,
    metadata json,
    custom_field1 text,
    custom_field2 text,
    custom_field3 text,
    invoice_id uuid,
    subscription_id uuid,
    is_hold boolean DEFAULT false NOT NULL,
    is_refused boolean DEFAULT false NOT NULL,
    paid_at timestamp with time zone,
    denied_captures integer DEFAULT 0 NOT NULL,
    sent_at timestamp with time zone NOT NULL,
    check_at timestamp with time zone,
    event_count integer DEFAULT 0 NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    unrecognized_status text,
    chargeback_amount bigint,
    created_by text,
    CONSTRAINT payments_captured_amount_check CHECK ((captured_amount > 0)),
    CONSTRAINT payments_gross_amount_check CHECK ((gross_amount > 0)),
    CONSTRAINT payments_refunded_amount_check CHECK ((refunded_amount >= 0)),
    CONSTRAINT payments_reserved_amount_check CHECK ((reserved_amount >= 0))
)
WITH (fillfactor='75');

CREATE TABLE gateway.prune_cursors (
    table_name text NOT NULL,
    last_id uuid NOT NULL
);

CREATE TABLE gateway.published_events (
    "position" bigint NOT NULL,
    event_id uuid NOT NULL,
    name text NOT NULL,
    user_id text
);

CREATE TABLE gateway.reconciliation_lines (
    reconciliation_id uuid NOT NULL,
    line integer NOT NULL,
    kind text NOT NULL,
    order_id text,
    transaction_id text,
    refund_key text,
    status text,
    amount bigint NOT NULL,
    fee_cents bigint,
    net_cents bigint,
    day date,
    result text,
    payment_id uuid,
    refund_id uuid,
    known_amount bigint,
    known_status text,
    resolved_at timestamp with time zone,
    resolved_by text
);

CREATE TABLE gateway.reconciliations (
    id uuid NOT NULL,
    user_id text NOT NULL,
    file_hash bytea,
    status text NOT NULL,
    job_id uuid,
    line_count integer DEFAULT 0 NOT NULL,
    compared_to integer DEFAULT 0 NOT NULL,
    first_day date,
    last_day date,
    is_confirmed boolean NOT NULL,
    queued_checks integer DEFAULT 0 NOT NULL,
    summary json,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    resolved_count integer DEFAULT 0 NOT NULL
);

CREATE TABLE gateway.refunds (
    id uuid NOT NULL,
    payment_id uuid NOT NULL,
    refund_key text NOT NULL,
    amount bigint NOT NULL,
    reason text,
    is_direct boolean NOT NULL,
    status text NOT NULL,
    status_code text,
    status_message text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    user_id text,
    created_by text,
    CONSTRAINT refunds_amount_check CHECK ((amount > 0))
);

CREATE TABLE gateway.reported_lines (
    payment_id uuid NOT NULL,
    reconciliation_id uuid NOT NULL,
    line integer NOT NULL,
    kind text NOT NULL,
    transaction_id text,
    status text,
    amount bigint NOT NULL,
    result text NOT NULL,
    refund_id uuid
);

CREATE TABLE gateway.stats_progress (
    is_only_row boolean DEFAULT true NOT NULL,
    "position" bigint NOT NULL,
    next_position bigint,
    next_xmax xid8,
    rebuilt_to uuid,
    as_of timestamp with time zone,
    CONSTRAINT stats_progress_is_only_row_check CHECK (is_only_row)
);

CREATE TABLE gateway.subscribers (
    task text NOT NULL,
    event_name text NOT NULL,
    missed_prunes integer DEFAULT 0 NOT NULL,
    registered_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE gateway.subscription_charges (
    transaction_id text NOT NULL,
    subscription_id uuid NOT NULL,
    payment_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE gateway.subscriptions (
    id uuid NOT NULL,
    user_id text NOT NULL,
    gateway_subscription_id text,
    name text NOT NULL,
    payment_type text NOT NULL,
    amount bigint NOT NULL,
    currency text NOT NULL,
    "interval" integer NOT NULL,
    interval_unit text NOT NULL,
    max_interval integer,
    current_interval integer DEFAULT 0 NOT NULL,
    start_time timestamp with time zone,
    next_execution_at timestamp with time zone,
    status text NOT NULL,
    intent text,
    ended_at timestamp with time zone,
    customer_first_name text,
    customer_last_name text,
    customer_email text,
    customer_phone text,
    metadata json,
    sent_at timestamp with time zone NOT NULL,
    checked_at timestamp with time zone,
    check_at timestamp with time zone,
    event_count integer DEFAULT 0 NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    created_by text,
    CONSTRAINT subscriptions_amount_check CHECK ((amount > 0))
);

CREATE TABLE gateway.webhook_deliveries (
    event_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    event_name text NOT NULL,
    resource_id uuid NOT NULL,
    sequence integer NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone,
    status_code integer,
    answer text,
    error text,
    duration_ms integer,
    last_attempt_at timestamp with time zone,
    delivered_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    hold_until timestamp with time zone
);

CREATE TABLE gateway.webhook_endpoints (
    id uuid NOT NULL,
    url text NOT NULL,
    event_names text[],
    description text,
    disabled_reason text,
    failing_since timestamp with time zone,
    secret text NOT NULL,
    previous_secret text,
    previous_secret_until timestamp with time zone,
    event_count integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone
);

INSERT INTO gateway.api_keys VALUES
	('\x09835bc3102a1950d6d6aca1aa3770a1d06412ebc4fa5c01cd420db991ff1bb9', 'gk_FfKMUosD', 'staff', true, false, NULL, '2026-11-17 20:24:28.884923+00', '2026-11-17 20:25:33.336671+00', NULL, false, NULL),
	('\x5a4f993c00b2079789e5b7b42b89397a51ea2a4837a3ac832beba9b117509702', 'gk_Q9Wo-DGj', 'alice', false, false, NULL, '2026-11-17 20:24:37.795977+00', '2026-11-17 20:25:33.406836+00', NULL, false, 'shop'),
	('\x8375e4d3f239738cc99442c38cd8cf0cfd0a4e2089259f8caec1a7be5054876b', 'gk_FSQVZVhE', 'vera', false, false, NULL, '2026-11-17 20:24:44.412647+00', '2026-11-17 20:25:34.893289+00', NULL, true, NULL);

INSERT INTO gateway.audit VALUES
	('01a1eb2f-afbb-7081-b01f-21a4af2fe543', 'api_key:gk_FfKMUosD', 'staff', 'POST /webhook-endpoints/', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'changed', 201, NULL, 1, 'bca05076-d0fc-48ba-a46a-3eb4ac6ebaa7', '2026-11-17 20:25:33.371+00'),
	('01a1eb2f-b16a-72d3-a474-df507da8c5cc', 'api_key:gk_Q9Wo-DGj', 'alice', 'POST /payments/{pk}/refund/', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 'changed', 200, NULL, 1, '8e9fa347-b48d-4e9c-ae85-2e1af5c99b8a', '2026-11-17 20:25:33.802+00'),
	('01a1eb2f-b1c2-746e-bd80-ede04579f71a', 'api_key:gk_Q9Wo-DGj', 'alice', 'POST /payments/{pk}/cancel/', '01a1eb2f-b174-7459-a34f-9d90d4611fe7', 'changed', 200, NULL, 1, '99e6ea1b-5fab-4538-888b-0d02c0bf8fcf', '2026-11-17 20:25:33.89+00'),
	('01a1eb2f-b359-73d5-b81a-444295528549', 'api_key:gk_Q9Wo-DGj', 'alice', 'POST /subscriptions/', '01a1eb2f-b347-703f-b11e-31a1b897ffce', 'changed', 201, NULL, 1, '49378248-519b-471b-866e-5c6cd4e6c720', '2026-11-17 20:25:34.297+00'),
	('01a1eb2f-b3cd-722e-ba67-9c815ae127eb', 'api_key:gk_Q9Wo-DGj', 'alice', 'POST /invoices/', '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', 'changed', 201, NULL, 1, '69df0919-4f6f-4ec9-afdf-4bf0215c0f09', '2026-11-17 20:25:34.413+00'),
	('01a1eb2f-b428-70ab-a676-30a856e4e5d0', 'api_key:gk_Q9Wo-DGj', 'alice', 'POST /invoices/', '01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b', 'changed', 201, NULL, 1, 'd19844d7-97c1-4ef0-9fa1-0e2b168e34d4', '2026-11-17 20:25:34.504+00'),
	('01a1eb2f-b43a-76bb-b85f-f6d620876dbe', 'api_key:gk_Q9Wo-DGj', 'alice', 'POST /invoices/{pk}/void/', '01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b', 'changed', 200, NULL, 1, 'c908891c-b979-4860-91dd-b500fb98490c', '2026-11-17 20:25:34.522+00'),
	('01a1eb2f-b449-763c-99b5-0c31763ccdb9', 'api_key:gk_Q9Wo-DGj', 'alice', 'POST /charge/', '01a1eb2f-b442-7616-9fa0-daa1bec2c3f4', 'changed', 202, NULL, 1, 'a5bce813-6dbc-4de7-9cc1-6503fd0a3b6f', '2026-11-17 20:25:34.537+00'),
	('01a1eb2f-b4b0-76ff-b731-a7ba0e0376ed', 'api_key:gk_FfKMUosD', 'staff', 'POST /reconciliations/', '01a1eb2f-b481-7302-a1f4-d90d15b5ca5e', 'changed', 202, NULL, 1, '9aecf91b-0e94-4bd0-9388-627aa46f9d2e', '2026-11-17 20:25:34.64+00'),
	('01a1eb2f-b595-728f-9e9f-5e93f10f5577', 'api_key:gk_FfKMUosD', 'staff', 'POST /reconciliations/{pk}/differences/{difference_id}/resolve/', '01a1eb2f-b481-7302-a1f4-d90d15b5ca5e', 'changed', 200, NULL, 1, 'cc822085-f21e-418b-be6a-76d5b2c96793', '2026-11-17 20:25:34.869+00'),
	('01a1eb2f-afda-73ac-876d-8fa08a00a668', 'api_key:gk_FfKMUosD', 'staff', 'POST /webhook-endpoints/', NULL, 'refused', 400, 'validation_error', 1, '50116b3f-6ab3-4db1-ab8a-fed548153de9', '2026-11-17 20:25:33.402+00'),
	('01a1eb2f-b2a9-71b2-996b-f81e83cab9cf', 'api_key:gk_Q9Wo-DGj', 'alice', 'POST /charge/', NULL, 'refused', 400, 'validation_error', 1, '817fde35-7d8c-45d0-a252-ed20d8f3fb5e', '2026-11-17 20:25:34.121+00'),
	('01a1eb2f-b5a7-7521-99af-24eed6c4c6e1', 'api_key:gk_Q9Wo-DGj', 'alice', 'GET /status/', NULL, 'refused', 403, 'forbidden', 1, '71a73f48-9ecc-4ec2-a085-347e4459ed54', '2026-11-17 20:25:34.887+00'),
	('01a1eb2f-b5ae-7197-8c7e-7dcfcb375726', 'api_key:gk_FSQVZVhE', 'vera', 'POST /keys/', NULL, 'refused', 403, 'forbidden', 1, '7e91d29b-159b-4468-9274-a60887bbe114', '2026-11-17 20:25:34.894+00'),
	('01a1eb30-017b-77a8-8fb4-dd2fe4ce9daf', 'api_key:gk_FfKMUosD', 'staff', 'POST /webhook-endpoints/', '01a1eb30-0177-74c0-b546-980424b74131', 'changed', 201, NULL, 1, '37aff590-1760-4ff2-aff8-35042f53d99b', '2026-11-17 20:25:54.299+00'),
	('01a1eb30-0d91-7144-b1e8-9b7467fc2ec1', 'api_key:gk_FfKMUosD', 'staff', 'PATCH /webhook-endpoints/{pk}/', '01a1eb30-0177-74c0-b546-980424b74131', 'changed', 200, NULL, 1, '17ad5c75-0192-490d-85a8-14b086d0eff2', '2026-11-17 20:25:57.393+00');

INSERT INTO gateway.console_sessions VALUES
	('01a1eb2f-0000-7000-8000-000000000001', '\x01', 'staff', true, NULL, '2026-11-17 20:29:14.468227+00', '2026-11-17 20:29:14.468227+00', '2026-11-17 21:29:14.468227+00');

INSERT INTO gateway.counted_payments VALUES
	('01a1eb2f-afef-7741-9080-ccbc552b3730', '{"user_id":"alice","payment_type":"bank_transfer","bank":"bca","transaction_status":"settlement","hours":[{"hour":1794945600000,"created":1,"paid":1,"gross":44000,"refunded":0,"chargedBack":0,"payTime":0}]}'),
	('01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', '{"user_id":"alice","payment_type":"gopay","bank":null,"transaction_status":"partial_refund","hours":[{"hour":1794945600000,"created":1,"paid":1,"gross":44000,"refunded":4000,"chargedBack":0,"payTime":0}]}'),
	('01a1eb2f-b174-7459-a34f-9d90d4611fe7', '{"user_id":"alice","payment_type":"qris","bank":null,"transaction_status":"cancel","hours":[{"hour":1794945600000,"created":1,"paid":0,"gross":0,"refunded":0,"chargedBack":0,"payTime":null}]}'),
	('01a1eb2f-b1c6-71e1-a18c-9e480bca6882', '{"user_id":"alice","payment_type":"echannel","bank":null,"transaction_status":"pending","hours":[{"hour":1794945600000,"created":1,"paid":0,"gross":0,"refunded":0,"chargedBack":0,"payTime":null}]}'),
	('01a1eb2f-b209-704d-85ba-76c264ad48d9', '{"user_id":"alice","payment_type":"cstore","bank":null,"transaction_status":"settlement","hours":[{"hour":1794945600000,"created":1,"paid":1,"gross":20000,"refunded":0,"chargedBack":0,"payTime":0}]}'),
	('01a1eb2f-b268-7648-a4dd-6356057bf56b', '{"user_id":"alice","payment_type":"shopeepay","bank":null,"transaction_status":"pending","hours":[{"hour":1794945600000,"created":1,"paid":0,"gross":0,"refunded":0,"chargedBack":0,"payTime":null}]}'),
	('01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', '{"user_id":"alice","payment_type":"gopay","bank":null,"transaction_status":"settlement","hours":[{"hour":1794945600000,"created":1,"paid":1,"gross":60000,"refunded":0,"chargedBack":0,"payTime":0}]}'),
	('01a1eb2f-b37b-7098-a090-6d305368ea58', '{"user_id":"alice","payment_type":"credit_card","bank":"bni","transaction_status":"capture","hours":[{"hour":1794945600000,"created":1,"paid":1,"gross":150000,"refunded":0,"chargedBack":0,"payTime":0}]}'),
	('01a1eb2f-b3f6-723f-b511-9b694839a4d8', '{"user_id":"alice","payment_type":"bank_transfer","bank":"bca","transaction_status":"settlement","hours":[{"hour":1794945600000,"created":1,"paid":1,"gross":300000,"refunded":0,"chargedBack":0,"payTime":0}]}'),
	('01a1eb2f-b454-7732-8568-e1ba92a22729', '{"user_id":"alice","payment_type":"bank_transfer","bank":"bni","transaction_status":"pending","hours":[{"hour":1794945600000,"created":1,"paid":0,"gross":0,"refunded":0,"chargedBack":0,"payTime":null}]}'),
	('01a1eb30-0181-70d3-b0a5-718756a8fc81', '{"user_id":"alice","payment_type":"credit_card","bank":"bni","transaction_status":"pending","hours":[{"hour":1794945600000,"created":1,"paid":0,"gross":0,"refunded":0,"chargedBack":0,"payTime":null}]}'),
	('01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', '{"user_id":"alice","payment_type":"gopay","bank":null,"transaction_status":"settlement","hours":[{"hour":1794945600000,"created":1,"paid":1,"gross":70000,"refunded":0,"chargedBack":0,"payTime":0}]}');

INSERT INTO gateway.cron_runs VALUES
	('check_pending_payments', '2026-11-17 20:25:00+00', '2026-11-17 20:25:00.008+00', '2026-11-17 20:25:00.111+00', NULL, '0'),
	('sweep_jobs', '2026-11-17 20:28:00+00', '2026-11-17 20:28:00.001+00', '2026-11-17 20:28:00.008+00', NULL, '0'),
	('serve_endpoints', '2026-11-17 20:28:00+00', '2026-11-17 20:28:00.001+00', '2026-11-17 20:28:00.009+00', NULL, '0'),
	('update_stats', '2026-11-17 20:28:00+00', '2026-11-17 20:28:00.001+00', '2026-11-17 20:28:00.026+00', NULL, '{"counted":0,"is_complete":true}'),
	('check_overdue_invoices', '2026-11-17 20:28:00+00', '2026-11-17 20:28:00.001+00', '2026-11-17 20:28:00.026+00', NULL, '0'),
	('check_paid_payments', '2026-11-17 20:28:00+00', '2026-11-17 20:28:00.001+00', '2026-11-17 20:28:00.032+00', NULL, '{"unchanged":0,"changed":0,"failed":0,"behind_seconds":0}');

INSERT INTO gateway.daily_payment_stats VALUES
	('*', '2026-11-17 17:00:00+00', 'bank_transfer', 'bca', '', 0, 2, 0, 0, 0, '{0}', '{2}'),
	('*', '2026-11-17 17:00:00+00', 'bank_transfer', 'bca', 'settlement', 2, 2, 344000, 0, 0, '{}', '{}'),
	('*', '2026-11-17 17:00:00+00', 'bank_transfer', 'bni', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('*', '2026-11-17 17:00:00+00', 'credit_card', 'bni', '', 0, 1, 0, 0, 0, '{0}', '{1}'),
	('*', '2026-11-17 17:00:00+00', 'credit_card', 'bni', 'capture', 1, 1, 150000, 0, 0, '{}', '{}'),
	('*', '2026-11-17 17:00:00+00', 'credit_card', 'bni', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('*', '2026-11-17 17:00:00+00', 'cstore', '', '', 0, 1, 0, 0, 0, '{0}', '{1}'),
	('*', '2026-11-17 17:00:00+00', 'cstore', '', 'settlement', 1, 1, 20000, 0, 0, '{}', '{}'),
	('*', '2026-11-17 17:00:00+00', 'echannel', '', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('*', '2026-11-17 17:00:00+00', 'gopay', '', '', 0, 3, 0, 0, 0, '{0}', '{3}'),
	('*', '2026-11-17 17:00:00+00', 'gopay', '', 'partial_refund', 1, 1, 44000, 4000, 0, '{}', '{}'),
	('*', '2026-11-17 17:00:00+00', 'gopay', '', 'settlement', 2, 2, 130000, 0, 0, '{}', '{}'),
	('*', '2026-11-17 17:00:00+00', 'qris', '', 'cancel', 1, 0, 0, 0, 0, '{}', '{}'),
	('*', '2026-11-17 17:00:00+00', 'shopeepay', '', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 17:00:00+00', 'bank_transfer', 'bca', '', 0, 2, 0, 0, 0, '{0}', '{2}'),
	('u:alice', '2026-11-17 17:00:00+00', 'bank_transfer', 'bca', 'settlement', 2, 2, 344000, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 17:00:00+00', 'bank_transfer', 'bni', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 17:00:00+00', 'credit_card', 'bni', '', 0, 1, 0, 0, 0, '{0}', '{1}'),
	('u:alice', '2026-11-17 17:00:00+00', 'credit_card', 'bni', 'capture', 1, 1, 150000, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 17:00:00+00', 'credit_card', 'bni', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 17:00:00+00', 'cstore', '', '', 0, 1, 0, 0, 0, '{0}', '{1}'),
	('u:alice', '2026-11-17 17:00:00+00', 'cstore', '', 'settlement', 1, 1, 20000, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 17:00:00+00', 'echannel', '', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 17:00:00+00', 'gopay', '', '', 0, 3, 0, 0, 0, '{0}', '{3}'),
	('u:alice', '2026-11-17 17:00:00+00', 'gopay', '', 'partial_refund', 1, 1, 44000, 4000, 0, '{}', '{}'),
	('u:alice', '2026-11-17 17:00:00+00', 'gopay', '', 'settlement', 2, 2, 130000, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 17:00:00+00', 'qris', '', 'cancel', 1, 0, 0, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 17:00:00+00', 'shopeepay', '', 'pending', 1, 0, 0, 0, 0, '{}', '{}');

INSERT INTO gateway.event_publication VALUES
	(true, 25, 0, '1110:1110:', NULL, NULL, NULL, NULL, 18);

INSERT INTO gateway.events VALUES
	('01a1eb2f-b0cd-7572-a4ee-5f5f67c67687', 'payment_settled', 'payment', '01a1eb2f-afef-7741-9080-ccbc552b3730', 2, 'alice', '{"id":"01a1eb2f-afef-7741-9080-ccbc552b3730","order_id":"shop-1","transaction_id":"2c371094-90cf-4a37-a939-57d18361d349","payment_type":"bank_transfer","bank":"bca","store":null,"acquirer":null,"gross_amount":"44000.00","captured_amount":"44000.00","currency":"IDR","transaction_status":"settlement","fraud_status":"accept","status_code":"200","status_message":"midtrans payment notification","customer_first_name":"Budi","customer_last_name":"Utomo","customer_email":"Budi@Example.com","customer_phone":"+62 812 3456","va_number":"812785002280734","bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":"2026-11-17T20:25:33.000Z","expiry_time":"2026-11-18T20:25:33.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"44000.00","metadata":{"table":4},"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[{"id":"01a1eb2f-afef-75d8-90fa-42e93be5ad57","item_id":"a","name":"Kopi","price":"22000.00","quantity":2,"brand":null,"category":null,"merchant_name":null,"url":null,"subtotal":"44000.00"}],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":[],"is_paid":true,"is_pending":false,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.423Z","updated_at":"2026-11-17T20:25:33.645Z","notification_id":"01a1eb2f-b0af-7224-a0e4-a08eb66aacb5"}', '2026-11-17 20:25:33.645+00', 0, '913', '{}'),
	('01a1eb2f-b102-73a2-8c15-bde7e0f3ee2e', 'payment_received', 'payment', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 1, 'alice', '{"id":"01a1eb2f-b0e9-7739-a7f6-2a5177ff778e","order_id":"shop-2","transaction_id":"906bc126-cb80-47b8-8c48-4cdd44995990","payment_type":"gopay","bank":null,"store":null,"acquirer":null,"gross_amount":"44000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"GoPay transaction is created","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":"http://127.0.0.1:8811/gopay/app/906bc126-cb80-47b8-8c48-4cdd44995990","qr_string":null,"qr_url":"http://127.0.0.1:8811/v2/gopay/906bc126-cb80-47b8-8c48-4cdd44995990/qr-code","transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":null,"expiry_time":"2026-11-17T20:40:33.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.673Z","updated_at":"2026-11-17T20:25:33.698Z","notification_id":null}', '2026-11-17 20:25:33.698+00', 0, '918', '{}'),
	('01a1eb2f-b12c-7438-ab7e-e85c4b0a3b47', 'payment_settled', 'payment', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 2, 'alice', '{"id":"01a1eb2f-b0e9-7739-a7f6-2a5177ff778e","order_id":"shop-2","transaction_id":"906bc126-cb80-47b8-8c48-4cdd44995990","payment_type":"gopay","bank":null,"store":null,"acquirer":null,"gross_amount":"44000.00","captured_amount":"44000.00","currency":"IDR","transaction_status":"settlement","fraud_status":"accept","status_code":"200","status_message":"midtrans payment notification","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":"http://127.0.0.1:8811/gopay/app/906bc126-cb80-47b8-8c48-4cdd44995990","qr_string":null,"qr_url":"http://127.0.0.1:8811/v2/gopay/906bc126-cb80-47b8-8c48-4cdd44995990/qr-code","transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":"2026-11-17T20:25:33.000Z","expiry_time":"2026-11-17T20:40:33.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"44000.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["refund"],"is_paid":true,"is_pending":false,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.673Z","updated_at":"2026-11-17T20:25:33.740Z","notification_id":"01a1eb2f-b11e-7304-9911-fe36bdecdd69"}', '2026-11-17 20:25:33.74+00', 0, '924', '{}'),
	('01a1eb2f-b162-7158-a1e0-442009ea8905', 'payment_refunded', 'payment', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 3, 'alice', '{"id":"01a1eb2f-b0e9-7739-a7f6-2a5177ff778e","order_id":"shop-2","transaction_id":"906bc126-cb80-47b8-8c48-4cdd44995990","payment_type":"gopay","bank":null,"store":null,"acquirer":null,"gross_amount":"44000.00","captured_amount":"44000.00","currency":"IDR","transaction_status":"partial_refund","fraud_status":"accept","status_code":"200","status_message":"Success, transaction is found","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":"http://127.0.0.1:8811/gopay/app/906bc126-cb80-47b8-8c48-4cdd44995990","qr_string":null,"qr_url":"http://127.0.0.1:8811/v2/gopay/906bc126-cb80-47b8-8c48-4cdd44995990/qr-code","transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":"2026-11-17T20:25:33.000Z","expiry_time":"2026-11-17T20:40:33.000Z","refund_amount":"4000.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"40000.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[{"id":"01a1eb2f-b143-776b-9b55-908406c911ac","refund_key":"01a1eb2f-b143-776b-9b55-908406c911ac","amount":"4000.00","reason":"Spilled","is_direct":false,"status":"succeeded","status_code":"200","status_message":"Success, refund request is approved","created_at":"2026-11-17T20:25:33.763Z"}],"invoice_id":null,"subscription_id":null,"allowed_actions":["refund"],"is_paid":true,"is_pending":false,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.673Z","updated_at":"2026-11-17T20:25:33.794Z","notification_id":null}', '2026-11-17 20:25:33.794+00', 0, '933', '{}'),
	('01a1eb2f-b189-76b5-b53d-8ce8c0c8fee6', 'payment_received', 'payment', '01a1eb2f-b174-7459-a34f-9d90d4611fe7', 1, 'alice', '{"id":"01a1eb2f-b174-7459-a34f-9d90d4611fe7","order_id":"shop01a1eb2f-b174-7459-a34f-9d90d4611fe7-p","transaction_id":"3a4fbb4a-4369-40a0-8962-14eb2172caa0","payment_type":"qris","bank":null,"store":null,"acquirer":"gopay","gross_amount":"10000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"Qris transaction is created","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":null,"qr_string":"00020101021226690017ID.CO.SANDBOX.WWW011893600914000000000002153a4fbb4a436940a0303UMI5204599953033605405100005802ID5916Sandbox Merchant6007JAKARTA61051011062410125shop01a1eb2f-b174-7459-a305083a4fbb4a630420BA","qr_url":"http://127.0.0.1:8811/v4/qris/2f385c2a45bc4d053d8aca18ca5c865f/qr-code","transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":null,"expiry_time":"2026-11-17T20:40:33.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.812Z","updated_at":"2026-11-17T20:25:33.833Z","notification_id":null}', '2026-11-17 20:25:33.833+00', 0, '937', '{}'),
	('01a1eb2f-b1b2-7013-b635-a6404984b92d', 'payment_cancelled', 'payment', '01a1eb2f-b174-7459-a34f-9d90d4611fe7', 2, 'alice', '{"id":"01a1eb2f-b174-7459-a34f-9d90d4611fe7","order_id":"shop01a1eb2f-b174-7459-a34f-9d90d4611fe7-p","transaction_id":"3a4fbb4a-4369-40a0-8962-14eb2172caa0","payment_type":"qris","bank":null,"store":null,"acquirer":"gopay","gross_amount":"10000.00","captured_amount":null,"currency":"IDR","transaction_status":"cancel","fraud_status":"accept","status_code":"200","status_message":"Success, transaction is canceled","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":null,"qr_string":"00020101021226690017ID.CO.SANDBOX.WWW011893600914000000000002153a4fbb4a436940a0303UMI5204599953033605405100005802ID5916Sandbox Merchant6007JAKARTA61051011062410125shop01a1eb2f-b174-7459-a305083a4fbb4a630420BA","qr_url":"http://127.0.0.1:8811/v4/qris/2f385c2a45bc4d053d8aca18ca5c865f/qr-code","transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":null,"expiry_time":"2026-11-17T20:40:33.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":[],"is_paid":false,"is_pending":false,"is_failed":true,"is_expired":false,"created_at":"2026-11-17T20:25:33.812Z","updated_at":"2026-11-17T20:25:33.874Z","notification_id":null}', '2026-11-17 20:25:33.874+00', 0, '944', '{}'),
	('01a1eb2f-b1f9-75b7-8321-4bfb0fffaa9e', 'payment_received', 'payment', '01a1eb2f-b1c6-71e1-a18c-9e480bca6882', 1, 'alice', '{"id":"01a1eb2f-b1c6-71e1-a18c-9e480bca6882","order_id":"shop01a1eb2f-b1c6-71e1-a18c-9e480bca6882-p","transaction_id":"80517cf7-8216-4e90-942e-fb80e5440a58","payment_type":"echannel","bank":null,"store":null,"acquirer":null,"gross_amount":"15000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"OK, Mandiri Bill transaction is successful","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":"699281348149","biller_code":"70012","payment_code":null,"redirect_url":null,"deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":null,"expiry_time":"2026-11-18T20:25:33.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.894Z","updated_at":"2026-11-17T20:25:33.945Z","notification_id":null}', '2026-11-17 20:25:33.945+00', 0, '951', '{}'),
	('01a1eb2f-b234-71ce-8a3c-eaf8894d7b72', 'payment_received', 'payment', '01a1eb2f-b209-704d-85ba-76c264ad48d9', 1, 'alice', '{"id":"01a1eb2f-b209-704d-85ba-76c264ad48d9","order_id":"shop01a1eb2f-b209-704d-85ba-76c264ad48d9-p","transaction_id":"49c6e922-45a7-461b-821a-7f473d16cd91","payment_type":"cstore","bank":null,"store":"indomaret","acquirer":null,"gross_amount":"20000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":null,"status_code":"201","status_message":"Success, cstore transaction is successful","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":"19068004674313","redirect_url":null,"deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":null,"expiry_time":"2026-11-18T20:25:33.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.961Z","updated_at":"2026-11-17T20:25:34.004Z","notification_id":null}', '2026-11-17 20:25:34.004+00', 0, '960', '{}'),
	('01a1eb2f-b2c6-771f-8855-769f868830ed', 'payment_received', 'payment', '01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', 1, 'alice', '{"id":"01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a","order_id":"shop-cb","transaction_id":"4c4dbafb-593a-4c29-b27b-fadf71960e04","payment_type":"gopay","bank":null,"store":null,"acquirer":null,"gross_amount":"60000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"GoPay transaction is created","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":"http://127.0.0.1:8811/gopay/app/4c4dbafb-593a-4c29-b27b-fadf71960e04","qr_string":null,"qr_url":"http://127.0.0.1:8811/v2/gopay/4c4dbafb-593a-4c29-b27b-fadf71960e04/qr-code","transaction_time":"2026-11-17T20:25:34.000Z","settlement_time":null,"expiry_time":"2026-11-17T20:40:34.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:34.131Z","updated_at":"2026-11-17T20:25:34.150Z","notification_id":null}', '2026-11-17 20:25:34.15+00', 0, '978', '{}'),
	('01a1eb2f-b251-7574-8c2c-1f9422890a87', 'payment_settled', 'payment', '01a1eb2f-b209-704d-85ba-76c264ad48d9', 2, 'alice', '{"id":"01a1eb2f-b209-704d-85ba-76c264ad48d9","order_id":"shop01a1eb2f-b209-704d-85ba-76c264ad48d9-p","transaction_id":"49c6e922-45a7-461b-821a-7f473d16cd91","payment_type":"cstore","bank":null,"store":"indomaret","acquirer":null,"gross_amount":"20000.00","captured_amount":"20000.00","currency":"IDR","transaction_status":"settlement","fraud_status":null,"status_code":"200","status_message":"midtrans payment notification","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":"19068004674313","redirect_url":null,"deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":"2026-11-17T20:25:34.000Z","expiry_time":"2026-11-18T20:25:33.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"20000.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":[],"is_paid":true,"is_pending":false,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.961Z","updated_at":"2026-11-17T20:25:34.033Z","notification_id":"01a1eb2f-b24c-7441-a631-fb6bb9d6fba5"}', '2026-11-17 20:25:34.033+00', 0, '966', '{}'),
	('01a1eb2f-b277-759a-9880-7d82875bd06c', 'payment_received', 'payment', '01a1eb2f-b268-7648-a4dd-6356057bf56b', 1, 'alice', '{"id":"01a1eb2f-b268-7648-a4dd-6356057bf56b","order_id":"shop01a1eb2f-b268-7648-a4dd-6356057bf56b-p","transaction_id":"ff65bcbe-ff85-4679-8d24-855417f6d27f","payment_type":"shopeepay","bank":null,"store":null,"acquirer":null,"gross_amount":"30000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"ShopeePay transaction is created","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":"http://127.0.0.1:8811/shopeepay/app/ff65bcbe-ff85-4679-8d24-855417f6d27f","qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:34.000Z","settlement_time":null,"expiry_time":"2026-11-17T20:40:34.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:34.056Z","updated_at":"2026-11-17T20:25:34.071Z","notification_id":null}', '2026-11-17 20:25:34.071+00', 0, '971', '{}'),
	('01a1eb2f-b3d2-7010-80ac-0725c776534d', 'subscription_charged', 'subscription', '01a1eb2f-b347-703f-b11e-31a1b897ffce', 2, 'alice', '{"id":"01a1eb2f-b347-703f-b11e-31a1b897ffce","gateway_subscription_id":"e06b0bd7-4914-4556-8201-0443a6eac6ce","name":"coffee-club","payment_type":"credit_card","amount":"150000.00","currency":"IDR","interval":1,"interval_unit":"month","max_interval":12,"current_interval":1,"start_time":"2026-12-17T20:25:34.000Z","next_execution_at":"2027-01-17T20:25:34.000Z","status":"active","customer_first_name":"Budi","customer_last_name":"Utomo","customer_email":"Budi@Example.com","customer_phone":"+62 812 3456","metadata":null,"created_at":"2026-11-17T20:25:34.279Z","updated_at":"2026-11-17T20:25:34.418Z","notification_id":null,"payment_id":"01a1eb2f-b37b-7098-a090-6d305368ea58"}', '2026-11-17 20:25:34.418+00', 0, '1015', '{}'),
	('01a1eb2f-b339-7465-9674-051c9fce6f83', 'payment_settled', 'payment', '01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', 2, 'alice', '{"id":"01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a","order_id":"shop-cb","transaction_id":"4c4dbafb-593a-4c29-b27b-fadf71960e04","payment_type":"gopay","bank":null,"store":null,"acquirer":null,"gross_amount":"60000.00","captured_amount":"60000.00","currency":"IDR","transaction_status":"settlement","fraud_status":"accept","status_code":"200","status_message":"midtrans payment notification","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":"http://127.0.0.1:8811/gopay/app/4c4dbafb-593a-4c29-b27b-fadf71960e04","qr_string":null,"qr_url":"http://127.0.0.1:8811/v2/gopay/4c4dbafb-593a-4c29-b27b-fadf71960e04/qr-code","transaction_time":"2026-11-17T20:25:34.000Z","settlement_time":"2026-11-17T20:25:34.000Z","expiry_time":"2026-11-17T20:40:34.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"60000.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["refund"],"is_paid":true,"is_pending":false,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:34.131Z","updated_at":"2026-11-17T20:25:34.265Z","notification_id":"01a1eb2f-b336-77cd-bcda-072838c1672f"}', '2026-11-17 20:25:34.265+00', 0, '984', '{}'),
	('01a1eb2f-b354-7204-a2b4-6afc1c4af930', 'subscription_created', 'subscription', '01a1eb2f-b347-703f-b11e-31a1b897ffce', 1, 'alice', '{"id":"01a1eb2f-b347-703f-b11e-31a1b897ffce","gateway_subscription_id":"e06b0bd7-4914-4556-8201-0443a6eac6ce","name":"coffee-club","payment_type":"credit_card","amount":"150000.00","currency":"IDR","interval":1,"interval_unit":"month","max_interval":12,"current_interval":0,"start_time":"2026-12-17T20:25:34.000Z","next_execution_at":"2026-12-17T20:25:34.000Z","status":"active","customer_first_name":"Budi","customer_last_name":"Utomo","customer_email":"Budi@Example.com","customer_phone":"+62 812 3456","metadata":null,"created_at":"2026-11-17T20:25:34.279Z","updated_at":"2026-11-17T20:25:34.292Z","notification_id":null}', '2026-11-17 20:25:34.292+00', 0, '988', '{}'),
	('01a1eb2f-b37b-7098-a090-73a5f86b7fa3', 'payment_settled', 'payment', '01a1eb2f-b37b-7098-a090-6d305368ea58', 1, 'alice', '{"id":"01a1eb2f-b37b-7098-a090-6d305368ea58","order_id":"coffee-club69322042771660161963919167562586","transaction_id":"b488a7f1-8625-4bf7-8c78-2cc2fbea0b0f","payment_type":"credit_card","bank":"bni","store":null,"acquirer":null,"gross_amount":"150000.00","captured_amount":"150000.00","currency":"IDR","transaction_status":"capture","fraud_status":"accept","status_code":"200","status_message":"Success, Credit Card transaction is successful","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:34.000Z","settlement_time":null,"expiry_time":"2026-11-25T20:25:34.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"150000.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":"01a1eb2f-b347-703f-b11e-31a1b897ffce","allowed_actions":["cancel"],"is_paid":true,"is_pending":false,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:34.331Z","updated_at":"2026-11-17T20:25:34.331Z","notification_id":"01a1eb2f-b36e-7037-933a-57b8fa6ad14f"}', '2026-11-17 20:25:34.331+00', 0, '999', '{}'),
	('01a1eb2f-b3bf-706e-b353-7cb0a107e2ba', 'invoice_created', 'invoice', '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', 1, 'alice', '{"id":"01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491","invoice_number":"INV-20261118-X7JMJ842","order_id":"shop3h96xsgmzqzpjwkipmbszvyp-i","gateway_invoice_id":"593b55b472af40d2b75e9044","status":"sent","customer_name":"Budi Utomo","customer_email":"budi@example.com","customer_phone":null,"customer_id":null,"total_amount":"300000.00","currency":"IDR","due_date":"2099-12-31","paid_at":null,"notes":null,"void_reason":null,"payment_link_url":"http://127.0.0.1:8811/payment-links/593b55b472af40d2b75e9044","pdf_url":"http://127.0.0.1:8811/invoices/593b55b472af40d2b75e9044.pdf","items":[{"id":"01a1eb2f-b3af-7634-bec7-69350be90add","item_id":null,"description":"Beans","quantity":2,"price":"150000.00","subtotal":"300000.00"}],"is_overdue":false,"metadata":null,"created_at":"2026-11-17T20:25:34.382Z","updated_at":"2026-11-17T20:25:34.399Z","notification_id":null}', '2026-11-17 20:25:34.399+00', 0, '1012', '{}'),
	('01a1eb2f-b3f6-723f-b511-9f8762ed659a', 'payment_settled', 'payment', '01a1eb2f-b3f6-723f-b511-9b694839a4d8', 1, 'alice', '{"id":"01a1eb2f-b3f6-723f-b511-9b694839a4d8","order_id":"shop3h96xsgmzqzpjwkipmbszvyp-i","transaction_id":"17db0508-606c-4ed2-895d-9a9889e0eeee","payment_type":"bank_transfer","bank":"bca","store":null,"acquirer":null,"gross_amount":"300000.00","captured_amount":"300000.00","currency":"IDR","transaction_status":"settlement","fraud_status":"accept","status_code":"200","status_message":"Success, transaction is found","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":"812785002801147","bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:34.000Z","settlement_time":"2026-11-17T20:25:34.000Z","expiry_time":"2026-11-18T20:25:34.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"300000.00","metadata":{"midtrans_invoice_id":"593b55b472af40d2b75e9044"},"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":"01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491","subscription_id":null,"allowed_actions":[],"is_paid":true,"is_pending":false,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:34.454Z","updated_at":"2026-11-17T20:25:34.454Z","notification_id":"01a1eb2f-b3dd-7600-a8a3-50892e2460c3"}', '2026-11-17 20:25:34.454+00', 0, '1024', '{}'),
	('01a1eb2f-b415-7629-ba40-798c20939d1d', 'invoice_paid', 'invoice', '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', 2, 'alice', '{"id":"01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491","invoice_number":"INV-20261118-X7JMJ842","order_id":"shop3h96xsgmzqzpjwkipmbszvyp-i","gateway_invoice_id":"593b55b472af40d2b75e9044","status":"paid","customer_name":"Budi Utomo","customer_email":"budi@example.com","customer_phone":null,"customer_id":null,"total_amount":"300000.00","currency":"IDR","due_date":"2099-12-31","paid_at":"2026-11-17T20:25:34.485Z","notes":null,"void_reason":null,"payment_link_url":"http://127.0.0.1:8811/payment-links/593b55b472af40d2b75e9044","pdf_url":"http://127.0.0.1:8811/invoices/593b55b472af40d2b75e9044.pdf","items":[{"id":"01a1eb2f-b3af-7634-bec7-69350be90add","item_id":null,"description":"Beans","quantity":2,"price":"150000.00","subtotal":"300000.00"}],"is_overdue":false,"metadata":null,"created_at":"2026-11-17T20:25:34.382Z","updated_at":"2026-11-17T20:25:34.485Z","notification_id":"01a1eb2f-b3dd-7600-a8a3-50892e2460c3"}', '2026-11-17 20:25:34.485+00', 0, '1034', '{}'),
	('01a1eb2f-b437-73f9-8343-f2722aae66c2', 'invoice_voided', 'invoice', '01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b', 2, 'alice', '{"id":"01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b","invoice_number":"INV-20261118-6UVJDTGM","order_id":"shop3h96xsh3ea2ok1fh327aaxrv-i","gateway_invoice_id":"5a949dca8f3e61a2e4e683ca","status":"void","customer_name":"Budi Utomo","customer_email":"budi@example.com","customer_phone":null,"customer_id":null,"total_amount":"300000.00","currency":"IDR","due_date":"2099-12-31","paid_at":null,"notes":null,"void_reason":"Twice","payment_link_url":"http://127.0.0.1:8811/payment-links/5a949dca8f3e61a2e4e683ca","pdf_url":"http://127.0.0.1:8811/invoices/5a949dca8f3e61a2e4e683ca.pdf","items":[{"id":"01a1eb2f-b41a-708f-a035-42f9b8534933","item_id":null,"description":"Beans","quantity":2,"price":"150000.00","subtotal":"300000.00"}],"is_overdue":false,"metadata":null,"created_at":"2026-11-17T20:25:34.490Z","updated_at":"2026-11-17T20:25:34.519Z","notification_id":null}', '2026-11-17 20:25:34.519+00', 0, '1045', '{}'),
	('01a1eb2f-b465-70bc-b938-a81065c248f6', 'payment_received', 'payment', '01a1eb2f-b454-7732-8568-e1ba92a22729', 1, 'alice', '{"id":"01a1eb2f-b454-7732-8568-e1ba92a22729","order_id":"shop01a1eb2f-b454-7732-8568-e1ba92a22729-p","transaction_id":"ff5875e7-e05f-4777-83ae-d5ce4f027de9","payment_type":"bank_transfer","bank":"bni","store":null,"acquirer":null,"gross_amount":"11000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"Success, Bank Transfer transaction is created","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":"9888118595355958","bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:34.000Z","settlement_time":null,"expiry_time":"2026-11-18T20:25:34.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:34.548Z","updated_at":"2026-11-17T20:25:34.565Z","notification_id":null}', '2026-11-17 20:25:34.565+00', 0, '1057', '{}'),
	('01a1eb2f-b424-76d0-b60e-e9edbfeb65a4', 'invoice_created', 'invoice', '01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b', 1, 'alice', '{"id":"01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b","invoice_number":"INV-20261118-6UVJDTGM","order_id":"shop3h96xsh3ea2ok1fh327aaxrv-i","gateway_invoice_id":"5a949dca8f3e61a2e4e683ca","status":"sent","customer_name":"Budi Utomo","customer_email":"budi@example.com","customer_phone":null,"customer_id":null,"total_amount":"300000.00","currency":"IDR","due_date":"2099-12-31","paid_at":null,"notes":null,"void_reason":null,"payment_link_url":"http://127.0.0.1:8811/payment-links/5a949dca8f3e61a2e4e683ca","pdf_url":"http://127.0.0.1:8811/invoices/5a949dca8f3e61a2e4e683ca.pdf","items":[{"id":"01a1eb2f-b41a-708f-a035-42f9b8534933","item_id":null,"description":"Beans","quantity":2,"price":"150000.00","subtotal":"300000.00"}],"is_overdue":false,"metadata":null,"created_at":"2026-11-17T20:25:34.490Z","updated_at":"2026-11-17T20:25:34.500Z","notification_id":null}', '2026-11-17 20:25:34.5+00', 0, '1040', '{}'),
	('01a1eb30-018b-714a-9a00-425de386ebf0', 'payment_received', 'payment', '01a1eb30-0181-70d3-b0a5-718756a8fc81', 1, 'alice', '{"id":"01a1eb30-0181-70d3-b0a5-718756a8fc81","order_id":"shop-card","transaction_id":"1116f501-8fd3-4936-84dc-7c65fbfefebd","payment_type":"credit_card","bank":"bni","store":null,"acquirer":null,"gross_amount":"50000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"Success, Credit Card transaction is successful","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":"http://127.0.0.1:8811/v2/3ds/redirect/d75143570426a2979c595b3bad59f256","deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:54.000Z","settlement_time":null,"expiry_time":"2026-11-17T20:35:54.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:54.305Z","updated_at":"2026-11-17T20:25:54.315Z","notification_id":null}', '2026-11-17 20:25:54.315+00', 0, '1097', '{}'),
	('01a1eb30-01a9-73aa-a671-f14f83783806', 'payment_received', 'payment', '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', 1, 'alice', '{"id":"01a1eb30-019a-72b7-a9b5-25ecaaa0aac5","order_id":"shop-70","transaction_id":"38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9","payment_type":"gopay","bank":null,"store":null,"acquirer":null,"gross_amount":"70000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"GoPay transaction is created","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":"http://127.0.0.1:8811/gopay/app/38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9","qr_string":null,"qr_url":"http://127.0.0.1:8811/v2/gopay/38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9/qr-code","transaction_time":"2026-11-17T20:25:54.000Z","settlement_time":null,"expiry_time":"2026-11-17T20:40:54.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:54.330Z","updated_at":"2026-11-17T20:25:54.345Z","notification_id":null}', '2026-11-17 20:25:54.345+00', 0, '1104', '{}'),
	('01a1eb30-01c4-7328-a7b9-36113a3c3ccf', 'payment_settled', 'payment', '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', 2, 'alice', '{"id":"01a1eb30-019a-72b7-a9b5-25ecaaa0aac5","order_id":"shop-70","transaction_id":"38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9","payment_type":"gopay","bank":null,"store":null,"acquirer":null,"gross_amount":"70000.00","captured_amount":"70000.00","currency":"IDR","transaction_status":"settlement","fraud_status":"accept","status_code":"200","status_message":"midtrans payment notification","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":"http://127.0.0.1:8811/gopay/app/38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9","qr_string":null,"qr_url":"http://127.0.0.1:8811/v2/gopay/38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9/qr-code","transaction_time":"2026-11-17T20:25:54.000Z","settlement_time":"2026-11-17T20:25:54.000Z","expiry_time":"2026-11-17T20:40:54.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"70000.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["refund"],"is_paid":true,"is_pending":false,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:54.330Z","updated_at":"2026-11-17T20:25:54.372Z","notification_id":"01a1eb30-01be-75bb-8ac8-f340c59abf1e"}', '2026-11-17 20:25:54.372+00', 0, '1109', '{}'),
	('01a1eb30-0000-7000-8000-0000000000ff', 'payment_settled', 'payment', '01a1eb2f-afef-7741-9080-ccbc552b3730', 3, 'alice', '{"id":"01a1eb2f-afef-7741-9080-ccbc552b3730","order_id":"shop-1","transaction_id":"2c371094-90cf-4a37-a939-57d18361d349","payment_type":"bank_transfer","bank":"bca","store":null,"acquirer":null,"gross_amount":"44000.00","captured_amount":"44000.00","currency":"IDR","transaction_status":"settlement","fraud_status":"accept","status_code":"200","status_message":"midtrans payment notification","customer_first_name":"Budi","customer_last_name":"Utomo","customer_email":"Budi@Example.com","customer_phone":"+62 812 3456","va_number":"812785002280734","bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":"2026-11-17T20:25:33.000Z","expiry_time":"2026-11-18T20:25:33.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"44000.00","metadata":{"table":4},"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[{"id":"01a1eb2f-afef-75d8-90fa-42e93be5ad57","item_id":"a","name":"Kopi","price":"22000.00","quantity":2,"brand":null,"category":null,"merchant_name":null,"url":null,"subtotal":"44000.00"}],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":[],"is_paid":true,"is_pending":false,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.423Z","updated_at":"2026-11-17T20:25:33.645Z","notification_id":"01a1eb2f-b0af-7224-a0e4-a08eb66aacb5"}', '2026-11-17 20:29:22.711912+00', 0, '1181', '{}'),
	('01a1eb2f-b064-7464-89ea-374539de6f24', 'payment_received', 'payment', '01a1eb2f-afef-7741-9080-ccbc552b3730', 1, 'alice', '{"id":"01a1eb2f-afef-7741-9080-ccbc552b3730","order_id":"shop-1","transaction_id":"2c371094-90cf-4a37-a939-57d18361d349","payment_type":"bank_transfer","bank":"bca","store":null,"acquirer":null,"gross_amount":"44000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"Success, Bank Transfer transaction is created","customer_first_name":"Budi","customer_last_name":"Utomo","customer_email":"Budi@Example.com","customer_phone":"+62 812 3456","va_number":"812785002280734","bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":null,"expiry_time":"2026-11-18T20:25:33.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":{"table":4},"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[{"id":"01a1eb2f-afef-75d8-90fa-42e93be5ad57","item_id":"a","name":"Kopi","price":"22000.00","quantity":2,"brand":null,"category":null,"merchant_name":null,"url":null,"subtotal":"44000.00"}],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.423Z","updated_at":"2026-11-17T20:25:33.540Z","notification_id":null}', '2026-11-17 20:25:33.54+00', 0, '907', NULL);

INSERT INTO gateway.gateway_account VALUES
	(true, 'sandbox', 'G042824000', '1970-01-01 00:00:00+00');

INSERT INTO gateway.history OVERRIDING SYSTEM VALUE VALUES
	(1, '01a1eb2f-afef-7741-9080-ccbc552b3730', NULL, 'pending', NULL, 'charge', '2026-11-17 20:25:33.423+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(2, '01a1eb2f-afef-7741-9080-ccbc552b3730', 'pending', 'settlement', 'accept', 'notification', '2026-11-17 20:25:33.645+00', 'payment', 'notification:01a1eb2f-b0af-7224-a0e4-a08eb66aacb5'),
	(3, '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', NULL, 'pending', NULL, 'charge', '2026-11-17 20:25:33.673+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(4, '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 'pending', 'settlement', 'accept', 'notification', '2026-11-17 20:25:33.74+00', 'payment', 'notification:01a1eb2f-b11e-7304-9911-fe36bdecdd69'),
	(5, '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 'settlement', 'partial_refund', 'accept', 'refund', '2026-11-17 20:25:33.794+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(6, '01a1eb2f-b174-7459-a34f-9d90d4611fe7', NULL, 'pending', NULL, 'charge', '2026-11-17 20:25:33.812+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(7, '01a1eb2f-b174-7459-a34f-9d90d4611fe7', 'pending', 'cancel', 'accept', 'cancel', '2026-11-17 20:25:33.874+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(8, '01a1eb2f-b1c6-71e1-a18c-9e480bca6882', NULL, 'pending', NULL, 'charge', '2026-11-17 20:25:33.894+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(9, '01a1eb2f-b209-704d-85ba-76c264ad48d9', NULL, 'pending', NULL, 'charge', '2026-11-17 20:25:33.961+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(10, '01a1eb2f-b209-704d-85ba-76c264ad48d9', 'pending', 'settlement', NULL, 'notification', '2026-11-17 20:25:34.033+00', 'payment', 'notification:01a1eb2f-b24c-7441-a631-fb6bb9d6fba5'),
	(11, '01a1eb2f-b268-7648-a4dd-6356057bf56b', NULL, 'pending', NULL, 'charge', '2026-11-17 20:25:34.056+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(12, '01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', NULL, 'pending', NULL, 'charge', '2026-11-17 20:25:34.131+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(13, '01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', 'pending', 'settlement', 'accept', 'notification', '2026-11-17 20:25:34.265+00', 'payment', 'notification:01a1eb2f-b336-77cd-bcda-072838c1672f'),
	(14, '01a1eb2f-b347-703f-b11e-31a1b897ffce', NULL, 'pending', NULL, 'create', '2026-11-17 20:25:34.279+00', 'subscription', 'api_key:gk_Q9Wo-DGj'),
	(15, '01a1eb2f-b347-703f-b11e-31a1b897ffce', 'pending', 'active', NULL, 'create', '2026-11-17 20:25:34.292+00', 'subscription', 'api_key:gk_Q9Wo-DGj'),
	(16, '01a1eb2f-b37b-7098-a090-6d305368ea58', NULL, 'pending', NULL, 'notification', '2026-11-17 20:25:34.331+00', 'payment', 'notification:01a1eb2f-b36e-7037-933a-57b8fa6ad14f'),
	(17, '01a1eb2f-b37b-7098-a090-6d305368ea58', 'pending', 'capture', 'accept', 'notification', '2026-11-17 20:25:34.331+00', 'payment', 'notification:01a1eb2f-b36e-7037-933a-57b8fa6ad14f'),
	(18, '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', NULL, 'pending', NULL, 'create', '2026-11-17 20:25:34.382+00', 'invoice', 'api_key:gk_Q9Wo-DGj'),
	(19, '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', 'pending', 'sent', NULL, 'create', '2026-11-17 20:25:34.399+00', 'invoice', 'api_key:gk_Q9Wo-DGj'),
	(20, '01a1eb2f-b3f6-723f-b511-9b694839a4d8', NULL, 'pending', NULL, 'notification', '2026-11-17 20:25:34.454+00', 'payment', 'notification:01a1eb2f-b3dd-7600-a8a3-50892e2460c3'),
	(21, '01a1eb2f-b3f6-723f-b511-9b694839a4d8', 'pending', 'settlement', 'accept', 'notification', '2026-11-17 20:25:34.454+00', 'payment', 'notification:01a1eb2f-b3dd-7600-a8a3-50892e2460c3'),
	(22, '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', 'sent', 'paid', NULL, 'check_invoice_status', '2026-11-17 20:25:34.485+00', 'invoice', 'task:check_invoice_status'),
	(23, '01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b', NULL, 'pending', NULL, 'create', '2026-11-17 20:25:34.49+00', 'invoice', 'api_key:gk_Q9Wo-DGj'),
	(24, '01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b', 'pending', 'sent', NULL, 'create', '2026-11-17 20:25:34.5+00', 'invoice', 'api_key:gk_Q9Wo-DGj'),
	(25, '01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b', 'sent', 'void', NULL, 'void', '2026-11-17 20:25:34.519+00', 'invoice', 'api_key:gk_Q9Wo-DGj'),
	(26, '01a1eb2f-b454-7732-8568-e1ba92a22729', NULL, 'pending', NULL, 'charge', '2026-11-17 20:25:34.548+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(27, '01a1eb30-0181-70d3-b0a5-718756a8fc81', NULL, 'pending', NULL, 'charge', '2026-11-17 20:25:54.305+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(28, '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', NULL, 'pending', NULL, 'charge', '2026-11-17 20:25:54.33+00', 'payment', 'api_key:gk_Q9Wo-DGj'),
	(29, '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', 'pending', 'settlement', 'accept', 'notification', '2026-11-17 20:25:54.372+00', 'payment', 'notification:01a1eb30-01be-75bb-8ac8-f340c59abf1e');

INSERT INTO gateway.hourly_payment_stats VALUES
	('*', '2026-11-17 20:00:00+00', 'bank_transfer', 'bca', '', 0, 2, 0, 0, 0, '{0}', '{2}'),
	('*', '2026-11-17 20:00:00+00', 'bank_transfer', 'bca', 'settlement', 2, 2, 344000, 0, 0, '{}', '{}'),
	('*', '2026-11-17 20:00:00+00', 'bank_transfer', 'bni', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('*', '2026-11-17 20:00:00+00', 'credit_card', 'bni', '', 0, 1, 0, 0, 0, '{0}', '{1}'),
	('*', '2026-11-17 20:00:00+00', 'credit_card', 'bni', 'capture', 1, 1, 150000, 0, 0, '{}', '{}'),
	('*', '2026-11-17 20:00:00+00', 'credit_card', 'bni', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('*', '2026-11-17 20:00:00+00', 'cstore', '', '', 0, 1, 0, 0, 0, '{0}', '{1}'),
	('*', '2026-11-17 20:00:00+00', 'cstore', '', 'settlement', 1, 1, 20000, 0, 0, '{}', '{}'),
	('*', '2026-11-17 20:00:00+00', 'echannel', '', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('*', '2026-11-17 20:00:00+00', 'gopay', '', '', 0, 3, 0, 0, 0, '{0}', '{3}'),
	('*', '2026-11-17 20:00:00+00', 'gopay', '', 'partial_refund', 1, 1, 44000, 4000, 0, '{}', '{}'),
	('*', '2026-11-17 20:00:00+00', 'gopay', '', 'settlement', 2, 2, 130000, 0, 0, '{}', '{}'),
	('*', '2026-11-17 20:00:00+00', 'qris', '', 'cancel', 1, 0, 0, 0, 0, '{}', '{}'),
	('*', '2026-11-17 20:00:00+00', 'shopeepay', '', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 20:00:00+00', 'bank_transfer', 'bca', '', 0, 2, 0, 0, 0, '{0}', '{2}'),
	('u:alice', '2026-11-17 20:00:00+00', 'bank_transfer', 'bca', 'settlement', 2, 2, 344000, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 20:00:00+00', 'bank_transfer', 'bni', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 20:00:00+00', 'credit_card', 'bni', '', 0, 1, 0, 0, 0, '{0}', '{1}'),
	('u:alice', '2026-11-17 20:00:00+00', 'credit_card', 'bni', 'capture', 1, 1, 150000, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 20:00:00+00', 'credit_card', 'bni', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 20:00:00+00', 'cstore', '', '', 0, 1, 0, 0, 0, '{0}', '{1}'),
	('u:alice', '2026-11-17 20:00:00+00', 'cstore', '', 'settlement', 1, 1, 20000, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 20:00:00+00', 'echannel', '', 'pending', 1, 0, 0, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 20:00:00+00', 'gopay', '', '', 0, 3, 0, 0, 0, '{0}', '{3}'),
	('u:alice', '2026-11-17 20:00:00+00', 'gopay', '', 'partial_refund', 1, 1, 44000, 4000, 0, '{}', '{}'),
	('u:alice', '2026-11-17 20:00:00+00', 'gopay', '', 'settlement', 2, 2, 130000, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 20:00:00+00', 'qris', '', 'cancel', 1, 0, 0, 0, 0, '{}', '{}'),
	('u:alice', '2026-11-17 20:00:00+00', 'shopeepay', '', 'pending', 1, 0, 0, 0, 0, '{}', '{}');

INSERT INTO gateway.idempotency_keys VALUES
	('staff', 'POST /webhook-endpoints/', 'ep1', '\xae0015b5b108c7ce9e5da8e83ba4ef6eeb85591a2968f0728c60d9774f2caf7e', '01a1eb2f-afa6-703c-bb5b-06528c33ad9d', NULL, '{"body":{"id":"01a1eb2f-afa4-7304-a9aa-350fc1a71d82","url":"http://127.0.0.1:8812/ok","event_names":null,"description":"works","enabled":true,"disabled_reason":null,"failing_since":null,"previous_secret_until":null,"created_at":"2026-11-17T20:25:33.348Z","updated_at":"2026-11-17T20:25:33.348Z","secret":"i0Tw2sqNfzcWAfEIjFVWs8iO8d4rG5pKQeugqKjFQPpX7P8-ONhNo5ZDkkmi2CQeLLV2jtkIysSlkp4kfQ9NUqVoX8clxtgRnvO4QQk4"}}', '2026-11-17 20:25:33.35+00', '2026-11-17 20:25:33.35+00', NULL),
	('alice', 'POST /charge/', 'charge-1', '\x53c497613947bc0f8f287340445f8b4072abab207895c831b0ebd6e6445ecdac', '01a1eb2f-afef-7741-9080-ccbc552b3730', NULL, '{"body":{"id":"01a1eb2f-afef-7741-9080-ccbc552b3730","order_id":"shop-1","transaction_id":"2c371094-90cf-4a37-a939-57d18361d349","payment_type":"bank_transfer","bank":"bca","store":null,"acquirer":null,"gross_amount":"44000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"Success, Bank Transfer transaction is created","customer_first_name":"Budi","customer_last_name":"Utomo","customer_email":"Budi@Example.com","customer_phone":"+62 812 3456","va_number":"812785002280734","bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":null,"expiry_time":"2026-11-18T20:25:33.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":{"table":4},"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[{"id":"01a1eb2f-afef-75d8-90fa-42e93be5ad57","item_id":"a","name":"Kopi","price":"22000.00","quantity":2,"brand":null,"category":null,"merchant_name":null,"url":null,"subtotal":"44000.00"}],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.423Z","updated_at":"2026-11-17T20:25:33.540Z"}}', '2026-11-17 20:25:33.537+00', '2026-11-17 20:25:33.423+00', 3817986348250739),
	('alice', 'POST /charge/', 'async-1', '\x2a47d6c2411eb697dae1ade4762024d1baba0b288ccdcb14995671cbdbf765af', '01a1eb2f-b454-7732-8568-e1ba92a22729', NULL, '{"body":{"id":"01a1eb2f-b454-7732-8568-e1ba92a22729","order_id":"shop01a1eb2f-b454-7732-8568-e1ba92a22729-p","transaction_id":"ff5875e7-e05f-4777-83ae-d5ce4f027de9","payment_type":"bank_transfer","bank":"bni","store":null,"acquirer":null,"gross_amount":"11000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"Success, Bank Transfer transaction is created","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":"9888118595355958","bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:34.000Z","settlement_time":null,"expiry_time":"2026-11-18T20:25:34.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:34.548Z","updated_at":"2026-11-17T20:25:34.565Z"}}', '2026-11-17 20:25:34.565+00', '2026-11-17 20:25:34.548+00', 3817986348250739),
	('alice', 'POST /payments/01a1eb2f-b0e9-7739-a7f6-2a5177ff778e/refund/', 'refund-2', '\x61a68b9154c526728f03936b94a8fa5e7098be110df7a1ce704094cda2044224', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', '01a1eb2f-b143-776b-9b55-908406c911ac', '{"body":{"payment":{"id":"01a1eb2f-b0e9-7739-a7f6-2a5177ff778e","order_id":"shop-2","transaction_id":"906bc126-cb80-47b8-8c48-4cdd44995990","payment_type":"gopay","bank":null,"store":null,"acquirer":null,"gross_amount":"44000.00","captured_amount":"44000.00","currency":"IDR","transaction_status":"partial_refund","fraud_status":"accept","status_code":"200","status_message":"Success, transaction is found","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":"http://127.0.0.1:8811/gopay/app/906bc126-cb80-47b8-8c48-4cdd44995990","qr_string":null,"qr_url":"http://127.0.0.1:8811/v2/gopay/906bc126-cb80-47b8-8c48-4cdd44995990/qr-code","transaction_time":"2026-11-17T20:25:33.000Z","settlement_time":"2026-11-17T20:25:33.000Z","expiry_time":"2026-11-17T20:40:33.000Z","refund_amount":"4000.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"40000.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[{"id":"01a1eb2f-b143-776b-9b55-908406c911ac","refund_key":"01a1eb2f-b143-776b-9b55-908406c911ac","amount":"4000.00","reason":"Spilled","is_direct":false,"status":"succeeded","status_code":"200","status_message":"Success, refund request is approved","created_at":"2026-11-17T20:25:33.763Z"}],"invoice_id":null,"subscription_id":null,"allowed_actions":["refund"],"is_paid":true,"is_pending":false,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:33.673Z","updated_at":"2026-11-17T20:25:33.794Z"},"refund":{"id":"01a1eb2f-b143-776b-9b55-908406c911ac","refund_key":"01a1eb2f-b143-776b-9b55-908406c911ac","amount":"4000.00","reason":"Spilled","is_direct":false,"status":"succeeded","status_code":"200","status_message":"Success, refund request is approved","created_at":"2026-11-17T20:25:33.763Z"}}}', '2026-11-17 20:25:33.793+00', '2026-11-17 20:25:33.759+00', 3817986348250739),
	('alice', 'POST /subscriptions/', 'sub-1', '\xe1305ca20c8446d5b631790666025a0e98b0e07c9a7005206e15a2900aef3d03', '01a1eb2f-b347-703f-b11e-31a1b897ffce', NULL, '{"body":{"id":"01a1eb2f-b347-703f-b11e-31a1b897ffce","gateway_subscription_id":"e06b0bd7-4914-4556-8201-0443a6eac6ce","name":"coffee-club","payment_type":"credit_card","amount":"150000.00","currency":"IDR","interval":1,"interval_unit":"month","max_interval":12,"current_interval":0,"start_time":"2026-12-17T20:25:34.000Z","next_execution_at":"2026-12-17T20:25:34.000Z","status":"active","customer_first_name":"Budi","customer_last_name":"Utomo","customer_email":"Budi@Example.com","customer_phone":"+62 812 3456","metadata":null,"created_at":"2026-11-17T20:25:34.279Z","updated_at":"2026-11-17T20:25:34.292Z"}}', '2026-11-17 20:25:34.291+00', '2026-11-17 20:25:34.279+00', 3817986348250739),
	('alice', 'POST /invoices/', 'inv-1', '\x3391dd32620dbb84c1776091aced5fdd7171a2251f2a158f89bd39f071d3efa8', '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', NULL, '{"body":{"id":"01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491","invoice_number":"INV-20261118-X7JMJ842","order_id":"shop3h96xsgmzqzpjwkipmbszvyp-i","gateway_invoice_id":"593b55b472af40d2b75e9044","status":"sent","customer_name":"Budi Utomo","customer_email":"budi@example.com","customer_phone":null,"customer_id":null,"total_amount":"300000.00","currency":"IDR","due_date":"2099-12-31","paid_at":null,"notes":null,"void_reason":null,"payment_link_url":"http://127.0.0.1:8811/payment-links/593b55b472af40d2b75e9044","pdf_url":"http://127.0.0.1:8811/invoices/593b55b472af40d2b75e9044.pdf","items":[{"id":"01a1eb2f-b3af-7634-bec7-69350be90add","item_id":null,"description":"Beans","quantity":2,"price":"150000.00","subtotal":"300000.00"}],"is_overdue":false,"metadata":null,"created_at":"2026-11-17T20:25:34.382Z","updated_at":"2026-11-17T20:25:34.399Z"}}', '2026-11-17 20:25:34.399+00', '2026-11-17 20:25:34.382+00', 3817986348250739),
	('alice', 'async POST /charge/', 'async-1', '\x2a47d6c2411eb697dae1ade4762024d1baba0b288ccdcb14995671cbdbf765af', '01a1eb2f-b442-7616-9fa0-daa1bec2c3f4', NULL, NULL, '2026-11-17 20:26:34.53+00', '2026-11-17 20:25:34.53+00', NULL),
	('staff', 'POST /webhook-endpoints/', 'ep2', '\x7c61d5c39ef49604e19cda88061e47e886f16b7a89cae699f1c3d381e59a7eec', '01a1eb30-0178-761f-b518-51a59f062df1', NULL, '{"body":{"id":"01a1eb30-0177-74c0-b546-980424b74131","url":"http://127.0.0.1:8812/no","event_names":["payment_settled"],"description":"fails","enabled":true,"disabled_reason":null,"failing_since":null,"previous_secret_until":null,"created_at":"2026-11-17T20:25:54.295Z","updated_at":"2026-11-17T20:25:54.295Z","secret":"70lB1B03LXX4zoqJWVpz3Pks0-CW6bABsBFCxyVPTa-upcRVnojnIR1Szk9xllCsxYAFNH06zkqI3RsyhLQOHuYjucBGvPiBJXpzBwI2"}}', '2026-11-17 20:25:54.296+00', '2026-11-17 20:25:54.296+00', NULL),
	('alice', 'POST /charge/', 'card-1', '\x776102540bd52d23b3417273298fc8da4433daeea44fb7bdce4b1411c1fd7676', '01a1eb30-0181-70d3-b0a5-718756a8fc81', NULL, '{"body":{"id":"01a1eb30-0181-70d3-b0a5-718756a8fc81","order_id":"shop-card","transaction_id":"1116f501-8fd3-4936-84dc-7c65fbfefebd","payment_type":"credit_card","bank":"bni","store":null,"acquirer":null,"gross_amount":"50000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"Success, Credit Card transaction is successful","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":"http://127.0.0.1:8811/v2/3ds/redirect/d75143570426a2979c595b3bad59f256","deeplink_url":null,"qr_string":null,"qr_url":null,"transaction_time":"2026-11-17T20:25:54.000Z","settlement_time":null,"expiry_time":"2026-11-17T20:35:54.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:54.305Z","updated_at":"2026-11-17T20:25:54.315Z"}}', '2026-11-17 20:25:54.315+00', '2026-11-17 20:25:54.305+00', 3817986348250739),
	('alice', 'POST /charge/', 'g-70', '\xba49fdea3bd8aa7212062d095bdb4817e576907bc86276e1a92633a685eae93f', '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', NULL, '{"body":{"id":"01a1eb30-019a-72b7-a9b5-25ecaaa0aac5","order_id":"shop-70","transaction_id":"38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9","payment_type":"gopay","bank":null,"store":null,"acquirer":null,"gross_amount":"70000.00","captured_amount":null,"currency":"IDR","transaction_status":"pending","fraud_status":"accept","status_code":"201","status_message":"GoPay transaction is created","customer_first_name":null,"customer_last_name":null,"customer_email":null,"customer_phone":null,"va_number":null,"bill_key":null,"biller_code":null,"payment_code":null,"redirect_url":null,"deeplink_url":"http://127.0.0.1:8811/gopay/app/38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9","qr_string":null,"qr_url":"http://127.0.0.1:8811/v2/gopay/38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9/qr-code","transaction_time":"2026-11-17T20:25:54.000Z","settlement_time":null,"expiry_time":"2026-11-17T20:40:54.000Z","refund_amount":"0.00","chargeback_amount":"0.00","has_unknown_chargeback":false,"net_amount":"0.00","metadata":null,"custom_field1":null,"custom_field2":null,"custom_field3":null,"items":[],"refunds":[],"invoice_id":null,"subscription_id":null,"allowed_actions":["cancel","expire"],"is_paid":false,"is_pending":true,"is_failed":false,"is_expired":false,"created_at":"2026-11-17T20:25:54.330Z","updated_at":"2026-11-17T20:25:54.345Z"}}', '2026-11-17 20:25:54.344+00', '2026-11-17 20:25:54.33+00', 3817986348250739),
	('alice', 'POST /charge/', 'charge-2', '\xe7273affcbf1b9e15450e6b1ce23aea6740b5406c10912ad9af19cc894bf4b09', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', NULL, '{"body": {"id": "01a1eb2f-b0e9-7739-a7f6-2a5177ff778e", "bank": null, "items": [], "store": null, "qr_url": "http://127.0.0.1:8811/v2/gopay/906bc126-cb80-47b8-8c48-4cdd44995990/qr-code", "is_paid": false, "refunds": [], "acquirer": null, "bill_key": null, "currency": "IDR", "metadata": null, "order_id": "shop-2", "is_failed": false, "qr_string": null, "va_number": null, "created_at": "2026-11-17T20:25:33.673Z", "invoice_id": null, "is_expired": false, "is_pending": true, "net_amount": "0.00", "updated_at": "2026-11-17T20:25:33.698Z", "biller_code": null, "expiry_time": "2026-11-17T20:40:33.000Z", "status_code": "201", "deeplink_url": "http://127.0.0.1:8811/gopay/app/906bc126-cb80-47b8-8c48-4cdd44995990", "fraud_status": "accept", "gross_amount": "44000.00", "payment_code": null, "payment_type": "gopay", "redirect_url": null, "custom_field1": null, "custom_field2": null, "custom_field3": null, "refund_amount": "0.00", "customer_email": null, "customer_phone": null, "status_message": "GoPay transaction is created", "transaction_id": "906bc126-cb80-47b8-8c48-4cdd44995990", "captured_amount": null, "settlement_time": null, "subscription_id": null, "transaction_time": "2026-11-17T20:25:33.000Z", "customer_last_name": null, "transaction_status": "pending", "customer_first_name": null}}', '2026-11-17 20:25:33.697+00', '2026-11-17 20:25:33.673+00', 3817986348250739);

INSERT INTO gateway.instances VALUES
	(3817986348250739, '2026-11-17 20:24:56.385163+00');

INSERT INTO gateway.invoice_items VALUES
	('01a1eb2f-b3af-7634-bec7-69350be90add', '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', 0, NULL, 'Beans', 150000, 2),
	('01a1eb2f-b41a-708f-a035-42f9b8534933', '01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b', 0, NULL, 'Beans', 150000, 2);

INSERT INTO gateway.invoices VALUES
	('01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', 'alice', 'INV-20261118-X7JMJ842', 'shop3h96xsgmzqzpjwkipmbszvyp-i', '593b55b472af40d2b75e9044', 'paid', 'Budi Utomo', 'budi@example.com', NULL, NULL, 300000, 'IDR', '2099-12-31', '2099-12-31 16:59:59+00', '2026-11-17 20:25:34.485+00', NULL, NULL, 'http://127.0.0.1:8811/payment-links/593b55b472af40d2b75e9044', 'http://127.0.0.1:8811/invoices/593b55b472af40d2b75e9044.pdf', NULL, '2026-11-17 20:25:34.382+00', NULL, 2, 2, '2026-11-17 20:25:34.382+00', '2026-11-17 20:25:34.485+00', 'api_key:gk_Q9Wo-DGj'),
	('01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b', 'alice', 'INV-20261118-6UVJDTGM', 'shop3h96xsh3ea2ok1fh327aaxrv-i', '5a949dca8f3e61a2e4e683ca', 'void', 'Budi Utomo', 'budi@example.com', NULL, NULL, 300000, 'IDR', '2099-12-31', '2099-12-31 16:59:59+00', NULL, NULL, 'Twice', 'http://127.0.0.1:8811/payment-links/5a949dca8f3e61a2e4e683ca', 'http://127.0.0.1:8811/invoices/5a949dca8f3e61a2e4e683ca.pdf', NULL, '2026-11-17 20:25:34.49+00', '2026-11-18 21:25:34.519+00', 2, 3, '2026-11-17 20:25:34.49+00', '2026-11-17 20:25:34.519+00', 'api_key:gk_Q9Wo-DGj');

INSERT INTO gateway.jobs VALUES
	('01a1eb2f-b081-7095-bcdf-d2d9b493501c', 'deliver_webhooks', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', '{}', NULL, 'succeeded', 1, '2026-11-17 20:25:33.569+00', NULL, '{"sent":2}', NULL, '2026-11-17 20:25:33.569+00', '2026-11-17 20:25:33.704+00', NULL, 1, NULL, 0),
	('01a1eb2f-b128-732c-82fc-9fab21339c0f', 'deliver_webhooks', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', '{}', NULL, 'succeeded', 1, '2026-11-17 20:25:33.736+00', NULL, '{"sent":1}', NULL, '2026-11-17 20:25:33.736+00', '2026-11-17 20:25:33.783+00', NULL, 1, NULL, 0),
	('01a1eb2f-b1a1-7445-9462-67b7dcb63772', 'deliver_webhooks', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', '{}', NULL, 'succeeded', 1, '2026-11-17 20:25:33.857+00', NULL, '{"sent":5}', NULL, '2026-11-17 20:25:33.857+00', '2026-11-17 20:25:34.015+00', NULL, 1, NULL, 0),
	('01a1eb2f-b211-70bb-8684-33a6c83a73de', 'deliver_webhooks', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', '{}', NULL, 'succeeded', 1, '2026-11-17 20:25:34.079+00', NULL, '{"sent":4}', NULL, '2026-11-17 20:25:33.969+00', '2026-11-17 20:25:34.264+00', NULL, 1, NULL, 0),
	('01a1eb2f-b368-71db-a72b-f05c43dcc634', 'deliver_webhooks', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', '{}', NULL, 'succeeded', 1, '2026-11-17 20:25:34.312+00', NULL, '{"sent":2}', NULL, '2026-11-17 20:25:34.312+00', '2026-11-17 20:25:34.367+00', NULL, 1, NULL, 0),
	('01a1eb2f-b35f-76f2-8944-3b57a9de5f86', 'check_subscription_status', '01a1eb2f-b347-703f-b11e-31a1b897ffce', '{"subscription_id":"01a1eb2f-b347-703f-b11e-31a1b897ffce","gateway_subscription_id":"e06b0bd7-4914-4556-8201-0443a6eac6ce"}', 'alice', 'succeeded', 1, '2026-11-17 20:25:34.303+00', NULL, '{"status":"active"}', NULL, '2026-11-17 20:25:34.303+00', '2026-11-17 20:25:34.425+00', NULL, 0, NULL, 0),
	('01a1eb2f-b37b-7098-a090-77206ebc5b06', 'check_subscription_status', '01a1eb2f-b347-703f-b11e-31a1b897ffce', '{"subscription_id":"01a1eb2f-b347-703f-b11e-31a1b897ffce","payment_id":"01a1eb2f-b37b-7098-a090-6d305368ea58","notification_id":"01a1eb2f-b36e-7037-933a-57b8fa6ad14f"}', 'alice', 'succeeded', 1, '2026-11-17 20:25:34.331+00', NULL, '{"status":"active"}', NULL, '2026-11-17 20:25:34.331+00', '2026-11-17 20:25:34.448+00', NULL, 0, NULL, 0),
	('01a1eb2f-b3d0-70f8-8210-7329c4daf5c0', 'deliver_webhooks', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', '{}', NULL, 'succeeded', 1, '2026-11-17 20:25:34.416+00', NULL, '{"sent":3}', NULL, '2026-11-17 20:25:34.416+00', '2026-11-17 20:25:34.477+00', NULL, 1, NULL, 0),
	('01a1eb2f-b3f6-723f-b511-a0056d96c25c', 'check_invoice_status', '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', '{"invoice_id":"01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491","payment_id":"01a1eb2f-b3f6-723f-b511-9b694839a4d8","notification_id":"01a1eb2f-b3dd-7600-a8a3-50892e2460c3"}', 'alice', 'succeeded', 1, '2026-11-17 20:25:34.454+00', NULL, '{"status":"paid"}', NULL, '2026-11-17 20:25:34.454+00', '2026-11-17 20:25:34.492+00', NULL, 0, NULL, 0),
	('01a1eb2f-b415-7629-ba40-7f282233f4cf', 'check_invoice_status', '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', '{"invoice_id":"01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491"}', 'alice', 'succeeded', 1, '2026-11-17 20:25:34.485+00', NULL, '{"status":"paid"}', NULL, '2026-11-17 20:25:34.485+00', '2026-11-17 20:25:34.506+00', NULL, 0, NULL, 0),
	('01a1eb2f-b448-72d0-be8a-26d224ac9160', 'deliver_webhooks', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', '{}', NULL, 'succeeded', 1, '2026-11-17 20:25:34.536+00', NULL, '{"sent":4}', NULL, '2026-11-17 20:25:34.536+00', '2026-11-17 20:25:34.595+00', NULL, 1, NULL, 0),
	('01a1eb2f-b4b2-74a6-8612-391cbdd52e3f', 'deliver_webhooks', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', '{}', NULL, 'succeeded', 1, '2026-11-17 20:25:34.642+00', NULL, '{"sent":1}', NULL, '2026-11-17 20:25:34.642+00', '2026-11-17 20:25:34.664+00', NULL, 1, NULL, 0),
	('01a1eb2f-b4e4-7005-b6b3-eb8d5f863daa', 'check_payment_status', '01a1eb2f-afef-7741-9080-ccbc552b3730', '{"payment_id":"01a1eb2f-afef-7741-9080-ccbc552b3730"}', 'alice', 'succeeded', 1, '2026-11-17 20:25:34.692+00', NULL, '{"transaction_status":"settlement"}', NULL, '2026-11-17 20:25:34.692+00', '2026-11-17 20:25:34.708+00', NULL, 2, NULL, 0),
	('01a1eb2f-b481-7302-a1f4-de8900a45bc3', 'reconcile', '01a1eb2f-b481-7302-a1f4-d90d15b5ca5e', '{"reconciliation_id":"01a1eb2f-b481-7302-a1f4-d90d15b5ca5e"}', 'staff', 'succeeded', 1, '2026-11-17 20:25:34.593+00', NULL, '{"reconciliation_id":"01a1eb2f-b481-7302-a1f4-d90d15b5ca5e","compared_lines":7,"lines":7}', NULL, '2026-11-17 20:25:34.593+00', '2026-11-17 20:25:34.711+00', NULL, 0, NULL, 0),
	('01a1eb30-019d-748c-a284-e96fe715ef09', 'deliver_webhooks', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', '{}', NULL, 'succeeded', 1, '2026-11-17 20:25:54.333+00', NULL, '{"sent":1}', NULL, '2026-11-17 20:25:54.333+00', '2026-11-17 20:25:54.365+00', NULL, 1, NULL, 0),
	('01a1eb30-0204-7717-ab41-0fb088767d07', 'deliver_webhooks', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', '{}', NULL, 'succeeded', 1, '2026-11-17 20:25:54.436+00', NULL, '{"sent":2}', NULL, '2026-11-17 20:25:54.436+00', '2026-11-17 20:25:54.478+00', NULL, 1, NULL, 0),
	('01a1eb30-0204-7717-ab41-08523ecc15b3', 'deliver_webhooks', '01a1eb30-0177-74c0-b546-980424b74131', '{}', NULL, 'queued', 0, '2026-11-17 20:30:59.359+00', NULL, NULL, NULL, '2026-11-17 20:25:54.436+00', '2026-11-17 20:25:59.529+00', NULL, 1, NULL, 0),
	('01a1eb2f-b385-7563-9bd7-71ae2478e348', 'check_subscription_status', '01a1eb2f-b347-703f-b11e-31a1b897ffce', '{"subscription_id":"01a1eb2f-b347-703f-b11e-31a1b897ffce","gateway_subscription_id":"e06b0bd7-4914-4556-8201-0443a6eac6ce"}', 'alice', 'succeeded', 1, '2026-11-17 20:26:34.329+00', NULL, '{"status":"active"}', NULL, '2026-11-17 20:25:34.341+00', '2026-11-17 20:26:34.7+00', NULL, 0, NULL, 0),
	('01a1eb30-0000-7000-8000-000000000001', 'hasten_webhooks', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', '{}', 'alice', 'queued', 0, '2026-11-17 20:29:22.670065+00', NULL, NULL, NULL, '2026-11-17 20:29:22.670065+00', '2026-11-17 20:29:22.670065+00', NULL, 0, NULL, 0),
	('01a1eb30-0000-7000-8000-000000000002', 'deliver shipping', '01a1eb2f-afef-7741-9080-ccbc552b3730', '{"sequence":2,"is_left_out":true}', 'alice', 'failed', 0, '2026-11-17 20:29:22.670065+00', NULL, NULL, NULL, '2026-11-17 20:29:22.670065+00', '2026-11-17 20:29:22.670065+00', NULL, 1, NULL, 0),
	('01a1eb30-0000-7000-8000-000000000003', 'process_charge_async', NULL, '{"caller":{"userId":"alice","isStaff":false,"credential":"api_key","keyPrefix":"gk_Q9Wo-DGj"},"key":null,"scope":"POST /charge/","body_hash":"00","input":{"payment_type":"qris","gross_amount":11000}}', 'alice', 'failed', 0, '2026-11-17 20:29:22.670065+00', NULL, NULL, NULL, '2026-11-17 20:29:22.670065+00', '2026-11-17 20:29:22.670065+00', NULL, 0, NULL, 3),
	('01a1eb30-0000-7000-8000-000000000004', 'check_payment_status', NULL, '{}', 'alice', 'queued', 0, '2036-11-17 20:29:22.670065+00', NULL, NULL, NULL, '2026-11-17 20:29:22.670065+00', '2026-11-17 20:29:22.670065+00', NULL, 2, NULL, 0),
	('01a1eb30-0000-7000-8000-000000000005', 'deliver shipping', NULL, '{"sequence":1}', 'alice', 'running', 1, '2026-11-17 20:29:22.670065+00', '2026-11-17 20:29:22.708878+00', NULL, NULL, '2026-11-17 20:29:22.670065+00', '2026-11-17 20:29:22.670065+00', NULL, 1, 3817986348250739, 0),
	('01a1eb2f-b442-7616-9fa0-daa1bec2c3f4', 'process_charge_async', NULL, '{"caller":{"userId":"alice","isStaff":false,"isViewer":false,"credential":"api_key","keyPrefix":"gk_Q9Wo-DGj","orderPrefix":"shop"},"key":"async-1","key_since":"2026-11-17T20:25:34.530Z","scope":"POST /charge/","body_hash":"2a47d6c2411eb697dae1ade4762024d1baba0b288ccdcb14995671cbdbf765af","input":{"payment_type":"bank_transfer","gross_amount":11000,"bank":"bni"}}', 'alice', 'succeeded', 1, '2026-11-17 20:25:34.53+00', NULL, '{"payment": {"id": "01a1eb2f-b454-7732-8568-e1ba92a22729", "bank": "bni", "items": [], "store": null, "qr_url": null, "is_paid": false, "refunds": [], "acquirer": null, "bill_key": null, "currency": "IDR", "metadata": null, "order_id": "shop01a1eb2f-b454-7732-8568-e1ba92a22729-p", "is_failed": false, "qr_string": null, "va_number": "9888118595355958", "created_at": "2026-11-17T20:25:34.548Z", "invoice_id": null, "is_expired": false, "is_pending": true, "net_amount": "0.00", "updated_at": "2026-11-17T20:25:34.565Z", "biller_code": null, "expiry_time": "2026-11-18T20:25:34.000Z", "status_code": "201", "deeplink_url": null, "fraud_status": "accept", "gross_amount": "11000.00", "payment_code": null, "payment_type": "bank_transfer", "redirect_url": null, "custom_field1": null, "custom_field2": null, "custom_field3": null, "refund_amount": "0.00", "customer_email": null, "customer_phone": null, "status_message": "Success, Bank Transfer transaction is created", "transaction_id": "ff5875e7-e05f-4777-83ae-d5ce4f027de9", "captured_amount": null, "settlement_time": null, "subscription_id": null, "transaction_time": "2026-11-17T20:25:34.000Z", "customer_last_name": null, "transaction_status": "pending", "customer_first_name": null}}', NULL, '2026-11-17 20:25:34.53+00', '2026-11-17 20:25:34.576+00', NULL, 0, NULL, 1);

INSERT INTO gateway.migrations VALUES
	('0001_api_keys', '3bb3a45844e541a4822bb112f8eac3cf57c59da9547a721f71807c77dde4e413', '2026-11-17 20:24:18.906714+00'),
	('0002_payments', 'c5cfb2dfdeb6022b3c2eff05371b108f3b5c1710a57d531f8edd4553eca6c042', '2026-11-17 20:24:18.98453+00'),
	('0003_jobs', '49a5ae1682edd16ed9fcaeae25af872bcc8ff152479bd7d868ce1c3642aee9cf', '2026-11-17 20:24:19.051217+00'),
	('0004_notifications', '0f6dda014c7cdcd281bcc3f8139789a88707420bb2022618db7eb3fb2b90bad7', '2026-11-17 20:24:19.090709+00'),
	('0005_invoices_and_subscriptions', 'e1eed8108749400de8108209cc4d0fe77af197f989378b563c64aa5e7db7f74c', '2026-11-17 20:24:19.148103+00'),
	('0006_jobs', 'aef55eaf4330174cd86e6df8d2af4499a2601f53e60fdb1d2756a510671ce2fa', '2026-11-17 20:24:19.238641+00'),
	('0007_due_jobs', 'cc9941fb58aa5e84b352e12e018de9ff89e196bf09aa528478c89a56281d6660', '2026-11-17 20:24:19.255323+00'),
	('0008_webhooks', 'ceea0bda5cbaac800bc0ad5286be42137fe81987bec7727a6e3607688d754667', '2026-11-17 20:24:19.296711+00'),
	('0009_payments_by_order', '00ae0e5b79ee115bc77cbc17aef39d92c46ec5c943af5429bf6d6fd2608949d3', '2026-11-17 20:24:19.332147+00'),
	('0010_paid_checks_and_account', '39d9abec88a57d8e83eddcfeacd0d5705b622b0b355d497b6d2709b57bb53c1d', '2026-11-17 20:24:19.356632+00'),
	('0011_lease_holders', '87f23ea554f8eed010e4198f269f3f8a1ad94b33bec6d0c94f9bc51ca1df180c', '2026-11-17 20:24:19.376614+00'),
	('0012_event_positions', 'f527802385b700459fe467a2502099817a32e5e465e7be04280914b6263280cd', '2026-11-17 20:24:19.40294+00'),
	('0013_unrecognized_statuses', '13b9eeb119bbd8524bd3f80c8783c8a8f557a8ab55790634ae627f714731f807', '2026-11-17 20:24:19.524835+00'),
	('0015_fair_jobs', 'b5784d206b8ecf33b9b84c2bc27c4cc9f1861510ec9e782c43895e44fcc057dc', '2026-11-17 20:24:19.565719+00'),
	('0017_deliveries_of_published_events', '3d6ca227d79994ea7e52fe78e26a7429b3077747573b139e45b3c14f2624b4ef', '2026-11-17 20:24:19.587852+00'),
	('0018_payment_filters', 'da0cc9d29d63519378bbba61c2d1cce391548e1b7339a4897906dfdfefd722ad', '2026-11-17 20:24:19.646854+00'),
	('0019_viewer_keys', '353b2bfe6914961333e242bc0249279294598c11829c9430e453701bb6d57536', '2026-11-17 20:24:19.67432+00'),
	('0020_search', '158425bde5bcaa4fb3c67e0746c9f98f0785d9d1f83ed859cbabc2d0910bc4fb', '2026-11-17 20:24:19.791008+00'),
	('0023_chargebacks_and_actors', '673c760769fbf3ba03cbfe5fb964d40e08a254a912c7c2b6e904783761ca46e8', '2026-11-17 20:24:19.798449+00'),
	('0024_refund_lists', '42887bd7532613c93d73f960b0132cb3de526bac5554877bb8472442f584da05', '2026-11-17 20:24:19.840934+00'),
	('0025_audit', 'c2a51f29effc0d2293962997b6eb969267d2f398d8a8c53c35e4309aeb927ddc', '2026-11-17 20:24:19.876705+00'),
	('0027_payment_stats', 'b1457d848312207bfeee30e661cf03e89462a6933d9c018bd18bc5fc0260f23a', '2026-11-17 20:24:19.895216+00'),
	('0028_reconciliations', 'f53f526e4178ba1b186f05a38682ddb2bcf3b87eb5b1c18c15691bc0d5da15b5', '2026-11-17 20:24:19.935268+00'),
	('0030_console_sessions', 'db084b6c326f661fb9babeb7b83cf39efd525e64e095aa34b0977456ee8a5a24', '2026-11-17 20:24:19.97023+00'),
	('0031_reconciliation_sums', '91a6b746138da4ce1295a5db3bd495ed5514bcf53030da7465d4e37a1f1eacfc', '2026-11-17 20:24:19.992313+00'),
	('0032_daily_stats', '63c785e1735fc99e3d09733a3dd59b3ae02aef83ec6a4e78666e983e77150834', '2026-11-17 20:24:20.015654+00'),
	('0033_audit_by_action', 'f267bf055c2f3564dfd9e2836749361b0d5960f7845b7c32d1223878d5e38719', '2026-11-17 20:24:20.051879+00'),
	('0034_resolved_differences', '9f6a7d97e462cea9c168a8403a5b41e9e01732401aca0be64f822737162b251d', '2026-11-17 20:24:20.080607+00'),
	('0036_subscribers', '5f43ed5270e81b1bd35c0cbd1ef69c24d1f0bd02a8c67dc511bbbd29f53eab07', '2026-11-17 20:24:20.098761+00'),
	('0037_repeated_lines', '225f0ab576f8f8dc27ab970f60b16c5869b8ac5f5c1bf21fb97d147bcde55b11', '2026-11-17 20:24:20.128855+00'),
	('0040_lines_of_other_files', '42fd1feab8a65b5ca8ab2d12cea7003e74b612ec431ca8133caaba27fbc1eb8a', '2026-11-17 20:24:20.14501+00'),
	('0043_payments_without_owner', '16966ba065307f1140aa501ded1a4a0d7eed36557508dbe8be163d4465b544fe', '2026-11-17 20:24:20.167506+00'),
	('0047_registered_subscribers', '6ca51299b74d27f375aaa7f69a640f3ddfb7b10464ca8468a623d81f4a7765d5', '2026-11-17 20:24:20.192399+00'),
	('0048_order_prefixes', 'cfbca766719b7ee57d73c490118b19dfdd8b6723eabad85deb6c92c0e8630f3a', '2026-11-17 20:24:20.204372+00');

INSERT INTO gateway.notifications VALUES
	('01a1eb2f-b05c-7648-81fc-429ccc16a966', '01a1eb2f-afef-7741-9080-ccbc552b3730', 'shop-1', '2c371094-90cf-4a37-a939-57d18361d349', 'pending', 'accept', 'bank_transfer', '201', '44000.00', 'duplicate', NULL, '{"status_code":"201","status_message":"midtrans payment notification","transaction_id":"2c371094-90cf-4a37-a939-57d18361d349","order_id":"shop-1","merchant_id":"G042824000","gross_amount":"44000.00","currency":"IDR","payment_type":"bank_transfer","transaction_time":"2026-11-18 03:25:33","transaction_status":"pending","fraud_status":"accept","expiry_time":"2026-11-19 03:25:33","va_numbers":[{"bank":"bca","va_number":"812785002280734"}],"payment_amounts":[],"metadata":{"table":4,"payment_ref":"01a1eb2f-afef-7741-9080-ccbc552b3730"},"pop_id":"d83357e0-397a-40c4-80aa-351253506758"}', '2026-11-17 20:25:33.532+00'),
	('01a1eb2f-b0af-7224-a0e4-a08eb66aacb5', '01a1eb2f-afef-7741-9080-ccbc552b3730', 'shop-1', '2c371094-90cf-4a37-a939-57d18361d349', 'settlement', 'accept', 'bank_transfer', '200', '44000.00', 'processed', NULL, '{"status_code":"200","status_message":"midtrans payment notification","transaction_id":"2c371094-90cf-4a37-a939-57d18361d349","order_id":"shop-1","merchant_id":"G042824000","gross_amount":"44000.00","currency":"IDR","payment_type":"bank_transfer","transaction_time":"2026-11-18 03:25:33","transaction_status":"settlement","fraud_status":"accept","expiry_time":"2026-11-19 03:25:33","settlement_time":"2026-11-18 03:25:33","va_numbers":[{"bank":"bca","va_number":"812785002280734"}],"payment_amounts":[],"metadata":{"table":4,"payment_ref":"01a1eb2f-afef-7741-9080-ccbc552b3730"},"pop_id":"d83357e0-397a-40c4-80aa-351253506758"}', '2026-11-17 20:25:33.615+00'),
	('01a1eb2f-b10a-749d-90bb-2d604b264d1a', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 'shop-2', '906bc126-cb80-47b8-8c48-4cdd44995990', 'pending', 'accept', 'gopay', '201', '44000.00', 'duplicate', NULL, '{"status_code":"201","status_message":"midtrans payment notification","transaction_id":"906bc126-cb80-47b8-8c48-4cdd44995990","order_id":"shop-2","merchant_id":"G042824000","gross_amount":"44000.00","currency":"IDR","payment_type":"gopay","transaction_time":"2026-11-18 03:25:33","transaction_status":"pending","fraud_status":"accept","expiry_time":"2026-11-18 03:40:33","metadata":{"payment_ref":"01a1eb2f-b0e9-7739-a7f6-2a5177ff778e"},"pop_id":"5f2304d3-73e1-4798-a84f-7a8e75baafd6"}', '2026-11-17 20:25:33.706+00'),
	('01a1eb2f-b11e-7304-9911-fe36bdecdd69', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 'shop-2', '906bc126-cb80-47b8-8c48-4cdd44995990', 'settlement', 'accept', 'gopay', '200', '44000.00', 'processed', NULL, '{"status_code":"200","status_message":"midtrans payment notification","transaction_id":"906bc126-cb80-47b8-8c48-4cdd44995990","order_id":"shop-2","merchant_id":"G042824000","gross_amount":"44000.00","currency":"IDR","payment_type":"gopay","transaction_time":"2026-11-18 03:25:33","transaction_status":"settlement","fraud_status":"accept","expiry_time":"2026-11-18 03:40:33","settlement_time":"2026-11-18 03:25:33","payment_option_type":"GOPAY_WALLET","metadata":{"payment_ref":"01a1eb2f-b0e9-7739-a7f6-2a5177ff778e"},"pop_id":"5f2304d3-73e1-4798-a84f-7a8e75baafd6"}', '2026-11-17 20:25:33.726+00'),
	('01a1eb2f-b167-73f1-a4b6-42ba51fdbc5c', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 'shop-2', '906bc126-cb80-47b8-8c48-4cdd44995990', 'partial_refund', 'accept', 'gopay', '200', '44000.00', 'duplicate', NULL, '{"status_code":"200","status_message":"midtrans payment notification","transaction_id":"906bc126-cb80-47b8-8c48-4cdd44995990","order_id":"shop-2","merchant_id":"G042824000","gross_amount":"44000.00","currency":"IDR","payment_type":"gopay","transaction_time":"2026-11-18 03:25:33","transaction_status":"partial_refund","fraud_status":"accept","expiry_time":"2026-11-18 03:40:33","settlement_time":"2026-11-18 03:25:33","refund_amount":"4000.00","refunds":[{"refund_chargeback_id":1,"refund_amount":"4000.00","created_at":"2026-11-18 03:25:33","reason":"Spilled","refund_key":"01a1eb2f-b143-776b-9b55-908406c911ac","refund_method":"offline"}],"payment_option_type":"GOPAY_WALLET","metadata":{"payment_ref":"01a1eb2f-b0e9-7739-a7f6-2a5177ff778e"},"pop_id":"5f2304d3-73e1-4798-a84f-7a8e75baafd6"}', '2026-11-17 20:25:33.799+00'),
	('01a1eb2f-b18b-755a-a34d-2b46408f7124', '01a1eb2f-b174-7459-a34f-9d90d4611fe7', 'shop01a1eb2f-b174-7459-a34f-9d90d4611fe7-p', '3a4fbb4a-4369-40a0-8962-14eb2172caa0', 'pending', 'accept', 'qris', '201', '10000.00', 'duplicate', NULL, '{"status_code":"201","status_message":"midtrans payment notification","transaction_id":"3a4fbb4a-4369-40a0-8962-14eb2172caa0","order_id":"shop01a1eb2f-b174-7459-a34f-9d90d4611fe7-p","merchant_id":"G042824000","gross_amount":"10000.00","currency":"IDR","payment_type":"qris","transaction_time":"2026-11-18 03:25:33","transaction_status":"pending","fraud_status":"accept","expiry_time":"2026-11-18 03:40:33","acquirer":"gopay","metadata":{"payment_ref":"01a1eb2f-b174-7459-a34f-9d90d4611fe7"},"pop_id":"42a991af-ba98-4ada-b2f6-5fbcaf7e5ec1"}', '2026-11-17 20:25:33.835+00'),
	('01a1eb2f-b1bd-77ee-9d4d-4d244c5d3183', '01a1eb2f-b174-7459-a34f-9d90d4611fe7', 'shop01a1eb2f-b174-7459-a34f-9d90d4611fe7-p', '3a4fbb4a-4369-40a0-8962-14eb2172caa0', 'cancel', 'accept', 'qris', '202', '10000.00', 'duplicate', NULL, '{"status_code":"202","status_message":"midtrans payment notification","transaction_id":"3a4fbb4a-4369-40a0-8962-14eb2172caa0","order_id":"shop01a1eb2f-b174-7459-a34f-9d90d4611fe7-p","merchant_id":"G042824000","gross_amount":"10000.00","currency":"IDR","payment_type":"qris","transaction_time":"2026-11-18 03:25:33","transaction_status":"cancel","fraud_status":"accept","expiry_time":"2026-11-18 03:40:33","acquirer":"gopay","metadata":{"payment_ref":"01a1eb2f-b174-7459-a34f-9d90d4611fe7"},"pop_id":"42a991af-ba98-4ada-b2f6-5fbcaf7e5ec1"}', '2026-11-17 20:25:33.885+00'),
	('01a1eb2f-b200-73ad-a593-17c9292f8338', '01a1eb2f-b1c6-71e1-a18c-9e480bca6882', 'shop01a1eb2f-b1c6-71e1-a18c-9e480bca6882-p', '80517cf7-8216-4e90-942e-fb80e5440a58', 'pending', 'accept', 'echannel', '201', '15000.00', 'duplicate', NULL, '{"status_code":"201","status_message":"midtrans payment notification","transaction_id":"80517cf7-8216-4e90-942e-fb80e5440a58","order_id":"shop01a1eb2f-b1c6-71e1-a18c-9e480bca6882-p","merchant_id":"G042824000","gross_amount":"15000.00","currency":"IDR","payment_type":"echannel","transaction_time":"2026-11-18 03:25:33","transaction_status":"pending","fraud_status":"accept","expiry_time":"2026-11-19 03:25:33","bill_key":"699281348149","biller_code":"70012","metadata":{"payment_ref":"01a1eb2f-b1c6-71e1-a18c-9e480bca6882"},"pop_id":"3563172c-4dec-44f0-a86c-0801a137d1d7"}', '2026-11-17 20:25:33.952+00'),
	('01a1eb2f-b236-7631-aca9-6c5ad1248c99', '01a1eb2f-b209-704d-85ba-76c264ad48d9', 'shop01a1eb2f-b209-704d-85ba-76c264ad48d9-p', '49c6e922-45a7-461b-821a-7f473d16cd91', 'pending', NULL, 'cstore', '201', '20000.00', 'duplicate', NULL, '{"status_code":"201","status_message":"midtrans payment notification","transaction_id":"49c6e922-45a7-461b-821a-7f473d16cd91","order_id":"shop01a1eb2f-b209-704d-85ba-76c264ad48d9-p","merchant_id":"G042824000","gross_amount":"20000.00","currency":"IDR","payment_type":"cstore","transaction_time":"2026-11-18 03:25:33","transaction_status":"pending","expiry_time":"2026-11-19 03:25:33","payment_code":"19068004674313","store":"indomaret","metadata":{"payment_ref":"01a1eb2f-b209-704d-85ba-76c264ad48d9"},"pop_id":"f3dffcea-af90-4fab-bbc4-4a6481a74bcc"}', '2026-11-17 20:25:34.006+00'),
	('01a1eb2f-b24c-7441-a631-fb6bb9d6fba5', '01a1eb2f-b209-704d-85ba-76c264ad48d9', 'shop01a1eb2f-b209-704d-85ba-76c264ad48d9-p', '49c6e922-45a7-461b-821a-7f473d16cd91', 'settlement', NULL, 'cstore', '200', '20000.00', 'processed', NULL, '{"status_code":"200","status_message":"midtrans payment notification","transaction_id":"49c6e922-45a7-461b-821a-7f473d16cd91","order_id":"shop01a1eb2f-b209-704d-85ba-76c264ad48d9-p","merchant_id":"G042824000","gross_amount":"20000.00","currency":"IDR","payment_type":"cstore","transaction_time":"2026-11-18 03:25:33","transaction_status":"settlement","expiry_time":"2026-11-19 03:25:33","settlement_time":"2026-11-18 03:25:34","payment_code":"19068004674313","store":"indomaret","approval_code":"4969224574618217","metadata":{"payment_ref":"01a1eb2f-b209-704d-85ba-76c264ad48d9"},"pop_id":"f3dffcea-af90-4fab-bbc4-4a6481a74bcc"}', '2026-11-17 20:25:34.028+00'),
	('01a1eb2f-b278-7764-b3ac-44c2b23a11c9', '01a1eb2f-b268-7648-a4dd-6356057bf56b', 'shop01a1eb2f-b268-7648-a4dd-6356057bf56b-p', 'ff65bcbe-ff85-4679-8d24-855417f6d27f', 'pending', 'accept', 'shopeepay', '201', '30000.00', 'duplicate', NULL, '{"status_code":"201","status_message":"midtrans payment notification","transaction_id":"ff65bcbe-ff85-4679-8d24-855417f6d27f","order_id":"shop01a1eb2f-b268-7648-a4dd-6356057bf56b-p","merchant_id":"G042824000","gross_amount":"30000.00","currency":"IDR","payment_type":"shopeepay","transaction_time":"2026-11-18 03:25:34","transaction_status":"pending","fraud_status":"accept","expiry_time":"2026-11-18 03:40:34","metadata":{"payment_ref":"01a1eb2f-b268-7648-a4dd-6356057bf56b"},"pop_id":"34ed415e-dbc8-474a-87c3-cbfe2c76bead"}', '2026-11-17 20:25:34.072+00'),
	('01a1eb2f-b2f7-744c-8af7-4d4a95fc0855', '01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', 'shop-cb', '4c4dbafb-593a-4c29-b27b-fadf71960e04', 'pending', 'accept', 'gopay', '201', '60000.00', 'duplicate', NULL, '{"status_code":"201","status_message":"midtrans payment notification","transaction_id":"4c4dbafb-593a-4c29-b27b-fadf71960e04","order_id":"shop-cb","merchant_id":"G042824000","gross_amount":"60000.00","currency":"IDR","payment_type":"gopay","transaction_time":"2026-11-18 03:25:34","transaction_status":"pending","fraud_status":"accept","expiry_time":"2026-11-18 03:40:34","metadata":{"payment_ref":"01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a"},"pop_id":"60980c5d-2e60-4ea6-a1a4-b1f1d8e8195c"}', '2026-11-17 20:25:34.199+00'),
	('01a1eb2f-b336-77cd-bcda-072838c1672f', '01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', 'shop-cb', '4c4dbafb-593a-4c29-b27b-fadf71960e04', 'settlement', 'accept', 'gopay', '200', '60000.00', 'processed', NULL, '{"status_code":"200","status_message":"midtrans payment notification","transaction_id":"4c4dbafb-593a-4c29-b27b-fadf71960e04","order_id":"shop-cb","merchant_id":"G042824000","gross_amount":"60000.00","currency":"IDR","payment_type":"gopay","transaction_time":"2026-11-18 03:25:34","transaction_status":"settlement","fraud_status":"accept","expiry_time":"2026-11-18 03:40:34","settlement_time":"2026-11-18 03:25:34","payment_option_type":"GOPAY_WALLET","metadata":{"payment_ref":"01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a"},"pop_id":"60980c5d-2e60-4ea6-a1a4-b1f1d8e8195c"}', '2026-11-17 20:25:34.262+00'),
	('01a1eb2f-b36e-7037-933a-57b8fa6ad14f', '01a1eb2f-b37b-7098-a090-6d305368ea58', 'coffee-club69322042771660161963919167562586', 'b488a7f1-8625-4bf7-8c78-2cc2fbea0b0f', 'capture', 'accept', 'credit_card', '200', '150000.00', 'processed', NULL, '{"status_code":"200","status_message":"midtrans payment notification","transaction_id":"b488a7f1-8625-4bf7-8c78-2cc2fbea0b0f","order_id":"coffee-club69322042771660161963919167562586","merchant_id":"G042824000","gross_amount":"150000.00","currency":"IDR","payment_type":"credit_card","transaction_time":"2026-11-18 03:25:34","transaction_status":"capture","fraud_status":"accept","expiry_time":"2026-11-26 03:25:34","masked_card":"48111111-1114","bank":"bni","card_type":"credit","approval_code":"1775386820998","on_us":false,"channel":"dragon","channel_response_code":"00","channel_response_message":"Approved","eci":"07","metadata":{"subscription_ref":"01a1eb2f-b347-703f-b11e-31a1b897ffce"},"pop_id":"2c0210ad-27ee-4b38-b38c-777dd0c3a147"}', '2026-11-17 20:25:34.318+00'),
	('01a1eb2f-b411-74dd-aef6-2e24efada93d', '01a1eb2f-b3f6-723f-b511-9b694839a4d8', 'shop3h96xsgmzqzpjwkipmbszvyp-i', '17db0508-606c-4ed2-895d-9a9889e0eeee', 'settlement', 'accept', 'bank_transfer', '200', '300000.00', 'duplicate', NULL, '{"status_code":"200","status_message":"midtrans payment notification","transaction_id":"17db0508-606c-4ed2-895d-9a9889e0eeee","order_id":"shop3h96xsgmzqzpjwkipmbszvyp-i","merchant_id":"G042824000","gross_amount":"300000.00","currency":"IDR","payment_type":"bank_transfer","transaction_time":"2026-11-18 03:25:34","transaction_status":"settlement","fraud_status":"accept","expiry_time":"2026-11-19 03:25:34","settlement_time":"2026-11-18 03:25:34","va_numbers":[{"bank":"bca","va_number":"812785002801147"}],"payment_amounts":[],"metadata":{"midtrans_invoice_id":"593b55b472af40d2b75e9044"},"pop_id":"6ee6f9cf-36a0-4446-987a-a818f40bc95d"}', '2026-11-17 20:25:34.481+00'),
	('01a1eb2f-b46b-772c-9f65-e4c8163e6b1a', '01a1eb2f-b454-7732-8568-e1ba92a22729', 'shop01a1eb2f-b454-7732-8568-e1ba92a22729-p', 'ff5875e7-e05f-4777-83ae-d5ce4f027de9', 'pending', 'accept', 'bank_transfer', '201', '11000.00', 'duplicate', NULL, '{"status_code":"201","status_message":"midtrans payment notification","transaction_id":"ff5875e7-e05f-4777-83ae-d5ce4f027de9","order_id":"shop01a1eb2f-b454-7732-8568-e1ba92a22729-p","merchant_id":"G042824000","gross_amount":"11000.00","currency":"IDR","payment_type":"bank_transfer","transaction_time":"2026-11-18 03:25:34","transaction_status":"pending","fraud_status":"accept","expiry_time":"2026-11-19 03:25:34","va_numbers":[{"bank":"bni","va_number":"9888118595355958"}],"payment_amounts":[],"metadata":{"payment_ref":"01a1eb2f-b454-7732-8568-e1ba92a22729"},"pop_id":"127a7770-6203-4217-84ab-fa53a2c7f716"}', '2026-11-17 20:25:34.571+00'),
	('01a1eb2f-c4e8-7295-b50b-bcb70a97830f', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 'shop-2', '906bc126-cb80-47b8-8c48-4cdd44995990', 'partial_refund', 'accept', 'gopay', '200', '44000.00', 'duplicate', NULL, '{"status_code":"200","status_message":"midtrans payment notification","transaction_id":"906bc126-cb80-47b8-8c48-4cdd44995990","order_id":"shop-2","merchant_id":"G042824000","gross_amount":"44000.00","currency":"IDR","payment_type":"gopay","transaction_time":"2026-11-18 03:25:33","transaction_status":"partial_refund","fraud_status":"accept","expiry_time":"2026-11-18 03:40:33","settlement_time":"2026-11-18 03:25:33","refund_amount":"4000.00","refunds":[{"refund_chargeback_id":1,"refund_amount":"4000.00","created_at":"2026-11-18 03:25:33","reason":"Spilled","refund_key":"01a1eb2f-b143-776b-9b55-908406c911ac","refund_method":"offline","bank_confirmed_at":"2026-11-18 03:25:38"}],"payment_option_type":"GOPAY_WALLET","metadata":{"payment_ref":"01a1eb2f-b0e9-7739-a7f6-2a5177ff778e"},"pop_id":"5f2304d3-73e1-4798-a84f-7a8e75baafd6"}', '2026-11-17 20:25:38.792+00'),
	('01a1eb2f-b3dd-7600-a8a3-50892e2460c3', '01a1eb2f-b3f6-723f-b511-9b694839a4d8', 'shop3h96xsgmzqzpjwkipmbszvyp-i', '17db0508-606c-4ed2-895d-9a9889e0eeee', 'pending', 'accept', 'bank_transfer', '201', '300000.00', 'processed', NULL, '{"status_code":"201","status_message":"midtrans payment notification","transaction_id":"17db0508-606c-4ed2-895d-9a9889e0eeee","order_id":"shop3h96xsgmzqzpjwkipmbszvyp-i","merchant_id":"G042824000","gross_amount":"300000.00","currency":"IDR","payment_type":"bank_transfer","transaction_time":"2026-11-18 03:25:34","transaction_status":"pending","fraud_status":"accept","expiry_time":"2026-11-19 03:25:34","va_numbers":[{"bank":"bca","va_number":"812785002801147"}],"payment_amounts":[],"metadata":{"midtrans_invoice_id":"593b55b472af40d2b75e9044"},"pop_id":"6ee6f9cf-36a0-4446-987a-a818f40bc95d"}', '2026-11-17 20:25:34.429+00'),
	('01a1eb30-018d-73be-814c-68592cfe93ba', '01a1eb30-0181-70d3-b0a5-718756a8fc81', 'shop-card', '1116f501-8fd3-4936-84dc-7c65fbfefebd', 'pending', 'accept', 'credit_card', '201', '50000.00', 'duplicate', NULL, '{"status_code":"201","status_message":"midtrans payment notification","transaction_id":"1116f501-8fd3-4936-84dc-7c65fbfefebd","order_id":"shop-card","merchant_id":"G042824000","gross_amount":"50000.00","currency":"IDR","payment_type":"credit_card","transaction_time":"2026-11-18 03:25:54","transaction_status":"pending","fraud_status":"accept","expiry_time":"2026-11-18 03:35:54","masked_card":"48111111-1114","bank":"bni","card_type":"credit","three_ds_version":"2","metadata":{"payment_ref":"01a1eb30-0181-70d3-b0a5-718756a8fc81"},"pop_id":"408da6aa-db2f-4a1d-a037-77a4d00b2a6f"}', '2026-11-17 20:25:54.317+00'),
	('01a1eb30-01b0-7348-9b7e-f12328adbf8f', '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', 'shop-70', '38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9', 'pending', 'accept', 'gopay', '201', '70000.00', 'duplicate', NULL, '{"status_code":"201","status_message":"midtrans payment notification","transaction_id":"38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9","order_id":"shop-70","merchant_id":"G042824000","gross_amount":"70000.00","currency":"IDR","payment_type":"gopay","transaction_time":"2026-11-18 03:25:54","transaction_status":"pending","fraud_status":"accept","expiry_time":"2026-11-18 03:40:54","metadata":{"payment_ref":"01a1eb30-019a-72b7-a9b5-25ecaaa0aac5"},"pop_id":"f067c3f7-b9f0-4a4d-81c7-173498cb3706"}', '2026-11-17 20:25:54.352+00'),
	('01a1eb30-01be-75bb-8ac8-f340c59abf1e', '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', 'shop-70', '38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9', 'settlement', 'accept', 'gopay', '200', '70000.00', 'processed', NULL, '{"status_code":"200","status_message":"midtrans payment notification","transaction_id":"38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9","order_id":"shop-70","merchant_id":"G042824000","gross_amount":"70000.00","currency":"IDR","payment_type":"gopay","transaction_time":"2026-11-18 03:25:54","transaction_status":"settlement","fraud_status":"accept","expiry_time":"2026-11-18 03:40:54","settlement_time":"2026-11-18 03:25:54","payment_option_type":"GOPAY_WALLET","metadata":{"payment_ref":"01a1eb30-019a-72b7-a9b5-25ecaaa0aac5"},"pop_id":"f067c3f7-b9f0-4a4d-81c7-173498cb3706"}', '2026-11-17 20:25:54.366+00');

INSERT INTO gateway.order_ids VALUES
	('shop-1', 'alice', '01a1eb2f-afef-7741-9080-ccbc552b3730'),
	('shop-2', 'alice', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e'),
	('shop01a1eb2f-b174-7459-a34f-9d90d4611fe7-p', 'alice', '01a1eb2f-b174-7459-a34f-9d90d4611fe7'),
	('shop01a1eb2f-b1c6-71e1-a18c-9e480bca6882-p', 'alice', '01a1eb2f-b1c6-71e1-a18c-9e480bca6882'),
	('shop01a1eb2f-b209-704d-85ba-76c264ad48d9-p', 'alice', '01a1eb2f-b209-704d-85ba-76c264ad48d9'),
	('shop01a1eb2f-b268-7648-a4dd-6356057bf56b-p', 'alice', '01a1eb2f-b268-7648-a4dd-6356057bf56b'),
	('shop-cb', 'alice', '01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a'),
	('shop3h96xsgmzqzpjwkipmbszvyp-i', 'alice', '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491'),
	('shop3h96xsh3ea2ok1fh327aaxrv-i', 'alice', '01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b'),
	('shop01a1eb2f-b454-7732-8568-e1ba92a22729-p', 'alice', '01a1eb2f-b454-7732-8568-e1ba92a22729'),
	('shop-card', 'alice', '01a1eb30-0181-70d3-b0a5-718756a8fc81'),
	('shop-70', 'alice', '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5');

INSERT INTO gateway.paid_checks VALUES
	('credit_card', 4838400, '2026-09-22 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 5443200, '2026-09-15 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 6048000, '2026-09-08 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 6652800, '2026-09-01 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 7257600, '2026-08-25 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 7862400, '2026-08-18 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 8467200, '2026-08-11 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 9072000, '2026-08-04 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 9676800, '2026-07-28 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 10281600, '2026-07-21 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 10368000, '2026-07-20 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 15638400, '2026-05-20 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('cstore', 600, '2026-11-17 20:18:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('dana', 86400, '2026-11-16 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('dana', 604800, '2026-11-10 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('dana', 3974400, '2026-10-02 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('echannel', 600, '2026-11-17 20:18:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('gopay', 86400, '2026-11-16 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('gopay', 604800, '2026-11-10 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('gopay', 3974400, '2026-10-02 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('gopay', 15638400, '2026-05-20 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('kredivo', 86400, '2026-11-16 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('kredivo', 604800, '2026-11-10 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('kredivo', 1296000, '2026-11-02 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('ovo', 86400, '2026-11-16 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('ovo', 604800, '2026-11-10 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('ovo', 691200, '2026-11-09 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('permata', 600, '2026-11-17 20:18:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('qris', 86400, '2026-11-16 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('qris', 604800, '2026-11-10 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('qris', 3974400, '2026-10-02 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('qris', 31622400, '2025-11-16 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('shopeepay', 86400, '2026-11-16 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('shopeepay', 604800, '2026-11-10 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('shopeepay', 31622400, '2025-11-16 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('akulaku', 86400, '2026-11-16 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('akulaku', 604800, '2026-11-10 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('akulaku', 15638400, '2026-05-20 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('bank_transfer', 600, '2026-11-17 20:18:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 86400, '2026-11-16 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 604800, '2026-11-10 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 1209600, '2026-11-03 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 1814400, '2026-10-27 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 2419200, '2026-10-20 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 3024000, '2026-10-13 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 3628800, '2026-10-06 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	('credit_card', 4233600, '2026-09-29 20:28:00.01+00', 'ffffffff-ffff-ffff-ffff-ffffffffffff');

INSERT INTO gateway.payment_filters VALUES
	('01a1eb2f-afef-7741-9080-ccbc552b3730', 'alice', 'settlement', 'bank_transfer', NULL, '2026-11-17 20:25:33.645+00', '2026-11-17 20:25:33+00', NULL),
	('01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 'alice', 'partial_refund', 'gopay', NULL, '2026-11-17 20:25:33.74+00', '2026-11-17 20:25:33+00', NULL),
	('01a1eb2f-b174-7459-a34f-9d90d4611fe7', 'alice', 'cancel', 'qris', NULL, NULL, NULL, NULL),
	('01a1eb2f-b1c6-71e1-a18c-9e480bca6882', 'alice', 'pending', 'echannel', '2026-11-17 20:30:33.945+00', NULL, NULL, NULL),
	('01a1eb2f-b209-704d-85ba-76c264ad48d9', 'alice', 'settlement', 'cstore', NULL, '2026-11-17 20:25:34.033+00', '2026-11-17 20:25:34+00', NULL),
	('01a1eb2f-b268-7648-a4dd-6356057bf56b', 'alice', 'pending', 'shopeepay', '2026-11-17 20:30:34.07+00', NULL, NULL, NULL),
	('01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', 'alice', 'settlement', 'gopay', NULL, '2026-11-17 20:25:34.265+00', '2026-11-17 20:25:34+00', NULL),
	('01a1eb2f-b37b-7098-a090-6d305368ea58', 'alice', 'capture', 'credit_card', '2026-11-17 20:30:34.331+00', '2026-11-17 20:25:34.331+00', NULL, NULL),
	('01a1eb2f-b3f6-723f-b511-9b694839a4d8', 'alice', 'settlement', 'bank_transfer', NULL, '2026-11-17 20:25:34.454+00', '2026-11-17 20:25:34+00', NULL),
	('01a1eb2f-b454-7732-8568-e1ba92a22729', 'alice', 'pending', 'bank_transfer', '2026-11-17 20:30:34.565+00', NULL, NULL, NULL),
	('01a1eb30-0181-70d3-b0a5-718756a8fc81', 'alice', 'pending', 'credit_card', '2026-11-17 20:30:54.315+00', NULL, NULL, NULL),
	('01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', 'alice', 'settlement', 'gopay', NULL, '2026-11-17 20:25:54.372+00', '2026-11-17 20:25:54+00', NULL);

INSERT INTO gateway.payment_items VALUES
	('01a1eb2f-afef-75d8-90fa-42e93be5ad57', '01a1eb2f-afef-7741-9080-ccbc552b3730', 0, 'a', 'Kopi', 22000, 2, NULL, NULL, NULL, NULL);

INSERT INTO gateway.payment_search_keys VALUES
	('o', 'shop-1', '01a1eb2f-afef-7741-9080-ccbc552b3730'),
	('e', 'budi@example.com', '01a1eb2f-afef-7741-9080-ccbc552b3730'),
	('p', '628123456', '01a1eb2f-afef-7741-9080-ccbc552b3730'),
	('v', '812785002280734', '01a1eb2f-afef-7741-9080-ccbc552b3730'),
	('o', 'shop-2', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e'),
	('o', 'shop01a1eb2f-b174-7459-a34f-9d90d4611fe7-p', '01a1eb2f-b174-7459-a34f-9d90d4611fe7'),
	('o', 'shop01a1eb2f-b1c6-71e1-a18c-9e480bca6882-p', '01a1eb2f-b1c6-71e1-a18c-9e480bca6882'),
	('o', 'shop01a1eb2f-b209-704d-85ba-76c264ad48d9-p', '01a1eb2f-b209-704d-85ba-76c264ad48d9'),
	('o', 'shop01a1eb2f-b268-7648-a4dd-6356057bf56b-p', '01a1eb2f-b268-7648-a4dd-6356057bf56b'),
	('o', 'shop-cb', '01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a'),
	('o', 'coffee-club69322042771660161963919167562586', '01a1eb2f-b37b-7098-a090-6d305368ea58'),
	('o', 'shop3h96xsgmzqzpjwkipmbszvyp-i', '01a1eb2f-b3f6-723f-b511-9b694839a4d8'),
	('v', '812785002801147', '01a1eb2f-b3f6-723f-b511-9b694839a4d8'),
	('o', 'shop01a1eb2f-b454-7732-8568-e1ba92a22729-p', '01a1eb2f-b454-7732-8568-e1ba92a22729'),
	('v', '9888118595355958', '01a1eb2f-b454-7732-8568-e1ba92a22729'),
	('o', 'shop-card', '01a1eb30-0181-70d3-b0a5-718756a8fc81'),
	('o', 'shop-70', '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5');

INSERT INTO gateway.payments VALUES
	('01a1eb2f-afef-7741-9080-ccbc552b3730', 'alice', 'shop-1', '2c371094-90cf-4a37-a939-57d18361d349', 'bank_transfer', 'bca', NULL, NULL, 44000, 44000, 0, 0, 'IDR', 'settlement', 'accept', '200', 'midtrans payment notification', 'Budi', 'Utomo', 'Budi@Example.com', '+62 812 3456', '812785002280734', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-17 20:25:33+00', '2026-11-17 20:25:33+00', '2026-11-18 20:25:33+00', '{"table":4}', NULL, NULL, NULL, NULL, NULL, false, false, '2026-11-17 20:25:33.645+00', 0, '2026-11-17 20:25:33.423+00', NULL, 2, 2, '2026-11-17 20:25:33.423+00', '2026-11-17 20:25:33.645+00', NULL, NULL, 'api_key:gk_Q9Wo-DGj'),
	('01a1eb2f-b209-704d-85ba-76c264ad48d9', 'alice', 'shop01a1eb2f-b209-704d-85ba-76c264ad48d9-p', '49c6e922-45a7-461b-821a-7f473d16cd91', 'cstore', NULL, 'indomaret', NULL, 20000, 20000, 0, 0, 'IDR', 'settlement', NULL, '200', 'midtrans payment notification', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '19068004674313', NULL, NULL, NULL, NULL, '2026-11-17 20:25:33+00', '2026-11-17 20:25:34+00', '2026-11-18 20:25:33+00', NULL, NULL, NULL, NULL, NULL, NULL, false, false, '2026-11-17 20:25:34.033+00', 0, '2026-11-17 20:25:33.961+00', NULL, 2, 2, '2026-11-17 20:25:33.961+00', '2026-11-17 20:25:34.033+00', NULL, NULL, 'api_key:gk_Q9Wo-DGj'),
	('01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 'alice', 'shop-2', '906bc126-cb80-47b8-8c48-4cdd44995990', 'gopay', NULL, NULL, NULL, 44000, 44000, 4000, 0, 'IDR', 'partial_refund', 'accept', '200', 'Success, transaction is found', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.0.0.1:8811/gopay/app/906bc126-cb80-47b8-8c48-4cdd44995990', NULL, 'http://127.0.0.1:8811/v2/gopay/906bc126-cb80-47b8-8c48-4cdd44995990/qr-code', '2026-11-17 20:25:33+00', '2026-11-17 20:25:33+00', '2026-11-17 20:40:33+00', NULL, NULL, NULL, NULL, NULL, NULL, false, false, '2026-11-17 20:25:33.74+00', 0, '2026-11-17 20:25:33.673+00', NULL, 3, 4, '2026-11-17 20:25:33.673+00', '2026-11-17 20:25:33.794+00', NULL, NULL, 'api_key:gk_Q9Wo-DGj'),
	('01a1eb2f-b268-7648-a4dd-6356057bf56b', 'alice', 'shop01a1eb2f-b268-7648-a4dd-6356057bf56b-p', 'ff65bcbe-ff85-4679-8d24-855417f6d27f', 'shopeepay', NULL, NULL, NULL, 30000, NULL, 0, 0, 'IDR', 'pending', 'accept', '201', 'ShopeePay transaction is created', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.0.0.1:8811/shopeepay/app/ff65bcbe-ff85-4679-8d24-855417f6d27f', NULL, NULL, '2026-11-17 20:25:34+00', NULL, '2026-11-17 20:40:34+00', NULL, NULL, NULL, NULL, NULL, NULL, false, false, NULL, 0, '2026-11-17 20:25:34.056+00', '2026-11-17 20:30:34.07+00', 1, 1, '2026-11-17 20:25:34.056+00', '2026-11-17 20:25:34.071+00', NULL, NULL, 'api_key:gk_Q9Wo-DGj'),
	('01a1eb2f-b174-7459-a34f-9d90d4611fe7', 'alice', 'shop01a1eb2f-b174-7459-a34f-9d90d4611fe7-p', '3a4fbb4a-4369-40a0-8962-14eb2172caa0', 'qris', NULL, NULL, 'gopay', 10000, NULL, 0, 0, 'IDR', 'cancel', 'accept', '200', 'Success, transaction is canceled', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '00020101021226690017ID.CO.SANDBOX.WWW011893600914000000000002153a4fbb4a436940a0303UMI5204599953033605405100005802ID5916Sandbox Merchant6007JAKARTA61051011062410125shop01a1eb2f-b174-7459-a305083a4fbb4a630420BA', 'http://127.0.0.1:8811/v4/qris/2f385c2a45bc4d053d8aca18ca5c865f/qr-code', '2026-11-17 20:25:33+00', NULL, '2026-11-17 20:40:33+00', NULL, NULL, NULL, NULL, NULL, NULL, false, false, NULL, 0, '2026-11-17 20:25:33.812+00', NULL, 2, 3, '2026-11-17 20:25:33.812+00', '2026-11-17 20:25:33.874+00', NULL, NULL, 'api_key:gk_Q9Wo-DGj'),
	('01a1eb2f-b1c6-71e1-a18c-9e480bca6882', 'alice', 'shop01a1eb2f-b1c6-71e1-a18c-9e480bca6882-p', '80517cf7-8216-4e90-942e-fb80e5440a58', 'echannel', NULL, NULL, NULL, 15000, NULL, 0, 0, 'IDR', 'pending', 'accept', '201', 'OK, Mandiri Bill transaction is successful', NULL, NULL, NULL, NULL, NULL, '699281348149', '70012', NULL, NULL, NULL, NULL, NULL, '2026-11-17 20:25:33+00', NULL, '2026-11-18 20:25:33+00', NULL, NULL, NULL, NULL, NULL, NULL, false, false, NULL, 0, '2026-11-17 20:25:33.894+00', '2026-11-17 20:30:33.945+00', 1, 1, '2026-11-17 20:25:33.894+00', '2026-11-17 20:25:33.945+00', NULL, NULL, 'api_key:gk_Q9Wo-DGj'),
	('01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', 'alice', 'shop-cb', '4c4dbafb-593a-4c29-b27b-fadf71960e04', 'gopay', NULL, NULL, NULL, 60000, 60000, 0, 0, 'IDR', 'settlement', 'accept', '200', 'midtrans payment notification', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.0.0.1:8811/gopay/app/4c4dbafb-593a-4c29-b27b-fadf71960e04', NULL, 'http://127.0.0.1:8811/v2/gopay/4c4dbafb-593a-4c29-b27b-fadf71960e04/qr-code', '2026-11-17 20:25:34+00', '2026-11-17 20:25:34+00', '2026-11-17 20:40:34+00', NULL, NULL, NULL, NULL, NULL, NULL, false, false, '2026-11-17 20:25:34.265+00', 0, '2026-11-17 20:25:34.131+00', NULL, 2, 2, '2026-11-17 20:25:34.131+00', '2026-11-17 20:25:34.265+00', NULL, NULL, 'api_key:gk_Q9Wo-DGj'),
	('01a1eb2f-b37b-7098-a090-6d305368ea58', 'alice', 'coffee-club69322042771660161963919167562586', 'b488a7f1-8625-4bf7-8c78-2cc2fbea0b0f', 'credit_card', 'bni', NULL, NULL, 150000, 150000, 0, 0, 'IDR', 'capture', 'accept', '200', 'Success, Credit Card transaction is successful', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-17 20:25:34+00', NULL, '2026-11-25 20:25:34+00', NULL, NULL, NULL, NULL, NULL, '01a1eb2f-b347-703f-b11e-31a1b897ffce', false, false, '2026-11-17 20:25:34.331+00', 0, '2026-11-17 20:25:34.331+00', '2026-11-17 20:30:34.331+00', 1, 0, '2026-11-17 20:25:34.331+00', '2026-11-17 20:25:34.331+00', NULL, NULL, NULL),
	('01a1eb2f-b3f6-723f-b511-9b694839a4d8', 'alice', 'shop3h96xsgmzqzpjwkipmbszvyp-i', '17db0508-606c-4ed2-895d-9a9889e0eeee', 'bank_transfer', 'bca', NULL, NULL, 300000, 300000, 0, 0, 'IDR', 'settlement', 'accept', '200', 'Success, transaction is found', NULL, NULL, NULL, NULL, '812785002801147', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-17 20:25:34+00', '2026-11-17 20:25:34+00', '2026-11-18 20:25:34+00', '{"midtrans_invoice_id":"593b55b472af40d2b75e9044"}', NULL, NULL, NULL, '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', NULL, false, false, '2026-11-17 20:25:34.454+00', 0, '2026-11-17 20:25:34.454+00', NULL, 1, 0, '2026-11-17 20:25:34.454+00', '2026-11-17 20:25:34.454+00', NULL, NULL, NULL),
	('01a1eb2f-b454-7732-8568-e1ba92a22729', 'alice', 'shop01a1eb2f-b454-7732-8568-e1ba92a22729-p', 'ff5875e7-e05f-4777-83ae-d5ce4f027de9', 'bank_transfer', 'bni', NULL, NULL, 11000, NULL, 0, 0, 'IDR', 'pending', 'accept', '201', 'Success, Bank Transfer transaction is created', NULL, NULL, NULL, NULL, '9888118595355958', NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-17 20:25:34+00', NULL, '2026-11-18 20:25:34+00', NULL, NULL, NULL, NULL, NULL, NULL, false, false, NULL, 0, '2026-11-17 20:25:34.548+00', '2026-11-17 20:30:34.565+00', 1, 1, '2026-11-17 20:25:34.548+00', '2026-11-17 20:25:34.565+00', NULL, NULL, 'api_key:gk_Q9Wo-DGj'),
	('01a1eb30-0181-70d3-b0a5-718756a8fc81', 'alice', 'shop-card', '1116f501-8fd3-4936-84dc-7c65fbfefebd', 'credit_card', 'bni', NULL, NULL, 50000, NULL, 0, 0, 'IDR', 'pending', 'accept', '201', 'Success, Credit Card transaction is successful', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.0.0.1:8811/v2/3ds/redirect/d75143570426a2979c595b3bad59f256', NULL, NULL, NULL, '2026-11-17 20:25:54+00', NULL, '2026-11-17 20:35:54+00', NULL, NULL, NULL, NULL, NULL, NULL, false, false, NULL, 0, '2026-11-17 20:25:54.305+00', '2026-11-17 20:30:54.315+00', 1, 1, '2026-11-17 20:25:54.305+00', '2026-11-17 20:25:54.315+00', NULL, NULL, 'api_key:gk_Q9Wo-DGj'),
	('01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', 'alice', 'shop-70', '38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9', 'gopay', NULL, NULL, NULL, 70000, 70000, 0, 0, 'IDR', 'settlement', 'accept', '200', 'midtrans payment notification', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'http://127.0.0.1:8811/gopay/app/38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9', NULL, 'http://127.0.0.1:8811/v2/gopay/38ff2fd4-0fa0-4ceb-8abd-cf42de9935b9/qr-code', '2026-11-17 20:25:54+00', '2026-11-17 20:25:54+00', '2026-11-17 20:40:54+00', NULL, NULL, NULL, NULL, NULL, NULL, false, false, '2026-11-17 20:25:54.372+00', 0, '2026-11-17 20:25:54.33+00', NULL, 2, 2, '2026-11-17 20:25:54.33+00', '2026-11-17 20:25:54.372+00', NULL, NULL, 'api_key:gk_Q9Wo-DGj');

INSERT INTO gateway.prune_cursors VALUES
	('events', '01a1eb2f-0000-7000-8000-000000000000');

INSERT INTO gateway.published_events VALUES
	(1, '01a1eb2f-b064-7464-89ea-374539de6f24', 'payment_received', 'alice'),
	(2, '01a1eb2f-b0cd-7572-a4ee-5f5f67c67687', 'payment_settled', 'alice'),
	(3, '01a1eb2f-b102-73a2-8c15-bde7e0f3ee2e', 'payment_received', 'alice'),
	(4, '01a1eb2f-b12c-7438-ab7e-e85c4b0a3b47', 'payment_settled', 'alice'),
	(5, '01a1eb2f-b162-7158-a1e0-442009ea8905', 'payment_refunded', 'alice'),
	(6, '01a1eb2f-b189-76b5-b53d-8ce8c0c8fee6', 'payment_received', 'alice'),
	(7, '01a1eb2f-b1b2-7013-b635-a6404984b92d', 'payment_cancelled', 'alice'),
	(8, '01a1eb2f-b1f9-75b7-8321-4bfb0fffaa9e', 'payment_received', 'alice'),
	(9, '01a1eb2f-b234-71ce-8a3c-eaf8894d7b72', 'payment_received', 'alice'),
	(10, '01a1eb2f-b251-7574-8c2c-1f9422890a87', 'payment_settled', 'alice'),
	(11, '01a1eb2f-b277-759a-9880-7d82875bd06c', 'payment_received', 'alice'),
	(12, '01a1eb2f-b2c6-771f-8855-769f868830ed', 'payment_received', 'alice'),
	(13, '01a1eb2f-b339-7465-9674-051c9fce6f83', 'payment_settled', 'alice'),
	(14, '01a1eb2f-b354-7204-a2b4-6afc1c4af930', 'subscription_created', 'alice'),
	(15, '01a1eb2f-b37b-7098-a090-73a5f86b7fa3', 'payment_settled', 'alice'),
	(16, '01a1eb2f-b3bf-706e-b353-7cb0a107e2ba', 'invoice_created', 'alice'),
	(17, '01a1eb2f-b3d2-7010-80ac-0725c776534d', 'subscription_charged', 'alice'),
	(18, '01a1eb2f-b3f6-723f-b511-9f8762ed659a', 'payment_settled', 'alice'),
	(19, '01a1eb2f-b415-7629-ba40-798c20939d1d', 'invoice_paid', 'alice'),
	(20, '01a1eb2f-b424-76d0-b60e-e9edbfeb65a4', 'invoice_created', 'alice'),
	(21, '01a1eb2f-b437-73f9-8343-f2722aae66c2', 'invoice_voided', 'alice'),
	(22, '01a1eb2f-b465-70bc-b938-a81065c248f6', 'payment_received', 'alice'),
	(23, '01a1eb30-018b-714a-9a00-425de386ebf0', 'payment_received', 'alice'),
	(24, '01a1eb30-01a9-73aa-a671-f14f83783806', 'payment_received', 'alice'),
	(25, '01a1eb30-01c4-7328-a7b9-36113a3c3ccf', 'payment_settled', 'alice');

INSERT INTO gateway.reconciliation_lines VALUES
	('01a1eb2f-b481-7302-a1f4-d90d15b5ca5e', 8, 'settlement', 'shop-1', '2c371094-90cf-4a37-a939-57d18361d349', NULL, 'settlement', 45000, 400000, 4000000, '2026-11-18', 'listed_twice', '01a1eb2f-afef-7741-9080-ccbc552b3730', NULL, 44000, 'settlement', '2026-11-17 20:25:34.861+00', 'staff');

INSERT INTO gateway.reconciliations VALUES
	('01a1eb2f-b481-7302-a1f4-d90d15b5ca5e', 'staff', '\xc65a6f8644ae4d1479f3590ec1a78b9fde766a3a01d935a3459398902e933659', 'succeeded', '01a1eb2f-b481-7302-a1f4-de8900a45bc3', 7, 8, '2026-11-18', '2026-11-18', false, 1, '{"results":{"matched":6,"amount_differs":0,"status_differs":0,"listed_twice":1,"missing_here":0,"missing_there":0},"days":[{"date":"2026-11-18","lines":7,"gross":509000,"fee_cents":1908000,"net_cents":48892000}],"columns":["order_id","transaction_id","amount","type","refund_key","fee","net","time"],"searched":{"settlement_time":"2026-11-18T17:00:00.000Z","payment_id":"ffffffff-ffff-ffff-ffff-ffffffffffff"}}', '2026-11-17 20:25:34.593+00', '2026-11-17 20:25:34.703+00', 1),
	('01a1eb2f-0000-7000-8000-000000000002', 'staff', '\x02', 'succeeded', '01a1eb2f-0000-7000-8000-000000000003', 1, 0, NULL, NULL, false, 0, '{"results":{"matched":1,"amount_differs":0,"status_differs":0,"missing_here":0,"missing_there":null},"days":[],"searched":null}', '2026-11-17 20:29:22.713364+00', '2026-11-17 20:29:22.713364+00', 0);

INSERT INTO gateway.refunds VALUES
	('01a1eb2f-b143-776b-9b55-908406c911ac', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', '01a1eb2f-b143-776b-9b55-908406c911ac', 4000, 'Spilled', false, 'succeeded', '200', 'Success, refund request is approved', '2026-11-17 20:25:33.763+00', '2026-11-17 20:25:33.793+00', 'alice', 'api_key:gk_Q9Wo-DGj');

INSERT INTO gateway.reported_lines VALUES
	('01a1eb2f-afef-7741-9080-ccbc552b3730', '01a1eb2f-b481-7302-a1f4-d90d15b5ca5e', 2, 'settlement', '2c371094-90cf-4a37-a939-57d18361d349', 'settlement', 44000, 'matched', NULL),
	('01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', '01a1eb2f-b481-7302-a1f4-d90d15b5ca5e', 3, 'settlement', '906bc126-cb80-47b8-8c48-4cdd44995990', 'settlement', 44000, 'matched', NULL),
	('01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', '01a1eb2f-b481-7302-a1f4-d90d15b5ca5e', 4, 'refund', '906bc126-cb80-47b8-8c48-4cdd44995990', NULL, 4000, 'matched', '01a1eb2f-b143-776b-9b55-908406c911ac'),
	('01a1eb2f-b209-704d-85ba-76c264ad48d9', '01a1eb2f-b481-7302-a1f4-d90d15b5ca5e', 5, 'settlement', '49c6e922-45a7-461b-821a-7f473d16cd91', 'settlement', 20000, 'matched', NULL),
	('01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', '01a1eb2f-b481-7302-a1f4-d90d15b5ca5e', 6, 'settlement', '4c4dbafb-593a-4c29-b27b-fadf71960e04', 'settlement', 60000, 'matched', NULL),
	('01a1eb2f-b3f6-723f-b511-9b694839a4d8', '01a1eb2f-b481-7302-a1f4-d90d15b5ca5e', 7, 'settlement', '17db0508-606c-4ed2-895d-9a9889e0eeee', 'settlement', 300000, 'matched', NULL);

INSERT INTO gateway.stats_progress VALUES
	(true, 29, 29, '1170', NULL, '2026-11-17 20:28:00.01+00');

INSERT INTO gateway.subscribers VALUES
	('deliver shipping', 'payment_settled', 0, '2026-11-17 20:29:14.473966+00');

INSERT INTO gateway.subscription_charges VALUES
	('b488a7f1-8625-4bf7-8c78-2cc2fbea0b0f', '01a1eb2f-b347-703f-b11e-31a1b897ffce', '01a1eb2f-b37b-7098-a090-6d305368ea58', '2026-11-17 20:25:34.418+00');

INSERT INTO gateway.subscriptions VALUES
	('01a1eb2f-b347-703f-b11e-31a1b897ffce', 'alice', 'e06b0bd7-4914-4556-8201-0443a6eac6ce', 'coffee-club', 'credit_card', 150000, 'IDR', 1, 'month', 12, 1, '2026-12-17 20:25:34+00', '2027-01-17 20:25:34+00', 'active', NULL, NULL, 'Budi', 'Utomo', 'Budi@Example.com', '+62 812 3456', NULL, '2026-11-17 20:25:34.279+00', '2026-11-17 20:26:34.673+00', '2026-11-17 20:56:34.685+00', 2, 5, '2026-11-17 20:25:34.279+00', '2026-11-17 20:26:34.685+00', 'api_key:gk_Q9Wo-DGj');

INSERT INTO gateway.webhook_deliveries VALUES
	('01a1eb2f-b064-7464-89ea-374539de6f24', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_received', '01a1eb2f-afef-7741-9080-ccbc552b3730', 1, 'delivered', 1, NULL, 200, NULL, NULL, 28, '2026-11-17 20:25:33.661+00', '2026-11-17 20:25:33.661+00', '2026-11-17 20:25:33.54+00', NULL),
	('01a1eb2f-b0cd-7572-a4ee-5f5f67c67687', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_settled', '01a1eb2f-afef-7741-9080-ccbc552b3730', 2, 'delivered', 1, NULL, 200, NULL, NULL, 8, '2026-11-17 20:25:33.688+00', '2026-11-17 20:25:33.688+00', '2026-11-17 20:25:33.645+00', NULL),
	('01a1eb2f-b102-73a2-8c15-bde7e0f3ee2e', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_received', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 1, 'delivered', 1, NULL, 200, NULL, NULL, 4, '2026-11-17 20:25:33.774+00', '2026-11-17 20:25:33.774+00', '2026-11-17 20:25:33.698+00', NULL),
	('01a1eb2f-b12c-7438-ab7e-e85c4b0a3b47', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_settled', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 2, 'delivered', 1, NULL, 200, NULL, NULL, 16, '2026-11-17 20:25:33.921+00', '2026-11-17 20:25:33.921+00', '2026-11-17 20:25:33.74+00', NULL),
	('01a1eb2f-b189-76b5-b53d-8ce8c0c8fee6', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_received', '01a1eb2f-b174-7459-a34f-9d90d4611fe7', 1, 'delivered', 1, NULL, 200, NULL, NULL, 14, '2026-11-17 20:25:33.922+00', '2026-11-17 20:25:33.922+00', '2026-11-17 20:25:33.833+00', NULL),
	('01a1eb2f-b162-7158-a1e0-442009ea8905', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_refunded', '01a1eb2f-b0e9-7739-a7f6-2a5177ff778e', 3, 'delivered', 1, NULL, 200, NULL, NULL, 17, '2026-11-17 20:25:33.953+00', '2026-11-17 20:25:33.953+00', '2026-11-17 20:25:33.794+00', NULL),
	('01a1eb2f-b1b2-7013-b635-a6404984b92d', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_cancelled', '01a1eb2f-b174-7459-a34f-9d90d4611fe7', 2, 'delivered', 1, NULL, 200, NULL, NULL, 10, '2026-11-17 20:25:33.973+00', '2026-11-17 20:25:33.973+00', '2026-11-17 20:25:33.874+00', NULL),
	('01a1eb2f-b1f9-75b7-8321-4bfb0fffaa9e', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_received', '01a1eb2f-b1c6-71e1-a18c-9e480bca6882', 1, 'delivered', 1, NULL, 200, NULL, NULL, 17, '2026-11-17 20:25:34.012+00', '2026-11-17 20:25:34.012+00', '2026-11-17 20:25:33.945+00', NULL),
	('01a1eb2f-b234-71ce-8a3c-eaf8894d7b72', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_received', '01a1eb2f-b209-704d-85ba-76c264ad48d9', 1, 'delivered', 1, NULL, 200, NULL, NULL, 19, '2026-11-17 20:25:34.154+00', '2026-11-17 20:25:34.154+00', '2026-11-17 20:25:34.004+00', NULL),
	('01a1eb2f-b277-759a-9880-7d82875bd06c', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_received', '01a1eb2f-b268-7648-a4dd-6356057bf56b', 1, 'delivered', 1, NULL, 200, NULL, NULL, 17, '2026-11-17 20:25:34.154+00', '2026-11-17 20:25:34.154+00', '2026-11-17 20:25:34.071+00', NULL),
	('01a1eb2f-b251-7574-8c2c-1f9422890a87', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_settled', '01a1eb2f-b209-704d-85ba-76c264ad48d9', 2, 'delivered', 1, NULL, 200, NULL, NULL, 13, '2026-11-17 20:25:34.258+00', '2026-11-17 20:25:34.258+00', '2026-11-17 20:25:34.033+00', NULL),
	('01a1eb2f-b2c6-771f-8855-769f868830ed', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_received', '01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', 1, 'delivered', 1, NULL, 200, NULL, NULL, 6, '2026-11-17 20:25:34.26+00', '2026-11-17 20:25:34.26+00', '2026-11-17 20:25:34.15+00', NULL),
	('01a1eb2f-b339-7465-9674-051c9fce6f83', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_settled', '01a1eb2f-b2b3-73c2-88a9-74fa2bd5133a', 2, 'delivered', 1, NULL, 200, NULL, NULL, 11, '2026-11-17 20:25:34.352+00', '2026-11-17 20:25:34.352+00', '2026-11-17 20:25:34.265+00', NULL),
	('01a1eb2f-b354-7204-a2b4-6afc1c4af930', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'subscription_created', '01a1eb2f-b347-703f-b11e-31a1b897ffce', 1, 'delivered', 1, NULL, 200, NULL, NULL, 10, '2026-11-17 20:25:34.352+00', '2026-11-17 20:25:34.352+00', '2026-11-17 20:25:34.292+00', NULL),
	('01a1eb2f-b3bf-706e-b353-7cb0a107e2ba', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'invoice_created', '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', 1, 'delivered', 1, NULL, 200, NULL, NULL, 5, '2026-11-17 20:25:34.464+00', '2026-11-17 20:25:34.464+00', '2026-11-17 20:25:34.399+00', NULL),
	('01a1eb2f-b37b-7098-a090-73a5f86b7fa3', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_settled', '01a1eb2f-b37b-7098-a090-6d305368ea58', 1, 'delivered', 1, NULL, 200, NULL, NULL, 6, '2026-11-17 20:25:34.464+00', '2026-11-17 20:25:34.464+00', '2026-11-17 20:25:34.331+00', NULL),
	('01a1eb2f-b3d2-7010-80ac-0725c776534d', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'subscription_charged', '01a1eb2f-b347-703f-b11e-31a1b897ffce', 2, 'delivered', 1, NULL, 200, NULL, NULL, 10, '2026-11-17 20:25:34.469+00', '2026-11-17 20:25:34.469+00', '2026-11-17 20:25:34.418+00', NULL),
	('01a1eb2f-b3f6-723f-b511-9f8762ed659a', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_settled', '01a1eb2f-b3f6-723f-b511-9b694839a4d8', 1, 'delivered', 1, NULL, 200, NULL, NULL, 12, '2026-11-17 20:25:34.569+00', '2026-11-17 20:25:34.569+00', '2026-11-17 20:25:34.454+00', NULL),
	('01a1eb2f-b415-7629-ba40-798c20939d1d', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'invoice_paid', '01a1eb2f-b3ae-74d4-afdf-7d8b5bcdd491', 2, 'delivered', 1, NULL, 200, NULL, NULL, 11, '2026-11-17 20:25:34.57+00', '2026-11-17 20:25:34.57+00', '2026-11-17 20:25:34.485+00', NULL),
	('01a1eb2f-b424-76d0-b60e-e9edbfeb65a4', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'invoice_created', '01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b', 1, 'delivered', 1, NULL, 200, NULL, NULL, 11, '2026-11-17 20:25:34.57+00', '2026-11-17 20:25:34.57+00', '2026-11-17 20:25:34.5+00', NULL),
	('01a1eb2f-b437-73f9-8343-f2722aae66c2', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'invoice_voided', '01a1eb2f-b41a-7209-9a93-e4b7e8d86f7b', 2, 'delivered', 1, NULL, 200, NULL, NULL, 6, '2026-11-17 20:25:34.587+00', '2026-11-17 20:25:34.587+00', '2026-11-17 20:25:34.519+00', NULL),
	('01a1eb2f-b465-70bc-b938-a81065c248f6', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_received', '01a1eb2f-b454-7732-8568-e1ba92a22729', 1, 'delivered', 1, NULL, 200, NULL, NULL, 5, '2026-11-17 20:25:34.661+00', '2026-11-17 20:25:34.661+00', '2026-11-17 20:25:34.565+00', NULL),
	('01a1eb30-018b-714a-9a00-425de386ebf0', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_received', '01a1eb30-0181-70d3-b0a5-718756a8fc81', 1, 'delivered', 1, NULL, 200, NULL, NULL, 6, '2026-11-17 20:25:54.362+00', '2026-11-17 20:25:54.362+00', '2026-11-17 20:25:54.315+00', NULL),
	('01a1eb30-01a9-73aa-a671-f14f83783806', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_received', '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', 1, 'delivered', 1, NULL, 200, NULL, NULL, 7, '2026-11-17 20:25:54.462+00', '2026-11-17 20:25:54.462+00', '2026-11-17 20:25:54.345+00', NULL),
	('01a1eb30-01c4-7328-a7b9-36113a3c3ccf', '01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'payment_settled', '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', 2, 'delivered', 1, NULL, 200, NULL, NULL, 7, '2026-11-17 20:25:54.474+00', '2026-11-17 20:25:54.474+00', '2026-11-17 20:25:54.372+00', NULL),
	('01a1eb30-01c4-7328-a7b9-36113a3c3ccf', '01a1eb30-0177-74c0-b546-980424b74131', 'payment_settled', '01a1eb30-019a-72b7-a9b5-25ecaaa0aac5', 2, 'pending', 2, '2026-11-17 20:30:59.359+00', NULL, NULL, 'The connection was refused', 3, '2026-11-17 20:25:59.522+00', NULL, '2026-11-17 20:25:54.372+00', NULL);

INSERT INTO gateway.webhook_endpoints VALUES
	('01a1eb2f-afa4-7304-a9aa-350fc1a71d82', 'http://127.0.0.1:8812/ok', NULL, 'works', NULL, NULL, 'i0Tw2sqNfzcWAfEIjFVWs8iO8d4rG5pKQeugqKjFQPpX7P8-ONhNo5ZDkkmi2CQeLLV2jtkIysSlkp4kfQ9NUqVoX8clxtgRnvO4QQk4', NULL, NULL, 0, '2026-11-17 20:25:33.348+00', '2026-11-17 20:25:33.348+00', NULL),
	('01a1eb30-0177-74c0-b546-980424b74131', 'http://127.0.0.1:8812/no', '{payment_settled}', 'still fails', NULL, '2026-11-17 20:25:54.465+00', '70lB1B03LXX4zoqJWVpz3Pks0-CW6bABsBFCxyVPTa-upcRVnojnIR1Szk9xllCsxYAFNH06zkqI3RsyhLQOHuYjucBGvPiBJXpzBwI2', NULL, NULL, 0, '2026-11-17 20:25:54.295+00', '2026-11-17 20:25:57.389+00', NULL);

SELECT pg_catalog.setval('gateway.payment_history_id_seq', 29, true);

ALTER TABLE ONLY gateway.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY gateway.api_keys
    ADD CONSTRAINT api_keys_prefix_key UNIQUE (prefix);

ALTER TABLE ONLY gateway.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.console_sessions
    ADD CONSTRAINT console_sessions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.console_sessions
    ADD CONSTRAINT console_sessions_token_hash_key UNIQUE (token_hash);

ALTER TABLE ONLY gateway.counted_payments
    ADD CONSTRAINT counted_payments_pkey PRIMARY KEY (payment_id);

ALTER TABLE ONLY gateway.cron_runs
    ADD CONSTRAINT cron_runs_pkey PRIMARY KEY (task);

ALTER TABLE ONLY gateway.daily_payment_stats
    ADD CONSTRAINT daily_payment_stats_pkey PRIMARY KEY (scope, start, payment_type, bank, transaction_status);

ALTER TABLE ONLY gateway.event_publication
    ADD CONSTRAINT event_publication_pkey PRIMARY KEY (is_only_row);

ALTER TABLE ONLY gateway.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.events
    ADD CONSTRAINT events_resource_id_sequence_key UNIQUE (resource_id, sequence);

ALTER TABLE ONLY gateway.gateway_account
    ADD CONSTRAINT gateway_account_pkey PRIMARY KEY (is_only_row);

ALTER TABLE ONLY gateway.hourly_payment_stats
    ADD CONSTRAINT hourly_payment_stats_pkey PRIMARY KEY (scope, start, payment_type, bank, transaction_status);

ALTER TABLE ONLY gateway.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (user_id, scope, key);

ALTER TABLE ONLY gateway.instances
    ADD CONSTRAINT instances_pkey PRIMARY KEY (holder);

ALTER TABLE ONLY gateway.invoice_items
    ADD CONSTRAINT invoice_items_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.invoices
    ADD CONSTRAINT invoices_gateway_invoice_id_key UNIQUE (gateway_invoice_id);

ALTER TABLE ONLY gateway.invoices
    ADD CONSTRAINT invoices_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (name);

ALTER TABLE ONLY gateway.notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.order_ids
    ADD CONSTRAINT order_ids_pkey PRIMARY KEY (order_id);

ALTER TABLE ONLY gateway.paid_checks
    ADD CONSTRAINT paid_checks_pkey PRIMARY KEY (payment_type, after_seconds);

ALTER TABLE ONLY gateway.payment_filters
    ADD CONSTRAINT payment_filters_pkey PRIMARY KEY (payment_id);

ALTER TABLE ONLY gateway.history
    ADD CONSTRAINT payment_history_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.payment_items
    ADD CONSTRAINT payment_items_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.payment_search_keys
    ADD CONSTRAINT payment_search_keys_pkey PRIMARY KEY (kind, value, payment_id);

ALTER TABLE ONLY gateway.payments
    ADD CONSTRAINT payments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.payments
    ADD CONSTRAINT payments_transaction_id_key UNIQUE (transaction_id);

ALTER TABLE ONLY gateway.prune_cursors
    ADD CONSTRAINT prune_cursors_pkey PRIMARY KEY (table_name);

ALTER TABLE ONLY gateway.published_events
    ADD CONSTRAINT published_events_pkey PRIMARY KEY ("position");

ALTER TABLE ONLY gateway.reconciliation_lines
    ADD CONSTRAINT reconciliation_lines_pkey PRIMARY KEY (reconciliation_id, line);

ALTER TABLE ONLY gateway.reconciliations
    ADD CONSTRAINT reconciliations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.refunds
    ADD CONSTRAINT refunds_payment_id_refund_key_key UNIQUE (payment_id, refund_key);

ALTER TABLE ONLY gateway.refunds
    ADD CONSTRAINT refunds_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.reported_lines
    ADD CONSTRAINT reported_lines_pkey PRIMARY KEY (payment_id, reconciliation_id, line);

ALTER TABLE ONLY gateway.stats_progress
    ADD CONSTRAINT stats_progress_pkey PRIMARY KEY (is_only_row);

ALTER TABLE ONLY gateway.subscribers
    ADD CONSTRAINT subscribers_pkey PRIMARY KEY (task, event_name);

ALTER TABLE ONLY gateway.subscription_charges
    ADD CONSTRAINT subscription_charges_pkey PRIMARY KEY (transaction_id);

ALTER TABLE ONLY gateway.subscriptions
    ADD CONSTRAINT subscriptions_gateway_subscription_id_key UNIQUE (gateway_subscription_id);

ALTER TABLE ONLY gateway.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (id);

ALTER TABLE ONLY gateway.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (event_id, endpoint_id);

ALTER TABLE ONLY gateway.webhook_endpoints
    ADD CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id);

CREATE INDEX api_keys_by_age ON gateway.api_keys USING btree (created_at, prefix);

CREATE INDEX api_keys_by_order_prefix ON gateway.api_keys USING btree (order_prefix) WHERE (order_prefix IS NOT NULL);

CREATE INDEX audit_by_action ON gateway.audit USING btree (action, id);

CREATE INDEX audit_by_actor ON gateway.audit USING btree (actor, id);

CREATE INDEX audit_by_outcome ON gateway.audit USING btree (outcome, id);

CREATE INDEX audit_by_resource ON gateway.audit USING btree (resource_id, id);

CREATE INDEX daily_payment_stats_start_scope_idx ON gateway.daily_payment_stats USING btree (start, scope) WHERE (scope <> '*'::text);

CREATE INDEX events_by_name ON gateway.events USING btree (name, generation, xact_id, id);

CREATE INDEX events_by_user ON gateway.events USING btree (user_id, generation, xact_id, id);

CREATE INDEX events_in_order ON gateway.events USING btree (generation, xact_id, id);

CREATE INDEX history_by_resource ON gateway.history USING btree (resource_id);

CREATE INDEX hourly_stats_of_users ON gateway.hourly_payment_stats USING btree (start, scope) WHERE (scope <> '*'::text);

CREATE INDEX idempotency_keys_by_age ON gateway.idempotency_keys USING btree (created_at);

CREATE INDEX invoice_items_by_invoice ON gateway.invoice_items USING btree (invoice_id);

CREATE INDEX invoices_by_due_time ON gateway.invoices USING btree (due_at, id);

CREATE INDEX invoices_by_email ON gateway.invoices USING btree (gateway.email_key(customer_email), id) WHERE (customer_email IS NOT NULL);

CREATE UNIQUE INDEX invoices_by_number ON gateway.invoices USING btree (invoice_number) WHERE (status <> 'failed'::text);

CREATE INDEX invoices_by_number_of_any_status ON gateway.invoices USING btree (invoice_number, id);

CREATE INDEX invoices_by_order ON gateway.invoices USING btree (order_id, id);

CREATE INDEX invoices_by_status ON gateway.invoices USING btree (status, id);

CREATE INDEX invoices_by_user ON gateway.invoices USING btree (user_id, id);

CREATE INDEX invoices_by_user_and_due_time ON gateway.invoices USING btree (user_id, due_at, id);

CREATE INDEX invoices_by_user_and_status ON gateway.invoices USING btree (user_id, status, id);

CREATE INDEX invoices_to_check ON gateway.invoices USING btree (check_at) WHERE (check_at IS NOT NULL);

CREATE INDEX jobs_by_status ON gateway.jobs USING btree (status, id);

CREATE INDEX jobs_by_task ON gateway.jobs USING btree (task, status, id);

CREATE INDEX jobs_by_user_turn ON gateway.jobs USING btree (user_id, turn) WHERE ((status = 'queued'::text) AND (turn > 0));

CREATE INDEX jobs_due ON gateway.jobs USING btree (run_at) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE INDEX jobs_due_by_turn ON gateway.jobs USING btree (rank, turn, run_at) WHERE (status = ANY (ARRAY['queued'::text, 'running'::text]));

CREATE INDEX jobs_running ON gateway.jobs USING btree (task, subject_id) WHERE (status = 'running'::text);

CREATE INDEX jobs_to_deliver ON gateway.jobs USING btree (subject_id) WHERE ((status <> 'succeeded'::text) AND (status <> 'failed'::text) AND starts_with(task, 'deliver '::text));

CREATE UNIQUE INDEX jobs_waiting ON gateway.jobs USING btree (task, subject_id) WHERE (status = 'queued'::text);

CREATE INDEX notifications_by_order ON gateway.notifications USING btree (order_id, id);

CREATE INDEX notifications_by_status ON gateway.notifications USING btree (status, id);

CREATE INDEX payment_filters_by_fraud_alert ON gateway.payment_filters USING btree (fraud_alert, payment_id) WHERE (fraud_alert IS NOT NULL);

CREATE INDEX payment_filters_by_paid_time ON gateway.payment_filters USING btree (((payment_type || ''::text)), paid_at, payment_id) WHERE (paid_at IS NOT NULL);

CREATE INDEX payment_filters_by_settlement ON gateway.payment_filters USING btree (settlement_time, payment_id) WHERE (settlement_time IS NOT NULL);

CREATE INDEX payment_filters_by_status ON gateway.payment_filters USING btree (transaction_status, payment_type, payment_id);

CREATE INDEX payment_filters_by_user ON gateway.payment_filters USING btree (user_id, transaction_status, payment_type, payment_id);

CREATE INDEX payment_filters_by_user_and_fraud_alert ON gateway.payment_filters USING btree (user_id, fraud_alert, payment_id) WHERE (fraud_alert IS NOT NULL);

CREATE INDEX payment_filters_by_user_and_settlement ON gateway.payment_filters USING btree (user_id, settlement_time, payment_id) WHERE (settlement_time IS NOT NULL);

CREATE INDEX payment_filters_to_check ON gateway.payment_filters USING btree (check_at) WHERE (check_at IS NOT NULL);

CREATE INDEX payment_filters_without_owner ON gateway.payment_filters USING btree (((user_id IS NULL)), payment_id) WHERE ((user_id IS NULL) AND (paid_at IS NOT NULL));

CREATE INDEX payment_items_by_payment ON gateway.payment_items USING btree (payment_id);

CREATE INDEX payments_by_invoice ON gateway.payments USING btree (invoice_id, id) WHERE (invoice_id IS NOT NULL);

CREATE INDEX payments_by_kind ON gateway.payments USING btree (payment_type, transaction_status, id);

CREATE INDEX payments_by_order ON gateway.payments USING btree (order_id, id);

CREATE INDEX payments_by_paid_time ON gateway.payments USING btree (((payment_type || ''::text)), paid_at, id) WHERE (paid_at IS NOT NULL);

CREATE INDEX payments_by_status ON gateway.payments USING btree (transaction_status, id);

CREATE INDEX payments_by_subscription ON gateway.payments USING btree (subscription_id, id) WHERE (subscription_id IS NOT NULL);

CREATE INDEX payments_by_user ON gateway.payments USING btree (user_id, id);

CREATE INDEX payments_by_user_and_kind ON gateway.payments USING btree (user_id, payment_type, transaction_status, id);

CREATE INDEX payments_by_user_and_status ON gateway.payments USING btree (user_id, transaction_status, id);

CREATE INDEX payments_to_check ON gateway.payments USING btree (check_at) WHERE (check_at IS NOT NULL);

CREATE INDEX payments_unanswered ON gateway.payments USING btree (order_id) WHERE ((transaction_id IS NULL) AND (NOT is_refused));

CREATE INDEX payments_unrecognized ON gateway.payments USING btree (unrecognized_status, id) WHERE (unrecognized_status IS NOT NULL);

CREATE UNIQUE INDEX published_events_by_event ON gateway.published_events USING btree (event_id);

CREATE INDEX published_events_by_name ON gateway.published_events USING btree (name, "position");

CREATE INDEX published_events_by_user ON gateway.published_events USING btree (user_id, "position");

CREATE INDEX reconciliation_lines_by_payment ON gateway.reconciliation_lines USING btree (reconciliation_id, payment_id);

CREATE INDEX reconciliation_lines_by_result ON gateway.reconciliation_lines USING btree (reconciliation_id, result, line) WHERE (result <> 'matched'::text);

CREATE INDEX reconciliation_lines_compared ON gateway.reconciliation_lines USING btree (reconciliation_id, payment_id) WHERE (result = ANY (ARRAY['matched'::text, 'amount_differs'::text, 'status_differs'::text]));

CREATE INDEX reconciliation_lines_resolved ON gateway.reconciliation_lines USING btree (reconciliation_id, line) WHERE (resolved_at IS NOT NULL);

CREATE UNIQUE INDEX reconciliations_by_file ON gateway.reconciliations USING btree (file_hash) WHERE (status <> 'uploading'::text);

CREATE INDEX reconciliations_uploading ON gateway.reconciliations USING btree (id) WHERE (status = 'uploading'::text);

CREATE INDEX refunds_by_user ON gateway.refunds USING btree (user_id, id);

CREATE INDEX reported_lines_by_file ON gateway.reported_lines USING btree (reconciliation_id, line);

CREATE INDEX subscription_charges_by_subscription ON gateway.subscription_charges USING btree (subscription_id);

CREATE INDEX subscriptions_by_name ON gateway.subscriptions USING btree (name);

CREATE INDEX subscriptions_by_name_and_id ON gateway.subscriptions USING btree (name, id);

CREATE INDEX subscriptions_by_payment_type ON gateway.subscriptions USING btree (payment_type, id);

CREATE INDEX subscriptions_by_status ON gateway.subscriptions USING btree (status, id);

CREATE INDEX subscriptions_by_user ON gateway.subscriptions USING btree (user_id, id);

CREATE INDEX subscriptions_by_user_and_payment_type ON gateway.subscriptions USING btree (user_id, payment_type, id);

CREATE INDEX subscriptions_by_user_and_status ON gateway.subscriptions USING btree (user_id, status, id);

CREATE INDEX subscriptions_intended ON gateway.subscriptions USING btree (id) WHERE (intent IS NOT NULL);

CREATE INDEX webhook_deliveries_by_status ON gateway.webhook_deliveries USING btree (endpoint_id, status, event_id);

CREATE INDEX webhook_deliveries_due ON gateway.webhook_deliveries USING btree (endpoint_id, next_attempt_at) WHERE (status = 'pending'::text);

CREATE INDEX webhook_deliveries_open ON gateway.webhook_deliveries USING btree (endpoint_id, resource_id, sequence) WHERE (status = 'pending'::text);

CREATE TRIGGER jobs_carried AFTER INSERT OR UPDATE OF run_at, status, rank ON gateway.jobs FOR EACH ROW WHEN ((new.status = 'queued'::text)) EXECUTE FUNCTION gateway.carry_job();

CREATE TRIGGER write_payment_filters_of_changed AFTER UPDATE ON gateway.payments REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION gateway.write_payment_filters();

CREATE TRIGGER write_payment_filters_of_deleted AFTER DELETE ON gateway.payments REFERENCING OLD TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION gateway.write_payment_filters();

CREATE TRIGGER write_payment_filters_of_new AFTER INSERT ON gateway.payments REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION gateway.write_payment_filters();

CREATE TRIGGER write_refund_owner BEFORE INSERT ON gateway.refunds FOR EACH ROW EXECUTE FUNCTION gateway.write_refund_owner();

CREATE TRIGGER write_va_number_key AFTER UPDATE OF va_number ON gateway.payments FOR EACH ROW WHEN ((new.va_number IS DISTINCT FROM old.va_number)) EXECUTE FUNCTION gateway.write_va_number_key();
