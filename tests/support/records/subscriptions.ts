/** Subscriptions in tests: the app and the gateway on clocks that move together, and who is told what. */

import { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { PaymentSummarySchema } from "../../../core/payments/schema.ts";
import { syncSubscriptionStatus } from "../../../core/subscriptions/sync_subscription_status.ts";
import { findSubscription, type GatewaySubscription } from "../../../db/subscriptions.ts";
import { EventSchema } from "../../../routes/events/schemas.ts";
import { SubscriptionSchema } from "../../../routes/schemas/subscription.ts";
import type { TestAppOptions } from "../app.ts";
import { createWaits } from "../gateway/gateway.ts";
import { openRelayed, type RelayedPayments } from "../gateway/relay.ts";
import { type Hook, type Json, savedCard } from "../gateway/sandbox.ts";
import { runDueJobs } from "../jobs/due_jobs.ts";
import { parsePayment, type Payment } from "../payments/payments.ts";
import { until } from "../until.ts";

export const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400];

export const DENIED_CARD = "4911111111111113";

/** The call that makes one. */
export const CREATE = "POST /v1/subscriptions";

export type Subscription = z.output<typeof SubscriptionSchema>;
export type Event = z.output<typeof EventSchema>;
export type ActionName = "disable" | "enable" | "cancel";

/** Which of the gateway's two kinds of notifications arrive: none unless a test says so. */
export type Delivery = "none" | "signed" | "recurring" | "both";

export interface TestSubscriptions extends RelayedPayments {
  staff: string;
  /** How the gateway's notifications come to the app. */
  delivery: Delivery;
  /** What becomes of one on its way. */
  intercept: (body: Json) => Json;
  /** The body of a request, with a token of its own. */
  request(more?: Json): Promise<Json>;
  /** One that has to be made. */
  create(more?: Json, key?: string): Promise<Subscription>;
  act(id: string, action: string, headers?: HeadersInit, key?: string): Promise<Response>;
  /** An action that has to succeed. */
  acted(id: string, action: ActionName): Promise<Subscription>;
  stored(id: string, key?: string): Promise<Subscription>;
  /** With what callers do not see. */
  row(id: string): Promise<GatewaySubscription>;
  /** As the gateway has it. */
  atGateway(subscription: Pick<Subscription, "gateway_subscription_id">): Promise<Json>;
  /** All that the gateway has, by what it told when they were made. */
  made(): Promise<Json[]>;
  /** The payments of one, the oldest first. */
  payments(subscription: Subscription, key?: string): Promise<Payment[]>;
  /** What was told of one, the oldest first. */
  told(id: string): Promise<Event[]>;
  /** Both clocks go on. */
  pass(seconds: number): Promise<void>;
  /** Both clocks go to the gateway's next cycle of it. */
  passToCycle(subscription: Subscription): Promise<void>;
  /** Runs what is due, and what comes of that. */
  runJobs(): Promise<void>;
  /** The cron and what it queues. */
  sync(): Promise<void>;
  /** How often the gateway was asked how one stands. */
  looks(subscription: Pick<Subscription, "gateway_subscription_id">): number;
  /** What was sent to it to change something, such as `disable`. */
  sent(subscription: Pick<Subscription, "gateway_subscription_id">): string[];
}

