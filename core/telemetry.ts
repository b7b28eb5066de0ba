/** The metrics of the service. */

import {
  type Attributes,
  type BatchObservableCallback,
  metrics,
  type ObservableCallback,
} from "@opentelemetry/api";

const meter = metrics.getMeter("payment-gateway");

const addedLatency = meter.createHistogram(
  "payment_gateway.charge.added_latency",
  {
    description:
      "Latency that the service adds to a charge: total time minus the time of the gateway call",
    unit: "ms",
    // The buckets are finest around the target of 3 ms.
    advice: { explicitBucketBoundaries: [0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 10, 25, 50, 100, 500] },
  },
);

const refusedNotifications = meter.createCounter("payment_gateway.notifications.refused", {
  description: "Requests to the notification endpoint that were rejected",
});

/** Call it once for each charge that the gateway answered. */
export function recordAddedLatency(ms: number, attributes: Attributes): void {
  addedLatency.record(ms, attributes);
}

/** Rejected notifications are not stored, only counted; `reason` is the error code. */
export function countRefusedNotification(reason: string): void {
  refusedNotifications.add(1, { reason });
}

const jobRuns = meter.createHistogram("payment_gateway.jobs.duration", {
  description: "Duration of a job attempt, by task and outcome",
  unit: "ms",
  advice: { explicitBucketBoundaries: [1, 5, 10, 50, 100, 500, 1_000, 5_000, 15_000, 60_000] },
});

export function recordJobRun(ms: number, attributes: { task: string; outcome: string }): void {
  jobRuns.record(ms, attributes);
}

const rejectedRequests = meter.createCounter("payment_gateway.requests.rejected", {
  description: "Requests of callers that were rejected because the instance was overloaded",
});

export function countRejectedRequest(): void {
  rejectedRequests.add(1);
}

const unrecordedAttempts = meter.createCounter("payment_gateway.audit.unrecorded", {
  description:
    "Refused requests that the audit trail does not contain, because there were too many",
});

export function countUnrecordedAttempt(): void {
  unrecordedAttempts.add(1);
}

function gauge(name: string, description: string, unit = "") {
  return meter.createObservableGauge(`payment_gateway.${name}`, { description, unit });
}

/** Read from the database, so every instance reports the same values: use the maximum, not the sum. */
const GAUGES = {
  jobs: gauge("jobs", "Jobs that are queued, running or failed, by task"),
  oldestJob: gauge("jobs.oldest_age", "Time since the oldest queued job became due", "s"),
  lastRun: gauge("schedule.last_run_age", "Time since a scheduled task last started", "s"),
  lastRunEnd: gauge(
    "schedule.last_end_age",
    "Time since a scheduled task last ended; absent while it runs",
    "s",
  ),
  isRunning: gauge("schedule.running", "1 while a scheduled task runs, else 0"),
  hasFailed: gauge("schedule.failed", "1 if the last run of a scheduled task failed, else 0"),
  unpublished: gauge("events.unpublished", "Committed events without a position"),
  oldestUnpublished: gauge(
    "events.publication_lag",
    "Age of the oldest committed event without a position",
    "s",
  ),
  deliveries: gauge(
    "events.waiting_deliveries",
    "Events waiting for delivery to in-process subscribers",
  ),
  oldestEvent: gauge("events.oldest_age", "Age of the oldest event waiting for delivery", "s"),
  webhooks: gauge("webhooks.waiting", "Webhook deliveries waiting to be sent"),
  oldestWebhook: gauge(
    "webhooks.oldest_age",
    "Time the oldest webhook delivery has been waiting",
    "s",
  ),
  disabledEndpoints: gauge("webhooks.disabled_endpoints", "Disabled webhook endpoints"),
  notifications: gauge("notifications.waiting", "Notifications waiting to be processed"),
  oldestNotification: gauge(
    "notifications.oldest_age",
    "Age of the oldest notification waiting to be processed",
    "s",
  ),
  failedNotifications: gauge(
    "notifications.failed",
    "Notifications that the service gave up confirming with the gateway",
  ),
  unanswered: gauge("unanswered", "Requests to the gateway whose outcome is unknown"),
  unrecognized: gauge(
    "payments.unrecognized",
    "Payments in a status at the gateway that the service does not know",
  ),
};

const loopDelay = gauge(
  "event_loop.delay",
  "Longest delay of the event loop of this instance in the last ten seconds",
  "ms",
);

/** Calls `read` for each export. Each instance has its own value. */
export function observeLoopDelay(read: () => number): Disposable {
  const callback: ObservableCallback = (result) => result.observe(read());
  loopDelay.addCallback(callback);
  return { [Symbol.dispose]: () => loopDelay.removeCallback(callback) };
}

const clockOffset = gauge(
  "clock.offset",
  "By how much the clock of this instance is ahead of another one (`of`: database or gateway)",
  "ms",
);

/** Calls `read` for each export. Each instance has its own values; null: not known. */
export function observeClockOffsets(
  read: () => Promise<Record<string, number | null>>,
): Disposable {
  const callback: ObservableCallback = async (result) => {
    for (const [name, ms] of Object.entries(await read())) {
      if (ms !== null) result.observe(ms, { of: name });
    }
  };
  clockOffset.addCallback(callback);
  return { [Symbol.dispose]: () => clockOffset.removeCallback(callback) };
}

export type Observation = [gauge: keyof typeof GAUGES, value: number, attributes: Attributes];

/** Calls `read` for each export; never if metrics are not exported. */
export function observeGauges(read: () => Promise<Observation[]>): Disposable {
  const gauges = Object.values(GAUGES);
  const callback: BatchObservableCallback = async (result) => {
    for (const [name, value, attributes] of await read()) {
      result.observe(GAUGES[name], value, attributes);
    }
  };
  meter.addBatchObservableCallback(callback, gauges);
  return { [Symbol.dispose]: () => meter.removeBatchObservableCallback(callback, gauges) };
}
