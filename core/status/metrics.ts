/** Exports the state of background work as metrics. */

import type { ClockCheck } from "../clock_check.ts";
import type { Log } from "../log.ts";
import { type Observation, observeClockOffsets, observeGauges } from "../telemetry.ts";
import { readWorkload, type Workload, type WorkloadDeps } from "./workload.ts";

/** Queries the database once per export; never if metrics are not exported. */
export function registerStatusMetrics(deps: WorkloadDeps & { log: Log }): Disposable {
  return observeGauges(async () => {
    try {
      return toObservations(await readWorkload(deps), new Date(deps.clock()));
    } catch (error) {
      deps.log.error("status_metrics_failed", error);
      return [];
    }
  });
}

/** Measures the clock offsets once per export. */
export function registerClockMetrics(
  { clockCheck, log }: { clockCheck: ClockCheck; log: Log },
): Disposable {
  return observeClockOffsets(async () => {
    try {
      return { ...await clockCheck.measure() };
    } catch (error) {
      log.error("status_metrics_failed", error);
      return {};
    }
  });
}

export function toObservations(workload: Workload, now: Date): Observation[] {
  const { oldestDue, cronRuns, unpublished, undelivered, unsent, received, unanswered } = workload;
  const age = (time: Date | null) =>
    time ? Math.max(0, (now.getTime() - time.getTime()) / 1_000) : 0;
  return [
    ...workload.jobs.map((
      { task, status, count },
    ): Observation => ["jobs", count, { task, status }]),
    ["oldestJob", age(oldestDue), {}],
    ...cronRuns.flatMap(({ task, started_at, finished_at, error }): Observation[] => [
      ["lastRun", age(started_at), { task }],
      ...finished_at ? [["lastRunEnd", age(finished_at), { task }] satisfies Observation] : [],
      ["isRunning", finished_at ? 0 : 1, { task }],
      ["hasFailed", error === null ? 0 : 1, { task }],
    ]),
    ["unpublished", unpublished.count, {}],
    ["oldestUnpublished", age(unpublished.since), {}],
    ["deliveries", undelivered.count, {}],
    ["oldestEvent", age(undelivered.since), {}],
    ["webhooks", unsent.count, {}],
    ["oldestWebhook", age(unsent.since), {}],
    ["disabledEndpoints", workload.disabledEndpoints, {}],
    ["notifications", received.count, {}],
    ["oldestNotification", age(received.since), {}],
    ["failedNotifications", workload.failedNotifications, {}],
    ...Object.entries(unanswered).map(([resource, count]): Observation => [
      "unanswered",
      count,
      { resource },
    ]),
    ["unrecognized", workload.unrecognized.count, {}],
  ];
}
