/**
 * Subscriptions in tests: the clocks of the app and the gateway move together; notifications are
 * optional.
 */

import { z } from "@hono/zod-openapi";
import assert from "node:assert/strict";
import { PaymentSummarySchema } from "../../../core/payments/schema.ts";
import { syncSubscriptionStatus } from "../../../core/subscriptions/sync_subscription_status.ts";
import { findSubscription, type GatewaySubscription } from "../../../db/billing/subscriptions.ts";
import { EventSchema } from "../../../routes/events/schemas.ts";
import { SubscriptionSchema } from "../../../core/subscriptions/schema.ts";
import type { TestAppOptions } from "../app.ts";
import { createWaits } from "../gateway/gateway.ts";
import { openRelayed, type RelayedPayments } from "../gateway/relay.ts";
import { type Hook, type Json, savedCard } from "../gateway/sandbox.ts";
import { runDueJobs } from "../jobs/due_jobs.ts";
import { parsePayment, type Payment } from "../payments/payments.ts";
import { until } from "../until.ts";

/** In seconds, for `advance`. */
export const MINUTE = 60;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const DENIED_CARD = "4911111111111113";

/** The call that creates a subscription at the gateway. */
export const CREATE = "POST /v1/subscriptions";

export type Subscription = z.output<typeof SubscriptionSchema>;
export type Event = z.output<typeof EventSchema>;
export type ActionName = "disable" | "enable" | "cancel";

/** Which of the gateway's two kinds of notifications arrive; none by default. */
export type Delivery = "none" | "signed" | "recurring" | "both";

export interface TestSubscriptions extends RelayedPayments {
  staff: string;
  /** Which notifications the app receives. */
  delivery: Delivery;
  /** Changes a notification before it is delivered. */
  intercept: (body: Json) => Json;
  /** The body of a request that creates a subscription. */
  request(more?: Json): Promise<Json>;
  /** Creates a subscription, which must succeed. */
  create(more?: Json, key?: string): Promise<Subscription>;
  act(id: string, action: string, headers?: HeadersInit, key?: string): Promise<Response>;
  /** Runs an action, which must succeed. */
  actAndParse(id: string, action: ActionName): Promise<Subscription>;
  stored(id: string, key?: string): Promise<Subscription>;
  /** The row, with columns that the API does not show. */
  row(id: string): Promise<GatewaySubscription>;
  /** The subscription at the gateway. */
  atGateway(subscription: Pick<Subscription, "gateway_subscription_id">): Promise<Json>;
  /** The subscriptions that the gateway created, read from its notifications about them. */
  createdAtGateway(): Promise<Json[]>;
  /** The payments of a subscription, oldest first. */
  payments(subscription: Subscription, key?: string): Promise<Payment[]>;
  /** The events of a subscription, oldest first. */
  readEvents(id: string): Promise<Event[]>;
  /** Advances both clocks. */
  advance(seconds: number): Promise<void>;
  /** Advances both clocks to the gateway's next charge. */
  advanceToNextCycle(subscription: Subscription): Promise<void>;
  /** Runs jobs until none is due. */
  runJobs(): Promise<void>;
  /** Runs the scheduled sync and the jobs it queues. */
  sync(): Promise<void>;
  /** How often the status was read at the gateway. */
  statusChecks(subscription: Pick<Subscription, "gateway_subscription_id">): number;
  /** The actions sent to the gateway, such as `disable`. */
  sentActions(subscription: Pick<Subscription, "gateway_subscription_id">): string[];
}

