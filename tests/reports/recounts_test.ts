import assert from "node:assert/strict";
import { rebuildStats, updateStats } from "../../core/reports/count_payments.ts";
import { openStaff } from "../support/console/browsing.ts";
import { findSentNotification } from "../support/gateway/notifications.ts";
import { nameOf, openRelayed } from "../support/gateway/relay.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { manualClock } from "../support/manual_clock.ts";
import { CHARGE_KINDS, openPayments, type TestPayments } from "../support/payments/payments.ts";
import { openSubscriptions } from "../support/records/subscriptions.ts";
import { until } from "../support/until.ts";

const DAY = 24 * 60 * 60_000;

const STATUS = "GET /v2/:id/status";

/** Updates the statistics, several times if needed, until the position reaches the newest entry. */
async function updateFully({ app }: TestPayments): Promise<void> {
  const [newest] = await app.database.query((sql) => sql`select max(id) from gateway.history`);
  await until("the position has reached the newest entry", async () => {
    await updateStats(app.service);
    const [progress] = await app.database.query((sql) =>
      sql`select position from gateway.stats_progress`
    );
    return progress!.position >= newest!.max;
  });
}

async function readRows(payments: TestPayments, query: string, key?: string): Promise<Json[]> {
  const response = await payments.get(`/stats/payments/?${query}`, key);
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()).rows;
}

/** The rows after an update; a rebuild gives the same ones. */
async function updatedRows(payments: TestPayments, query: string, key?: string): Promise<Json[]> {
  await updateStats(payments.app.service);
  const rows = await readRows(payments, query, key);
  await rebuildStats(payments.app.service);
  assert.deepEqual(await readRows(payments, query, key), rows, "a rebuild gives the same figures");
  return rows;
}

/** The transitions of the payment in a timeline. */
async function shownTransitions(
  payments: TestPayments,
  id: string,
  key: string,
  path = `payments/${id}`,
): Promise<Json[]> {
  const response = await payments.get(`/timelines/${path}/`, key);
  assert.equal(response.status, 200, await response.clone().text());
  const entries: Json[] = (await response.json()).entries;
  return entries.filter(({ payment_id, type }) => payment_id === id && type === "transition")
    .map(({ transition }) => `${transition.from_status ?? ""}>${transition.to_status}`);
}

Deno.test("stats: a subscription charge that gets its owner later moves to the figures of the owner", async () => {
  await using subscriptions = await openSubscriptions();
  const { app, staff, key, relay } = subscriptions;
  subscriptions.delivery = "signed";
  subscriptions.intercept = ({ metadata: _, ...body }) => body;
  relay.intercept = async (request, pass) => {
    const response = await pass();
    if (nameOf(request) !== STATUS) return response;
    const { metadata: _, ...body } = await response.json();
    return Response.json(body);
  };
  const subscription = await subscriptions.create();
  await subscriptions.advanceToNextCycle(subscription);
  await subscriptions.sandbox.waitForWebhooks();
  // Processes the notification, and queues the check that links the payment.
  await runDueJobs(app);
  await updateFully(subscriptions);
  const byUser = async (rows: Promise<Json[]>) =>
    (await rows).map(({ user_id, count, gross_amount }) => [user_id, count, gross_amount]);
  const query = "interval=month&group_by=user_id";
  assert.deepEqual(await byUser(readRows(subscriptions, query, staff)), [[null, 1, "150000.00"]]);

  await subscriptions.runJobs();
  const [payment] = await subscriptions.payments(subscription);
  assert.ok(payment, "the payment has its owner");
  assert.deepEqual(await byUser(updatedRows(subscriptions, query, staff)), [
    ["alice", 1, "150000.00"],
  ]);
  const own = await readRows(subscriptions, "interval=month", key);
  assert.deepEqual(own.map(({ count }) => count), [1]);

  const transitions = await subscriptions.transitions(payment.id);
  assert.equal(transitions.filter((each) => each.endsWith(" recount")).length, 1);
  const shown = transitions.slice(0, -1).map((each) => each.split(" ")[0]);
  for (const reader of [staff, key]) {
    assert.deepEqual(await shownTransitions(subscriptions, payment.id, reader), shown);
    const path = `subscriptions/${subscription.id}`;
    assert.deepEqual(await shownTransitions(subscriptions, payment.id, reader, path), shown);
  }
  const browsing = await openStaff(subscriptions);
  const { html } = await browsing.open(`/console/payments/${payment.id}/`);
  assert.match(html, /class="timeline"/);
  assert.doesNotMatch(html, /recount/);
  const audit = await subscriptions.get(`/audit/?resource_id=${payment.id}`, staff);
  assert.deepEqual(await audit.json(), []);
});

