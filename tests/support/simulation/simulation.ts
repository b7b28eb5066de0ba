/** Where the plans of `plan.ts` run: one gateway, one database, two instances of the service. */

import { sleep } from "../../../concurrency/deadlines.ts";
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
import type { OtherPayment } from "./mutations.ts";
import type { Instance } from "./plan.ts";

type ChangeResponse = (pass: () => Promise<Response>) => Promise<Response>;

interface Interception {
  changeResponse: ChangeResponse;
  /** Undefined: any method. */
  method: "POST" | undefined;
}

export interface Simulation extends AsyncDisposable {
  sandbox: TestSandbox;
  apps: Record<Instance, TestApp>;
  /** Never returns the same time twice, so that rows with the same time were written together. */
  clock(): number;
  post(at: Instance, path: string, body?: Json, headers?: HeadersInit): Promise<Response>;
  get(at: Instance, path: string): Promise<Response>;
  /** The notifications of an order, in the order in which the gateway sent them. */
  hooks(orderId: string): Promise<Hook[]>;
  /** Changes the gateway's response to the next call of instance `b` that has one of these ids. */
  interceptOnce(ids: string[], changeResponse: ChangeResponse, method?: "POST"): void;
  /** Removes the interceptions of these ids that were not used. */
  stopIntercepting(ids: string[]): void;
  otherPayment: OtherPayment;
}

const ENV = {
  ...REAL_INSTALLATION,
  RATE_LIMIT_PER_SECOND: "1000000",
  RATE_LIMIT_BURST: "1000000",
};

/**
 * Extends the deadlines of gateway calls, so that no call fails only because the machine is busy.
 * Waits up to a second are pauses before retries, and stay as they are.
 */
const waitLonger: typeof sleep = (ms, signal) => sleep(ms > 1_000 ? 10 * ms : ms, signal);

/** `hasMetadata`: whether the gateway's status responses contain the metadata. */
export async function openSimulation(
  databaseUrl: string,
  hasMetadata: boolean,
): Promise<Simulation> {
  const settings = { metadata_in_status: hasMetadata };
  const sandbox = await openSandbox({ seed: undefined, settings });
  const byOrder = new Map<string, Hook[]>();
  sandbox.receiver.answer = (hook) => {
    const own = byOrder.get(hook.body.order_id);
    if (own) own.push(hook);
    else byOrder.set(hook.body.order_id, [hook]);
    return new Response("OK");
  };
  const relay = openRelay();
  relay.target = sandbox.url;
  const interceptions = new Map<string, Interception>();
  relay.intercept = interceptCalls(interceptions);

  let last = 0;
  const clock = () => last = Math.max(last + 1, Date.now());
  const open = (gatewayUrl: string) =>
    openApp({
      databaseUrl,
      gatewayUrl,
      gatewayOptions: { wait: waitLonger },
      serverKey: SERVER_KEY,
      env: ENV,
      now: clock,
    });
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
    otherPayment: { id, order_id, transaction_id: transaction_id! },
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
    interceptOnce(ids, changeResponse, method) {
      const interception = { changeResponse, method };
      for (const id of ids) interceptions.set(id, interception);
    },
    stopIntercepting: (ids) => ids.forEach((id) => interceptions.delete(id)),
    async [Symbol.asyncDispose]() {
      await Promise.all([a[Symbol.asyncDispose](), b[Symbol.asyncDispose]()]);
      await relay[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}

function interceptCalls(interceptions: Map<string, Interception>): Intercept {
  return async ({ method, target, body }, pass) => {
    const found = interceptions.get(idOf(target, body));
    if (!found || (found.method ?? method) !== method) return await pass();
    for (const [id, each] of interceptions) if (each === found) interceptions.delete(id);
    return await found.changeResponse(pass);
  };
}

/** The order id or transaction id of a call. */
function idOf(target: string, body: string): string {
  if (target === "/v2/charge") return JSON.parse(body).transaction_details.order_id;
  if (target === "/v2/capture") return JSON.parse(body).transaction_id;
  return target.split("/")[2]!;
}
