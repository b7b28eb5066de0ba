import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { basename, join } from "node:path";
import { checkPendingPayments } from "../../core/payments/check_pending_payments.ts";
import { processChargeAsync } from "../../core/payments/process_charge_async.ts";
import { processRefundAsync } from "../../core/payments/process_refund_async.ts";
import { findJob } from "../../db/jobs/jobs.ts";
import { JobSchema } from "../../routes/jobs/schema.ts";
import { createWaits } from "../support/gateway/gateway.ts";
import { openRelayed } from "../support/gateway/relay.ts";
import { ACCEPTED_CARD, AMOUNT } from "../support/gateway/sandbox.ts";
import { jobsOf, runDueJobs } from "../support/jobs/due_jobs.ts";
import { openPayments, type TestPayments } from "../support/payments/payments.ts";
import { PROJECT } from "../support/project.ts";

const [SECOND, MINUTE] = [1_000, 60_000];

const TASKS = [
  "check_payment_status",
  "check_pending_payments",
  "expire_stale_payments",
  "check_paid_payments",
  "check_overdue_invoices",
  "check_invoice_status",
  "check_subscription_status",
  "prune",
  "process_charge_async",
  "process_refund_async",
  "sync_subscription_status",
];

async function* filesIn(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) yield* filesIn(path);
    else yield path;
  }
}

Deno.test("tasks: each task has a file and a function of the same name", async () => {
  const files = await Array.fromAsync(filesIn(join(PROJECT, "core")));
  for (const task of TASKS) {
    const [file, ...more] = files.filter((path) => basename(path) === `${task}.ts`);
    assert.ok(file, task);
    assert.deepEqual(more, []);
    const name = task.replace(/_./g, ([, letter]) => letter!.toUpperCase());
    assert.equal(typeof (await import(`file://${file}`))[name], "function", name);
  }
});

const ALICE = {
  userId: "alice",
  isStaff: false,
  isViewer: false,
  credential: "api_key",
  keyPrefix: null,
} as const;

/** A deferred request, as the worker passes it to the task function. */
function deferredRequest<Input extends object>(scope: string, input: Input) {
  const bodyHash = createHash("sha256").update(JSON.stringify(input)).digest();
  const requestKey = { key: randomUUID(), scope, bodyHash, isRetriedByJob: true };
  return { caller: ALICE, input, requestKey, since: new Date() };
}

/** Sends an asynchronous charge with a card token; returns its job. */
async function requestCardCharge({ app, post, sandbox }: TestPayments) {
  const body = {
    payment_type: "credit_card",
    authentication: false,
    gross_amount: AMOUNT,
    token_id: await sandbox.token(ACCEPTED_CARD),
  };
  const response = await post("/charge/", body, { Prefer: "respond-async" });
  assert.equal(response.status, 202, await response.clone().text());
  const { id } = JobSchema.parse(await response.json());
  return (await app.database.query((sql) => findJob(sql, id)))!;
}

Deno.test("process_charge_async: charges once, as the caller of the request and with its card token", async () => {
  await using payments = await openPayments();
  const { service } = payments.app;
  const job = await requestCardCharge(payments);
  const request = deferredRequest("POST /charge/", {
    payment_type: "credit_card" as const,
    authentication: false,
    gross_amount: AMOUNT,
    authorize: false,
    save_token_id: false,
    order_id: "by-task",
  });
  const charged = await processChargeAsync(service, request, job);
  const { id, transaction_status } = await payments.read(charged.id);
  assert.deepEqual([id, transaction_status], [charged.id, "capture"]);
  assert.equal((await processChargeAsync(service, request, job)).id, charged.id);
  assert.equal((await payments.transactions("by-task")).length, 1);
});

Deno.test("process_refund_async: refunds once, as the caller of the request", async () => {
  await using payments = await openPayments();
  const { service } = payments.app;
  const { id, transaction_id } = await payments.paid("gopay");
  const request = deferredRequest(`POST /payments/${id}/refund/`, {
    payment_id: id,
    amount: 1_000,
    direct: false,
  });
  for (let times = 0; times < 2; times++) await processRefundAsync(service, request);
  const { refunds } = await payments.sandbox.status(transaction_id!);
  assert.equal(refunds.length, 1);
  assert.equal((await payments.read(id)).refund_amount, "1000.00");

  const foreignRequest = { ...request, caller: { ...ALICE, userId: "mallory" } };
  await assert.rejects(processRefundAsync(service, foreignRequest), { code: "not_found" });
});

Deno.test("check_payment_status: a failing check is retried three times with doubling delays, then fails", async () => {
  let aheadMs = 0;
  await using payments = await openRelayed({
    now: () => Date.now() + aheadMs,
    gatewayOptions: { wait: createWaits().wait },
  });
  const { app, relay } = payments;
  const { id } = await payments.charge("bca");
  aheadMs += 6 * MINUTE;
  assert.equal(await checkPendingPayments(app.service), 1);
  // A 404, unlike a timeout or a 429, does not pause background work.
  relay.intercept = () =>
    Response.json({ status_code: "404", status_message: "Transaction doesn't exist." });
  const delays: number[] = [];
  for (let tries = 1; tries <= 3; tries++) {
    assert.equal(await runDueJobs(app), 1);
    const [job] = await jobsOf(app, id);
    assert.deepEqual([job!.status, job!.attempts], ["queued", tries]);
    const delay = job!.run_at.getTime() - app.service.clock();
    delays.push(Math.round(delay / 10 / SECOND) * 10);
    aheadMs += delay;
  }
  assert.deepEqual(delays, [60, 120, 240]);
  assert.equal(await runDueJobs(app), 1);
  const [job] = await jobsOf(app, id);
  assert.deepEqual([job!.status, job!.attempts], ["failed", 4]);
});
