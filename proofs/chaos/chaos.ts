/** A run: merchants and customers act while everything is disturbed; then all is judged. */

import { setTimeout as delay } from "node:timers/promises";
import { createRandom, seededState } from "../../sandbox/engine/random.ts";
import type { Json } from "../../tests/support/gateway/sandbox.ts";
import { findAllContradictions } from "../contradictions.ts";
import { createDisturbances, disturb, type Disturbances, kills } from "./disturb.ts";
import type { Difference, FinalPayment, History } from "./history.ts";
import { type Installation, isAboutPayment } from "./installation.ts";
import { judge } from "./judge/judge.ts";
import { createMerchant, readPayment, readRefund } from "./merchant.ts";
import { placeOrder, type Shop } from "./orders.ts";

export interface ChaosOptions {
  seed: number;
  /** The run ends after so many kills, or after so many minutes. */
  kills: number;
  minutes: number;
  /** Called about once a second. */
  onProgress?: (progress: Progress) => void;
}

export interface Progress {
  kills: number;
  orders: number;
  seconds: number;
}

export interface ChaosResult {
  history: History;
  differences: Difference[];
  disturbances: Disturbances;
  /** From a kill of the database to the next acknowledged write, in ms. */
  longestOutage: number;
  seconds: number;
}

/** More would wait for the processor of a small machine, and not for the service. */
const CUSTOMERS = 6;

/** From the last disturbance until every job has run: a check of an unknown outcome waits 60 s. */
const SETTLE_MS = 300_000;

const PROGRESS_MS = 1_000;

export async function runChaos(
  installation: Installation,
  options: ChaosOptions,
): Promise<ChaosResult> {
  const { seed } = options;
  const randomFor = (part: number) => createRandom(seededState(Math.imul(seed, 31) + part));
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1_000;
  const disturbances = createDisturbances();
  const history = emptyHistory();
  const isOver = () => kills(disturbances) >= options.kills || seconds() >= 60 * options.minutes;
  let longestOutage = 0;
  const urls = installation.instances.map(({ url }) => url);

  function shopFor(customer: number): Shop {
    const random = randomFor(customer);
    const merchant = createMerchant({
      urls,
      key: installation.staffKey,
      random,
      onCall: (call) => history.calls.push(call),
      onAcknowledged(call) {
        const since = disturbances.databaseDownSince;
        if (since === null || call.startedAt < since) return;
        longestOutage = Math.max(longestOutage, performance.now() - since);
        disturbances.databaseDownSince = null;
      },
    });
    const { orders, acts } = history;
    const { sandbox } = installation;
    return {
      merchant,
      sandbox,
      random,
      onOrder: (order) => orders.push(order),
      onAct: (act) => acts.push(act),
    };
  }

  async function serveCustomers(customer: number): Promise<void> {
    const shop = shopFor(customer);
    while (!isOver()) await placeOrder(shop, history.orders.length);
  }

  async function showProgress(): Promise<void> {
    while (!isOver()) {
      const orders = history.orders.length;
      options.onProgress?.({ kills: kills(disturbances), orders, seconds: seconds() });
      await delay(PROGRESS_MS);
    }
  }

  const disturbing = disturb(installation, randomFor(-1), disturbances, isOver)
    .then(() => installation.sandbox.control("faults", undefined, "DELETE"));
  const customers = Array.from({ length: CUSTOMERS }, (_, index) => serveCustomers(index));
  await Promise.all([disturbing, showProgress(), ...customers]);
  await settle(installation);
  await collect(installation, history, shopFor(CUSTOMERS));
  return {
    history,
    differences: [...judge(history), ...await findOtherFaults(installation)],
    disturbances,
    longestOutage,
    seconds: seconds(),
  };
}

function emptyHistory(): History {
  return {
    orders: [],
    calls: [],
    acts: [],
    transactions: [],
    payments: [],
    events: [],
    deliveries: [],
  };
}

