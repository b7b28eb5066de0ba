/** The end of a run: waits until the service has done its work, and reads what everyone stores. */

import { setTimeout as delay } from "node:timers/promises";
import type { Json } from "../../tests/support/gateway/sandbox.ts";
import type { Difference, FinalPayment, History } from "./history.ts";
import { type Installation, isAboutPayment } from "./installation.ts";
import { type Merchant, readPayment, readRefund } from "./merchant.ts";
import { createReader, type Reader } from "./reader.ts";
import { findUnstoredNotifications } from "./unstored_notifications.ts";

export interface EndOptions {
  installation: Installation;
  /** The end fills its records in. */
  history: History;
  merchant: Merchant;
  onProgress(text: string): void;
}

/**
 * How long the amount of waiting work may stay the same. A notification or a job that has failed a
 * few times waits for minutes until its next attempt.
 */
const STALL_MS = 600_000;

const POLL_MS = 500;

const READERS = 6;

/** Fills the history in. Returns what the service has not done or not stored. */
export async function endRun(options: EndOptions): Promise<Difference[]> {
  const { installation, history, merchant, onProgress } = options;
  const { courier, sandbox, instances, staffKey, deliveries } = installation;
  courier.stopFaults();
  await sandbox.waitForWebhooks();
  await courier.untilDelivered();
  const reader = createReader(instances.map(({ url }) => url), staffKey);
  const found = await untilIdle(reader, onProgress);
  const stored = await readPayments(reader, onProgress);
  found.push(...findUnstoredNotifications(courier.accepted, stored));
  const payments = await reader.list("/payments/");
  found.push(...findUnchecked(payments, Date.now()));
  // The service's own checks are due later: after a charge with an unknown outcome in 15 minutes,
  // after a lost notification possibly in hours.
  await forEach(payments, "asking the gateway", onProgress, async ({ id, order_id }) => {
    const path = `/payments/${id}/check_status/`;
    await merchant.call({ orderId: order_id, name: "check", path });
  });
  found.push(...await untilIdle(reader, onProgress));
  history.transactions = [...sandbox.sandbox.transactions()].map(readTransaction);
  history.payments = await readPayments(reader, onProgress);
  onProgress("reading events");
  const events = await reader.list("/events/?order=oldest_first");
  history.events = events.filter(isAboutPayment).map((event) => ({
    id: event.id,
    name: event.name,
    paymentId: event.data.id,
    sequence: event.sequence,
    status: event.data.transaction_status,
  }));
  history.deliveries = deliveries;
  return found;
}

/**
 * When the service itself must have found the outcome of a charge. It believes the gateway only
 * after 15 minutes that a charge is unknown; then faults of the gateway can delay a check.
 */
const CHECKED_MS = 1_800_000;

/** Only a long run has payments that are old enough. */
export function findUnchecked(payments: Json[], now: number): Difference[] {
  return payments.filter(({ transaction_id, transaction_status, created_at }) =>
    transaction_id === null && transaction_status === "pending" &&
    Date.parse(created_at) < now - CHECKED_MS
  ).map(({ order_id, created_at }) => ({
    rule: "the service itself finds the outcome of each charge",
    orderId: order_id,
    text: `unknown since ${created_at}`,
  }));
}

/** Waits until every job that is due has run, and every notification and webhook is processed. */
async function untilIdle(
  reader: Reader,
  onProgress: EndOptions["onProgress"],
): Promise<Difference[]> {
  let least = Infinity;
  let fellAt = performance.now();
  for (;;) {
    const waiting = await countWaiting(reader);
    const total = Object.values(waiting).reduce((sum, count) => sum + count, 0);
    if (total === 0) return [];
    if (total < least) [least, fellAt] = [total, performance.now()];
    if (performance.now() - fellAt > STALL_MS) {
      return [{ rule: "the service finishes its work", orderId: null, text: describe(waiting) }];
    }
    onProgress(`waiting for ${describe(waiting)}`);
    await delay(POLL_MS);
  }
}

async function countWaiting(reader: Reader): Promise<Record<string, number>> {
  const { jobs, events, outbox, webhooks, notifications }: Json = await reader.get("/status/");
  const refunds: Json[] = await reader.get("/refunds/?status=pending&limit=100");
  return {
    // Others are queued for later, such as checks of payments.
    "jobs": jobs.running + (jobs.oldest_queued_seconds === null ? 0 : jobs.queued),
    "unpublished events": events.unpublished,
    "events for handlers": outbox.waiting_deliveries,
    "webhooks": webhooks.pending,
    "unconfirmed notifications": notifications.received,
    "pending refunds": refunds.length,
  };
}

/** Such as `2 jobs, 1 pending refunds`. */
function describe(waiting: Record<string, number>): string {
  return Object.entries(waiting).filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`).join(", ");
}

async function readPayments(
  reader: Reader,
  onProgress: EndOptions["onProgress"],
): Promise<FinalPayment[]> {
  const found: FinalPayment[] = [];
  const payments = await reader.list("/payments/");
  await forEach(payments, "reading", onProgress, async ({ id }) => {
    const payment = await reader.get(`/payments/${id}/`);
    found.push({ ...readPayment(payment), refunds: payment.refunds.map(readRefund) });
  });
  return found;
}

/** Several at a time, because a long run has many. */
async function forEach<T>(
  items: readonly T[],
  name: string,
  onProgress: EndOptions["onProgress"],
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  async function workOff(): Promise<void> {
    while (next < items.length) {
      const item = items[next++]!;
      onProgress(`${name} ${next} of ${items.length} payments`);
      await work(item);
    }
  }
  await Promise.all(Array.from({ length: READERS }, workOff));
}

function readTransaction(transaction: Json): History["transactions"][number] {
  return {
    id: transaction.transaction_id,
    orderId: transaction.order_id,
    paymentId: transaction.metadata?.payment_ref ?? null,
    status: transaction.transaction_status,
    amount: Number(transaction.gross_amount),
    refunds: (transaction.refunds ?? []).map((refund: Json) => ({
      key: refund.refund_key,
      amount: Number(refund.refund_amount),
    })),
  };
}
