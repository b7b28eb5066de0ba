/** The real service, to be killed: both of its wires, to the gateway and to the database, have gates. */

import assert from "node:assert/strict";
import { permissionFlags } from "../../commands/prepare.ts";
import { sweepJobs } from "../../core/jobs/sweep.ts";
import { createWorker } from "../../core/jobs/worker.ts";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { createTasks, type TaskDeps } from "../../core/tasks.ts";
import type { Database } from "../../db/database.ts";
import { askService } from "./client.ts";
import { openApp, type TestApp } from "./app.ts";
import { createDatabase } from "./database/database.ts";
import { openDatabaseWire, type Packet } from "./database/wire.ts";
import { createGate, type Gate } from "./database/gate.ts";
import type { Received } from "./gateway/gateway.ts";
import { openRelay } from "./gateway/relay.ts";
import { type Json, openSandbox, type TestSandbox } from "./gateway/sandbox.ts";
import { PROJECT, type Service, startService } from "./service.ts";
import { until } from "./until.ts";

export interface Installation extends AsyncDisposable {
  sandbox: TestSandbox;
  /** Another instance, which nobody kills. */
  beside: TestApp;
  /** Past the wire. */
  database: Database;
  calls: Gate<Received>;
  answers: Gate<Received>;
  statements: Gate<Packet>;
  results: Gate<Packet>;
  /** The calls that reached the gateway, in their order. */
  passed: Received[];
  start(): Promise<void>;
  /** With `kill -9`; what was on the wires then is lost. */
  kill(): Promise<void>;
  /** As soon as so many messages more have come along, on whichever wire and in whichever direction. */
  killAfter(messages: number): void;
  /** Asks until there is an answer. */
  get(path: string): Promise<Json>;
  /** Null: there was no answer. */
  post(request: Keyed): Promise<Reply | null>;
  /** One round of what happens in the background, long enough after all that was left half-done. */
  sync(): Promise<void>;
  /** Queues what is to be looked at, and does all that is due then. */
  workOff(queue: (deps: TaskDeps) => Promise<unknown>): Promise<void>;
  /** So much time passes that these requests no longer count as running. */
  endLeases(requests: Keyed[]): Promise<void>;
}

/** A request that bears a key. */
export interface Keyed {
  path: string;
  body: Json;
  key: string;
  headers?: Record<string, string>;
}

export interface Reply {
  status: number;
  body: Json;
  isReplayed: boolean;
}

export const SERVER_KEY = "Mid-server-of-the-killed";

/** More than every lease, and than the time in which a charge that the gateway does not know may come. */
const AHEAD_MS = 20 * 60_000;

export interface InstallationOptions {
  /** Whether the gateway hears of our keys for it: creating some things relies on them. */
  passesKeys?: boolean;
  /** How far the clock of the other instance is ahead. */
  aheadMs?: () => number;
  /** Of the sandbox. */
  settings?: Json;
}

export async function openInstallation(options: InstallationOptions = {}): Promise<Installation> {
  // Captures are settled at an hour of the day; not in the middle of a test, so time stands still.
  const quiet = { notification_url: null };
  const { passesKeys = false, aheadMs = () => AHEAD_MS, settings: world = quiet } = options;
  let messagesLeft = Infinity;
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
  const sandbox = resources.use(
    await openSandbox({ serverKey: SERVER_KEY, speed: 0, settings: world }),
  );
  const relay = resources.use(openRelay());
  const passed: Received[] = [];
  relay.target = sandbox.url;
  relay.meddle = async (request, pass) => {
    request.headers = new Headers(request.headers);
    // The gateway's own help against doing things twice is not what is relied on.
    if (!passesKeys) request.headers.delete("Idempotency-Key");
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
      // Where keys count, past the gates.
      gatewayUrl: passesKeys ? sandbox.url : relay.url,
      serverKey: SERVER_KEY,
      now: () => Date.now() + aheadMs(),
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

  const installation: Installation = {
    sandbox,
    beside,
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
        const response = await askService(service!.url + path, { headers });
        body = await response.json();
        return response.status === 200;
      });
      return body;
    },
    async post({ path, body, key, headers: more }) {
      try {
        const response = await askService(service!.url + path, {
          method: "POST",
          headers: {
            ...headers,
            ...more,
            "Content-Type": "application/json",
            "Idempotency-Key": key,
          },
          body: JSON.stringify(body),
        });
        const isReplayed = response.headers.get("Idempotency-Replayed") === "true";
        return { status: response.status, body: await response.json(), isReplayed };
      } catch (error) {
        // An answer that is not as it should be is one.
        if (error instanceof assert.AssertionError) throw error;
        return null;
      }
    },
    async workOff(queue) {
      carried.length = 0;
      await queue(deps);
      await Promise.all(carried.map(({ id }) => worker.run(id)));
      await sweepJobs({ ...deps, deliver: worker.run });
    },
    async sync() {
      await installation.workOff(checkPendingPayments);
      const open = await database.query((sql) =>
        sql`select status, error from gateway.jobs where status <> 'succeeded'`
      );
      assert.deepEqual([...open], []);
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
