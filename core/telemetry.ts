/** What the service measures of itself, for whoever collects metrics. */

import { type Attributes, metrics } from "@opentelemetry/api";

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
