/** Hands how things stand to whoever collects metrics. */

import type { Log } from "../log.ts";
import { type Observation, observe } from "../telemetry.ts";
import { type Numbers, type NumbersDeps, readNumbers } from "./numbers.ts";

/** The database is asked once for each export, and never where nobody collects. */
export function measureStatus(deps: NumbersDeps & { log: Log }): Disposable {
  return observe(async () => {
    try {
      return observationsOf(await readNumbers(deps), new Date(deps.clock()));
    } catch (error) {
      deps.log.error("status_not_measured", error);
      return [];
    }
  });
}

export function observationsOf(numbers: Numbers, now: Date): Observation[] {
  const { oldestDue, cronRuns, undelivered, unsent, received, unanswered } = numbers;
  const age = (time: Date | null) =>
    time ? Math.max(0, (now.getTime() - time.getTime()) / 1_000) : 0;
  return [
    ...numbers.jobs.map((
      { task, status, count },
    ): Observation => ["jobs", count, { task, status }]),
    ["oldestJob", age(oldestDue), {}],
    ...cronRuns.flatMap(({ task, started_at, finished_at, error }): Observation[] => [
      ["lastTick", age(started_at), { task }],
      ...finished_at ? [["lastTickEnd", age(finished_at), { task }] satisfies Observation] : [],
      ["runningTick", finished_at ? 0 : 1, { task }],
      ["failedTick", error === null ? 0 : 1, { task }],
    ]),
    ["deliveries", undelivered.count, {}],
    ["oldestEvent", age(undelivered.since), {}],
    ["webhooks", unsent.count, {}],
    ["oldestWebhook", age(unsent.since), {}],
    ["disabledEndpoints", numbers.disabledEndpoints, {}],
    ["notifications", received.count, {}],
    ["oldestNotification", age(received.since), {}],
    ...Object.entries(unanswered).map(([resource, count]): Observation => [
      "unanswered",
      count,
      { resource },
    ]),
  ];
}
