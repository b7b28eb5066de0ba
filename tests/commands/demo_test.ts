import assert from "node:assert/strict";
import { join } from "node:path";
import { run } from "../../commands/demo/command.ts";
import { createDemo } from "../../commands/demo/demo.ts";
import { parseConfig } from "../../core/config/config.ts";
import { openApp, REAL_INSTALLATION, type TestApp } from "../support/app.ts";
import { compareReport } from "../support/console/reconciliations.ts";
import { createDatabase } from "../support/database/database.ts";
import { type Json, openSandbox, SERVER_KEY } from "../support/gateway/sandbox.ts";
import { errorsOf } from "../support/logged_errors.ts";
import {
  mainCommand,
  postgresHome,
  postgresRuns,
  preparedFolder,
  startService,
} from "../support/service.ts";
import { until } from "../support/until.ts";

const DAY_MS = 86_400_000;

/** Long enough for a monthly report: the second day of a month, and payments before it. */
const DAYS = 36;

async function openShop() {
  const stack = new AsyncDisposableStack();
  const box = stack.use(await openSandbox());
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const server = stack.use(Deno.serve(options, (request) => app.fetchUnchecked(request)));
  const url = `http://127.0.0.1:${server.addr.port}`;
  const app: TestApp = stack.use(
    await openApp({
      databaseUrl: await createDatabase(),
      gatewayUrl: box.url,
      serverKey: SERVER_KEY,
      env: { ...REAL_INSTALLATION, PUBLIC_URL: "https://pay.invalid" },
      now: () => box.sandbox.replayedTime() ?? Date.now(),
    }),
  );
  box.sandbox.notify(`${url}/notification/`);
  return { ...box, app, url, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

Deno.test("demo data: payments, refunds, invoices, subscriptions and reports happen in the past, at the service's own address", async () => {
  await using shop = await openShop();
  const { app, sandbox, url } = shop;
  const began = Date.now();
  const demo = createDemo(app.service, sandbox, () => url, DAYS);
  assert.equal((await demo.state()).status, "none");
  const filled = demo.fill();
  assert.equal((await demo.state()).status, "running", "at once: the next page shows it");
  await filled;
  assert.deepEqual(await demo.state(), { status: "done", percent: 100 });
  assert.deepEqual(errorsOf(app), []);

  const staff = await app.createKey({ userId: "ops", isStaff: true });
  const read = async (path: string): Promise<Json> => await (await app.as(staff, path)).json();
  const payments: Json[] = await read("/payments/?limit=100");
  const count = payments.length;
  assert.ok(count > 60, `${count} payments`);
  const days = new Set(payments.map(({ created_at }) => created_at.slice(0, 10)));
  assert.ok(days.size > 12, `payments on ${days.size} days`);
  const lateStart = new Date(began - (DAYS - 6) * DAY_MS).toISOString();
  assert.ok((await read(`/payments/?created_to=${lateStart}`)).length > 0, "since the first days");
  const times = payments.map(({ created_at }) => Date.parse(created_at));
  assert.ok(Math.max(...times) < began, "none is newer than the demo");
  const statuses = new Set(payments.map(({ transaction_status }) => transaction_status));
  for (const status of ["pending", "settlement", "expire", "cancel"]) {
    assert.ok(statuses.has(status), status);
  }
  const types = new Set(payments.map(({ payment_type }) => payment_type));
  assert.ok(types.size >= 5, `${[...types]}`);

  // Notifications, too, arrived in the past, so a timeline shows when the customer paid.
  const paid = payments.find(({ transaction_status: status }) => status === "settlement")!;
  const { entries } = await read(`/timelines/payments/${paid.id}/`);
  for (const { at } of entries) {
    assert.ok(Math.abs(Date.parse(at) - Date.parse(paid.created_at)) < 4 * DAY_MS, at);
  }
  const settled = Date.parse(paid.settlement_time) - Date.parse(paid.created_at);
  assert.ok(settled > -2_000 && settled < 3 * DAY_MS, `settled after ${settled} ms`);

  const [refund] = await read("/refunds/");
  assert.match(refund.created_by, /^api_key:gk_/);
  assert.ok((await read("/invoices/")).length > 5);
  assert.ok((await read("/subscriptions/")).length > 0);
  const [report] = await read("/reconciliations/");
  await compareReport(app, report.id);
  const compared = await read(`/reconciliations/${report.id}/`);
  assert.ok(compared.open_differences > 0, "finance has differences to explain");
  const { rows } = await read("/stats/payments/?interval=month");
  assert.ok(rows.length >= 1, "the statistics are up to date");

  assert.equal(sandbox.replayedTime(), null);
  const { now } = await shop.control("clock", undefined, "GET");
  assert.ok(Math.abs(Date.parse(now) - Date.now()) < 60_000, "the sandbox is in the present");
  await assert.rejects(demo.fill(), /The demo data exists already/);
  const restarted = createDemo(app.service, sandbox, () => url, DAYS);
  assert.equal((await restarted.state()).status, "done");
});

Deno.test("demo data: is incomplete if more than 1 in 20 steps fail, also after a restart", async () => {
  await using shop = await openShop();
  const { app, sandbox } = shop;
  // The sandbox does not have the paths of the service.
  const open = () => createDemo(app.service, sandbox, () => sandbox.url, 2);
  const demo = open();
  await assert.rejects(demo.fill(), /of \d+ steps failed.*delete the data folder/);
  assert.equal((await demo.state()).status, "failed");
  assert.equal(sandbox.replayedTime(), null);
  const restarted = open();
  assert.equal((await restarted.state()).status, "failed");
  await assert.rejects(restarted.fill(), /incomplete: creating it failed or was interrupted/);
});

Deno.test("demo data: scheduled tasks continue if the database cannot be read at the start", async () => {
  await using shop = await openShop();
  const { app, sandbox, url } = shop;
  const { service } = app;
  const query = () => Promise.reject(new Error("connection lost"));
  const database = { ...service.database, query };
  const demo = createDemo({ ...service, database }, sandbox, () => url, 2);
  await assert.rejects(demo.fill(), /connection lost/);
  let runs = 0;
  await demo.pausing(() => Promise.resolve(void runs++))();
  assert.equal(runs, 1);
});

Deno.test("deno task demo: ends at the first Ctrl-C", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  const command = [...await mainCommand(settings), "demo"];
  let isStopped = false;
  function onOutput(output: string): void {
    if (isStopped || !output.includes("replay a year")) return;
    isStopped = true;
    const pid = Deno.readTextFileSync(join(postgresHome(folder.path), "lock"));
    Deno.kill(parseInt(pid), "SIGINT");
  }
  // It prints no address of the service, so `startService` waits until it ends.
  await assert.rejects(startService({ settings, command, onOutput }), /The service ended with 1/);
  assert.ok(isStopped);
  // PostgreSQL ends a little later than the process.
  await until("PostgreSQL has ended", async () => !await postgresRuns(folder.path));
});

Deno.test("demo data: the command refuses everything but the embedded default", async () => {
  for (
    const env of [
      REAL_INSTALLATION,
      { ...REAL_INSTALLATION, GATEWAY_ENV: "production" },
    ]
  ) {
    const readConfig = () => parseConfig(env, import.meta.dirname!);
    await assert.rejects(run(readConfig), /only for the embedded default.*Nothing was changed/s);
  }
});
