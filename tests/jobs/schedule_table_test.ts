import assert from "node:assert/strict";
import { registerCrons } from "../../commands/crons.ts";
import { createJobs } from "../../commands/jobs.ts";
import { newId } from "../../core/ids.ts";
import { SCHEDULE } from "../../core/tasks/schedule.ts";
import type { Database } from "../../db/connection/database.ts";
import { listCronRuns } from "../../db/jobs/cron_runs.ts";
import { openApp, type TestApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { recordCrons } from "../support/jobs/record_crons.ts";
import { openPayments } from "../support/payments/payments.ts";
import { inTime, until } from "../support/until.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** All entries are due at a full hour. */
const FULL_HOUR = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;

/** The job processing of a service, without starting it. */
function createJobsOf({ service, handlers }: TestApp) {
  const jobQueue = { ...service.jobQueue, start() {} };
  return createJobs(service, { jobQueue, handlers, crons: registerCrons() });
}

Deno.test("schedule: has the expected entries and cron expressions", () => {
  assert.deepEqual(Object.fromEntries(SCHEDULE.map(({ name, cron }) => [name, cron])), {
    sweep_jobs: "* * * * *",
    serve_endpoints: "* * * * *",
    check_pending_payments: "*/5 * * * *",
    expire_stale_payments: "*/10 * * * *",
    sync_subscription_status: "*/30 * * * *",
    // This task also completes interrupted creations, which should not wait long.
    check_overdue_invoices: "*/2 * * * *",
    check_attention: "* * * * *",
    check_invariants: "* * * * *",
    check_checkouts: "* * * * *",
    check_paid_payments: "* * * * *",
    update_stats: "* * * * *",
    prune: "*/10 * * * *",
  });
});

Deno.test("schedule: one cron is registered before the server starts, runs every entry, and is removed at shutdown", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, now: () => FULL_HOUR });
  using crons = recordCrons();
  const jobs = createJobsOf(app);
  const [cron, ...others] = crons.registered;
  assert.deepEqual(others, []);
  assert.deepEqual([cron!.name, cron!.schedule], ["schedule", "* * * * *"]);
  assert.ok(!cron!.signal.aborted);

  await cron!.run();
  const runs = await app.database.query(listCronRuns);
  assert.deepEqual(runs.map(({ task }) => task).sort(), SCHEDULE.map(({ name }) => name).sort());
  for (const { task, finished_at, error } of runs) {
    assert.ok(finished_at && error === null, `${task}: ${error}`);
  }
  await jobs.stop(0);
  assert.ok(cron!.signal.aborted);
});

Deno.test("schedule: at shutdown, the tasks that run end before the jobs have stopped", async () => {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holdTicks = (database: Database): Database => ({
    ...database,
    async query(work, name) {
      if (name === "end tick") {
        begun.resolve();
        await released.promise;
      }
      return await database.query(work, name);
    },
  });
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, wrapDatabase: holdTicks, now: () => FULL_HOUR });
  using crons = recordCrons();
  const jobs = createJobsOf(app);
  const running = crons.registered[0]!.run();
  await inTime("a task has run", begun.promise);
  let isStopped = false;
  const stopped = jobs.stop(60_000).then(() => isStopped = true);
  await app.database.query((sql) => sql`select 1`);
  assert.ok(!isStopped);
  released.resolve();
  await inTime("the jobs have stopped", stopped);
  const runs = await app.database.query(listCronRuns);
  assert.equal(runs.length, SCHEDULE.length);
  assert.deepEqual(runs.filter(({ finished_at }) => !finished_at), []);
  await running;
});

Deno.test("schedule: the prune entry deletes old rows", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, now: () => FULL_HOUR });
  const addFinished = async (daysAgo: number) => {
    const at = new Date(FULL_HOUR - daysAgo * DAY_MS);
    const id = newId(at);
    await app.database.query((sql) =>
      sql`
        insert into gateway.jobs (id, task, payload, status, run_at, created_at, updated_at)
        values (${id}, 'greet', '{}', 'succeeded', ${at}, ${at}, ${at})`
    );
    return id;
  };
  await addFinished(31);
  const keptId = await addFinished(29);
  using crons = recordCrons();
  createJobsOf(app);
  await crons.registered[0]!.run();
  const left = await app.database.query((sql) => sql`select id from gateway.jobs`);
  assert.deepEqual(left.map(({ id }) => id), [keptId]);
});

Deno.test("jobs: a start looks for due checks at once, without waiting for the schedule", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const { app } = payments;
  const { id } = await payments.charge("bca");
  await app.database.query((sql) =>
    sql`update gateway.payments set check_at = created_at where id = ${id}`
  );
  using _crons = recordCrons();
  const jobs = createJobsOf(app);
  jobs.start();
  await until("the payment has a check", async () => {
    const checks = await app.database.query((sql) =>
      sql`select from gateway.jobs where task = 'check_payment_status' and subject_id = ${id}`
    );
    return checks.length > 0;
  });
  await jobs.stop(60_000);
});
