/** The metrics of the service: their names, and the functions that record them. */

import { SpanKind, trace } from "@opentelemetry/api";
import { inSpan } from "../../db/connection/span.ts";
import {
  createCounter,
  createGauge,
  createHistogram,
  exportGauges,
  type Observed,
  showGauges,
} from "./instruments.ts";

const CALL_BOUNDS = [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];

const requestDuration = createHistogram("requests.duration", {
  description: "Duration of a request until its response began, by method, route and status",
  unit: "ms",
  bounds: CALL_BOUNDS,
});

/** `route` is the pattern of the route, not the path, so that there are few different values. */
export function recordRequest(
  ms: number,
  attributes: { method: string; route: string; status: number },
): void {
  requestDuration(ms, attributes);
}

const addedLatency = createHistogram("charge.added_latency", {
  description:
    "Latency that the service adds to a charge: total time minus the time of the gateway call",
  unit: "ms",
  // The buckets are finest around the target of 3 ms.
  bounds: [0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 10, 25, 50, 100, 500],
});

/** Call it once for each charge that the gateway answered. */
export function recordAddedLatency(ms: number, attributes: { payment_type: string }): void {
  addedLatency(ms, attributes);
}

const charges = createCounter(
  "charges",
  "Charges by payment type and result: the status of the payment, or the code of the error",
);

export function countCharge(attributes: { payment_type: string; result: string }): void {
  charges(attributes);
}

const notificationResults = createCounter(
  "notifications.results",
  "Notifications that were stored, by their result",
);

export function countNotification(result: string): void {
  notificationResults({ result });
}

const refusedNotifications = createCounter(
  "notifications.refused",
  "Requests to the notification endpoint that were rejected",
);

/** Rejected notifications are not stored, only counted; `reason` is the error code. */
export function countRefusedNotification(reason: string): void {
  refusedNotifications({ reason });
}

const gatewayDuration = createHistogram("gateway.duration", {
  description:
    "Duration of a call to the gateway, by operation and result: `ok`, `error` (the gateway " +
    "responded with an error), or why no response arrived",
  unit: "ms",
  bounds: CALL_BOUNDS,
});

export function recordGatewayCall(
  ms: number,
  attributes: { operation: string; result: string },
): void {
  gatewayDuration(ms, attributes);
}

const deliveries = createCounter(
  "webhooks.attempts",
  "Attempts to deliver a webhook, by result: delivered, retried later, or given up",
);

export function countDelivery(result: "delivered" | "retry" | "failed"): void {
  deliveries({ result });
}

const jobRuns = createHistogram("jobs.duration", {
  description: "Duration of a job attempt, by task and outcome",
  unit: "ms",
  bounds: [1, 5, 10, 50, 100, 500, 1_000, 5_000, 15_000, 60_000],
});

export function recordJobRun(ms: number, attributes: { task: string; outcome: string }): void {
  jobRuns(ms, attributes);
}

const rejectedRequests = createCounter(
  "requests.rejected",
  "Requests of callers that were rejected because the instance was overloaded",
);

export function countRejectedRequest(): void {
  rejectedRequests();
}

const unrecordedAttempts = createCounter(
  "audit.unrecorded",
  "Refused requests that the audit trail does not contain, because there were too many",
);

export function countUnrecordedAttempt(): void {
  unrecordedAttempts();
}

/**
 * Read from the database, so every instance reports the same values: use the maximum, not the sum.
 */
