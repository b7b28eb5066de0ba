/** Checks the conditions that a payment must meet after every plan. */

import assert from "node:assert/strict";
import { formatMoney } from "../../../core/money.ts";
import type { Database } from "../../../db/connection/database.ts";
import type { GatewayEvent } from "../../../db/events/events.ts";
import type { GatewayNotification } from "../../../db/payments/notifications.ts";
import type { GatewayPayment } from "../../../db/payments/payments.ts";
import type { History } from "../../../db/records/records.ts";
import type { Json } from "../gateway/sandbox.ts";
import type { OtherPayment } from "./mutations.ts";
import { isForged, type SimulationResult } from "./run.ts";

type Entry = Pick<History, "from_status" | "to_status" | "fraud_status" | "created_at">;
type Event = Pick<GatewayEvent, "name" | "sequence" | "created_at"> & { data: Json };

/** A payment with its stored history, events and notifications. */
export interface PaymentRows extends Omit<GatewayPayment, "items"> {
  history: Entry[];
  events: Event[];
  notifications: GatewayNotification[];
}

export async function readPaymentRows(
  database: Database,
  orderIds: string[],
): Promise<PaymentRows[]> {
  return await database.query((sql) =>
    sql<PaymentRows[]>`
      select payment.*,
        coalesce((select json_agg(refund) from gateway.refunds refund
          where refund.payment_id = payment.id), '[]') as refunds,
        coalesce((select json_agg(entry order by entry.id) from gateway.history entry
          where entry.resource_id = payment.id), '[]') as history,
        coalesce((select json_agg(event order by event.sequence) from gateway.events event
          where event.resource_id = payment.id), '[]') as events,
        coalesce((select json_agg(notification order by notification.id) from gateway.notifications notification
          where notification.order_id = payment.order_id), '[]') as notifications
      from gateway.payments payment where order_id = any(${orderIds})`
  );
}

/** Checks that the order has exactly one payment, and all conditions for that payment. */
export function checkResult(result: SimulationResult, rows: PaymentRows[]): void {
  assert.deepEqual(rows.map(({ id }) => id), [result.paymentId], "the payments of the order");
  const [payment] = rows;
  checkAgainstGateway(payment!, result);
  checkMoney(payment!, result);
  checkHistory(payment!, result);
  checkEvents(payment!, result);
  checkNotifications(payment!, result);
}

const PAID = ["settlement", "partial_refund", "partial_chargeback", "refund", "chargeback"];

/** Whether a payment in this state was paid; it may have been refunded or charged back since. */
function impliesPaid(status: string, fraud: string | null): boolean {
  return PAID.includes(status) || (status === "capture" && fraud !== "challenge");
}

/** The stored state equals the gateway's. */
function checkAgainstGateway(payment: PaymentRows, { transaction }: SimulationResult): void {
  const succeeded = payment.refunds.filter(({ status }) => status === "succeeded");
  const local = {
    status: payment.transaction_status,
    fraud: payment.fraud_status,
    captured: payment.captured_amount,
    refunded: formatMoney(payment.refunded_amount),
    refunds: succeeded.map(({ refund_key, amount }) => [refund_key, formatMoney(amount)]).sort(),
  };
  if (!transaction) {
    const failed = {
      status: "failure",
      fraud: null,
      captured: null,
      refunded: "0.00",
      refunds: [],
    };
    return assert.deepEqual(
      local,
      failed,
      "a payment without a transaction at the gateway has failed",
    );
  }
  assert.equal(payment.transaction_id, transaction.transaction_id);
  const status = transaction.transaction_status.toLowerCase();
  const fraud = transaction.fraud_status ?? null;
  const original = transaction.metadata?.extra_info?.gross_amount_info?.original_amount;
  assert.deepEqual(local, {
    status,
    fraud,
    captured: impliesPaid(status, fraud) ? Number(original ?? transaction.gross_amount) : null,
    refunded: transaction.refund_amount ?? "0.00",
    refunds: (transaction.refunds ?? []).map((each: Json) => [each.refund_key, each.refund_amount])
      .sort(),
  }, "the stored state equals the gateway's");
}

/** Refunds do not exceed the paid amount, and none is pending. */
function checkMoney(payment: PaymentRows, { transaction }: SimulationResult): void {
  assert.equal(payment.reserved_amount, 0, "nothing is reserved");
  assert.deepEqual(payment.refunds.filter(({ status }) => status === "pending"), []);
  const succeeded = payment.refunds.filter(({ status }) => status === "succeeded");
  assert.equal(payment.refunded_amount, sum(succeeded), "the refunded amount");
  // Refunds outside the service can include the fee that the customer paid in addition.
  assert.ok(
    sum(succeeded) <= Number(transaction?.gross_amount ?? 0),
    "refunds do not exceed what the customer paid",
  );
  const ownRefunds = succeeded.filter(({ id, refund_key }) => id === refund_key);
  assert.ok(
    sum(ownRefunds) <= (payment.captured_amount ?? 0),
    "refunds of the service do not exceed the captured amount",
  );
}

function sum(refunds: { amount: number }[]): number {
  return refunds.reduce((total, { amount }) => total + amount, 0);
}

