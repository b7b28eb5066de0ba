import assert from "node:assert/strict";
import { PAYMENT_EVENT_NAMES } from "../../core/events/names.ts";
import { createEvents } from "../../core/subscribers/subscribe.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments } from "../support/payments/payments.ts";

/** A payment whose first event its subscriber does not take, and which was given up with that. */
async function openGivenUp() {
  let ahead = 0;
  const heard: string[] = [];
  const broken = new Set(["received"]);
  const events = createEvents();
  events.on(PAYMENT_EVENT_NAMES, ({ name }) => {
    const short = name.replace("payment_", "");
    if (broken.has(short)) throw new Error("out of order");
    heard.push(short);
  }, { as: "test" });
  const payments = await openPayments({ events, now: () => Date.now() + ahead });
  const { app, post } = payments;
  const { id } = await payments.paid("gopay");
  const staff = await app.createKey({ isStaff: true });
  const statuses = async () => (await jobsOf(app, id)).map(({ status }) => status);
  const given = {
    ...payments,
    id,
    heard,
    broken,
    statuses,
    /** Days pass, until there is nothing more to do. */
    async runAll() {
      while ((await statuses()).includes("queued")) {
        await runDueJobs(app);
        ahead += 3_600_000;
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
  await given.runAll();
  assert.deepEqual(heard, ["settled"]);
  heard.length = 0;
  return given;
}

Deno.test("an event that was left out and is retried is told alone, not all after it once more", async () => {
  await using given = await openGivenUp();
  given.broken.clear();
  await given.retry();
  await given.runAll();
  assert.deepEqual(given.heard, ["received"]);
  await given.refund();
  await given.runAll();
  assert.deepEqual(given.heard, ["received", "refunded"]);
});

Deno.test("an event that is left out once more has nothing told again", async () => {
  await using given = await openGivenUp();
  await given.retry();
  await given.runAll();
  assert.deepEqual(given.heard, []);
  assert.equal((await given.statuses()).filter((status) => status === "failed").length, 1);
});

Deno.test("what happens while an event that was left out waits to be retried is not lost", async () => {
  await using given = await openGivenUp();
  given.broken.clear();
  await given.retry();
  await given.refund();
  await given.runAll();
  assert.equal(given.heard[0], "received");
  assert.equal(given.heard.at(-1), "refunded");
});