const SHARED_GAUGES = {
  jobs: createGauge("jobs", "Jobs that are queued, running or failed, by task"),
  oldestJob: createGauge("jobs.oldest_age", "Time since the oldest queued job became due", "s"),
  lastRun: createGauge("schedule.last_run_age", "Time since a scheduled task last started", "s"),
  lastRunEnd: createGauge(
    "schedule.last_end_age",
    "Time since a scheduled task last ended; absent while it runs",
    "s",
  ),
  isRunning: createGauge("schedule.running", "1 while a scheduled task runs, else 0"),
  hasFailed: createGauge("schedule.failed", "1 if the last run of a scheduled task failed, else 0"),
  unpublished: createGauge("events.unpublished", "Committed events that are not published yet"),
  oldestUnpublished: createGauge(
    "events.publication_lag",
    "Age of the oldest committed event that is not published yet",
    "s",
  ),
  deliveries: createGauge(
    "events.waiting_deliveries",
    "Events waiting for delivery to in-process handlers",
  ),
  oldestEvent: createGauge(
    "events.oldest_age",
    "Age of the oldest event waiting for delivery",
    "s",
  ),
  webhooks: createGauge("webhooks.waiting", "Webhook deliveries waiting to be sent"),
  oldestWebhook: createGauge(
    "webhooks.oldest_age",
    "Time the oldest webhook delivery has been waiting",
    "s",
  ),
  disabledEndpoints: createGauge("webhooks.disabled_endpoints", "Disabled webhook endpoints"),
  notifications: createGauge("notifications.waiting", "Notifications waiting to be processed"),
  oldestNotification: createGauge(
    "notifications.oldest_age",
    "Age of the oldest notification waiting to be processed",
    "s",
  ),
  failedNotifications: createGauge(
    "notifications.failed",
    "Notifications that the service gave up confirming with the gateway",
  ),
  missingDetected: createGauge(
    "notifications.missing_detected",
    "1 if notifications do not arrive, else 0",
  ),
  expectedNotifications: createGauge(
    "notifications.expected",
    "Payments of the last hour for which the service expected a notification",
  ),
  missingNotifications: createGauge(
    "notifications.missing",
    "Expected notifications that did not arrive",
  ),
  uncheckedChange: createGauge(
    "invariants.lag",
    "Age of the oldest change whose record the task check_invariants has not checked yet",
    "s",
  ),
  walk: createGauge(
    "invariants.walk_duration",
    "How long the task check_invariants takes to check all records",
    "s",
  ),
  attention: createGauge("attention", "1 if the cause needs attention, else 0"),
  unanswered: createGauge("unanswered", "Requests to the gateway whose outcome is unknown"),
  ownerless: createGauge(
    "payments.ownerless",
    "Payments without an owner that were paid in the last 30 days",
  ),
  paidTwice: createGauge(
    "checkouts.paid_twice",
    "Checkouts that were paid twice in the last 30 days, with neither payment refunded",
  ),
  paidLate: createGauge(
    "checkouts.paid_late",
    "Checkouts that were paid late in the last 30 days, with the payment not refunded",
  ),
  unrecognized: createGauge(
    "payments.unrecognized",
    "Payments whose status at the gateway is not known to the service",
  ),
};

/** Each instance has its own values. */
const INSTANCE_GAUGES = {
  loopDelay: createGauge(
    "event_loop.delay",
    "Longest delay of the event loop of this instance in the last ten seconds",
    "ms",
  ),
  residentMemory: createGauge("memory.resident", "Memory of the process of this instance", "By"),
  heapMemory: createGauge(
    "memory.heap",
    "The part of the memory that JavaScript objects use",
    "By",
  ),
  clockOffset: createGauge(
    "clock.offset",
    "By how much the clock of this instance is ahead of another one (`of`: database or gateway)",
    "ms",
  ),
  isDatabaseUp: createGauge("database.up", "1 if the database responds to this instance, else 0"),
  poolSize: createGauge("database.pool_size", "Maximum number of database connections"),
  poolCalls: createGauge(
    "database.pool_calls",
    "Calls of the database in progress; those above the size of the pool wait for a connection",
  ),
  isGatewayDown: createGauge(
    "gateway.down",
    "1 while this instance makes no calls, because the gateway does not respond, else 0",
  ),
  build: createGauge(
    "build_info",
    "Always 1; attributes: the versions of the service and of Deno, and the build",
  ),
};

export type Observation = Observed<keyof typeof SHARED_GAUGES>;
export type InstanceObservation = Observed<keyof typeof INSTANCE_GAUGES>;

/** Calls the functions for each export; never if metrics are not exported. */
export function exportMetrics(
  readShared: () => Promise<Observation[]>,
  readInstance: () => Promise<InstanceObservation[]>,
): Disposable {
  const exported = [
    exportGauges(SHARED_GAUGES, readShared),
    exportGauges(INSTANCE_GAUGES, readInstance),
  ];
  return { [Symbol.dispose]: () => exported.forEach((each) => each[Symbol.dispose]()) };
}

/** Sets the values that `GET /metrics` shows. */
export function showMetrics(shared: Observation[], instance: InstanceObservation[]): void {
  showGauges(SHARED_GAUGES, shared);
  showGauges(INSTANCE_GAUGES, instance);
}

/**
 * Runs the handler of a request whose address contains a secret. Deno's span has the address
 * already, and attributes cannot be removed. A span that never ends is not exported; another one
 * takes its place.
 */
export async function inSpanWithoutAddress(
  method: string,
  route: string,
  handle: () => Promise<void>,
): Promise<void> {
  const span = trace.getActiveSpan();
  if (!span) return await handle();
  span.end = () => {};
  const attributes = { "http.request.method": method, "url.path": route };
  await inSpan(`${method} ${route}`, attributes, handle, SpanKind.SERVER);
}
