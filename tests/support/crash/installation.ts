/**
 * A service process that a test kills. Its connections to the gateway and to the database have
 * gates at which requests and responses can be held back.
 */

import assert from "node:assert/strict";
import { sweepJobs } from "../../../core/jobs/schedule.ts";
import { createWorker } from "../../../core/jobs/worker.ts";
import { checkPendingPayments } from "../../../core/payments/check_pending_payments.ts";
import { createTasks } from "../../../core/tasks/tasks.ts";
import type { Database } from "../../../db/connection/database.ts";
import { openApp, REAL_INSTALLATION, type TestApp } from "../app.ts";
import { callService } from "../client.ts";
import { createDatabase } from "../database/database.ts";
import { createGate, type Gate } from "../database/gate.ts";
import { openGatedDatabase, type Packet } from "../database/gated_database.ts";
import type { Received } from "../gateway/gateway.ts";
import { openRelay } from "../gateway/relay.ts";
import { type Json, openSandbox, type TestSandbox } from "../gateway/sandbox.ts";
import type { ServiceProcess } from "../service.ts";
import { until } from "../until.ts";
import { startUntilUp } from "./start_until_up.ts";
import type { Service } from "../../../core/service.ts";

export interface Installation extends AsyncDisposable {
  sandbox: TestSandbox;
  /** Another instance on the same database; it is never killed. */
  otherInstance: TestApp;
  /** The database, through connections that bypass the gates. */
  database: Database;
  /** Requests to the gateway. */
  calls: Gate<Received>;
  /** Responses of the gateway. */
  responses: Gate<Received>;
  /** Messages to the database. */
  statements: Gate<Packet>;
  /** Messages from the database. */
  results: Gate<Packet>;
  /** The calls that reached the gateway, in order. */
  forwardedCalls: Received[];
  start(): Promise<void>;
  /** Sends SIGKILL; messages that wait at a gate are dropped. */
  kill(): Promise<void>;
  /** Stops the process (SIGSTOP) without ending it, as an overloaded machine can. */
  pause(): void;
  /** Continues a paused process. */
  resume(): void;
  /** Waits until PostgreSQL has freed the lock of the killed service. */
  untilLockIsFree(): Promise<void>;
  /** Kills the service after this many more messages, in any direction, on either connection. */
  killAfter(messages: number): void;
  /** Repeats the request until it gets 200. */
  get(path: string): Promise<Json>;
  /** Null: the connection broke before the response. */
  post(request: RequestWithKey): Promise<Reply | null>;
  /** Sends a form of a page; returns the status. Null: the connection broke before it. */
  submit(path: string, fields: Record<string, string>): Promise<number | null>;
  /** Checks pending payments in the other instance, whose clock is past every lease. */
  sync(): Promise<void>;
  /** Calls `queue`, then runs all due jobs in the other instance. */
  runJobs(queue: (service: Service) => Promise<unknown>): Promise<void>;
  /** Makes the leases of these requests expire. */
  endLeases(requests: RequestWithKey[]): Promise<void>;
}

/** A request with an idempotency key. */
export interface RequestWithKey {
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

/** Links to pages begin with it; the tests call the process itself. */
export const PUBLIC_URL = "https://pay.shop.example";

export const SERVER_KEY = "Mid-server-crash-tests";

/** Longer than every lease, and longer than the 15 minutes after which a lost charge fails. */
const AHEAD_MS = 20 * 60_000;

const MAX_SYNCS = 4;

export interface InstallationOptions {
  /** Whether idempotency keys are forwarded to the gateway; creating invoices relies on them. */
  forwardsKeys?: boolean;
  /** By how much the clock of the other instance is ahead. */
  aheadMs?: () => number;
  /** Settings of the sandbox. */
  settings?: Json;
}

export async function openInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const { forwardsKeys = false, aheadMs = () => AHEAD_MS } = options;
  const { settings: sandboxSettings = { notification_url: null } } = options;
  let messagesLeft = Infinity;
  const onArrival = () => --messagesLeft === 0 && sendKill();
  const [calls, responses] = [createGate<Received>(onArrival), createGate<Received>(onArrival)];
  const [statements, results] = [createGate<Packet>(onArrival), createGate<Packet>(onArrival)];
  let service: ServiceProcess | null = null;
  let isKilled = false;
  let laterMs = 0;

  /** Sends the signal once: signalling a process that has ended would fail. */
  function sendKill() {
    if (!isKilled) service?.signal("SIGKILL");
    isKilled = true;
  }