export async function openSubscriptions(
  options: Partial<TestAppOptions> = {},
): Promise<TestSubscriptions> {
  let aheadMs = 0;
  const relayed = await openRelayed({
    now: () => Date.now() + aheadMs,
    gatewayOptions: { wait: createWaits().wait },
    ...options,
  });
  const { app, sandbox, relay, post, get, key: alice } = relayed;
  const staff = await app.createKey({ userId: "staff", isStaff: true });

  async function advanceTo(time: number): Promise<void> {
    aheadMs = Math.max(aheadMs, time - Date.now());
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
    actAndParse: async (id, action) =>
      await parseSubscription(await subscriptions.act(id, action), 200),
    stored: async (id, key) =>
      await parseSubscription(await get(`/subscriptions/${id}/`, key), 200),
    async row(id) {
      const row = await app.database.query((sql) => findSubscription(sql, id));
      assert.ok(row);
      return row;
    },
    atGateway: ({ gateway_subscription_id: id }) => sandbox.get(`/v1/subscriptions/${id}`),
    async createdAtGateway() {
      await sandbox.waitForWebhooks();
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
    async readEvents(id) {
      const path = `/events/?resource_id=${id}&order=oldest_first&limit=100`;
      const written = (await subscriptions.events(id)).length;
      let events: Event[] = [];
      // The API shows an event only after the publisher has assigned its position.
      await until("all events are shown", async () => {
        events = z.array(EventSchema).parse(await (await get(path, staff)).json());
        return events.length >= written;
      });
      return events;
    },
    advance: (seconds) => advanceTo(app.service.clock() + seconds * 1000),
    async advanceToNextCycle(subscription) {
      const { schedule } = await subscriptions.atGateway(subscription);
      assert.ok(schedule.next_execution_at, "there is another cycle");
      await advanceTo((secondOf(schedule.next_execution_at)! + 1) * 1000);
    },
    async runJobs() {
      while (await runDueJobs(app) > 0);
    },
    async sync() {
      await syncSubscriptionStatus(app.service);
      await subscriptions.runJobs();
    },
    statusChecks: ({ gateway_subscription_id: id }) => relay.times(`GET /v1/subscriptions/${id}`),
    sentActions: ({ gateway_subscription_id: id }) =>
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

/** The payment ids of the subscription_charged events, oldest first; fails if one occurs twice. */
export function chargedPaymentIds(events: Event[]): string[] {
  const ids = events.flatMap(({ name, data }) =>
    name === "subscription_charged" && "payment_id" in data ? [data.payment_id!] : []
  );
  assert.equal(new Set(ids).size, ids.length, "one event per charge");
  return ids;
}

/** Fails unless the owner has exactly one paid payment for each paid charge at the gateway. */
export async function assertAllCharged(
  subscriptions: TestSubscriptions,
  subscription: Subscription,
  count: number,
  key?: string,
): Promise<void> {
  const { transaction_ids, schedule, status } = await subscriptions.atGateway(subscription);
  assert.equal(transaction_ids.length, count, "charges at the gateway");
  const payments = await subscriptions.payments(subscription, key);
  const paid = payments.filter(({ is_paid }) => is_paid);
  assert.deepEqual(paid.map(({ transaction_id }) => transaction_id).sort(), transaction_ids.sort());
  for (const { gross_amount } of paid) assert.equal(gross_amount, subscription.amount);
  const charged = chargedPaymentIds(await subscriptions.readEvents(subscription.id));
  assert.deepEqual([...charged].sort(), paid.map(({ id }) => id).sort());
  const stored = await subscriptions.stored(subscription.id, key);
  assert.equal(stored.current_interval, schedule.current_interval);
  assert.equal(secondOf(stored.next_execution_at), secondOf(schedule.next_execution_at));
  assert.equal(stored.status === "active", status === "active");
}

/** The time in whole seconds, for comparisons. The gateway's times are in Jakarta time. */
export function secondOf(time: string | null): number | null {
  if (time === null) return null;
  const isOfGateway = !time.includes("T");
  return Math.floor(Date.parse(isOfGateway ? `${time}+07:00` : time) / 1000);
}

/** A recurring notification of a charge. It is unsigned, so any sender could write it. */
export function buildRecurringNotification(gatewayId: string, more: Json = {}): Json {
  return {
    event_name: "subscription.charge",
    transaction: { transaction_status: "capture", status_code: "200" },
    subscription: { id: gatewayId, status: "active", metadata: {}, ...more },
  };
}
