/** Finds paid payments that are due for another check, a fixed time after they were paid. */

import { MAX, NIL } from "uuid";
import type { Sql } from "../connection/database.ts";
import { firstColumnIs } from "../records/list_walk.ts";
import { paymentOf } from "./statements.ts";
import type { PaymentStatus } from "./payments.ts";

/** Paid payments of one type that are checked again after the same delay (`after_seconds`). */
export interface Cohort {
  payment_type: string;
  after_seconds: number;
  /** Only payments of this bank and this store; null: any. */
  bank: string | null;
  store: string | null;
  /** Urgent cohorts are checked before all others. */
  is_urgent: boolean;
}

/** The last checked payment of a cohort. */
interface Progress extends Pick<Cohort, "payment_type" | "after_seconds"> {
  /** As text, because a `Date` has no microseconds. */
  paid_at: string;
  payment_id: string;
}

/** A payment that is due for a check of its cohort. */
export interface PaidPayment extends Progress {
  due_at: Date;
}

/**
 * Not checked here: states that are final, and states before the settlement, which
 * `check_pending_payments` checks.
 */
const UNCHECKED_STATUSES: readonly PaymentStatus[] = [
  "pending",
  "authorize",
  "capture",
  "deny",
  "cancel",
  "expire",
  "failure",
  "refund",
  "chargeback",
];

export interface PaidChecksRange {
  now: Date;
  /** A cohort that was never checked starts with payments that became due this many seconds ago. */
  lookBackSeconds: number;
  limit: number;
}

/** Due payments of all cohorts. Urgent cohorts come first; otherwise the longest due come first. */
export async function listPaidPayments(
  sql: Sql,
  cohorts: readonly Cohort[],
  range: PaidChecksRange,
): Promise<PaidPayment[]> {
  const starts = await findStarts(sql, cohorts, range);
  // `payment_type || ''` is the expression in the index `payment_filters_by_paid_time`. Before
  // version 18, PostgreSQL would not stop at the end of the range if the type were part of a row
  // value (see `newestInRange` in `list_walk.ts`).
  const type = "filters.payment_type || ''";
  return await sql<PaidPayment[]>`
    select due.id as payment_id, due.paid_at::text as paid_at, cohort.payment_type,
      cohort.after_seconds, due.paid_at + make_interval(secs => cohort.after_seconds) as due_at
    from json_to_recordset(${JSON.stringify(starts)}::text::json) as cohort(
      payment_type text, after_seconds integer, bank text, store text, is_urgent boolean,
      paid_at timestamptz, payment_id uuid)
    cross join lateral (
      select payment.id, filters.paid_at
      from gateway.payment_filters filters cross join lateral ${paymentOf(sql, "filters")}
      where ${firstColumnIs(sql, type, sql`cohort.payment_type`)}
        and (filters.paid_at, filters.payment_id) > (cohort.paid_at, cohort.payment_id)
        and filters.paid_at
          <= ${range.now}::timestamptz - make_interval(secs => cohort.after_seconds)
        and filters.paid_at is not null
        and filters.transaction_status <> all(${sql.array([...UNCHECKED_STATUSES])})
        and (cohort.bank is null or payment.bank = cohort.bank)
        and (cohort.store is null or payment.store = cohort.store)
      order by ${sql.unsafe(type)}, filters.paid_at, filters.payment_id
      limit ${range.limit}
    ) due
    order by cohort.is_urgent desc, due_at, due.id
    limit ${range.limit}`;
}

/** Each cohort with the payment after which its checks continue. */
async function findStarts(
  sql: Sql,
  cohorts: readonly Cohort[],
  { now, lookBackSeconds }: PaidChecksRange,
): Promise<(Cohort & Progress)[]> {
  const known = await sql<Progress[]>`
    select payment_type, after_seconds, paid_at::text as paid_at, payment_id
    from gateway.paid_checks`;
  const keyOf = (each: Pick<Cohort, "payment_type" | "after_seconds">) =>
    `${each.payment_type} ${each.after_seconds}`;
  const byKey = new Map(known.map((each) => [keyOf(each), each]));
  return cohorts.map((cohort) => {
    const start = byKey.get(keyOf(cohort));
    return {
      ...cohort,
      paid_at: start?.paid_at ?? secondsBefore(now, cohort.after_seconds + lookBackSeconds),
      payment_id: start?.payment_id ?? NIL,
    };
  });
}

/** Stores that these payments, and all payments before them in their cohorts, were checked. */
export async function storePaidChecks(sql: Sql, checked: readonly Progress[]): Promise<void> {
  // If another instance has made more progress, that progress stays.
  await sql`
    insert into gateway.paid_checks as known (payment_type, after_seconds, paid_at, payment_id)
    select distinct on (payment_type, after_seconds)
      payment_type, after_seconds, paid_at, payment_id
    from json_populate_recordset(
      null::gateway.paid_checks, ${JSON.stringify(checked)}::text::json)
    order by payment_type, after_seconds, paid_at desc, payment_id desc
    on conflict (payment_type, after_seconds) do update
      set paid_at = excluded.paid_at, payment_id = excluded.payment_id
      where (known.paid_at, known.payment_id) < (excluded.paid_at, excluded.payment_id)`;
}

/** Stores that all payments of these cohorts that are due at this time were checked. */
export async function storeCompletedCohorts(
  sql: Sql,
  cohorts: readonly Cohort[],
  now: Date,
): Promise<void> {
  await storePaidChecks(
    sql,
    cohorts.map(({ payment_type, after_seconds }) => ({
      payment_type,
      after_seconds,
      paid_at: secondsBefore(now, after_seconds),
      payment_id: MAX,
    })),
  );
}

function secondsBefore(time: Date, seconds: number): string {
  return new Date(time.getTime() - seconds * 1_000).toISOString();
}
