import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { permissionFlags } from "../../commands/prepare.ts";
import type { Queue } from "../../core/config/config.ts";
import type { GatewayJob } from "../../db/jobs.ts";
import { openApp } from "../support/app.ts";
import { callService } from "../support/client.ts";
import { createDatabase } from "../support/database/database.ts";
import { createGate } from "../support/database/gate.ts";
import type { Received } from "../support/gateway/gateway.ts";
import { openRelay } from "../support/gateway/relay.ts";
import { openSandbox } from "../support/gateway/sandbox.ts";
import { QUEUES } from "../support/jobs/queues.ts";
import { createDataFolder, PROJECT } from "../support/project.ts";
import { type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const SERVER_KEY = "Mid-server-takeover";

/** How many jobs of one service call the gateway at a time; its other jobs wait. */
const MAX_BACKGROUND_CALLS = 5;

/** Several services on one database. The relay holds the gateway's responses to their charges. */
async function openServices(queue: Queue) {
  await using resources = new AsyncDisposableStack();
  const databaseUrl = await createDatabase();
  const folder = resources.use(await createDataFolder());
  const sandbox = resources.use(await openSandbox({ serverKey: SERVER_KEY, speed: 0 }));
  const relay = resources.use(openRelay());
  const responses = createGate<Received>(() => {});
  relay.target = sandbox.url;
  relay.intercept = async (request, pass) => {
    const answer = await pass();
    const text = await answer.text();
    await responses.pass(request);
    return new Response(text, answer);
  };
  const { database, createKey } = resources.use(
    await openApp({ databaseUrl, serverKey: SERVER_KEY }),
  );
  // Claims a later minute, so that the scheduled sweep does not run during the test. A service
  // still sweeps when it starts and when another service ends.
  await database.query((sql) =>
    sql`insert into gateway.cron_runs (task, minute, started_at)
      values ('sweep_jobs', date_trunc('minute', now()) + interval '9 minutes', now())`
  );
  const headers = {
    Authorization: `Bearer ${await createKey()}`,
    "Content-Type": "application/json",
    Prefer: "respond-async",
  };
  const flags = permissionFlags({ queue, dataDir: folder.path }, null, PROJECT);
  const settings = {
    HOST: "127.0.0.1",
    DATABASE_URL: databaseUrl,
    DATA_DIR: folder.path,
    QUEUE: queue,
    GATEWAY_BASE_URL: relay.url,
    GATEWAY_SERVER_KEY: SERVER_KEY,
  };
  const started: Service[] = [];
  const listJobs = (status: string) =>
    database.query((sql) =>
      sql<GatewayJob[]>`
        select * from gateway.jobs
        where task = 'process_charge_async' and status = ${status} order by id`
    );

  const services = {
    responses,
    listJobs,
    countCharges: () => relay.times("POST /v2/charge"),
    async start(): Promise<Service> {
      const command = [Deno.execPath(), "run", "--no-prompt", ...flags, "main.ts"];
      const service = await startService({ command, settings });
      started.push(service);
      return service;
    },
    /**
     * Starts a service and stops it with SIGSTOP, so that it takes no job yet. Call this before
     * `startHangingJobs`: on a slow machine, a start takes longer than the deadline of held calls.
     */
    async startPaused(): Promise<Service> {
      const service = await services.start();
      service.signal("SIGSTOP");
      return service;
    },
    async kill(service: Service): Promise<void> {
      service.signal("SIGKILL");
      started.splice(started.indexOf(service), 1);
      await service.ended;
    },
    /** Requests asynchronous charges, and waits until jobs hang in their gateway calls. */
    async startHangingJobs(service: Service, count: number): Promise<void> {
      responses.hold(({ target }) => target === "/v2/charge");
      for (let i = 0; i < count; i++) {
        const body = JSON.stringify({
          payment_type: "gopay",
          gross_amount: 10_000,
          order_id: randomUUID(),
        });
        const init = { method: "POST", headers, body };
        assert.equal((await callService(`${service.url}/charge/`, init)).status, 202);
      }
      const hanging = Math.min(count, MAX_BACKGROUND_CALLS);
      await until("the jobs hang", () => responses.held().length === hanging);
    },
    /** Prevents the leases of a killed service from expiring during the test on a slow machine. */
    async extendLeases(): Promise<void> {
      await database.query((sql) =>
        sql`with key as (
            update gateway.idempotency_keys set lease_until = lease_until + interval '5 minutes')
          update gateway.jobs set lease_until = lease_until + interval '5 minutes'
          where status = 'running'`
      );
    },
    async [Symbol.asyncDispose]() {
      responses.release();
      for (const service of started) {
        service.signal("SIGKILL");
        await service.ended;
      }
      await owned.disposeAsync();
    },
  };
  const owned = resources.move();
  return services;
}

for (const queue of QUEUES) {
  Deno.test(`${queue} queue: after kill -9 and a restart the service runs its jobs at once, although their leases have not expired`, async () => {
    await using services = await openServices(queue);
    const service = await services.start();
    await services.startHangingJobs(service, 3);
    await services.kill(service);
    await services.extendLeases();
    services.responses.release();
    assert.equal((await services.listJobs("running")).length, 3);
    await services.start();
    await until(
      "all jobs are done",
      async () => (await services.listJobs("succeeded")).length === 3,
    );
    assert.equal(services.countCharges(), 3);
  });
}

Deno.test("postgres queue: if one of two services is killed, the other runs its jobs at once, although their leases have not expired", async () => {
  await using services = await openServices("postgres");
  const killedService = await services.start();
  const otherService = await services.startPaused();
  await services.startHangingJobs(killedService, 12);
  await services.extendLeases();
  await services.kill(killedService);
  services.responses.release();
  otherService.signal("SIGCONT");
  await until(
    "all jobs are done",
    async () => (await services.listJobs("succeeded")).length === 12,
  );
  assert.equal(services.countCharges(), 12);
});

Deno.test("postgres queue: a service that was paused while another ran its job does not change the job", async () => {
  await using services = await openServices("postgres");
  const paused = await services.start();
  const otherService = await services.startPaused();
  await services.startHangingJobs(paused, 1);
  paused.signal("SIGSTOP");
  otherService.signal("SIGCONT");
  // The response waits in the connection of the paused service.
  services.responses.release();
  await until("the job is done", async () => (await services.listJobs("succeeded")).length === 1);
  const before = await services.listJobs("succeeded");
  assert.equal(before[0]!.attempts, 2);
  paused.signal("SIGCONT");
  await until(
    "the paused service has lost its lease",
    () => paused.output().includes('"job_lease_lost"'),
  );
  assert.deepEqual([...await services.listJobs("succeeded")], [...before]);
  assert.equal(services.countCharges(), 1);
});