/** The history has no gaps, ends in the current status, and follows the order of the gateway. */
function checkHistory(
  { history, transaction_status, fraud_status }: PaymentRows,
  result: SimulationResult,
): void {
  const before = history.map((_, index) => history[index - 1]?.to_status ?? null);
  assert.deepEqual(
    history.map(({ from_status }) => from_status),
    before,
    "the history has no gaps",
  );
  assert.equal(
    history.at(-1)?.to_status,
    transaction_status,
    "the history ends in the current status",
  );
  if (history.length > 1) assert.equal(history.at(-1)?.fraud_status, fraud_status);
  if (isForged(result.plan) || !result.transaction) return;
  const gatewayStatuses = result.hooks.map(({ transaction_status }) => transaction_status);
  // Ignores a failure that the service concluded itself: the gateway did not report it.
  const storedStatuses = history.map(({ to_status }) => to_status)
    .filter((status) => status !== "failure" || gatewayStatuses.includes(status));
  let position = 0;
  // Skips the first status: the payment is pending even before its charge is sent, so the gateway
  // need not have reported that status.
  const isInOrder = storedStatuses.slice(1).every((status) => {
    position = gatewayStatuses.indexOf(status, position) + 1;
    return position > 0;
  });
  assert.ok(
    isInOrder,
    `${storedStatuses.join(", ")} is not in the gateway's order: ${gatewayStatuses.join(", ")}`,
  );
}

/** The event that a transition to each status causes. */
const EVENT_ON_ENTRY: Record<string, string> = {
  pending: "payment_received",
  authorize: "payment_received",
  deny: "payment_denied",
  cancel: "payment_cancelled",
  expire: "payment_expired",
  failure: "payment_failed",
  chargeback: "payment_refunded",
  partial_chargeback: "payment_refunded",
};

/** The events are exactly those that the transitions require, in order. */
function checkEvents(payment: PaymentRows, { hooks }: SimulationResult): void {
  const { history, events } = payment;
  const numbers = Array.from({ length: payment.event_count }, (_, index) => index + 1);
  assert.deepEqual(events.map(({ sequence }) => sequence), numbers, "events are numbered");
  const byTime = Map.groupBy(events, ({ created_at }) => created_at);
  const expected: string[] = [];
  let refunded = 0;
  for (const entry of history.slice(1)) {
    const ofEntry = byTime.get(entry.created_at) ?? [];
    const after = Number(ofEntry.at(-1)?.data.refund_amount ?? refunded);
    expected.push(...eventNamesFor(entry, expected, after > refunded));
    for (const { data } of ofEntry) {
      assert.equal(
        data.transaction_status,
        entry.to_status,
        "the event has the status of its transition",
      );
    }
    refunded = after;
  }
  assert.equal(refunded, payment.refunded_amount, "every refund has an event");
  const [first] = events;
  const times = history.map(({ created_at }) => String(created_at));
  // The only event without a transition: the gateway confirmed that the payment is pending.
  if (first && !times.includes(String(first.created_at))) {
    assert.equal(first.data.transaction_status, "pending");
    expected.unshift("payment_received");
  }
  assert.deepEqual(events.map(({ name }) => name), expected, "the events match the history");
  const wasPaid = hooks.some(({ transaction_status, fraud_status }) =>
    impliesPaid(transaction_status, fraud_status ?? null)
  );
  assert.ok(
    wasPaid || !expected.includes("payment_settled"),
    "a forged notification did not settle the payment",
  );
}

function eventNamesFor(entry: Entry, earlierNames: string[], refundsGrew: boolean): string[] {
  const { from_status, to_status, fraud_status } = entry;
  const isChallenge = to_status === "capture" && fraud_status === "challenge";
  const isNewStatus = from_status !== to_status;
  const names = new Set<string>();
  if (impliesPaid(to_status, fraud_status) && !earlierNames.includes("payment_settled")) {
    names.add("payment_settled");
  }
  if (isNewStatus && isChallenge) names.add("payment_received");
  if (isNewStatus && EVENT_ON_ENTRY[to_status]) names.add(EVENT_ON_ENTRY[to_status]);
  if (refundsGrew) names.add("payment_refunded");
  return [...names];
}

/** Every accepted notification is stored and processed, and there are no others. */
function checkNotifications(payment: PaymentRows, { accepted }: SimulationResult): void {
  const { notifications, events } = payment;
  assert.deepEqual(
    notifications.map(({ id }) => id).sort(),
    accepted.toSorted(),
    "the stored notifications",
  );
  for (const { id, status, payment_id } of notifications) {
    assert.notEqual(status, "received", `${id} is processed`);
    if (status !== "unmatched") assert.equal(payment_id, payment.id);
    else assert.equal(payment_id, null);
  }
  const causes = events.flatMap(({ data }) => data.notification_id ?? []);
  const processed = notifications.filter(({ status }) => status === "processed");
  for (const id of causes) {
    assert.ok(
      processed.some((each) => each.id === id),
      `${id} caused an event, so it is processed`,
    );
  }
}

/** Checks that forged notifications did not change the other payment. */
export async function checkOtherPayment(
  database: Database,
  { id, order_id }: OtherPayment,
) {
  const [payment] = await readPaymentRows(database, [order_id]);
  assert.equal(payment!.id, id);
  assert.equal(payment!.transaction_status, "pending");
  assert.deepEqual(payment!.events.map(({ name }) => name), ["payment_received"]);
}
