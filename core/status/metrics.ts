/** Metrics of background work and of the instance, for OpenTelemetry export and for Prometheus. */

import { type Database, poolUse } from "../../db/connection/database.ts";
import { ATTENTION_CAUSES } from "../events/attention.ts";
import type { Service } from "../service.ts";
import type { ClockState } from "../time/clock_check.ts";
import type { InvariantsRun } from "../tasks/check_invariants.ts";
import { renderRegistry } from "../telemetry/instruments.ts";
import type { Load } from "./load.ts";
import {
  exportMetrics,
  type InstanceObservation,
  type Observation,
  showMetrics,
} from "../telemetry/telemetry.ts";
import { readWorkload, type Workload } from "./workload.ts";

/** What the metrics are read from. */
export interface MetricsSource
  extends Pick<Service, "database" | "clock" | "clockCheck" | "gateway" | "log"> {
  load: Load;
  /** The version of the service. */
  version: string;
  /** The build that runs; null if it is not known. */
  build: string | null;
}

/** Queries the database for each export; never if metrics are not exported. */
export function registerMetrics(service: MetricsSource): Disposable {
  return exportMetrics(
    async () => await readShared(service) ?? [],
    () => readInstance(service),
  );
}

/**
 * Returns a function that renders all metrics for Prometheus. Concurrent calls share one reading.
 */
export function createMetricsRenderer(service: MetricsSource): () => Promise<string> {
  let rendering: Promise<string> | null = null;

  async function render(): Promise<string> {
    const shared = await readShared(service);
    showMetrics(shared ?? [], await readInstance(service));
    return await renderRegistry();
  }

  return () => rendering ??= render().finally(() => rendering = null);
}

/** Null: the database cannot be read. The other metrics are shown anyway. */
async function readShared(service: MetricsSource): Promise<Observation[] | null> {
  try {
    return toObservations(await readWorkload(service), new Date(service.clock()));
  } catch (error) {
    service.log.error("status_metrics_failed", error);
    return null;
  }
}

async function readInstance(service: MetricsSource): Promise<InstanceObservation[]> {
  const { gateway, load, version, build, database } = service;
  const clock = await measureClock(service);
  const memory = Deno.memoryUsage();
  return [
    ["residentMemory", memory.rss, {}],
    ["heapMemory", memory.heapUsed, {}],
    ["loopDelay", load.delayMs(), {}],
    ...(["database", "gateway"] as const).flatMap((of): InstanceObservation[] => {
      const ms = clock?.[of] ?? null;
      return ms === null ? [] : [["clockOffset", ms, { of }]];
    }),
    ["isDatabaseUp", clock === null ? 0 : 1, {}],
    ...observePool(database),
    ...(["read", "write"] as const).map((calls): InstanceObservation => [
      "isGatewayDown",
      gateway.breakerState(calls) === "open" ? 1 : 0,
      { calls },
    ]),
    ["build", 1, { version, build: build ?? "", deno: Deno.version.deno }],
  ];
}

/** Null: the database does not respond. */
async function measureClock({ clockCheck, log }: MetricsSource): Promise<ClockState | null> {
  try {
    return await clockCheck.measure();
  } catch (error) {
    log.error("status_metrics_failed", error);
    return null;
  }
}

function observePool(database: Database): InstanceObservation[] {
  const pool = poolUse(database);
  if (!pool) return [];
  return [["poolSize", pool.size, {}], ["poolCalls", pool.calls, {}]];
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
    ["ownerless", workload.ownerless, {}],
    ["paidTwice", workload.checkouts.paid_twice, {}],
    ["paidLate", workload.checkouts.paid_late, {}],
    ["unrecognized", workload.unrecognized.count, {}],
    ["missingDetected", workload.missingNotifications.areMissing ? 1 : 0, {}],
    ["expectedNotifications", workload.missingNotifications.paid, {}],
    ["missingNotifications", workload.missingNotifications.missing, {}],
    ...observeInvariants(cronRuns),
    ...ATTENTION_CAUSES.map((cause): Observation => [
      "attention",
      workload.attention.some((each) => each.cause === cause) ? 1 : 0,
      { cause },
    ]),
  ];
}

/** Nothing while the task runs, or if its last run failed. */
function observeInvariants(cronRuns: Workload["cronRuns"]): Observation[] {
  const run = cronRuns.find(({ task }) => task === "check_invariants");
  const result = run?.result as Partial<InvariantsRun> | undefined;
  if (!result) return [];
  // An instance of an earlier version does not measure the walks.
  return [["uncheckedChange", result.lag_seconds ?? 0, {}], ["walk", result.walk_seconds ?? 0, {}]];
}
