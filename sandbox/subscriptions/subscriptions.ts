/** Subscriptions: create, read, update, disable, enable, cancel. */

import type { z } from "zod";
import { addInterval, formatWib, parseTime } from "../engine/time.ts";
import { invalid, Refusal } from "../http/refusal.ts";
import { freeObject, integer, object, oneOf, rupiah, text, validate } from "../http/validate.ts";
import type { Subscription } from "../world/records.ts";
import type { World } from "../world/world.ts";

const Retry = object({
  interval: integer(1, 1000),
  interval_unit: oneOf(["minute", "hour", "day"]),
  max_interval: integer(0, 3),
}).nullish();

const name = text(40).regex(/^[\w~. -]+$/, "must have only letters, digits, spaces and - _ ~ .");
const MAX_AMOUNT = 99_999_999_999;
/** The text is the gateway's. */
const amount = rupiah(-MAX_AMOUNT, Number.MAX_SAFE_INTEGER).refine(
  (value) => value >= 1 && value <= MAX_AMOUNT,
  "must be between 0.01 - 99999999999.00",
);
const Gopay = object({ account_id: text(255) }).nullish();

const Create = object({
  name,
  amount,
  currency: oneOf(["IDR"]),
  payment_type: oneOf(["credit_card", "gopay"]),
  token: text(2000),
  schedule: object({
    interval: integer(1, 1000),
    interval_unit: oneOf(["day", "week", "month"]),
    max_interval: integer(0, 10_000).nullish(),
    start_time: text(30).nullish(),
  }),
  retry_schedule: Retry,
  metadata: freeObject(1024).nullish(),
  customer_details: freeObject(4096).nullish(),
  gopay: Gopay,
}).refine(({ payment_type, gopay }) => payment_type !== "gopay" || gopay?.account_id, {
  path: ["gopay", "account_id"],
  message: "is required",
});

/** Prefix of every path in the gateway's validation messages. */
const PREFIX = "subscription";

export type CreateRequest = ReturnType<typeof readCreate>;

/** Runs before the idempotency key is checked; all other endpoints validate the body after it. */
export function readCreate(body: unknown) {
  if (body === null) throw new Refusal(400, "Bad request");
  return validate(Create, body, PREFIX);
}

export function createSubscription(world: World, request: CreateRequest) {
  const now = world.clock.now();
  const { interval, interval_unit, max_interval, start_time } = request.schedule;
  const startAt = start_time
    ? readFuture("start_time", start_time, now)
    : addInterval(now, interval, interval_unit);
  const subscription = world.subscriptions.put({
    id: world.random.uuid(),
    name: request.name,
    amount: request.amount,
    currency: "IDR",
    paymentType: request.payment_type,
    token: request.token,
    accountId: request.gopay?.account_id ?? null,
    status: "active",
    isCancelled: false,
    createdAt: now,
    schedule: {
      interval,
      unit: interval_unit,
      maxInterval: max_interval ?? null,
      startAt,
      anchor: { at: startAt, cycle: 0 },
      current: 0,
      previousAt: null,
      nextAt: startAt,
    },
    retry: readRetry(request) ?? { interval: 1, unit: "hour", maxInterval: 3 },
    retrying: null,
    transactionIds: [],
    metadata: request.metadata ?? {},
    customer: request.customer_details ?? null,
  });
  const described = describeSubscription(world, subscription);
  const { transaction_ids: _ids, ...notified } = described;
  world.notifier.notifySubscription(notified, "subscription.create");
  return described;
}

export function getSubscription(world: World, id: string) {
  return describeSubscription(world, findSubscription(world, id));
}

const Update = object({
  name,
  amount,
  currency: oneOf(["IDR"]),
  token: text(2000),
  schedule: object({ interval: integer(1, 1000).nullish(), next_execution_at: text(30).nullish() })
    .nullish(),
  retry_schedule: Retry,
  metadata: freeObject(1024).nullish(),
  gopay: Gopay,
});