/** Waits until notifications, jobs and webhooks are processed. */
async function settle({ sandbox, courier, instances, staffKey }: Installation): Promise<void> {
  courier.behave();
  await sandbox.waitForWebhooks();
  await courier.untilDelivered();
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const { url } = instances[0]!;
    const status = await get(url, "/status/", staffKey);
    const refunds = await get(url, "/refunds/?status=pending", staffKey);
    if (isIdle(status) && refunds.length === 0) return;
    // What is still open then is reported as a difference.
    if (performance.now() > deadline) return;
    await delay(500);
  }
}

function isIdle({ events, outbox, webhooks, notifications }: Json): boolean {
  return events.unpublished === 0 && outbox.waiting_deliveries === 0 && webhooks.pending === 0 &&
    notifications.received === 0;
}

/** Reads every order once more, at the service and at the gateway, and then what happened. */
async function collect(
  installation: Installation,
  history: History,
  { merchant }: Shop,
): Promise<void> {
  const { sandbox, instances, staffKey, deliveries } = installation;
  const { url } = instances[0]!;
  // Asks the gateway: the notification may be lost, and the service's own check is due later.
  await forEach(await listAll(url, "/payments/", staffKey), async ({ id, order_id }) => {
    const path = `/payments/${id}/check_status/`;
    await merchant.call({ orderId: order_id, name: "check", path });
  });
  await settle(installation);
  await forEach(history.orders, async ({ orderId }) => {
    const found = await sandbox.control(`transactions?order_id=${orderId}`, undefined, "GET");
    history.transactions.push(...found.map(readTransaction));
  });
  await forEach(await listAll(url, "/payments/", staffKey), async ({ id }) => {
    history.payments.push(readFinal(await get(url, `/payments/${id}/`, staffKey)));
  });
  const events = await listAll(url, "/events/?order=oldest_first", staffKey);
  history.events = events.filter(isAboutPayment).map((event) => ({
    id: event.id,
    name: event.name,
    paymentId: event.data.id,
    sequence: event.sequence,
    status: event.data.transaction_status,
  }));
  history.deliveries = deliveries;
}

/** Several at a time, because a long run has many. */
async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  async function workOff(): Promise<void> {
    while (next < items.length) await work(items[next++]!);
  }
  await Promise.all(Array.from({ length: CUSTOMERS }, workOff));
}

function readFinal(payment: Json): FinalPayment {
  return { ...readPayment(payment), refunds: payment.refunds.map(readRefund) };
}

function readTransaction(transaction: Json): History["transactions"][number] {
  return {
    id: transaction.transaction_id,
    orderId: transaction.order_id,
    paymentId: transaction.metadata?.payment_ref ?? null,
    status: transaction.transaction_status,
    amount: Number(transaction.gross_amount),
    refunds: (transaction.refunds ?? []).map((refund: Json) => ({
      key: refund.refund_key,
      amount: Number(refund.refund_amount),
    })),
  };
}

/** What is wrong although no order shows it. */
async function findOtherFaults(
  { courier, loggedErrors, database }: Installation,
): Promise<Difference[]> {
  const fault = (rule: string, text: string): Difference => ({ rule, orderId: null, text });
  return [
    ...courier.wrongAnswers.map((text) => fault("each notification gets the right answer", text)),
    ...[...loggedErrors].filter(([event]) => FAULTS.includes(event))
      .map(([event, count]) => fault("the service logs no fault of its own", `${event} ${count}`)),
    ...(await findAllContradictions(database.url))
      .map((text) => fault("records do not contradict each other", text)),
  ];
}

const FAULTS = ["internal_error", "invariant_violated"];

async function get(url: string, path: string, key: string): Promise<Json> {
  const response = await fetch(url + path, { headers: { Authorization: `Bearer ${key}` } });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

async function listAll(url: string, path: string, key: string): Promise<Json[]> {
  const all: Json[] = [];
  const first = new URL(path, url);
  first.searchParams.set("limit", "100");
  for (let next: string | undefined = first.href; next;) {
    const response: Response = await fetch(next, { headers: { Authorization: `Bearer ${key}` } });
    all.push(...await response.json());
    next = response.headers.get("Link")?.match(/<([^>]+)>; rel="next"/)?.[1];
    if (next) next = new URL(next, url).href;
  }
  return all;
}
