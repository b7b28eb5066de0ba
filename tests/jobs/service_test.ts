import assert from "node:assert/strict";
import { join } from "node:path";
import type { Queue } from "../../core/config/config.ts";
import { readLayout } from "../../db/embedded/layout.ts";
import { findServer } from "../../db/embedded/server.ts";
import { callService } from "../support/client.ts";
import { createDatabase } from "../support/database/database.ts";
import { call } from "../support/gateway/sandbox.ts";
import { openInstance } from "../support/jobs/jobs.ts";
import { createDataFolder } from "../support/project.ts";
import {
  preparedFolder,
  runCommand,
  type ServiceProcess,
  START_TASK,
  startError,
  startService,
} from "../support/service.ts";
import { until } from "../support/until.ts";

/** Several minutes: the schedule runs every minute, and the machine can be busy. */
const SWEEP_TIMEOUT_MS = 240_000;

const REAL = { GATEWAY_SERVER_KEY: "Mid-server-x", HOST: "127.0.0.1" };

for (const QUEUE of ["kv", "postgres"] satisfies Queue[]) {
  Deno.test(`service: with DATABASE_URL and QUEUE=${QUEUE} runs its jobs and shuts down cleanly`, async () => {
    await using folder = await createDataFolder();
    const databaseUrl = await createDatabase();
    await using instance = openInstance({ databaseUrl });
    const hasFailed = (id: string) => async () => (await instance.find(id)).status === "failed";
    const earlyJob = await instance.insert({ task: "no_such_task" });
    await using service = await startService({
      settings: { ...REAL, QUEUE, DATA_DIR: join(folder.path, "new"), DATABASE_URL: databaseUrl },
      // With this queue the task creates the folder.
      command: QUEUE === "kv" ? START_TASK : undefined,
    });
    await until("the waiting job has failed", hasFailed(earlyJob));
    assert.match((await instance.find(earlyJob)).error!, /Unknown task/);
    // Polling finds a job that is only inserted, without a call of `enqueue`.
    const lateJob = await instance.insert({ task: "no_such_task" });
    await until("the later job has failed", hasFailed(lateJob));
    service.signal("SIGTERM");
    assert.equal((await service.ended).code, 0, service.output());
    assert.doesNotMatch(service.output(), /unhandled|uncaught|queue_interrupted/);
    const files = await Array.fromAsync(Deno.readDir(folder.path), ({ name }) => name);
    assert.deepEqual(files, QUEUE === "kv" ? ["new"] : []);
  });
}

Deno.test("service: after a kill -9 keeps its keys, runs queued jobs, and its schedule finds a reversed payment", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  const openJobs = async () =>
    openInstance({ databaseUrl: (await findServer((await readLayout(folder.path))!))! });
  let keys: ServiceProcess["keys"];
  let paymentId: string;
  const queuedJobs: string[] = [];
  {
    await using service = await startService({ settings });
    keys = service.keys;
    const response = await callService(`${service.url}/charge/`, {
      method: "POST",
      headers: { "Authorization": `Bearer ${keys.user}`, "Content-Type": "application/json" },
      body: JSON.stringify({
        payment_type: "bank_transfer",
        bank: "permata",
        gross_amount: 10_000,
      }),
    });
    const { id, transaction_id } = await response.json();
    paymentId = id;
    const control = async (path: string, body: object = {}) => {
      const { http, text } = await call(service.sandbox, "POST", `/_sandbox/${path}`, body);
      assert.ok(http < 300, text);
    };
    await control(`transactions/${transaction_id}/pay`);
    await until("the payment is settled", async () => await statusOf(service, id) === "settlement");
    await control("faults", { operation: "reverse", fault: "webhook_lost" });
    await control(`transactions/${transaction_id}/reverse`);
    await using instance = await openJobs();
    // Its first check is due ten minutes after the payment, so in a few seconds: after all runs of
    // the schedule so far, which have checked what was due before them.
    await instance.database.query((sql) =>
      sql`update gateway.payments set paid_at = now() - interval '9 minutes 55 seconds'`
    );
    for (let i = 0; i < 3; i++) queuedJobs.push(await instance.insert({ task: "no_such_task" }));
    Deno.kill(await service.pid(), "SIGKILL");
    await service.ended;
  }
  await using service = await startService({ settings });
  assert.deepEqual(service.keys, keys);
  await using instance = await openJobs();
  const hasFailed = (id: string) => async () => (await instance.find(id)).status === "failed";
  for (const id of queuedJobs) await until("the job has failed", hasFailed(id));
  const isDenied = async () => await statusOf(service, paymentId) === "deny";
  await until("the schedule has found the reversal", isDenied, SWEEP_TIMEOUT_MS);
  service.signal("SIGTERM");
  assert.equal((await service.ended).code, 0, service.output());
});

async function statusOf(service: ServiceProcess, id: string): Promise<string> {
  const { text } = await service.get(`/payments/${id}/`, service.keys.user);
  return JSON.parse(text).transaction_status;
}

Deno.test("service: an unusable queue is reported in one line with exit code 1", async () => {
  await using folder = await preparedFolder();
  const settings = { DATA_DIR: folder.path };
  await Deno.writeTextFile(join(folder.path, "jobs.kv"), "no queue at all");
  const { code, stdout, stderr } = await runCommand([], {
    ...settings,
    PORT: "0",
    SANDBOX_PORT: "0",
  });
  assert.equal(code, 1);
  assert.equal(stdout, "");
  const events = stderr.split("\n").filter(Boolean).map((line) => JSON.parse(line).event);
  assert.deepEqual(events.filter((event) => event !== "start_up"), ["start_failed"]);
  assert.match(startError(stderr), /^Cannot open the job queue \S+: [^\n]+\n$/);
});
