/**
 * What a run works with: the sandbox, a database that can be killed, and instances of the service
 * whose clocks differ. Everything is on this machine and in a temporary folder.
 */

import { randomBytes } from "node:crypto";
import type { Random } from "../../sandbox/engine/random.ts";
import { type Json, openSandbox, type TestSandbox } from "../../tests/support/gateway/sandbox.ts";
import { type Courier, createCourier } from "./courier.ts";
import type { ChaosDatabase } from "./database.ts";
import { createServiceFindings, type ServiceFindings } from "./service_findings.ts";
import type { Delivery } from "./history.ts";
import { createInstance, type Instance } from "./instance.ts";

export interface Installation extends AsyncDisposable {
  sandbox: TestSandbox;
  courier: Courier;
  database: ChaosDatabase;
  instances: Instance[];
  staffKey: string;
  /** The webhooks that arrived. */
  deliveries: Delivery[];
  serviceFindings: ServiceFindings;
}

export interface InstallationOptions {
  instances: number;
  openDatabase(): Promise<ChaosDatabase>;
  random: Random;
  /** If it is aborted, no further part is started. */
  signal?: AbortSignal;
}

const SERVER_KEY = "Mid-server-chaos";

const NO_LIMIT = "1000000";

const MINUTE_MS = 60_000;

/** The clocks of the instances; the database's time counts. */
const SHIFTS_MS = [0, 7 * MINUTE_MS, -25 * MINUTE_MS];

export async function openChaosInstallation(options: InstallationOptions): Promise<Installation> {
  const { random, signal } = options;
  await using resources = new AsyncDisposableStack();
  const database = resources.use(await options.openDatabase());
  signal?.throwIfAborted();
  const sandbox = resources.use(
    await openSandbox({
      serverKey: SERVER_KEY,
      seed: undefined,
      // All records are compared at the end.
      maxFinal: Number.MAX_SAFE_INTEGER,
    }),
  );
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
  const serviceFindings = createServiceFindings();
  const { onLine, onOwnEnd } = serviceFindings;
  const instances: Instance[] = [];
  // One after the other, because the first one creates the tables.
  for (let index = 0; index < options.instances; index++) {
    const shiftMs = SHIFTS_MS[index % SHIFTS_MS.length]!;
    const instance = resources.use(
      await createInstance({ settings, shiftMs, onLine, onOwnEnd }),
    );
    await instance.untilReady();
    signal?.throwIfAborted();
    instances.push(instance);
  }
  const deliveries: Delivery[] = [];
  const receiver = resources.use(receiveWebhooks(deliveries));
  await registerEndpoint(instances[0]!.url, staffKey, receiver.url);
  // The gateway can notify until it is disposed, after everything else has ended.
  const courier = resources.use(
    createCourier({ urls: instances.map(({ url }) => url), random }),
  );
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
    serviceFindings,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
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
