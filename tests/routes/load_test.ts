import assert from "node:assert/strict";
import { createLoad, type Load, MAX_DELAY_MS, measureLoad } from "../../core/status/load.ts";
import { createRouter } from "../../http/router.ts";
import { openApp } from "../support/app.ts";
import { createDatabase } from "../support/database/database.ts";
import { buildNotification, notify } from "../support/gateway/notifications.ts";
import { newKey } from "../support/idempotency.ts";
import { chargeRequest, openPayments, type TestPayments } from "../support/payments/payments.ts";
import { assertProblem } from "../support/problem.ts";
import { until } from "../support/until.ts";

const REQUESTS = 20;

function createQuietLoad(): Load {
  return createLoad({ info: () => {} });
}

/** Records the same delay until the share of rejected requests no longer changes. */
function recordMany(load: Load, delayMs: number): void {
  for (let i = 0; i < 200; i++) load.record(delayMs);
}

/** How many of 100 requests are rejected. */
function rejectedOf100(load: Load): number {
  return Array.from({ length: 100 }, () => load.rejectsNext()).filter(Boolean).length;
}

async function sendCharges(payments: TestPayments): Promise<Response[]> {
  const body = await chargeRequest(payments.sandbox, "bca");
  return await Promise.all(
    Array.from({ length: REQUESTS }, () => payments.post("/charge/", body, newKey())),
  );
}

Deno.test("load: while the event loop stays delayed, most requests get 503 with Retry-After; probes, notifications and status are served", async () => {
  const load = createQuietLoad();
  await using payments = await openPayments({ load });
  const staff = await payments.app.createKey({ userId: "staff", isStaff: true });
  const payment = await payments.charge();
  recordMany(load, 2 * MAX_DELAY_MS);

  const rejected = (await sendCharges(payments)).filter(({ status }) => status !== 201);
  assert.ok(rejected.length > REQUESTS / 2);
  for (const answer of rejected) {
    assert.ok(Number(answer.headers.get("retry-after")) > 0);
    const problem = await assertProblem(answer, 503, "unavailable");
    assert.match(problem.detail!, /overloaded.*not processed/);
  }
  for (let i = 0; i < REQUESTS; i++) {
    assert.equal((await payments.app.request("/health/live/")).status, 200);
    assert.equal((await payments.app.request("/health/ready/")).status, 200);
    assert.equal((await notify(payments, buildNotification(payment, "settlement"))).status, 200);
    const answer = await payments.get("/status/", staff);
    assert.equal(answer.status, 200);
    assert.deepEqual((await answer.json()).load, {
      event_loop_delay_ms: 2 * MAX_DELAY_MS,
      rejected_requests: rejected.length,
    });
  }
  const errors = payments.app.logged().filter(({ event }) => event === "unavailable");
  assert.deepEqual(errors, [], "rejected requests are not logged as errors");

  recordMany(load, 0);
  for (const { status } of await sendCharges(payments)) assert.equal(status, 201);
});

Deno.test("load: a rejected request costs no query and runs when it is sent again", async () => {
  const load = createQuietLoad();
  let queries = 0;
  await using payments = await openPayments({
    load,
    wrapDatabase: (database) => ({
      ...database,
      query(work, name) {
        queries++;
        return database.query(work, name);
      },
    }),
  });
  const body = await chargeRequest(payments.sandbox, "bca");
  const key = newKey();
  recordMany(load, 2 * MAX_DELAY_MS);
  await until("a request is rejected", async () => {
    queries = 0;
    return (await payments.get("/me/")).status === 503;
  });
  assert.equal(queries, 0);
  await until("the charge is accepted", async () => {
    return (await payments.post("/charge/", body, key)).status === 201;
  });
});

Deno.test("load: a single long delay does not cause rejected requests", () => {
  const load = createQuietLoad();
  load.record(100 * MAX_DELAY_MS);
  assert.equal(rejectedOf100(load), 0);
});

Deno.test("load: the share of rejected requests grows with the overload and stays below 100 %", () => {
  const load = createQuietLoad();
  const shares: number[] = [];
  for (let i = 0; i < 50; i++) {
    load.record(2 * MAX_DELAY_MS);
    shares.push(rejectedOf100(load));
  }
  assert.deepEqual(shares, shares.toSorted((a, b) => a - b));
  assert.equal(shares[0], 0);
  assert.ok(shares.at(-1)! >= 90 && shares.at(-1)! < 100);
});

Deno.test("load: the log has one line when an overload begins", () => {
  const lines: string[] = [];
  const load = createLoad({ info: (event) => void lines.push(event) });
  recordMany(load, 2 * MAX_DELAY_MS);
  assert.deepEqual(lines, ["overloaded"]);
  recordMany(load, 0);
  recordMany(load, 2 * MAX_DELAY_MS);
  assert.deepEqual(lines, ["overloaded", "overloaded"]);
});

Deno.test("load: requests that block the event loop again and again are rejected", async () => {
  const load = createQuietLoad();
  using _ = measureLoad(load);
  const resource = createRouter();
  resource.get("/busy/", (c) => {
    const end = performance.now() + 3 * MAX_DELAY_MS;
    while (performance.now() < end);
    return c.json({});
  });
  const databaseUrl = await createDatabase();
  await using app = await openApp({ databaseUrl, load, resources: [resource] });
  const key = await app.createKey();
  await until("a request is rejected", async () => (await app.as(key, "/busy/")).status === 503);
  assert.ok(load.delayMs() > MAX_DELAY_MS);
});