Deno.test("stats: a refund first reported only as a sum moves to its own day when the gateway lists it", async () => {
  const clock = manualClock(Date.parse("2081-03-05T03:30:00Z"));
  await using payments = await openRelayed({ now: clock.now });
  const moveBoth = async (ms: number) => {
    clock.advance(ms);
    await payments.sandbox.control("clock", { to: new Date(clock.now()).toISOString() });
  };
  await moveBoth(0);
  const { id, transaction_id } = await payments.paid("gopay");
  const body = { refund_key: "elsewhere", amount: 4_000 };
  await payments.sandbox.post(`/v2/${transaction_id}/refund`, body);
  let isListed = false;
  payments.relay.intercept = async (request, pass) => {
    const response = await pass();
    if (nameOf(request) !== STATUS || isListed) return response;
    const { refunds: _, ...body } = await response.json();
    return Response.json(body);
  };
  await moveBoth(DAY);
  const learned = await payments.refresh(id);
  assert.deepEqual([learned.refund_amount, learned.refunds], ["4000.00", []]);
  await updateFully(payments);
  const query = "from=2081-03-05&to=2081-03-10";
  const refunded = async (rows: Promise<Json[]>) =>
    (await rows).filter(({ refund_amount }) => refund_amount !== "0.00")
      .map(({ start, refund_amount }) => [start, refund_amount]);
  assert.deepEqual(await refunded(readRows(payments, query)), [
    ["2081-03-05T17:00:00.000Z", "4000.00"],
  ]);

  isListed = true;
  const listed = await payments.refresh(id);
  assert.deepEqual(listed.refunds.map(({ amount }) => amount), ["4000.00"]);
  assert.deepEqual(await refunded(updatedRows(payments, query)), [
    ["2081-03-04T17:00:00.000Z", "4000.00"],
  ]);
  assert.deepEqual(
    (await payments.transitions(id)).at(-1),
    "partial_refund>partial_refund recount",
  );
  const shown = [">pending", "pending>settlement", "settlement>partial_refund"];
  assert.deepEqual(await shownTransitions(payments, id, payments.key), shown);
  await payments.refresh(id);
  assert.equal((await payments.transitions(id)).length, shown.length + 1, "nothing new, no entry");
});

Deno.test("stats: a payment whose bank the gateway reports later moves to the figures of the bank", async () => {
  const clock = manualClock(Date.parse("2031-03-05T03:30:00Z"));
  await using payments = await openRelayed({ now: clock.now });
  let isReported = false;
  payments.relay.intercept = async (_request, pass) => {
    const response = await pass();
    const { bank, ...body } = await response.json();
    return Response.json({ ...body, ...isReported && { bank } }, { status: response.status });
  };
  const { id, bank } = await payments.charge("card");
  assert.equal(bank, null);
  await updateFully(payments);
  isReported = true;
  const checked = await payments.refresh(id);
  assert.equal(typeof checked.bank, "string");
  const rows = await updatedRows(payments, "from=2031-03-05&group_by=bank");
  assert.deepEqual(rows.map(({ bank, count }) => [bank, count]), [[checked.bank, 1]]);
});

Deno.test("history: charges, settlements and refunds of every method write no recount entries", async () => {
  await using payments = await openPayments();
  const { sandbox, post } = payments;
  for (const kind of CHARGE_KINDS.filter((kind) => kind !== "card_auth")) {
    const { id, order_id, transaction_id } = await payments.charge(kind);
    if (kind !== "card") await sandbox.control(`transactions/${transaction_id}/pay`);
    if (kind.startsWith("card")) await sandbox.control(`transactions/${transaction_id}/settle`);
    const body = await findSentNotification(payments, order_id, "settlement");
    assert.equal((await post("/notification/", body)).status, 200);
    // Refused for methods without refunds.
    await post(`/payments/${id}/refund/`, {});
    await payments.refresh(id);
    const transitions = await payments.transitions(id);
    assert.ok(transitions.length > 1, kind);
    assert.ok(!transitions.some((each) => each.endsWith(" recount")), `${kind}: ${transitions}`);
  }
});
