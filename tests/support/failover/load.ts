/**
 * Callers who charge, refund and create checkouts while the database fails over, each with keys and
 * retries, and customers whose payments the gateway reports.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { callService } from "../client.ts";
import type { Hook, Json, TestSandbox } from "../gateway/sandbox.ts";
import type { ServiceProcess } from "../service.ts";
import { until } from "../until.ts";

/** A write that a caller was told has happened. */
export interface Acknowledged {
  kind: "charge" | "refund" | "checkout" | "choice";
  /** The service that the caller used, as an index. */
  service: number;
  path: string;
  body: Json;
  /** Empty for a choice on the payment page, which has no key. */
  key: string;
  /** The order of the payment or the checkout. */
  orderId: string;
  status: number;
  answer: Json;
  /** By `performance.now()`. */
  at: number;
  /** How often it was sent. */
  attempts: number;
}

export interface Load {
  acknowledged: Acknowledged[];
  /** Lets each caller finish its order. Fails if a caller got an answer that it cannot retry. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  services: ServiceProcess[];
  sandbox: TestSandbox;
  /** The API key of the callers. */
  apiKey: string;
}

/** Callers retry sooner than `Retry-After` says, so that the recovery is measured exactly. */
const RETRY_MS = 50;

/** Limits the load, and leaves time for other tests. */
const PAUSE_MS = 150;

/** A failover takes some time, in which nothing is answered. */
const ORDER_TIMEOUT_MS = 300_000;

export function startLoad(options: LoadOptions): Load {
  const { services, sandbox } = options;
  const acknowledged: Acknowledged[] = [];
  let isStopping = false;
  let hasStopped = false;
  let turn = 0;
  // The gateway resends a notification until it gets 200.
  sandbox.receiver.answer = async (hook) => {
    await repeat("the notification is accepted", async () => {
      // The services have ended, and the test needs no more of them.
      if (hasStopped) return true;
      const service = services[turn++ % services.length]!;
      return await notify(service, hook) === 200 ? true : null;
    });
    return new Response("OK");
  };
  async function keepOrdering(order: (caller: Caller) => Promise<void>, service: number) {
    const caller = createCaller(options, service, acknowledged);
    while (!isStopping) {
      await order(caller);
      await delay(PAUSE_MS);
    }
  }
  const callers = Promise.all(services.flatMap((_, index) => [
    keepOrdering(chargeAndRefund, index),
    keepOrdering(payCheckout, index),
  ]));
  callers.catch(() => {});
  return {
    acknowledged,
    async stop() {
      isStopping = true;
      await callers;
      await sandbox.waitForWebhooks();
      hasStopped = true;
    },
  };
}

interface Caller {
  sandbox: TestSandbox;
  /** Sends the request until it is answered with success. */
  post(kind: Acknowledged["kind"], request: PostRequest): Promise<Json>;
  get(path: string): Promise<Json | null>;
  /** A form of the payment page. */
  submit(path: string, orderId: string, fields: Record<string, string>): Promise<void>;
}

interface PostRequest {
  path: string;
  body: Json;
  orderId: string;
}

async function chargeAndRefund({ sandbox, post, get }: Caller): Promise<void> {
  const orderId = randomUUID();
  const charge = { payment_type: "gopay", gross_amount: 44_000, order_id: orderId };
  const payment = await post("charge", { path: "/charge/", body: charge, orderId });
  await sandbox.control(`transactions/${payment.transaction_id}/pay`);
  await repeat("the payment is paid", async () => {
    const read = await get(`/payments/${payment.id}/`);
    return read?.transaction_status === "settlement" ? true : null;
  });
  const refund = { amount: 10_000, reason: "Out of stock" };
  await post("refund", { path: `/payments/${payment.id}/refund/`, body: refund, orderId });
}

async function payCheckout({ sandbox, post, get, submit }: Caller): Promise<void> {
  const orderId = randomUUID();
  const body = { gross_amount: 44_000, order_id: orderId };
  const checkout = await post("checkout", { path: "/checkouts/", body, orderId });
  await submit(new URL(checkout.checkout_url).pathname, orderId, { method: "bca_va" });
  const [transaction] = await transactionsOf(sandbox, orderId);
  await sandbox.control(`transactions/${transaction.transaction_id}/pay`);
  await repeat("the checkout is paid", async () => {
    const read = await get(`/checkouts/${checkout.id}/`);
    return read?.status === "paid" ? true : null;
  });
}

/** The gateway's transactions of an order. */
export async function transactionsOf(sandbox: TestSandbox, orderId: string): Promise<Json[]> {
  return await sandbox.control(`transactions?order_id=${orderId}`, undefined, "GET");
}

function createCaller(
  { services, sandbox, apiKey }: LoadOptions,
  service: number,
  acknowledged: Acknowledged[],
): Caller {
  const { url } = services[service]!;
  const headers = { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" };
  return {
    sandbox,
    async post(kind, { path, body, orderId }) {
      const key = randomUUID();
      const init = {
        method: "POST",
        headers: { ...headers, "Idempotency-Key": key },
        body: JSON.stringify(body),
      };
      let attempts = 0;
      return await repeat(`the ${kind} is acknowledged`, async () => {
        attempts++;
        const response = await send(url + path, init);
        if (response === null) return null;
        const { status, answer } = response;
        const at = performance.now();
        acknowledged.push({
          kind,
          service,
          path,
          body,
          key,
          orderId,
          status,
          answer,
          at,
          attempts,
        });
        return answer;
      });
    },
    get: async (path) => (await send(url + path, { headers }))?.answer ?? null,
    async submit(path, orderId, body) {
      let attempts = 0;
      await repeat("the choice is accepted", async () => {
        attempts++;
        const init = { method: "POST", body: new URLSearchParams(body), redirect: "manual" };
        const response = await callService(url + path, init as RequestInit).catch(orNull);
        await response?.body?.cancel();
        if (response?.status !== 303) return null;
        const at = performance.now();
        const outcome = { key: "", status: 303, answer: null, at, attempts };
        acknowledged.push({ kind: "choice", service, path, body, orderId, ...outcome });
        return true;
      });
    },
  };
}

/** Null: the caller does not know what happened, or must wait, and retries. */
async function send(url: string, init: RequestInit) {
  const response = await callService(url, init).catch(orNull);
  if (response === null) return null;
  const text = await response.text().catch(() => null);
  if (text === null || [409, 429, 503].includes(response.status)) return null;
  assert.ok(response.ok, `${init.method ?? "GET"} ${url}: ${response.status} ${text}`);
  return { status: response.status, answer: JSON.parse(text) as Json };
}

async function notify(service: ServiceProcess, { text }: Hook): Promise<number | null> {
  const response = await callService(`${service.url}/notification/`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: text,
  }).catch(orNull);
  await response?.body?.cancel();
  return response?.status ?? null;
}

/** A broken connection. A response that does not match the document fails the test. */
function orNull(error: unknown): null {
  if (error instanceof assert.AssertionError) throw error;
  return null;
}

/** Calls until the result is not null. */
async function repeat<T>(what: string, attempt: () => Promise<T | null>): Promise<T> {
  let result: T | null = null;
  await until(what, async () => {
    result = await attempt();
    if (result === null) await delay(RETRY_MS);
    return result !== null;
  }, ORDER_TIMEOUT_MS);
  return result!;
}
