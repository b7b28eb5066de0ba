/** How the work in the background stands, in numbers. */

import { type CronRun, listCronRuns } from "../../db/cron_runs.ts";
import type { Database, Sql } from "../../db/database.ts";
import {
  countDisabledEndpoints,
  countJobs,
  countUnanswered,
  type FailedJob,
  findOldestDue,
  findReceived,
  findUndelivered,
  findUnsent,
  type JobCount,
  listLastFailures,
  type Unanswered,
  type Waiting,
} from "../../db/status.ts";
import type { Clock } from "../clock.ts";

export interface Numbers {
  jobs: JobCount[];
  lastFailures: FailedJob[];
  /** Since when a job could be run that nobody runs; null where there is none. */
  oldestDue: Date | null;
  cronRuns: CronRun[];
  undelivered: Waiting;
  unsent: Waiting;
  disabledEndpoints: number;
  received: Waiting;
  unanswered: Unanswered;
}

export interface NumbersDeps {
  database: Database;
  clock: Clock;
}

export async function readNumbers({ database, clock }: NumbersDeps): Promise<Numbers> {
  // One after the other, so that it never takes more than one connection from those who serve.
  const read = <T>(work: (sql: Sql) => Promise<T>) => database.query(work, "read status");
  return {
    jobs: await read(countJobs),
    lastFailures: await read(listLastFailures),
    oldestDue: await read((sql) => findOldestDue(sql, new Date(clock()))),
    cronRuns: await read(listCronRuns),
    undelivered: await read(findUndelivered),
    unsent: await read(findUnsent),
    disabledEndpoints: await read(countDisabledEndpoints),
    received: await read(findReceived),
    unanswered: await read(countUnanswered),
  };
}
