/** Charges of a subscription: one per cycle, with retries. */

import { startTransaction } from "../charges/charge.ts";
import { METHODS } from "../charges/methods/methods.ts";
import { addInterval, earliest } from "../engine/time.ts";
import { Refusal } from "../http/refusal.ts";
import type { Subscription } from "../world/records.ts";
import type { Transaction } from "../world/transaction.ts";
import type { World } from "../world/world.ts";
import { describeSubscription } from "./subscriptions.ts";

/** Maximum length of the list of transactions: thirteen years of daily charges. */
const MAX_LISTED = 5000;

/** When the subscription is charged or retried next; null if never. */
export function cycleDueAt({ status, schedule, retrying }: Subscription): number | null {
  return earliest(status === "active" ? schedule.nextAt : null, retrying?.nextAt ?? null);
}

/** Charges once: a new cycle, or a retry of the current one. */
export function runCycle(world: World, subscription: Subscription): Subscription {
  const now = world.clock.now();
  const { schedule, retrying } = subscription;
  const isNew = subscription.status === "active" && schedule.nextAt !== null &&
    schedule.nextAt <= now;
  const started = isNew ? startCycle(subscription, now) : subscription;
  const retryCount = isNew ? 0 : retrying?.count ?? 0;
  const attempt = chargeOnce(world, started);
  if (attempt.isPaid) return recordSuccess(world, started, attempt);
  const { interval, unit, maxInterval } = subscription.retry;
  if (retryCount < maxInterval) {
    const nextAt = addInterval(now, interval, unit);
    return world.subscriptions.put({ ...started, retrying: { count: retryCount + 1, nextAt } });
  }
  const ended = world.subscriptions.put({
    ...started,
    status: "inactive",
    retrying: null,
    schedule: { ...started.schedule, nextAt: null },
  });
  notifyCharge(world, ended, attempt.outcome);
  return ended;
}

function startCycle(subscription: Subscription, now: number): Subscription {
  const { schedule } = subscription;
  const cycle = schedule.current + 1;
  // `max_interval` 0 still gives one cycle.
  const cycles = schedule.maxInterval ?? Infinity;
  const { at, cycle: first } = schedule.anchor;
  const nextAt = cycle >= cycles
    ? null
    : addInterval(at, (cycle - first) * schedule.interval, schedule.unit);
  return {
    ...subscription,
    retrying: null,
    schedule: { ...schedule, current: cycle, previousAt: now, nextAt },
  };
}

function recordSuccess(world: World, subscription: Subscription, attempt: Paid): Subscription {
  const charged = world.subscriptions.put({
    ...subscription,
    // The last cycle ends the subscription.
    status: subscription.schedule.nextAt === null ? "inactive" : subscription.status,
    retrying: null,
    transactionIds: [...subscription.transactionIds, attempt.transaction.id].slice(-MAX_LISTED),
  });
  notifyCharge(world, charged, attempt.outcome);
  return charged;
}

interface Paid {
  isPaid: true;
  transaction: Transaction;
  outcome: Record<string, unknown>;
}

type ChargeAttempt = Paid | { isPaid: false; outcome: Record<string, unknown> };

function chargeOnce(world: World, subscription: Subscription): ChargeAttempt {
  const { name, amount, paymentType, token, accountId, id } = subscription;
  const request = {
    payment_type: paymentType,
    transaction_details: { order_id: name + world.random.digits(32), gross_amount: amount },
    credit_card: { token_id: token, initiated_by: "merchant" },
    gopay: { account_id: accountId, payment_option_token: token, recurring: true },
    metadata: subscription.metadata,
  };
  try {
    const { transaction, statusMessage } = startTransaction(world, METHODS[paymentType], request, {
      cause: "subscription_charge",
      subscriptionId: id,
    });
    const isPaid = transaction.status === "capture" || transaction.status === "settlement";
    const outcome = {
      transaction_status: transaction.status,
      transaction_id: transaction.id,
      status_code: isPaid ? "200" : "202",
      ...isPaid
        ? { channel_response_code: "0", channel_response_message: "Approved" }
        : { status_message: statusMessage },
    };
    return isPaid ? { isPaid, transaction, outcome } : { isPaid: false, outcome };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // The charge was rejected, so there is no transaction.
    const outcome = { status_code: String(error.code), status_message: error.message };
    return { isPaid: false, outcome };
  }
}

function notifyCharge(
  world: World,
  subscription: Subscription,
  transaction: Record<string, unknown>,
) {
  const { transaction_ids: _ids, ...described } = describeSubscription(world, subscription);
  world.notifier.notifySubscription(
    { event_name: "subscription.charge", transaction, subscription: described },
    "subscription.charge",
  );
}
