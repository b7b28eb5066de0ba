/** Webhook deliveries per second, and how much they slow down the notifications that cause them. */

import { Buffer } from "node:buffer";
import { setTimeout as delay } from "node:timers/promises";
import { generateApiKey } from "../core/secrets/api_key.ts";
import { createPoster } from "../core/posting/post.ts";
import { runSql } from "../tests/support/database/database.ts";
import { createDataFolder } from "../tests/support/project.ts";
import { type Caller, connect, timed } from "./support/caller.ts";
import { goal, median, perSecond, ratio, row } from "./support/figures.ts";
import { getRequest, post } from "./support/load.ts";
import { insertPayments, nthRow, PENDING, settlement } from "./support/pending_payments.ts";
import { startPostgres } from "./support/postgres.ts";
import { startProgram } from "./support/program.ts";
import { startService } from "./support/service.ts";

const ENDPOINTS = 100;
const MIN_WEBHOOKS_PER_SECOND = 300;
/** Events in each round; every endpoint gets all of them. */
const EVENTS_PER_ROUND = 50;
const DELIVERY_ROUNDS = 3;

const MAX_SLOWDOWN = 1.1;
const ROUNDS = 6;
/** Notifications in each round, for each kind of endpoint. */
const NOTIFICATIONS_PER_ROUND = 1_600;
const CONNECTIONS = 16;

/**
 * The body of bare posts. A bare post goes directly to the receiver, without the service, for
 * comparison. Bare posts use as many connections as there are endpoints.
 */
const BODY = Buffer.from(JSON.stringify({ data: "x".repeat(1_900) }));

await using folder = await createDataFolder();
await using server = await startPostgres(folder.path);
await using receiver = await startProgram(
  `${folder.path}/receiver.log`,
  ["run", "-q", "--no-lock", "--allow-net", "bench/support/receiver.ts"],
);
const staffKey = generateApiKey();
const databaseUrl = await server.createDatabase("webhooks");
await using service = await startService(`${folder.path}/service.log`, {
  DATABASE_URL: databaseUrl,
  GATEWAY_BASE_URL: "http://127.0.0.1:2",
  BOOTSTRAP_STAFF_KEY: staffKey,
  WEBHOOK_ALLOW_PRIVATE: "true",
});
await insertPayments(databaseUrl, PENDING);
let sent = 0;

const rates = { none: [] as number[], waiting: [] as number[], sending: [] as number[] };
type Kind = keyof typeof rates;
const kinds = Object.keys(rates) as Kind[];
await notify(NOTIFICATIONS_PER_ROUND);
for (let round = 0; round < ROUNDS; round++) {
  const first = round % kinds.length;
  for (const kind of [...kinds.slice(first), ...kinds.slice(0, first)]) {
    rates[kind].push(await notifyWith(kind));
  }
}

const deliveries: number[] = [];
const posts: number[] = [];
for (let round = 0; round < DELIVERY_ROUNDS; round++) {
  posts.push(await postWithoutService(ENDPOINTS * EVENTS_PER_ROUND));
  deliveries.push(await deliverTo(ENDPOINTS, EVENTS_PER_ROUND));
}

console.log(row("POST /notification/, 16 connections", ["calls", "vs. no endpoint"]));
console.log(row("no endpoint", [perSecond(rates.none, "calls")]));
const slowdown = ratio(rates.none, rates.waiting);
console.log(row(
  "an endpoint that is disabled: deliveries are stored",
  [perSecond(rates.waiting, "calls"), ratio(rates.waiting, rates.none)],
  goal(`at most ${MAX_SLOWDOWN} times as long`, Number(slowdown) <= MAX_SLOWDOWN),
));
console.log(row(
  "an endpoint that is enabled: deliveries are sent",
  [perSecond(rates.sending, "calls"), ratio(rates.sending, rates.none)],
));
console.log(row(`webhooks to ${ENDPOINTS} endpoints`, ["deliveries", "vs. bare posts"]));
console.log(row(
  "read, signed, sent and stored",
  [perSecond(deliveries, "webhooks"), ratio(deliveries, posts)],
  goal(`at least ${MIN_WEBHOOKS_PER_SECOND}/s`, median(deliveries) >= MIN_WEBHOOKS_PER_SECOND),
));

