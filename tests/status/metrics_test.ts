import assert from "node:assert/strict";
import { permissionFlags } from "../../commands/prepare.ts";
import { newId } from "../../core/ids.ts";
import { tick } from "../../core/jobs/schedule.ts";
import { toObservations } from "../../core/status/metrics.ts";
import { readWorkload } from "../../core/status/workload.ts";
import { insertJobs } from "../../db/jobs/jobs.ts";
import { openApp } from "../support/app.ts";
import { openCollector } from "../support/collector.ts";
import { createDatabase } from "../support/database/database.ts";
import { newJob } from "../support/jobs/jobs.ts";
import { PROJECT } from "../support/project.ts";
import { PATIENT, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const HOUR_MS = 3_600_000;

Deno.test("metrics: export jobs, schedule, outbox, webhooks and notifications", async () => {
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl });
  const anHourAgo = new Date(Date.now() - HOUR_MS);
  const { id: resourceId } = newJob();
  await app.database.query((sql) =>
    sql`
      with written as (
        insert into gateway.events (id, name, resource, resource_id, sequence, data, created_at)
        values (${newJob().id}, 'payment_settled', 'payment', ${resourceId}, 1, '{}', ${anHourAgo})
        returning id
      )
      insert into gateway.event_outbox (event_id) select id from written`
  );
  const inAnHour = new Date(Date.now() + HOUR_MS);
  const jobs = [
    newJob({ task: "nonsense" }),
    newJob({ task: "greet", run_at: inAnHour }),
    newJob({
      task: "deliver books",
      subject_id: resourceId,
      payload: { sequence: 1 },
      run_at: inAnHour,
    }),
  ];
  await app.database.query((sql) => insertJobs(sql, jobs));
  // `greet` is not a task of the service: the service would run its own task and change this row.
  await app.database.query((sql) =>
    sql`
      insert into gateway.cron_runs (task, minute, started_at, finished_at, error)
      values ('greet', ${anHourAgo}, ${anHourAgo}, ${anHourAgo}, 'Error: no room')`
  );

  await using collector = openCollector();
  const service = await startService({
    settings: {
      ...collector.settings,
      HOST: "127.0.0.1",
      DATABASE_URL: databaseUrl,
      GATEWAY_SERVER_KEY: "Mid-server-of-the-metrics-test",
      GATEWAY_BASE_URL: "http://127.0.0.1:2",
    },
    command: [
      ...[Deno.execPath(), "run", "-q", "--no-prompt", PATIENT],
      ...permissionFlags({ queue: "postgres", dataDir: "/nowhere" }, null, PROJECT),
      "main.ts",
    ],
  });
  try {
    const value = (name: string, attributes = {}) =>
      collector.valueOf(`payment_gateway.${name}`, attributes);
    // This job is due, but its task does not exist, so it fails.
    await until(
      "the job has failed",
      () => value("jobs", { task: "nonsense", status: "failed" }) === 1,
    );
    assert.equal(value("jobs", { task: "greet", status: "queued" }), 1);
    assert.equal(value("jobs.oldest_age"), 0);
    await until("the event is published", () => value("events.unpublished") === 0);
    assert.equal(value("events.publication_lag"), 0);
    assert.equal(value("events.waiting_deliveries"), 1);
    assert.ok(value("events.oldest_age")! >= HOUR_MS / 1_000);
    assert.equal(value("schedule.failed", { task: "greet" }), 1);
    assert.equal(value("schedule.running", { task: "greet" }), 0);
    assert.ok(value("schedule.last_run_age", { task: "greet" })! >= HOUR_MS / 1_000);
    assert.ok(value("schedule.last_end_age", { task: "greet" })! >= HOUR_MS / 1_000);
    await until("a delay is measured", () => value("event_loop.delay")! > 0);
    await until("the clocks are compared", () => value("clock.offset", { of: "database" }) === 0);
    assert.equal(value("webhooks.waiting"), 0);
    assert.equal(value("webhooks.oldest_age"), 0);
    assert.equal(value("webhooks.disabled_endpoints"), 0);
    assert.equal(value("notifications.waiting"), 0);
    assert.equal(value("unanswered", { resource: "payments" }), 0);
    const run = { task: "nonsense", outcome: "failed" };
    await until("the attempt is counted", () => {
      return collector.countOf("payment_gateway.jobs.duration", run) === 1;
    });
  } finally {
    // At exit Deno waits for the last export, sometimes forever (denoland/deno#33157).
    service.signal("SIGKILL");
    await service.ended;
  }
});

Deno.test("metrics: say whether the check of stored records keeps up", async () => {
  await using app = await openApp({ databaseUrl: await createDatabase() });
  const { service } = app;
  const result = { checked: 1, contradictions: 0, lag_seconds: 7, walk_seconds: 90 };
  const valuesAfter = async (run: () => Promise<unknown>) => {
    await app.database.query((sql) => sql`delete from gateway.cron_runs`);
    await tick(service, { name: "check_invariants", cron: "* * * * *", run });
    const observed = toObservations(await readWorkload(service), new Date());
    return ["uncheckedChange", "walk"].map((gauge) =>
      observed.find(([name]) => name === gauge)?.[1]
    );
  };
  assert.deepEqual(await valuesAfter(() => Promise.resolve(result)), [7, 90]);
  const { walk_seconds: _, ...ofEarlierVersion } = result;
  assert.deepEqual(await valuesAfter(() => Promise.resolve(ofEarlierVersion)), [7, 0]);
  assert.deepEqual(await valuesAfter(() => Promise.reject(new Error("x"))), [undefined, undefined]);
});

Deno.test("metrics: contain the age of waiting work, and the start and end of scheduled runs", async () => {
  let now = Date.UTC(2026, 5, 1, 12);
  await using app = await openApp({ databaseUrl: await createDatabase(), now: () => now });
  const { service } = app;
  const at = new Date(now);
  const jobs = [newJob({ run_at: at }), newJob({ run_at: new Date(now + HOUR_MS) })];
  await app.database.query((sql) => insertJobs(sql, jobs));
  await app.database.query((sql) =>
    sql`
      insert into gateway.notifications (id, order_id, transaction_status, status_code,
        gross_amount, status, raw_payload, created_at)
      values (${newId(at)}, 'order-1', 'settlement', '200', '1.00', 'received', '{}', ${at})`
  );
  const hanging = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const entry = (name: string, run: () => Promise<unknown>) => ({ name, cron: "* * * * *", run });
  await tick(service, entry("greet", () => Promise.resolve(now += 60_000)));
  const slowTick = tick(
    service,
    entry("smile", () => {
      started.resolve();
      return hanging.promise;
    }),
  );
  await started.promise;
  now += 60_000;
  const observed = toObservations(await readWorkload(service), new Date(now));
  hanging.resolve();
  await slowTick;

  const valueOf = (gauge: string, task?: string) =>
    observed.find(([name, , attributes]) => name === gauge && attributes.task === task)?.[1];
  assert.deepEqual([valueOf("oldestJob"), valueOf("oldestNotification")], [120, 120]);
  const gauges = ["lastRun", "lastRunEnd", "isRunning", "hasFailed"];
  assert.deepEqual(gauges.map((gauge) => valueOf(gauge, "greet")), [120, 60, 0, 0]);
  assert.deepEqual(gauges.map((gauge) => valueOf(gauge, "smile")), [60, undefined, 1, 0]);
});
