/**
 * What a run works with: the sandbox, a database that can be killed, and instances of the service
 * whose clocks differ. Everything is on this machine and in a temporary folder.
 */

import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../sandbox/engine/random.ts";
import { freePort } from "../../tests/support/free_port.ts";
import { type Json, openSandbox, type TestSandbox } from "../../tests/support/gateway/sandbox.ts";
import { startShifted } from "../../tests/support/shifted_clock.ts";
import { type Courier, createCourier } from "./courier.ts";
import type { ChaosDatabase } from "./database.ts";
import type { Delivery } from "./history.ts";

export interface Instance {
  url: string;
  /** Starts it again until it runs, as a supervisor does. */
  start(): Promise<void>;
  kill(): Promise<void>;
  /** Stops the process for this long, as an overloaded machine does. */
  pause(ms: number): Promise<void>;
}

export interface Installation extends AsyncDisposable {
  sandbox: TestSandbox;
  courier: Courier;
  database: ChaosDatabase;
  instances: Instance[];
  staffKey: string;
  /** The webhooks that arrived. */
  deliveries: Delivery[];
  /** By event, how many errors the instances have logged. */
  loggedErrors: Map<string, number>;
}

export interface InstallationOptions {
  instances: number;
  database: ChaosDatabase;
  random: Random;
}

const SERVER_KEY = "Mid-server-chaos";

const NO_LIMIT = "1000000";

const MINUTE_MS = 60_000;

/** The clocks of the instances; the database's time counts. */
const SHIFTS_MS = [0, 7 * MINUTE_MS, -25 * MINUTE_MS];

const MAX_STARTS = 20;

export async function openChaosInstallation(options: InstallationOptions): Promise<Installation> {
  const { database, random } = options;
  await using resources = new AsyncDisposableStack();
  resources.use(database);
  const sandbox = resources.use(await openSandbox({ serverKey: SERVER_KEY, seed: undefined }));
  const staffKey = `gk_${randomBytes(32).toString("base64url")}`;
  const settings = {
    HOST: "127.0.0.1",
    DATABASE_URL: database.url,
    GATEWAY_BASE_URL: sandbox.url,
    GATEWAY_SERVER_KEY: SERVER_KEY,
    BOOTSTRAP_STAFF_KEY: staffKey,
    WEBHOOK_ALLOW_PRIVATE: "true",
    RATE_LIMIT_PER_SECOND: NO_LIMIT,
    RATE_LIMIT_BURST: NO_LIMIT,
  };
  const loggedErrors: Installation["loggedErrors"] = new Map();
  const instances: Instance[] = [];
  for (let index = 0; index < options.instances; index++) {
    const shiftMs = SHIFTS_MS[index % SHIFTS_MS.length]!;
    const instance = createInstance(settings, shiftMs, (event) => {
      loggedErrors.set(event, (loggedErrors.get(event) ?? 0) + 1);
    });
    await instance.start();
    resources.defer(() => instance.kill());
    instances.push(instance);
  }
  const deliveries: Delivery[] = [];
  const receiver = resources.use(receiveWebhooks(deliveries));
  await registerEndpoint(instances[0]!.url, staffKey, receiver.url);
  const courier = createCourier({ urls: instances.map(({ url }) => url), random });
  sandbox.receiver.answer = (hook) => {
    courier.accept(hook);
    // A long run sends many.
    sandbox.hooks.length = 0;
    return new Response("OK");
  };
  const owned = resources.move();
  return {
    sandbox,
    courier,
    database,
    instances,
    staffKey,
    deliveries,
    loggedErrors,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** It keeps its address, so that callers find it again. */
function createInstance(
  settings: Record<string, string>,
  shiftMs: number,
  onError: (event: string) => void,
): Instance {
  const port = freePort();
  let service: Awaited<ReturnType<typeof startShifted>> | null = null;
  const onLog = (text: string) => {
    for (const [, event] of text.matchAll(/"level":"error","event":"(\w+)"/g)) onError(event!);
  };
  const instance: Instance = {
    url: `http://127.0.0.1:${port}`,
    async start() {
      for (let starts = 1; service === null; starts++) {
        try {
          service = await startShifted([shiftMs], { ...settings, PORT: `${port}` }, onLog);
        } catch (error) {
          // The database was killed during the start.
          if (starts === MAX_STARTS) throw error;
        }
      }
    },
    async kill() {
      const killed = service;
      service = null;
      killed?.signal("SIGKILL");
      await killed?.ended;
      await killed?.[Symbol.asyncDispose]();
    },
    async pause(ms) {
      const paused = service;
      paused?.signal("SIGSTOP");
      await delay(ms);
      if (paused && paused === service) paused.signal("SIGCONT");
    },
  };
  return instance;
}

function receiveWebhooks(deliveries: Delivery[]): { url: string } & AsyncDisposable {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const server = Deno.serve(options, async (request) => {
    // A killed instance may have sent a part of it.
    const event: Json | null = await request.json().catch(() => null);
    if (event === null) return new Response(null, { status: 400 });
    if (!isAboutPayment(event)) return new Response();
    const { id: eventId, name, data, sequence } = event;
    const status = data.transaction_status;
    deliveries.push({ eventId, name, paymentId: data.id, sequence, status });
    return new Response();
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Others are about the webhook endpoint, or about what needs attention. */
export function isAboutPayment({ name }: Json): boolean {
  return name.startsWith("payment_");
}

async function registerEndpoint(service: string, key: string, url: string): Promise<void> {
  const response = await fetch(`${service}/webhook-endpoints/`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ url }),
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`The webhook endpoint was not created: ${text}`);
}
