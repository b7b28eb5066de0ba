/**
 * `update_stats`: adds the payments that have changed to the hourly and daily figures. A payment is
 * counted as it is now, and its earlier counts are subtracted. So a payment can be counted again at
 * any time, in any order and after a crash, and the sum stays correct.
 */

import type { Sql } from "../../db/connection/database.ts";
import * as db from "../../db/reports/stats.ts";
import { chargebackAmount } from "../payments/views.ts";
import type { Service } from "../service.ts";
import { payTimeRange } from "./pay_times.ts";

/** How many payments one transaction counts. */
const BATCH = 500;

/** A run ends before the next one starts. */
const MAX_RUN_MS = 50_000;

export interface StatsRun {
  /** How many payments were counted; a payment that was counted twice adds 2. */
  counted: number;
  is_complete: boolean;
}

/** Returns early if the time is up or `stopping` is aborted; the next run continues. */
export async function updateStats(
  service: Pick<Service, "database" | "clock"> & { stopping?: AbortSignal },
  maxRunMs = MAX_RUN_MS,
): Promise<StatsRun> {
  const deadline = performance.now() + maxRunMs;
  const isOver = () => service.stopping?.aborted === true || performance.now() > deadline;
  const first = await countAll(service, isOver);
  if (!first.is_complete) return first;
  const changed = await countChanged(service, isOver);
  return { ...changed, counted: first.counted + changed.counted };
}

/** `rebuild_stats`: deletes all figures and counts all payments again. */
export async function rebuildStats(service: Pick<Service, "database" | "clock">): Promise<number> {
  await service.database.transaction(db.resetStats, "reset stats");
  const { counted } = await updateStats(service, Infinity);
  return counted;
}

/** Counts all payments, sorted by id, in the first run and after a reset; later does nothing. */
async function countAll(
  { database }: Pick<Service, "database">,
  isOver: () => boolean,
): Promise<StatsRun> {
  let { rebuilt_to } = await database.query(db.findProgress, "find stats progress");
  let counted = 0;
  while (rebuilt_to !== null) {
    if (isOver()) return { counted, is_complete: false };
    rebuilt_to = await database.transaction(async (sql) => {
      // Not the value that was read before: another run or a reset may have changed it since.
      const { rebuilt_to: after } = await db.lockProgress(sql);
      if (after === null) return null;
      const ids = await db.listPaymentIds(sql, after, BATCH);
      await countPayments(sql, ids);
      counted += ids.length;
      const next = ids.length < BATCH ? null : ids.at(-1)!;
      await db.storeRebuilt(sql, next);
      return next;
    }, "count payments");
  }
  return { counted, is_complete: true };
}

/** Counts the payments that have a new entry in the history since the last counted entry. */
async function countChanged(
  { database, clock }: Pick<Service, "database" | "clock">,
  isOver: () => boolean,
): Promise<StatsRun> {
  const began = await database.query(db.findProgress, "find stats progress");
  let lastId = began.counted_to;
  let counted = 0;
  while (true) {
    const asOf = new Date(clock());
    const entries = await database.query(
      (sql) => db.listChanged(sql, lastId, BATCH),
      "list changed",
    );
    const payments = entries.filter(({ resource }) => resource === "payment");
    const ids = [...new Set(payments.map(({ resource_id }) => resource_id))];
    if (ids.length > 0) {
      await database.transaction(async (sql) => {
        await db.lockProgress(sql);
        await countPayments(sql, ids);
      }, "count payments");
    }
    counted += ids.length;
    lastId = entries.at(-1)?.id ?? lastId;
    const isComplete = entries.length < BATCH;
    if (!isComplete && !isOver()) continue;
    const end = { began, lastId, asOf: isComplete ? asOf : null };
    await database.query((sql) => db.endRun(sql, end), "end stats run");
    return { counted, is_complete: isComplete };
  }
}

/** Counts payments whose figures have changed without an entry in the history. */
export async function recountPayments(sql: Sql, ids: string[]): Promise<void> {
  await db.lockProgress(sql);
  await countPayments(sql, ids);
}

async function countPayments(sql: Sql, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const deltas = { hourly: new Map<string, Delta>(), daily: new Map<string, Delta>() };
  const changed: { id: string; counts: db.PaymentCounts }[] = [];
  for (const payment of await db.readPayments(sql, ids)) {
    const counts = countsOf(payment);
    if (JSON.stringify(counts) === JSON.stringify(payment.counts)) continue;
    if (payment.counts) add(deltas, payment.counts, -1);
    add(deltas, counts, 1);
    changed.push({ id: payment.id, counts });
  }
  if (changed.length === 0) return;
  await db.addDeltas(sql, "hourly_payment_stats", sorted(deltas.hourly));
  await db.addDeltas(sql, "daily_payment_stats", sorted(deltas.daily));
  await db.storeCounts(sql, changed);
}

/** Sorted by primary key, so that two statements that lock several rows cannot deadlock. */
function sorted(deltas: Map<string, Delta>): db.StatsDelta[] {
  return [...deltas].sort(([a], [b]) => a < b ? -1 : 1).map(([, { payTimes, ...delta }]) => ({
    ...delta,
    pay_ranges: [...payTimes.keys()],
    pay_counts: [...payTimes.values()],
  }));
}

/**
 * How a payment is counted. The order of the members is fixed, because the result is compared as
 * text.
 */