/** Notifications per second with no endpoint, a disabled endpoint or an enabled endpoint. */
async function notifyWith(kind: Kind): Promise<number> {
  const endpoint = kind === "none" ? null : await createEndpoint(kind === "sending");
  const rate = await notify(NOTIFICATIONS_PER_ROUND);
  if (kind === "sending") await waitForWebhooks(NOTIFICATIONS_PER_ROUND);
  if (endpoint) await removeEndpoints([endpoint]);
  return rate;
}

async function notify(count: number): Promise<number> {
  const requests = Array.from(
    { length: count },
    () => post(`${service.url}notification/`, {}, settlement(nthRow(PENDING, sent++))),
  );
  const callers = await Promise.all(Array.from({ length: CONNECTIONS }, connectWarm));
  let next = 0;
  const ms = await timed(() =>
    Promise.all(callers.map(async (caller) => {
      while (next < count) await sendNotification(caller, requests[next++]!);
    }))
  );
  for (const caller of callers) caller[Symbol.dispose]();
  return count / (ms / 1_000);
}

/**
 * Sends a small request first: Deno closes a connection whose first request does not fit into its
 * read buffer of 512 bytes (denoland/deno#36657).
 */
async function connectWarm(): Promise<Caller> {
  const caller = await connect(service.url);
  await caller.send(getRequest(`${service.url}health/live/`)());
  return caller;
}

async function sendNotification(caller: Caller, request: string): Promise<void> {
  const head = await caller.send(request);
  if (!head.startsWith("HTTP/1.1 200")) throw new Error(`Expected 200: ${head}`);
}

/** Webhooks per second, from the first that arrives to the last. */
async function deliverTo(endpoints: number, events: number): Promise<number> {
  const ids: string[] = [];
  for (let n = 0; n < endpoints; n++) ids.push(await createEndpoint(false));
  await notify(events);
  await Promise.all(
    ids.map((id) => requestAsStaff("PATCH", `webhook-endpoints/${id}/`, { enabled: true })),
  );
  const ms = await waitForWebhooks(endpoints * events);
  const open = "select from gateway.webhook_deliveries where status = 'pending'";
  while ((await runSql(databaseUrl, open)).length > 0) await delay(20);
  await removeEndpoints(ids);
  return endpoints * events / (ms / 1_000);
}

/** An upper limit for the rate of deliveries: only the posts, sent without the service. */
async function postWithoutService(count: number): Promise<number> {
  await using poster = createPoster({ allowPrivate: true });
  let next = 0;
  await Promise.all(Array.from({ length: ENDPOINTS }, async () => {
    while (next++ < count) await poster.post({ url: receiver.url, headers: {}, body: BODY });
  }));
  return count / (await waitForWebhooks(count) / 1_000);
}

/**
 * Waits for `count` webhooks and resets the receiver; returns the time from the first to the last.
 */
async function waitForWebhooks(count: number): Promise<number> {
  while (true) {
    const received = await (await fetch(receiver.url)).json();
    if (received.count < count) {
      await delay(20);
      continue;
    }
    await (await fetch(receiver.url, { method: "DELETE" })).text();
    if (received.count > count) {
      throw new Error(`Received ${received.count} webhooks instead of ${count}`);
    }
    return received.ms;
  }
}

async function createEndpoint(enabled: boolean): Promise<string> {
  return (await requestAsStaff("POST", "webhook-endpoints/", { url: receiver.url, enabled })).id;
}

/** Waits until all rows are deleted, so that this does not slow down the next measurement. */
async function removeEndpoints(ids: string[]): Promise<void> {
  for (const id of ids) await requestAsStaff("DELETE", `webhook-endpoints/${id}/`);
  const isGone = async () =>
    (await runSql(databaseUrl, "select from gateway.webhook_endpoints")).length === 0;
  while (!await isGone()) await delay(20);
}

async function requestAsStaff(method: string, path: string, body?: object) {
  const response = await fetch(service.url + path, {
    method,
    headers: { Authorization: `Bearer ${staffKey}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.status === 204 ? null : await response.json();
}
