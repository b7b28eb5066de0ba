import assert from "node:assert/strict";
import { PAYMENT_EVENT_NAMES } from "../../core/events/names.ts";
import { createEvents } from "../../core/handlers/events.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments } from "../support/payments/payments.ts";

/** A payment whose first event was skipped because its handler always failed. */
async function openSkipped() {
  let aheadMs = 0;
  const handled: string[] = [];
  const failingNames = new Set(["received"]);
  const events = createEvents();
  events.on(PAYMENT_EVENT_NAMES, ({ name }) => {
    const shortName = name.replace("payment_", "");
    if (failingNames.has(shortName)) throw new Error("broken handler");
    handled.push(shortName);
  }, { as: "test" });
  const payments = await openPayments({ events, now: () => Date.now() + aheadMs });
  const { app, post } = payments;
  const { id } = await payments.paid("gopay");
  const staff = await app.createKey({ isStaff: true });
  const statuses = async () => (await jobsOf(app, id)).map(({ status }) => status);
  const skipped = {
    ...payments,
    id,
    handled,
    failingNames,
    statuses,
    /** Runs due jobs, and lets hours pass, until no job is queued. */
    async runAll() {
      while ((await statuses()).includes("queued")) {
        await runDueJobs(app);
        aheadMs += 3_600_000;
      }
    },
    async retry() {
      const failed = (await jobsOf(app, id)).find(({ status }) => status === "failed");
      const response = await app.as(staff, `/jobs/${failed!.id}/retry/`, { method: "POST" });
      assert.equal(response.status, 200, await response.text());
    },
    async refund() {
      const response = await post(`/payments/${id}/refund/`, { amount: 1_000 });
      assert.equal(response.status, 200, await response.text());
    },
  };
  await skipped.runAll();
  assert.deepEqual(handled, ["settled"]);
  handled.length = 0;
  return skipped;
}

Deno.test("skipped event: a retry delivers it alone, without the later events", async () => {
  await using skipped = await openSkipped();
  skipped.failingNames.clear();
  await skipped.retry();
  await skipped.runAll();
  assert.deepEqual(skipped.handled, ["received"]);
  await skipped.refund();
  await skipped.runAll();
  assert.deepEqual(skipped.handled, ["received", "refunded"]);
});

Deno.test("skipped event: if it is retried and skipped again, later events are not delivered again", async () => {
  await using skipped = await openSkipped();
  await skipped.retry();
  await skipped.runAll();
  assert.deepEqual(skipped.handled, []);
  assert.equal((await skipped.statuses()).filter((status) => status === "failed").length, 1);
});

Deno.test("skipped event: an event that happens before the retry runs is not lost", async () => {
  await using skipped = await openSkipped();
  skipped.failingNames.clear();
  await skipped.retry();
  await skipped.refund();
  await skipped.runAll();
  assert.equal(skipped.handled[0], "received");
  assert.equal(skipped.handled.at(-1), "refunded");
});
