/** The environment of simulated histories: one gateway, one database, two instances of the service. */

import { openApp, REAL_INSTALLATION, type TestApp } from "../app.ts";
import { type Intercept, openRelay } from "../gateway/relay.ts";
import {
  type Hook,
  type Json,
  openSandbox,
  SERVER_KEY,
  type TestSandbox,
} from "../gateway/sandbox.ts";
import { parsePayment } from "../payments/payments.ts";
import type { Bystander } from "./mutations.ts";
import type { Instance } from "./plan.ts";

type Interfere = (pass: () => Promise<Response>) => Promise<Response>;

/** Applies to all calls, or only to POST. */
interface Meddling {
  interfere: Interfere;
  method: "POST" | undefined;
}

export interface World extends AsyncDisposable {
  sandbox: TestSandbox;
  apps: Record<Instance, TestApp>;
  /** Never returns the same time twice, so that rows written together can be found by their time. */
  clock(): number;
  post(at: Instance, path: string, body?: Json, headers?: HeadersInit): Promise<Response>;
  get(at: Instance, path: string): Promise<Response>;
  /** The notifications of an order, in the order in which the gateway sent them. */
  hooks(orderId: string): Promise<Hook[]>;
  /** Changes the response to the next call of the second instance for one of these ids. */
  interceptOnce(abouts: string[], intercept: Interfere, method?: "POST"): void;
  /** Removes such changes that were not used. */
  stopIntercepting(abouts: string[]): void;
  bystander: Bystander;
}

const ENV = {
  ...REAL_INSTALLATION,
  RATE_LIMIT_PER_SECOND: "1000000",
  RATE_LIMIT_BURST: "1000000",
};

export async function openWorld(databaseUrl: string): Promise<World> {
  const sandbox = await openSandbox({ seed: undefined });
  const byOrder = new Map<string, Hook[]>();
  sandbox.receiver.answer = (hook) => {
    const own = byOrder.get(hook.body.order_id);
    if (own) own.push(hook);
    else byOrder.set(hook.body.order_id, [hook]);
    return new Response("OK");
  };
  const relay = openRelay();
  relay.target = sandbox.url;
  const meddling = new Map<string, Meddling>();
  relay.intercept = meddleWith(meddling);

  let last = 0;
  const clock = () => last = Math.max(last + 1, Date.now());
  const open = (gatewayUrl: string) =>
    openApp({ databaseUrl, gatewayUrl, serverKey: SERVER_KEY, env: ENV, now: clock });
  const [a, b] = await Promise.all([open(sandbox.url), open(relay.url)]);
  const apps = { a, b };
  const key = await a.createKey();
  const charged = await a.as(key, "/charge/", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ payment_type: "bank_transfer", bank: "bni", gross_amount: 44_000 }),
  });
  const { id, order_id, transaction_id } = await parsePayment(charged, 201);

  return {
    sandbox,
    apps,
    clock,
    bystander: { id, order_id, transaction_id: transaction_id! },
    post: (at, path, body, headers = {}) =>
      apps[at].as(key, path, {
        method: "POST",
        ...body !== undefined && { body: JSON.stringify(body) },
        headers: { ...body !== undefined && { "Content-Type": "application/json" }, ...headers },
      }),
    get: (at, path) => apps[at].as(key, path),
    async hooks(orderId) {
      await sandbox.waitForWebhooks();
      return byOrder.get(orderId)?.slice() ?? [];
    },
    interceptOnce(abouts, interfere, method) {
      const each = { interfere, method };
      for (const about of abouts) meddling.set(about, each);
    },
    stopIntercepting: (abouts) => abouts.forEach((about) => meddling.delete(about)),
    async [Symbol.asyncDispose]() {
      await Promise.all([a[Symbol.asyncDispose](), b[Symbol.asyncDispose]()]);
      await relay[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

function meddleWith(meddling: Map<string, Meddling>): Intercept {
  return async ({ method, target, body }, pass) => {
    const found = meddling.get(aboutOf(target, body));
    if (!found || (found.method ?? method) !== method) return await pass();
    for (const [about, each] of meddling) if (each === found) meddling.delete(about);
    return await found.interfere(pass);
  };
}

function aboutOf(target: string, body: string): string {
  if (target === "/v2/charge") return JSON.parse(body).transaction_details.order_id;
  if (target === "/v2/capture") return JSON.parse(body).transaction_id;
  return target.split("/")[2]!;
}
