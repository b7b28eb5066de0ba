/**
 * The real service, to be killed while it makes and changes invoices and subscriptions. As the other
 * installation, but for two things: the gateway's own keys go through, for creating these relies on
 * them (within their minutes); and what happens in the background is theirs.
 */

import assert from "node:assert/strict";
import { permissionFlags } from "../../commands/permissions.ts";
import { checkOverdueInvoices } from "../../core/invoices/check_overdue_invoices.ts";
import { sweepJobs } from "../../core/jobs/sweep.ts";
import { createWorker } from "../../core/jobs/worker.ts";
import { syncSubscriptionStatus } from "../../core/subscriptions/sync_subscription_status.ts";
import { createTasks } from "../../core/tasks.ts";
import { openApp } from "./app.ts";
import { createDatabase } from "./database.ts";
import { openDatabaseWire, type Packet } from "./database_wire.ts";
import { createGate } from "./gate.ts";
import type { Received } from "./gateway.ts";
import type { Installation } from "./installation.ts";
import { openRelay } from "./relay.ts";
import { type Json, openSandbox } from "./sandbox.ts";
import { PROJECT, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

export interface RecordInstallation extends Omit<Installation, "sync"> {
  /** One round of what happens in the background, as if so much time had passed. */
  sync(aheadMs: number): Promise<void>;
  /** What the gateway tells by itself arrives; how much that was. */
  tellAll(): Promise<number>;
  /** How the gateway has it. */
  there(path: string): Promise<Json>;
}

const SERVER_KEY = "Mid-server-of-killed-records";

export async function openRecordInstallation(): Promise<RecordInstallation> {
  let messagesLeft = Infinity;
  let aheadMs = 0;
  const onArrival = () => --messagesLeft === 0 && strike();
  const [calls, answers] = [createGate<Received>(onArrival), createGate<Received>(onArrival)];
  const [statements, results] = [createGate<Packet>(onArrival), createGate<Packet>(onArrival)];
  let service: Service | null = null;
  let isStruck = false;

  /** Once: whoever is dead already cannot be killed. */
  function strike() {
    if (!isStruck) service?.signal("SIGKILL");
    isStruck = true;
  }

  await using resources = new AsyncDisposableStack();
  const sandbox = resources.use(await openSandbox({ serverKey: SERVER_KEY, speed: 0 }));
  const relay = resources.use(openRelay());
  const passed: Received[] = [];
  relay.target = sandbox.url;
  relay.meddle = async (request, pass) => {
    if (!await calls.pass(request)) return lost();
    passed.push(request);
    const answer = await pass();
    const text = await answer.text();
    return await answers.pass(request) ? new Response(text, answer) : lost();
  };
  const databaseUrl = await createDatabase();
  const wire = resources.use(openDatabaseWire(databaseUrl, { statements, results }));
  const beside = resources.use(
    await openApp({
      databaseUrl,
      // Past the gates.
      gatewayUrl: sandbox.url,
      serverKey: SERVER_KEY,
      now: () => Date.now() + aheadMs,
    }),
  );
  const { database, deps, carried } = beside;
  const worker = createWorker({ ...deps, tasks: createTasks(deps), maxRunning: 8 });
  const headers = { Authorization: `Bearer ${await beside.createKey()}` };

  const flags = permissionFlags({ queue: "postgres", dataDir: "/nowhere" }, null, PROJECT);
  const command = ["run", "--no-prompt", ...flags, "main.ts"];
  const settings = {
    HOST: "127.0.0.1",
    DATABASE_URL: wire.url,
    GATEWAY_BASE_URL: relay.url,
    GATEWAY_SERVER_KEY: SERVER_KEY,
  };

  const installation: RecordInstallation = {
    sandbox,
    database,
    calls,
    answers,
    statements,
    results,
    passed,
    async start() {
      service = await startService({ command: [Deno.execPath(), ...command], settings });
      isStruck = false;
    },
    async kill() {
      messagesLeft = Infinity;
      strike();
      await service?.ended;
      service = null;
      for (const gate of [calls, answers, statements, results]) gate.lose();
    },
    killAfter: (messages) => messagesLeft = messages,
    async get(path) {
      let body: Json;
      await until(`${path} is answered`, async () => {
        const response = await fetch(service!.url + path, { headers });
        body = await response.json();
        return response.status === 200;
      });
      return body;
    },
    async post({ path, body, key }) {
      try {
        const response = await fetch(service!.url + path, {
          method: "POST",
          headers: { ...headers, "Content-Type": "application/json", "Idempotency-Key": key },
          body: JSON.stringify(body),
        });
        const isReplayed = response.headers.get("Idempotency-Replayed") === "true";
        return { status: response.status, body: await response.json(), isReplayed };
      } catch {
        return null;
      }
    },
    async sync(ms) {
      aheadMs = ms;
      carried.length = 0;
      await checkOverdueInvoices(deps);
      await syncSubscriptionStatus(deps);
      await Promise.all(carried.map(({ id }) => worker.run(id)));
      await sweepJobs({ ...deps, deliver: worker.run });
      const open = await database.query((sql) =>
        sql`select task, status, error from gateway.jobs where error is not null`
      );
      assert.deepEqual([...open], []);
    },
    async tellAll() {
      await sandbox.settled();
      const told = sandbox.hooks.splice(0);
      for (const { body } of told) {
        const response = await beside.request("/notification/", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(body),
        });
        assert.equal(response.status, 200, await response.text());
      }
      return told.length;
    },
    async there(path) {
      const authorization = { Authorization: `Basic ${btoa(`${SERVER_KEY}:`)}` };
      const { http, body } = await sandbox.call("GET", path, undefined, authorization);
      assert.equal(http, 200, `${path}: ${JSON.stringify(body)}`);
      return body;
    },
    async endLeases(requests) {
      const keys = requests.map(({ key }) => key);
      await database.query((sql) =>
        sql`update gateway.idempotency_keys set lease_until = created_at where key = any(${keys})`
      );
    },
    async [Symbol.asyncDispose]() {
      await installation.kill();
      await kept.disposeAsync();
    },
  };
  const kept = resources.move();
  return installation;
}

/** Said to nobody: whoever asked is gone. */
function lost(): Response {
  return new Response(null, { status: 503 });
}
