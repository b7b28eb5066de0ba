/** What the service measures of itself, for whoever collects metrics. */

import { type Attributes, type BatchObservableCallback, metrics } from "@opentelemetry/api";

const meter = metrics.getMeter("payment-gateway");

const addedLatency = meter.createHistogram(
  "payment_gateway.charge.added_latency",
  {
    description: "What the service adds to a charge: all its time less the gateway's",
    unit: "ms",
    // Finest around 3 ms, which is what it may be.
    advice: { explicitBucketBoundaries: [0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 10, 25, 50, 100, 500] },
  },
);

const refusedNotifications = meter.createCounter("payment_gateway.notifications.refused", {
  description: "Calls of the notification endpoint that were none of the gateway's",
});

/** Once for each charge that the gateway answered. */
export function recordAddedLatency(ms: number, attributes: Attributes): void {
  addedLatency.record(ms, attributes);
}

/** Of what is refused nothing else is kept; `reason` is the code it was refused with. */
export function countRefusedNotification(reason: string): void {
  refusedNotifications.add(1, { reason });
}

const jobRuns = meter.createHistogram("payment_gateway.jobs.duration", {
  description: "How long an attempt at a job took, by its task and outcome",
  unit: "ms",
  advice: { explicitBucketBoundaries: [1, 5, 10, 50, 100, 500, 1_000, 5_000, 15_000, 60_000] },
});

/** Once for each attempt. */
export function recordJobRun(ms: number, attributes: { task: string; outcome: string }): void {
  jobRuns.record(ms, attributes);
}

function gauge(name: string, description: string, unit = "") {
  return meter.createObservableGauge(`payment_gateway.${name}`, { description, unit });
}

/** They are those of the database: each instance tells the same. */
const GAUGES = {
  jobs: gauge("jobs", "Jobs that are queued, running or given up, by task"),
  oldestJob: gauge("jobs.oldest_age", "How long the longest has waited for its turn", "s"),
  lastTick: gauge("schedule.last_run_age", "How long ago a scheduled task last began", "s"),
  lastTickEnd: gauge(
    "schedule.last_end_age",
    "How long ago it last ended; not told while it runs",
    "s",
  ),
  runningTick: gauge(
    "schedule.running",
    "Whether a scheduled task has begun and not ended: 1 or 0",
  ),
  failedTick: gauge("schedule.failed", "Whether a scheduled task failed the last time: 1 or 0"),
  deliveries: gauge("events.waiting_deliveries", "Deliveries that subscribers wait for"),
  oldestEvent: gauge("events.oldest_age", "How long ago the oldest of their events happened", "s"),
  webhooks: gauge("webhooks.waiting", "Deliveries that webhook endpoints wait for"),
  oldestWebhook: gauge("webhooks.oldest_age", "For how long the oldest of them waits", "s"),
  disabledEndpoints: gauge("webhooks.disabled_endpoints", "Endpoints that get nothing"),
  notifications: gauge("notifications.waiting", "Notifications that are still to be processed"),
  oldestNotification: gauge("notifications.oldest_age", "How long ago the oldest came", "s"),
  unanswered: gauge("unanswered", "What the gateway was asked for and has not answered"),
};

export type Observation = [gauge: keyof typeof GAUGES, value: number, attributes: Attributes];

/** What `read` resolves to is told with each export; where nothing is exported, it is never called. */
export function observe(read: () => Promise<Observation[]>): Disposable {
  const gauges = Object.values(GAUGES);
  const callback: BatchObservableCallback = async (result) => {
    for (const [name, value, attributes] of await read()) {
      result.observe(GAUGES[name], value, attributes);
    }
  };
  meter.addBatchObservableCallback(callback, gauges);
  return { [Symbol.dispose]: () => meter.removeBatchObservableCallback(callback, gauges) };
}