  await using resources = new AsyncDisposableStack();
  // Not `speed: 0`: the service recognizes its transactions by their time, so the clock must run.
  const sandbox = resources.use(
    await openSandbox({ serverKey: SERVER_KEY, settings: sandboxSettings }),
  );
  const relay = resources.use(openRelay());
  const forwardedCalls: Received[] = [];
  relay.target = sandbox.url;
  relay.intercept = async (request, pass) => {
    request.headers = new Headers(request.headers);
    // Without the key the gateway does not deduplicate, so the service has to.
    if (!forwardsKeys) request.headers.delete("Idempotency-Key");
    if (!await calls.pass(request)) return droppedResponse();
    forwardedCalls.push(request);
    const answer = await pass();
    const text = await answer.text();
    return await responses.pass(request) ? new Response(text, answer) : droppedResponse();
  };
  const databaseUrl = await createDatabase();
  const gatedDatabase = resources.use(openGatedDatabase(databaseUrl, { statements, results }));
  const otherInstance = resources.use(
    await openApp({
      databaseUrl,
      // If the gateway deduplicates, the other instance can bypass the gates.
      gatewayUrl: forwardsKeys ? sandbox.url : relay.url,
      serverKey: SERVER_KEY,
      now: () => Date.now() + aheadMs() + laterMs,
      databaseDeadlineMs: 20_000,
      env: { ...REAL_INSTALLATION, PUBLIC_URL },
    }),
  );
  const { database, enqueued } = otherInstance;
  const worker = createWorker({
    ...otherInstance.service,
    tasks: createTasks(otherInstance.service, otherInstance.handlers),
    maxRunning: 8,
  });
  const headers = { Authorization: `Bearer ${await otherInstance.createKey()}` };

  const settings = {
    HOST: "127.0.0.1",
    DATABASE_URL: gatedDatabase.url,
    GATEWAY_BASE_URL: relay.url,
    GATEWAY_SERVER_KEY: SERVER_KEY,
    PUBLIC_URL,
  };

  /** Waits until the restarted service runs no job; returns the jobs that are not finished. */
  async function untilIdle(): Promise<Json[]> {
    let unfinished: Json[] = [];
    await until("the service runs no job", async () => {
      unfinished = await database.query((sql) =>
        sql`select status, error from gateway.jobs where status <> 'succeeded'`
      );
      return unfinished.every(({ status }) => status !== "running");
    });
    return unfinished;
  }

  const installation: Installation = {
    sandbox,
    otherInstance,
    database,
    calls,
    responses,
    statements,
    results,
    forwardedCalls,
    async start() {
      service = await startUntilUp(settings);
      isKilled = false;
    },
    async kill() {
      messagesLeft = Infinity;
      sendKill();
      await service?.ended;
      service = null;
      for (const gate of [calls, responses, statements, results]) gate.drop();
    },
    pause: () => service?.signal("SIGSTOP"),
    resume: () => service?.signal("SIGCONT"),
    async untilLockIsFree() {
      await until("the lock of the service is free", async () => {
        const held = await database.query((sql) =>
          sql`select from gateway.instances where not pg_try_advisory_xact_lock_shared(holder)`
        );
        return held.length === 0;
      });
    },
    killAfter: (messages) => messagesLeft = messages,
    async get(path) {
      let body: Json;
      await until(`${path} is answered`, async () => {
        const response = await callService(service!.url + path, { headers });
        body = await response.json();
        return response.status === 200;
      });
      return body;
    },
    async post({ path, body, key, headers: more }) {
      try {
        const response = await callService(service!.url + path, {
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
        // A response that does not match the document must fail the test.
        if (error instanceof assert.AssertionError) throw error;
        return null;
      }
    },
    async submit(path, fields) {
      try {
        const response = await callService(service!.url + path, {
          method: "POST",
          body: new URLSearchParams(fields),
          redirect: "manual",
        });
        await response.body?.cancel();
        return response.status;
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        return null;
      }
    },
    async runJobs(queue) {
      enqueued.length = 0;
      await queue(otherInstance.service);
      await Promise.all(enqueued.map(({ id }) => worker.run(id)));
      await sweepJobs({ ...otherInstance.service, worker });
    },
    async sync() {
      for (let round = 1; round <= MAX_SYNCS; round++) {
        await installation.runJobs(checkPendingPayments);
        const unfinished = await untilIdle();
        if (unfinished.length === 0) return;
        assert.ok(unfinished.every(({ error }) => error === null), JSON.stringify(unfinished));
        // For example, both instances ran a request at the same time, and one postponed its job.
        laterMs += AHEAD_MS;
      }
      assert.fail(`Jobs are still unfinished after ${MAX_SYNCS} rounds`);
    },
    async endLeases(requests) {
      const keys = requests.map(({ key }) => key);
      await database.query((sql) =>
        sql`update gateway.idempotency_keys set lease_until = created_at where key = any(${keys})`
      );
    },
    async [Symbol.asyncDispose]() {
      await installation.kill();
      await ownedResources.disposeAsync();
    },
  };
  const ownedResources = resources.move();
  return installation;
}

/** The service that sent the request is dead, so it does not get this response. */
function droppedResponse(): Response {
  return new Response(null, { status: 503 });
}
