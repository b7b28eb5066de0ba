import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Queue } from "../../core/config/config.ts";
import type { GatewayJob } from "../../db/jobs/jobs.ts";
import { openApp } from "../support/app.ts";
import { callService } from "../support/client.ts";
import { runStep } from "../support/crash/kill_points.ts";
import { startUntilUp } from "../support/crash/start_until_up.ts";
import { createDatabase } from "../support/database/database.ts";
import { createGate } from "../support/database/gate.ts";
import type { Received } from "../support/gateway/gateway.ts";
import { openRelay } from "../support/gateway/relay.ts";
import { openSandbox } from "../support/gateway/sandbox.ts";
import { createDataFolder } from "../support/project.ts";
import type { ServiceProcess } from "../support/service.ts";
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
  const headers = {
    Authorization: `Bearer ${await createKey()}`,
    "Content-Type": "application/json",
    Prefer: "respond-async",
  };
  const settings = {
    HOST: "127.0.0.1",
    DATABASE_URL: databaseUrl,
    DATA_DIR: folder.path,
    QUEUE: queue,
    GATEWAY_BASE_URL: relay.url,
    GATEWAY_SERVER_KEY: SERVER_KEY,
  };
  const started: ServiceProcess[] = [];
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
    async start(): Promise<ServiceProcess> {
      const service = await startUntilUp(settings);
      started.push(service);
      return service;
    },
    /**
     * Starts a service and stops it with SIGSTOP, so that it takes no job yet. Call this before
     * `startHangingJobs`: on a slow machine, a start takes longer than the deadline of held calls.
     */
    async startPaused(): Promise<ServiceProcess> {
      const service = await services.start();
      service.signal("SIGSTOP");
      return service;
    },
    async kill(service: ServiceProcess): Promise<void> {
      service.signal("SIGKILL");
      started.splice(started.indexOf(service), 1);
      await service.ended;
    },
    /** Requests asynchronous charges, and waits until jobs hang in their gateway calls. */
    async startHangingJobs(service: ServiceProcess, count: number): Promise<void> {
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

type Services = Awaited<ReturnType<typeof openServices>>;

/** Waits until this many jobs have succeeded in all; each of them has charged once. */
async function untilDone(services: Services, count: number): Promise<void> {
  await until(
    "all jobs are done",
    async () => (await services.listJobs("succeeded")).length === count,
  );
  assert.equal(services.countCharges(), count);
}

/** Kills a service during three jobs, and starts another one, which runs them. */
async function restart(services: Services): Promise<ServiceProcess> {
  const service = await services.start();
  await services.startHangingJobs(service, 3);
  await services.kill(service);
  await services.extendLeases();
  services.responses.release();
  assert.equal((await services.listJobs("running")).length, 3);
  const restarted = await services.start();
  await untilDone(services, 3);
  return restarted;
}

Deno.test("kv queue: after kill -9 and a restart the service runs its jobs at once, although their leases have not expired", async () => {
  await using services = await openServices("kv");
  await restart(services);
});

Deno.test("postgres queue: jobs of a killed or paused service run at once, although their leases have not expired", async (t) => {
  await using services = await openServices("postgres");
  let service: ServiceProcess;
  await runStep(t, "after kill -9 and a restart", async () => {
    service = await restart(services);
  });

  await runStep(t, "in another service, if one of two is killed", async () => {
    const otherService = await services.startPaused();
    await services.startHangingJobs(service, 12);
    await services.extendLeases();
    await services.kill(service);
    services.responses.release();
    otherService.signal("SIGCONT");
    await untilDone(services, 3 + 12);
    service = otherService;
  });

  await runStep(t, "in another service; the paused one does not change them later", async () => {
    const otherService = await services.startPaused();
    await services.startHangingJobs(service, 1);
    const [running] = await services.listJobs("running");
    service.signal("SIGSTOP");
    otherService.signal("SIGCONT");
    // The response waits in the connection of the paused service.
    services.responses.release();
    await untilDone(services, 3 + 12 + 1);
    const before = await services.listJobs("succeeded");
    assert.equal(before.find((job) => job.id === running!.id)!.attempts, 2);
    service.signal("SIGCONT");
    await until(
      "the paused service has lost its lease",
      () => service.output().includes('"job_lease_lost"'),
    );
    assert.deepEqual([...await services.listJobs("succeeded")], [...before]);
    assert.equal(services.countCharges(), 3 + 12 + 1);
  });
});
