/** Checks of the work in the background, of webhook endpoints, of the disk and of backups. */

// Not from `node:fs/promises`, which has it only in newer versions of Deno.
import { statfsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { findUnpublished } from "../../db/events/publication.ts";
import { listCronRuns } from "../../db/jobs/cron_runs.ts";
import { countJobs, findOldestDue } from "../../db/reports/status.ts";
import { listEndpoints } from "../../db/webhooks/endpoints.ts";
import type { Caller } from "../auth/caller.ts";
import { isOverdue } from "../status/status.ts";
import { SCHEDULE } from "../tasks/schedule.ts";
import { testWebhookEndpoint } from "../webhooks/endpoints.ts";
import {
  type Examined,
  fault,
  type Found,
  notTested,
  ok,
  warning,
  type WithDatabase,
} from "./check_result.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A worker takes a due job within a second, unless all workers are busy. */
const MAX_WAIT_MS = 5 * MINUTE_MS;

export async function checkJobs({ database, clock }: WithDatabase): Promise<Found> {
  const now = clock();
  const oldest = await database.query((sql) => findOldestDue(sql, new Date(now)), "find oldest");
  const waitingMs = oldest ? now - oldest.getTime() : 0;
  if (waitingMs > MAX_WAIT_MS) {
    return fault("jobs_waiting", { minutes: Math.floor(waitingMs / MINUTE_MS) });
  }
  const counts = await database.query(countJobs, "count jobs");
  const failed = counts.filter(({ status }) => status === "failed")
    .reduce((sum, { count }) => sum + count, 0);
  return failed > 0 ? warning("jobs_failed", { count: failed }) : ok("jobs_ok");
}

/** A task without a run may belong to a service that has just started. */
export async function checkCrons({ database, clock }: WithDatabase): Promise<Found> {
  const now = new Date(clock());
  const runs = await database.query(listCronRuns, "list cron runs");
  const tasks = SCHEDULE.flatMap(({ name, cron }) => {
    const run = runs.find(({ task }) => task === name);
    return run ? [{ ...run, cron }] : [];
  });
  if (tasks.length === 0) return warning("crons_never");
  const namesOf = (some: typeof tasks) => some.map(({ task }) => task).join(", ");
  const overdue = tasks.filter(({ cron, started_at }) => isOverdue(cron, started_at, now));
  if (overdue.length > 0) return fault("crons_overdue", { tasks: namesOf(overdue) });
  const failed = tasks.filter(({ error }) => error !== null);
  return failed.length > 0 ? warning("crons_failed", { tasks: namesOf(failed) }) : ok("crons_ok");
}

/** Events are published within milliseconds. */
const MAX_UNPUBLISHED_MS = MINUTE_MS;

export async function checkPublisher({ database, clock }: WithDatabase): Promise<Found> {
  const { since } = await database.query(findUnpublished, "find unpublished");
  const waitingMs = since ? clock() - since.getTime() : 0;
  if (waitingMs <= MAX_UNPUBLISHED_MS) return ok("publisher_ok");
  return fault("publisher_behind", { seconds: Math.round(waitingMs / 1_000) });
}

/** The newest endpoints; hardly any installation has more. */
const MAX_ENDPOINTS = 20;

const DOCTOR: Caller = {
  userId: "doctor",
  isStaff: true,
  isViewer: false,
  credential: "api_key",
  keyPrefix: null,
};

export async function checkWebhooks(examined: WithDatabase): Promise<Found> {
  const page = { before: null, limit: MAX_ENDPOINTS };
  const endpoints = await examined.database.query(
    (sql) => listEndpoints(sql, page),
    "list endpoints",
  );
  const enabled = endpoints.filter(({ disabled_reason }) => disabled_reason === null);
  const results = await Promise.all(enabled.map(async ({ id, url }) => {
    const { succeeded, status_code } = await testWebhookEndpoint(examined, DOCTOR, id);
    const answer = status_code === null ? "no response" : `status ${status_code}`;
    // Only the host: a path or query can contain a secret.
    return { succeeded, text: `${new URL(url).host} (${answer})` };
  }));
  const failing = results.filter(({ succeeded }) => !succeeded).map(({ text }) => text);
  if (failing.length > 0) return fault("webhooks_failing", { endpoints: failing.join(", ") });
  const disabled = endpoints.filter(({ disabled_reason }) =>
    disabled_reason === "failing" || disabled_reason === "gone"
  );
  if (disabled.length > 0) return warning("webhooks_disabled", { count: disabled.length });
  return enabled.length > 0 ? ok("webhooks_ok", { count: enabled.length }) : ok("webhooks_none");
}

const GIB = 1_024 ** 3;
const LOW_GIB = 5;
const FULL_GIB = 1;

/** Only the disk of the embedded database is on this host. */
export function checkDisk({ config }: Examined): Found {
  if (config.databaseUrl !== null) return notTested("disk_unknown");
  const { bavail, bsize } = statfsSync(config.dataDir);
  const gib = bavail * bsize / GIB;
  const values = { free: gib.toFixed(1) };
  if (gib < FULL_GIB) return fault("disk_low", values);
  return gib < LOW_GIB ? warning("disk_low", values) : ok("disk_ok", values);
}

/** One day, and an hour because backups do not take equally long every day. */
const MAX_BACKUP_HOURS = 25;

export async function checkBackup({ config, clock }: Examined): Promise<Found> {
  if (config.backupTimeFile === null) return notTested("backup_unknown");
  const file = await stat(config.backupTimeFile).catch(() => null);
  if (!file) return warning("backup_missing");
  const hours = Math.max(0, clock() - file.mtimeMs) / HOUR_MS;
  const values = { hours: Math.floor(hours) };
  return hours > MAX_BACKUP_HOURS ? warning("backup_old", values) : ok("backup_ok", values);
}
