/** Two instances on one database, which receive the notifications of one emulated gateway. */

import assert from "node:assert/strict";
import { openApp, REAL_INSTALLATION, type TestApp } from "../app.ts";
import { openPool } from "../database/pools.ts";
import { createDatabase } from "../database/database.ts";
import { runDueJobs } from "../jobs/due_jobs.ts";
import { notify } from "../gateway/notifications.ts";
import { openRelayed, type RelayedPayments } from "../gateway/relay.ts";
import {
  type Invoice,
  invoiceRequest,
  parseInvoice,
  parseSubscription,
  type Subscription,
  subscriptionRequest,
} from "./requests.ts";
import { type Json, SERVER_KEY } from "../gateway/sandbox.ts";
import { sendUntilAnswered } from "../client.ts";
import { errorsOf } from "../logged_errors.ts";

export interface Instances extends RelayedPayments {
  apps: TestApp[];
  /** Advances the clock of both instances. */
  advance(ms: number): void;
  /** Sends JSON as Alice; calls alternate between the instances. */
  send(path: string, body?: Json, headers?: HeadersInit): Promise<Response>;
  /** Sends a notification, which must be accepted; calls alternate between the instances. */
  notify(body: Json): Promise<void>;
  /** From now on the instances receive the notifications that the gateway sends. */
  connect(): void;
  invoice(more?: Json): Promise<Invoice>;
  subscription(more?: Json): Promise<Subscription>;
  readInvoice(id: string): Promise<Invoice>;
  readSubscription(id: string): Promise<Subscription>;
  /** The record at the gateway. */
  invoiceAtGateway(invoice: Pick<Invoice, "gateway_invoice_id">): Promise<Json>;
  subscriptionAtGateway(subscription: Pick<Subscription, "gateway_subscription_id">): Promise<Json>;
  /** Runs due jobs on both instances concurrently until none is left; fails if a job failed. */
  runJobs(): Promise<void>;
}

const UNLIMITED = { RATE_LIMIT_PER_SECOND: "1000000", RATE_LIMIT_BURST: "1000000" };

/**
 * The function of a test with concurrent requests, which must cause neither a deadlock nor a logged
 * error.
 */
export function race(work: (instances: Instances) => Promise<void>): () => Promise<void> {
  return async () => {
    const databaseUrl = await createDatabase({ isNew: true });
    const { apps } = await run(databaseUrl, work);
    await assertNoDeadlock(databaseUrl);
    // Internal errors are logged even if the response hides them.
    for (const app of apps) assert.deepEqual(errorsOf(app), []);
  };
}

async function run(databaseUrl: string, work: (instances: Instances) => Promise<void>) {
  await using instances = await openInstances(databaseUrl);
  await work(instances);
  return instances;
}

async function openInstances(databaseUrl: string): Promise<Instances> {
  let now = Date.now();
  let turn = 0;
  const common = { databaseUrl, now: () => now, poolSize: 8 };
  const payments = await openRelayed(common);
  const second = await openApp({
    ...common,
    gatewayUrl: payments.relay.url,
    serverKey: SERVER_KEY,
    env: { ...REAL_INSTALLATION, ...UNLIMITED },
  });
  const apps = [payments.app, second];
  const next = () => apps[turn++ % apps.length]!;
  const { sandbox, key } = payments;

  const instances: Instances = {
    ...payments,
    apps,
    advance: (ms) => now += ms,
    async send(path, body, headers = {}) {
      const init = {
        method: "POST",
        ...body !== undefined && { body: JSON.stringify(body) },
        headers: {
          ...body !== undefined && { "Content-Type": "application/json" },
          ...Object.fromEntries(new Headers(headers)),
        },
      };
      const app = next();
      return await sendUntilAnswered(() => app.as(key, path, init));
    },
    async notify(body) {
      const response = await notify({ ...payments, app: next() }, body);
      assert.equal(response.status, 200, await response.text());
    },
    connect() {
      sandbox.receiver.answer = async ({ body }) => {
        await instances.notify(body);
        return new Response("OK");
      };
    },
    async invoice(more) {
      return await parseInvoice(await instances.send("/invoices/", invoiceRequest(more)), 201);
    },
    async subscription(more) {
      const request = await subscriptionRequest(sandbox, more);
      return await parseSubscription(await instances.send("/subscriptions/", request), 201);
    },
    readInvoice: async (id) => await parseInvoice(await payments.get(`/invoices/${id}/`), 200),
    readSubscription: async (id) =>
      await parseSubscription(await payments.get(`/subscriptions/${id}/`), 200),
    invoiceAtGateway: ({ gateway_invoice_id }) => sandbox.get(`/v1/invoices/${gateway_invoice_id}`),
    subscriptionAtGateway: ({ gateway_subscription_id }) =>
      sandbox.get(`/v1/subscriptions/${gateway_subscription_id}`),
    async runJobs() {
      let ran: number[];
      do ran = await Promise.all(apps.map(runDueJobs)); while (ran.some((count) => count > 0));
      const failed = await payments.app.database.query((sql) =>
        sql`select task, error from gateway.jobs where error is not null`
      );
      assert.deepEqual([...failed], []);
    },
    async [Symbol.asyncDispose]() {
      await second[Symbol.asyncDispose]();
      await payments[Symbol.asyncDispose]();
    },
  };
  return instances;
}

/**
 * A retried deadlock also fails the test, because all code must lock rows in the same order. Call
 * this after all connections are closed: sessions may report their statistics only when they end.
 */
async function assertNoDeadlock(url: string): Promise<void> {
  const database = openPool({ url, poolSize: 1 });
  try {
    const [{ deadlocks }] = await database.query((sql) =>
      sql<[{ deadlocks: number }]>`
        select deadlocks from pg_stat_database where datname = current_database()`
    );
    assert.equal(deadlocks, 0, "no deadlock, not even a retried one");
  } finally {
    await database.close();
  }
}