export async function openSubscriptions(
  options: Partial<TestAppOptions> = {},
): Promise<TestSubscriptions> {
  let ahead = 0;
  const relayed = await openRelayed({
    now: () => Date.now() + ahead,
    gatewayOptions: { wait: createWaits().wait },
    ...options,
  });
  const { app, sandbox, relay, post, get, key: alice } = relayed;
  const staff = await app.createKey({ userId: "staff", isStaff: true });

  async function passTo(time: number): Promise<void> {
    ahead = Math.max(ahead, time - Date.now());
    await sandbox.control("clock", { to: new Date(time).toISOString() });
  }

  const subscriptions: TestSubscriptions = {
    ...relayed,
    staff,
    delivery: "none",
    intercept: (body) => body,
    request: async (more = {}) => ({
      name: "coffee-club",
      amount: 150_000,
      payment_type: "credit_card",
      token: more.token ?? await savedCard(sandbox),
      interval: 1,
      interval_unit: "month",
      ...more,
    }),
    async create(more, key) {
      const request = await subscriptions.request(more);
      return await parseSubscription(await post("/subscriptions/", request, {}, key), 201);
    },
    act: (id, action, headers, key) =>
      post(`/subscriptions/${id}/${action}/`, undefined, headers, key),
    acted: async (id, action) => await parseSubscription(await subscriptions.act(id, action), 200),
    stored: async (id, key) =>
      await parseSubscription(await get(`/subscriptions/${id}/`, key), 200),
    async row(id) {
      const row = await app.database.query((sql) => findSubscription(sql, id));
      assert.ok(row);
      return row;
    },
    atGateway: ({ gateway_subscription_id: id }) => sandbox.get(`/v1/subscriptions/${id}`),
    async made() {
      await sandbox.settled();
      return sandbox.hooks.map(({ body }) => body).filter((body) => "schedule" in body);
    },
    async payments({ id }, key = alice) {
      const path = `/payments/?subscription_id=${id}&limit=100`;
      const list = await (await get(path, key)).json();
      const read = z.array(PaymentSummarySchema).parse(list).map(async (each) =>
        await parsePayment(await get(`/payments/${each.id}/`, key), 200)
      );
      const payments = await Promise.all(read);
      assert.ok(payments.every(({ subscription_id }) => subscription_id === id));
      return payments.reverse();
    },
    async told(id) {
      const path = `/events/?resource_id=${id}&order=oldest_first&limit=100`;
      const written = (await subscriptions.events(id)).length;
      let told: Event[] = [];
      // Those that could still be overtaken are not shown yet; other tests write at the same time.
      await until("all events are shown", async () => {
        told = z.array(EventSchema).parse(await (await get(path, staff)).json());
        return told.length >= written;
      });
      return told;
    },
    pass: (seconds) => passTo(app.deps.clock() + seconds * 1000),
    async passToCycle(subscription) {
      const { schedule } = await subscriptions.atGateway(subscription);
      assert.ok(schedule.next_execution_at, "there is another cycle");
      await passTo(Date.parse(schedule.next_execution_at) + 1000);
    },
    async runJobs() {
      while (await runDueJobs(app) > 0);
    },
    async sync() {
      await syncSubscriptionStatus(app.deps);
      await subscriptions.runJobs();
    },
    looks: ({ gateway_subscription_id: id }) => relay.times(`GET /v1/subscriptions/${id}`),
    sent: ({ gateway_subscription_id: id }) =>
      relay.asked().flatMap((call) => call.split(`POST /v1/subscriptions/${id}/`)[1] ?? []),
  };
  sandbox.receiver.answer = (hook) => deliver(subscriptions, hook);
  return subscriptions;
}

async function deliver(subscriptions: TestSubscriptions, { path, body }: Hook): Promise<Response> {
  const { delivery, app, intercept } = subscriptions;
  const kind = path === "/recurring" ? "recurring" : "signed";
  if (delivery !== "both" && delivery !== kind) return new Response("OK");
  return await app.request("/notification/", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(intercept(body)),
  });
}

export async function parseSubscription(
  response: Response,
  status: number,
): Promise<Subscription> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  return SubscriptionSchema.strict().parse(JSON.parse(text));
}

export function namesOf(events: Event[]): string[] {
  return events.map(({ name }) => name);
}

/** The payments that were told of as charges, the oldest first; each of them once. */
export function chargesIn(events: Event[]): string[] {
  const ids = events.flatMap(({ name, data }) =>
    name === "subscription_charged" && "payment_id" in data ? [data.payment_id!] : []
  );
  assert.equal(new Set(ids).size, ids.length, "no charge is told of twice");
  return ids;
}

/** That the service knows each of the gateway's charges of one, once, as its owner's. */
export async function assertAllCharged(
  subscriptions: TestSubscriptions,
  subscription: Subscription,
  count: number,
  key?: string,
): Promise<void> {
  const { transaction_ids, schedule, status } = await subscriptions.atGateway(subscription);
  assert.equal(transaction_ids.length, count, "the gateway charged so often");
  const payments = await subscriptions.payments(subscription, key);
  const paid = payments.filter(({ is_paid }) => is_paid);
  assert.deepEqual(paid.map(({ transaction_id }) => transaction_id).sort(), transaction_ids.sort());
  for (const { gross_amount } of paid) assert.equal(gross_amount, subscription.amount);
  const charged = chargesIn(await subscriptions.told(subscription.id));
  assert.deepEqual([...charged].sort(), paid.map(({ id }) => id).sort());
  const stored = await subscriptions.stored(subscription.id, key);
  assert.equal(stored.current_interval, schedule.current_interval);
  assert.equal(secondOf(stored.next_execution_at), secondOf(schedule.next_execution_at));
  assert.equal(stored.status === "active", status === "active");
}

/** No finer times are kept. */
export function secondOf(time: string | null): number | null {
  return time === null ? null : Math.floor(Date.parse(time) / 1000);
}

/** A recurring notification of a cycle, as anybody could write it. */
export function hintOf(gatewayId: string, more: Json = {}): Json {
  return {
    event_name: "subscription.charge",
    transaction: { transaction_status: "capture", status_code: "200" },
    subscription: { id: gatewayId, status: "active", metadata: {}, ...more },
  };
}