export function countsOf(payment: db.CountedPayment): db.PaymentCounts {
  const hours = new Map<number, db.HourCount>();
  function at(time: Date | string): db.HourCount {
    const hour = Math.floor(new Date(time).getTime() / HOUR_MS) * HOUR_MS;
    const zero = { created: 0, paid: 0, gross: 0, refunded: 0, chargedBack: 0, payTime: null };
    const known = hours.get(hour) ?? { hour, ...zero };
    hours.set(hour, known);
    return known;
  }
  const { created_at, updated_at, captured_amount } = payment;
  const paidAt = payment.paid_at ?? updated_at;
  const created = at(created_at);
  created.created = 1;
  if (captured_amount !== null) {
    created.paid = 1;
    created.payTime = payTimeRange((paidAt.getTime() - created_at.getTime()) / 1_000);
    const paid = at(paidAt);
    paid.gross += captured_amount;
    // Absent without a fee, so that payments without fees are not counted again.
    if (payment.fee_cents) paid.feeCents = payment.fee_cents;
  }
  for (const { amount, created_at } of refundsOf(payment)) at(created_at).refunded += amount;
  for (const { amount, time } of chargebacksOf(payment)) at(time).chargedBack += amount;
  return {
    user_id: payment.user_id,
    payment_type: payment.payment_type,
    bank: payment.bank,
    transaction_status: payment.transaction_status,
    hours: [...hours.values()].sort((a, b) => a.hour - b.hour),
  };
}

const HOUR_MS = 60 * 60_000;

const DAY_MS = 24 * HOUR_MS;

/** Jakarta has no daylight saving time. */
const JAKARTA_OFFSET_MS = 7 * HOUR_MS;

/** The start of the day in Jakarta that contains this time. */
export function startOfJakartaDay(time: number): number {
  return Math.floor((time + JAKARTA_OFFSET_MS) / DAY_MS) * DAY_MS - JAKARTA_OFFSET_MS;
}

/** If the reported sum differs from the listed refunds, the rest is added as one more refund. */
function refundsOf(payment: db.CountedPayment): { amount: number; created_at: string }[] {
  const { refunds, refunded_amount, first_times, updated_at } = payment;
  const unlisted = refunds.reduce((rest, { amount }) => rest - amount, refunded_amount);
  if (unlisted === 0) return refunds;
  const created_at = first_times.partial_refund ?? first_times.refund ?? updated_at.toISOString();
  return [...refunds, { amount: unlisted, created_at }];
}

/** A full chargeback after a partial one takes back the rest. */
function chargebacksOf(payment: db.CountedPayment): { amount: number; time: string }[] {
  const { first_times, chargeback_amount, updated_at } = payment;
  const amount = chargebackAmount(payment) ?? 0;
  if (amount === 0) return [];
  const { partial_chargeback, chargeback } = first_times;
  const last = chargeback ?? partial_chargeback ?? updated_at.toISOString();
  if (partial_chargeback === undefined || chargeback === undefined) return [{ amount, time: last }];
  const part = Math.min(chargeback_amount ?? 0, amount);
  return [{ amount: part, time: partial_chargeback }, { amount: amount - part, time: last }];
}

interface Delta extends Omit<db.StatsDelta, "pay_ranges" | "pay_counts"> {
  /** Counts by range. */
  payTimes: Map<number, number>;
}

/**
 * Adds the counts of a payment, or subtracts them, in the figures of its user and in those of
 * all users.
 */
function add(
  { hourly, daily }: Record<"hourly" | "daily", Map<string, Delta>>,
  counts: db.PaymentCounts,
  sign: 1 | -1,
): void {
  for (const scope of [db.ALL_USERS, db.oneUser(counts.user_id)]) {
    for (const each of counts.hours) {
      addHour(hourly, { ...counts, scope }, each.hour, each, sign);
      addHour(daily, { ...counts, scope }, startOfJakartaDay(each.hour), each, sign);
    }
  }
}

type DeltaKey = Omit<db.PaymentCounts, "hours" | "user_id"> & { scope: string };

function addHour(
  deltas: Map<string, Delta>,
  counts: DeltaKey,
  start: number,
  each: db.HourCount,
  sign: 1 | -1,
): void {
  const delta = deltaOf(deltas, counts, start);
  delta.created_count += sign * each.created;
  delta.paid_count += sign * each.paid;
  delta.gross_amount += sign * each.gross;
  delta.refund_amount += sign * each.refunded;
  delta.chargeback_amount += sign * each.chargedBack;
  delta.fee_cents += sign * (each.feeCents ?? 0);
  if (each.payTime === null) return;
  const times = deltaOf(deltas, { ...counts, transaction_status: db.ALL_STATUSES }, start);
  times.paid_count += sign;
  times.payTimes.set(each.payTime, (times.payTimes.get(each.payTime) ?? 0) + sign);
}

function deltaOf(deltas: Map<string, Delta>, counts: DeltaKey, time: number): Delta {
  const { scope, payment_type, transaction_status } = counts;
  const bank = counts.bank ?? "";
  const start = new Date(time);
  const key = [scope, start.toISOString(), payment_type, bank, transaction_status].join("\0");
  const delta = deltas.get(key) ?? {
    ...{ scope, start, payment_type, bank, transaction_status },
    ...{ created_count: 0, paid_count: 0 },
    ...{ gross_amount: 0, refund_amount: 0, chargeback_amount: 0, fee_cents: 0 },
    payTimes: new Map<number, number>(),
  };
  deltas.set(key, delta);
  return delta;
}
