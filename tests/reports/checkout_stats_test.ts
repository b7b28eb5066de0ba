import assert from "node:assert/strict";
import { openCheckouts, type TestCheckouts } from "../support/checkouts/checkouts.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { manualClock } from "../support/manual_clock.ts";
import { assertProblem } from "../support/problem.ts";

/** 2031-03-05, one minute before midnight in Jakarta. */
const BEFORE_MIDNIGHT = Date.parse("2031-03-05T16:59:00Z");

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

async function openStats() {
  const clock = manualClock(BEFORE_MIDNIGHT);
  const checkouts = await openCheckouts({ now: clock.now });
  return Object.assign(checkouts, { advance: clock.advance });
}

async function rowsOf(
  checkouts: TestCheckouts,
  query: string,
  key = checkouts.key,
): Promise<Json[]> {
  const response = await checkouts.get(`/stats/checkouts/?${query}`, key);
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).rows;
}

async function pay(checkouts: TestCheckouts, input: Json): Promise<void> {
  const checkout = await checkouts.create(input);
  await checkouts.choose(checkout, "bca_va");
  const [payment] = await checkouts.paymentsOf(checkout);
  await checkouts.sandbox.control(`transactions/${checkout.order_id}/pay`);
  await checkouts.refresh(payment!.id);
  await checkouts.page(checkout);
}

Deno.test("checkout stats: count the checkouts of each interval by their state, and add up what was paid", async () => {
  await using checkouts = await openStats();
  await pay(checkouts, { gross_amount: 50_000 });
  await pay(checkouts, { gross_amount: 25_000 });
  await checkouts.create();
  const { id } = await checkouts.create();
  assert.equal((await checkouts.post(`/checkouts/${id}/cancel/`)).status, 200);
  checkouts.advance(2 * MINUTE);
  const expiring = await checkouts.create({
    expires_at: new Date(BEFORE_MIDNIGHT + 60 * MINUTE).toISOString(),
  });
  checkouts.advance(60 * MINUTE);
  await checkouts.page(expiring);
  await pay(checkouts, { gross_amount: 99_000 });

  const first = {
    start: "2031-03-04T17:00:00.000Z",
    count: 4,
    paid_count: 2,
    expired_count: 0,
    cancelled_count: 1,
    success_rate: 0.5,
    gross_amount: "75000.00",
  };
  const second = {
    start: "2031-03-05T17:00:00.000Z",
    count: 2,
    paid_count: 1,
    expired_count: 1,
    cancelled_count: 0,
    success_rate: 0.5,
    gross_amount: "99000.00",
  };
  assert.deepEqual(await rowsOf(checkouts, "from=2031-03-01&to=2031-03-10"), [first, second]);
  assert.deepEqual(await rowsOf(checkouts, "from=2031-03-06&to=2031-03-07"), [second]);
  assert.deepEqual(await rowsOf(checkouts, "from=2031-03-07&to=2031-03-08"), []);
  const starts = async (query: string) =>
    (await rowsOf(checkouts, query)).map(({ start, count }) => [start, count]);
  const inUtc = "from=2031-03-05&to=2031-03-06&time_zone=UTC";
  assert.deepEqual(await starts(inUtc), [["2031-03-05T00:00:00.000Z", 6]]);
  assert.deepEqual(await starts(`${inUtc}&interval=hour`), [
    ["2031-03-05T16:00:00.000Z", 4],
    ["2031-03-05T17:00:00.000Z", 1],
    ["2031-03-05T18:00:00.000Z", 1],
  ]);
  // The first interval begins before the range, and has only the checkouts of the range.
  assert.deepEqual(await starts("from=2031-03-06&to=2031-03-07&interval=month"), [
    ["2031-02-28T17:00:00.000Z", 2],
  ]);
});

Deno.test("checkout stats: users get the figures of their own checkouts, staff and viewers of all", async () => {
  await using checkouts = await openStats();
  const { app } = checkouts;
  const bob = await app.createKey({ userId: "bob" });
  const staff = await app.createKey({ userId: "carol", isStaff: true });
  const viewer = await app.createKey({ userId: "dave", isViewer: true });
  await checkouts.create();
  await checkouts.create();
  await checkouts.post("/checkouts/", { gross_amount: 10_000 }, {}, bob);
  const countsOf = async (key: string) =>
    (await rowsOf(checkouts, "interval=week", key)).map(({ count }) => count);
  assert.deepEqual(await countsOf(checkouts.key), [2]);
  assert.deepEqual(await countsOf(bob), [1]);
  for (const key of [staff, viewer]) assert.deepEqual(await countsOf(key), [3]);
  assert.deepEqual(await countsOf(await app.createKey({ userId: "eve" })), []);
});

Deno.test("checkout stats: accept three months, and reject a longer range and wrong parameters", async () => {
  await using checkouts = await openStats();
  checkouts.advance(DAY);
  const accepted = [
    "from=2031-07-01&to=2031-10-01",
    "from=2031-10-01&to=2032-01-01&time_zone=America/New_York",
    "from=1970-01-01&to=1970-01-02",
    "from=9999-12-30&to=9999-12-31",
  ];
  for (const query of accepted) assert.deepEqual(await rowsOf(checkouts, query), [], query);
  const rejected = {
    "from=2030-12-01&to=2031-03-05": "from",
    "from=2031-03-05&to=2031-03-05": "to",
    "from=2031-02-01&interval=year": "interval",
    "from=2031-03-05&time_zone=Asia/Kolkata": "time_zone",
    "from=2031-03-05&group_by=bank": "group_by",
  };
  for (const [query, field] of Object.entries(rejected)) {
    const response = await checkouts.get(`/stats/checkouts/?${query}`);
    const { errors } = await assertProblem(response, 400, "validation_error");
    assert.deepEqual(errors!.map(({ field }) => field), [field], query);
  }
});