export function updateSubscription(world: World, id: string, body: unknown) {
  const subscription = findSubscription(world, id);
  const request = validate(Update, body, PREFIX);
  const { schedule } = subscription;
  const interval = request.schedule?.interval ?? schedule.interval;
  const requestedTime = request.schedule?.next_execution_at;
  const nextAt = requestedTime
    ? readFuture("next_execution_at", requestedTime, world.clock.now())
    : schedule.nextAt;
  world.subscriptions.put({
    ...subscription,
    name: request.name,
    amount: request.amount,
    token: request.token,
    accountId: request.gopay?.account_id ?? subscription.accountId,
    // A future time activates a subscription that has ended or is disabled.
    status: requestedTime && !subscription.isCancelled ? "active" : subscription.status,
    schedule: {
      ...schedule,
      interval,
      nextAt,
      // The times of later cycles are computed from the next execution.
      anchor: nextAt === null ? schedule.anchor : { at: nextAt, cycle: schedule.current },
    },
    retry: readRetry(request) ?? subscription.retry,
    metadata: request.metadata ?? subscription.metadata,
  });
  return UPDATED;
}

/** Stops new cycles; a scheduled retry of the current cycle still runs. */
export function disableSubscription(world: World, id: string) {
  world.subscriptions.put({ ...findSubscription(world, id), status: "inactive" });
  return UPDATED;
}

export function enableSubscription(world: World, id: string) {
  const subscription = findSubscription(world, id);
  if (subscription.isCancelled) throw invalid("subscription.status is cancelled");
  if (isComplete(subscription)) throw invalid("subscription.schedule.max_interval is reached");
  world.subscriptions.put({
    ...subscription,
    status: "active",
    schedule: resumeSchedule(subscription.schedule, world.clock.now()),
  });
  return UPDATED;
}

export function cancelSubscription(world: World, id: string) {
  world.subscriptions.put({
    ...findSubscription(world, id),
    status: "inactive",
    isCancelled: true,
    retrying: null,
  });
  return UPDATED;
}

const UPDATED = { status_message: "Subscription is updated." };

export function findSubscription(world: World, id: string): Subscription {
  const subscription = world.subscriptions.get(id);
  if (!subscription) throw new Refusal(404, "Subscription doesn't exist.");
  return subscription;
}

function readRetry({ retry_schedule }: { retry_schedule?: z.output<typeof Retry> }) {
  return retry_schedule && {
    interval: retry_schedule.interval,
    unit: retry_schedule.interval_unit,
    maxInterval: retry_schedule.max_interval,
    isRequested: true,
  };
}

/** Whether all cycles have run. */
function isComplete({ schedule: { current, maxInterval } }: Subscription): boolean {
  return maxInterval !== null && current >= Math.max(1, maxInterval);
}

/** Cycles missed while the subscription was disabled are skipped and do not count. */
function resumeSchedule(schedule: Subscription["schedule"], now: number): Subscription["schedule"] {
  const { anchor, interval, unit, current } = schedule;
  for (let n = current - anchor.cycle;; n++) {
    const nextAt = addInterval(anchor.at, n * interval, unit);
    if (nextAt > now) return { ...schedule, nextAt, anchor: { ...anchor, cycle: current - n } };
  }
}

function readFuture(name: string, time: string, now: number): number {
  const at = parseTime(time);
  if (at === null) throw invalid(`subscription.schedule.${name} format is invalid`);
  if (at <= now) throw invalid(`subscription.schedule.${name} must be in the future`);
  return at;
}

export function describeSubscription(world: World, subscription: Subscription) {
  const { schedule, retry, customer } = subscription;
  return {
    id: subscription.id,
    name: subscription.name,
    amount: String(subscription.amount),
    currency: subscription.currency,
    created_at: formatWib(subscription.createdAt),
    schedule: {
      interval: schedule.interval,
      interval_unit: schedule.unit,
      current_interval: schedule.current,
      ...schedule.maxInterval !== null && { max_interval: schedule.maxInterval },
      start_time: formatWib(schedule.startAt),
      ...schedule.previousAt !== null && { previous_execution_at: formatWib(schedule.previousAt) },
      next_execution_at: schedule.nextAt && formatWib(schedule.nextAt),
    },
    ...retry.isRequested && {
      retry_schedule: {
        interval: retry.interval,
        interval_unit: retry.unit,
        max_interval: retry.maxInterval,
      },
    },
    status: subscription.status,
    token: subscription.token,
    payment_type: subscription.paymentType,
    merchant_id: world.merchant.id,
    transaction_ids: subscription.transactionIds,
    metadata: subscription.metadata,
    ...customer && { customer_details: customer },
    ...subscription.accountId !== null && { gopay: { account_id: subscription.accountId } },
  };
}
