/** Transactions that only the gateway knows are taken over from its report. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { PostponeJob } from "../../core/jobs/task.ts";
import { createTakeOverMissing } from "../../core/reports/take_over.ts";
import type { GatewayJob } from "../../db/jobs/jobs.ts";
import { findSentNotification, notifyAndRead } from "../support/gateway/notifications.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { isReplayed, newKey } from "../support/idempotency.ts";
import { runDueJobs } from "../support/jobs/due_jobs.ts";
import { assertProblem } from "../support/problem.ts";
import { openInvoices } from "../support/records/invoices.ts";
import {
  openReports,
  reconcile,
  runJob,
  type TestReports,
  today,
  upload,
} from "../support/reports/reconciliations.ts";

/** A paid transaction that only the gateway has. */
async function paidAtGateway({ sandbox }: TestReports, amount = 44_000): Promise<Json> {
  const transaction_details = { order_id: randomUUID(), gross_amount: amount };
  return await sandbox.paid("gopay", { transaction_details });
}

const HEADER = "order_id,transaction_id,amount\n";

function lineOf({ order_id, transaction_id, gross_amount }: Json): string {
  return `${order_id},${transaction_id},${gross_amount}\n`;
}

function pathOf({ id }: Json, difference: number): string {
  return `/reconciliations/${id}/differences/${difference}/take-over/`;
}

async function takeOver({ post, staff }: TestReports, path: string, headers = {}) {
  return await post(path, undefined, headers, staff);
}

async function paymentsOf({ get, staff }: TestReports, orderId: string): Promise<Json[]> {
  const listed: Json[] = await (await get(`/payments/?order_id=${orderId}`, staff)).json();
  return await Promise.all(
    listed.map(async (each) => ({
      ...each,
      ...await (await get(`/payments/${each.id}/`, staff)).json(),
    })),
  );
}

async function readDifferences({ get, staff }: TestReports, { id }: Json): Promise<Json[]> {
  return await (await get(`/reconciliations/${id}/differences/`, staff)).json();
}

Deno.test("take-over: stores the gateway's transaction as a payment, writes its event once and resolves the difference", async () => {
  await using reports = await openReports();
  const { order_id, transaction_id } = await paidAtGateway(reports);
  const result = await reconcile(reports, await reports.sandbox.settlementReport(today()));
  const [missing] = result.differences;
  assert.deepEqual([missing.result, missing.transaction_id], ["missing_here", transaction_id]);

  const response = await takeOver(reports, pathOf(result, missing.id));
  assert.equal(response.status, 200, await response.clone().text());
  const resolved = await response.json();
  const [payment, ...others] = await paymentsOf(reports, order_id);
  assert.equal(others.length, 0);
  assert.deepEqual(
    [payment.transaction_id, payment.transaction_status, payment.captured_amount, payment.user_id],
    [transaction_id, "settlement", "44000.00", null],
  );
  assert.deepEqual([resolved.payment_id, resolved.resolved_by], [payment.id, "carol"]);
  assert.deepEqual(await reports.events(payment.id), ["payment_settled"]);
  assert.deepEqual(await reports.transitions(payment.id), [
    ">pending take_over",
    "pending>settlement take_over",
  ]);
  const read = await (await reports.get(`/reconciliations/${result.id}/`, reports.staff)).json();
  assert.equal(read.open_differences, 0);
  assert.equal(read.results.missing_here, 1, "the results of the comparison stay");

  const again = await takeOver(reports, pathOf(result, missing.id));
  assert.deepEqual(await again.json(), resolved, "nothing changes");
  assert.equal((await paymentsOf(reports, order_id)).length, 1);
  assert.deepEqual(await reports.events(payment.id), ["payment_settled"]);

  await reports.app.audit.flush();
  const entries = await (await reports.get("/audit/?outcome=changed", reports.staff)).json();
  const action = "POST /reconciliations/{pk}/differences/{difference_id}/take-over/";
  assert.deepEqual(
    entries.filter((each: Json) => each.action === action)
      .map(({ user_id, resource_id }: Json) => [user_id, resource_id]),
    [["carol", result.id]],
    "the request that changes nothing is not recorded",
  );

  const later = `${HEADER}${order_id},${transaction_id},44000\n`;
  const { results } = await reconcile(reports, later);
  assert.equal(results.listed_twice, 1, "a later file has the same settlement");
});

Deno.test("take-over: asks by the order id if the line has no transaction id, and replays the response for a key", async () => {
  await using reports = await openReports();
  const { order_id, transaction_id } = await paidAtGateway(reports);
  const result = await reconcile(reports, `order_id,amount\n${order_id},44000\n`);
  const headers = newKey();
  const first = await takeOver(reports, pathOf(result, 2), headers);
  assert.equal(first.status, 200, await first.clone().text());
  const [payment] = await paymentsOf(reports, order_id);
  assert.equal(payment.transaction_id, transaction_id);
  const again = await takeOver(reports, pathOf(result, 2), headers);
  assert.equal(isReplayed(again), true);
  assert.equal(await again.text(), await first.text());
});

Deno.test("take-over: of requests at the same time, one creates the payment and resolves the difference", async () => {
  await using reports = await openReports();
  const paid = await paidAtGateway(reports);
  const result = await reconcile(reports, HEADER + lineOf(paid));
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => takeOver(reports, pathOf(result, 2))),
  );
  for (const answer of answers) assert.equal(answer.status, 200, await answer.clone().text());
  const [payment, ...others] = await paymentsOf(reports, paid.order_id);
  assert.equal(others.length, 0);
  assert.deepEqual(await reports.events(payment.id), ["payment_settled"]);
  const read = await (await reports.get(`/reconciliations/${result.id}/`, reports.staff)).json();
  assert.equal(read.open_differences, 0);
});

Deno.test("take-over: a job takes over all, with their refunds, and says which lines failed and why", async () => {
  await using reports = await openReports();
  const refunded = await paidAtGateway(reports, 50_000);
  await reports.sandbox.post(`/v2/${refunded.transaction_id}/refund`, {
    refund_key: randomUUID(),
    amount: 20_000,
  });
  const paid = await paidAtGateway(reports);
  const unknown = `${randomUUID()},${randomUUID()},1000,,,${today()}\r\n`;
  const odd = ["..", "."].map((id) => `${id},,1000,,,${today()}\r\n`);
  const result = await reconcile(
    reports,
    "order_id,transaction_id,amount,type,refund_key,time\r\n" +
      `${refunded.order_id},${refunded.transaction_id},50000,,,${today()}\r\n` +
      `${refunded.order_id},${refunded.transaction_id},20000,refund,,${today()}\r\n` +
      unknown +
      `${paid.order_id},${paid.transaction_id},44000,,,${today()}\r\n` +
      `${paid.order_id},${paid.transaction_id},44000,,,${today()}\r\n` +
      odd.join(""),
  );
  assert.equal(result.results.missing_here, 7);
  const response = await takeOver(reports, `/reconciliations/${result.id}/take-over/`);
  assert.equal(response.status, 202, await response.clone().text());
  const queued = await response.json();
  assert.deepEqual([queued.task, queued.status], ["take_over_missing", "queued"]);
  const same = await takeOver(reports, `/reconciliations/${result.id}/take-over/`);
  assert.equal((await same.json()).id, queued.id);
  await runDueJobs(reports.app);
  const job = await (await reports.get(`/jobs/${queued.id}/`, reports.staff)).json();
  assert.equal(job.status, "succeeded", job.error);
  assert.deepEqual([job.result.taken_over, job.result.failed], [3, 4]);
  assert.deepEqual(job.result.problems.map((each: Json) => each.difference), [4, 6, 7, 8]);
  assert.match(job.result.problems[0].error, /The gateway has no transaction/);
  assert.match(job.result.problems[1].error, /Another line has the same settlement/);

  const [first] = await paymentsOf(reports, refunded.order_id);
  assert.deepEqual(
    [first.transaction_status, first.refund_amount],
    ["partial_refund", "20000.00"],
  );
  const [second] = await paymentsOf(reports, paid.order_id);
  const resolved = (await readDifferences(reports, result))
    .filter(({ resolved_at }) => resolved_at !== null);
  assert.deepEqual(
    resolved.map((each) => [each.id, each.payment_id, each.resolved_by]),
    [[2, first.id, "carol"], [3, first.id, "carol"], [5, second.id, "carol"]],
  );
  assert.ok(resolved[1]!.refund_id);
  const staffOfJob = await reports.app.database.query((sql) =>
    sql`select distinct actor from gateway.history where resource_id = ${second.id}`
  );
  assert.match(staffOfJob[0]!.actor, /^api_key:/, "the history names the staff member");
});

Deno.test("take-over: a job that was interrupted continues after the last line that it asked for", async () => {
  await using reports = await openReports();
  const unknown = { order_id: randomUUID(), transaction_id: randomUUID(), gross_amount: 1_000 };
  const paid = await paidAtGateway(reports);
  const result = await reconcile(reports, HEADER + lineOf(paid) + lineOf(unknown));
  const { id } = await (await takeOver(reports, `/reconciliations/${result.id}/take-over/`)).json();
  const { database } = reports.app;
  const [job] = await database.query((sql) =>
    sql<[GatewayJob]>`
      update gateway.jobs set status = 'running' where id = ${id} returning *`
  );
  let reads = 0;
  const { signal } = new AbortController();
  const stopping = {
    get aborted() {
      return reads++ > 0;
    },
  } as AbortSignal;
  const run = createTakeOverMissing(reports.app.service).run(job, { signal, stopping });
  await assert.rejects(run, PostponeJob);
  await database.query((sql) => sql`update gateway.jobs set status = 'queued' where id = ${id}`);
  await runDueJobs(reports.app);
  const ended = await (await reports.get(`/jobs/${id}/`, reports.staff)).json();
  assert.deepEqual([ended.result?.taken_over, ended.result?.failed], [1, 1], ended.error);
});

Deno.test("take-over: a job is tried again if the gateway has an error, and fails no line", async () => {
  await using reports = await openReports();
  const paid = await paidAtGateway(reports);
  const result = await reconcile(reports, HEADER + lineOf(paid));
  const { id } = await (await takeOver(reports, `/reconciliations/${result.id}/take-over/`)).json();
  await reports.sandbox.fault("status", "error_500", { count: 10 });
  await runDueJobs(reports.app);
  const read = async () => await (await reports.get(`/jobs/${id}/`, reports.staff)).json();
  assert.equal((await read()).status, "queued");
  await reports.sandbox.control("faults", undefined, "DELETE");
  await reports.app.database.query((sql) =>
    sql`update gateway.jobs set run_at = now() where id = ${id}`
  );
  await runDueJobs(reports.app);
  const { taken_over, failed } = (await read()).result;
  assert.deepEqual([taken_over, failed], [1, 0]);
});

Deno.test("take-over: refuses a transaction that the gateway does not have, and leaves the difference open", async () => {
  await using reports = await openReports();
  const unknown = { order_id: randomUUID(), transaction_id: randomUUID(), gross_amount: 1_000 };
  const result = await reconcile(reports, HEADER + lineOf(unknown));
  const answer = await takeOver(reports, pathOf(result, 2));
  const { detail } = await assertProblem(answer, 400, "invalid_state");
  assert.match(detail!, /The gateway has no transaction .* line 2 .* Check that the file/);
  assert.deepEqual(await paymentsOf(reports, unknown.order_id), []);
  assert.equal((await readDifferences(reports, result))[0]!.resolved_at, null);
});

Deno.test("take-over: refuses a transaction whose ids, amount or state differ from the line", async () => {
  await using reports = await openReports();
  const paid = await paidAtGateway(reports);
  const other = await paidAtGateway(reports);
  const order_id = randomUUID();
  const unpaid = await reports.sandbox.charge("bca", {
    transaction_details: { order_id, gross_amount: 44_000 },
  });
  const result = await reconcile(
    reports,
    HEADER + lineOf({ ...paid, gross_amount: 43_000 }) +
      lineOf({ ...other, order_id: randomUUID() }) + lineOf(unpaid),
  );
  const expected = [/44000\.00 with the status settlement/, /has other ids/, /status pending/];
  for (const [index, text] of expected.entries()) {
    const answer = await takeOver(reports, pathOf(result, index + 2));
    const { detail } = await assertProblem(answer, 400, "invalid_state");
    assert.match(detail!, text);
  }
  for (const each of [paid, other, unpaid]) {
    assert.deepEqual(await paymentsOf(reports, each.order_id), [], "no payment is created");
  }
  assert.ok((await readDifferences(reports, result)).every((each) => each.resolved_at === null));
});

Deno.test("take-over: adopts nothing while an unanswered charge here may own the transaction", async () => {
  await using reports = await openReports();
  const paid = await paidAtGateway(reports);
  const result = await reconcile(reports, HEADER + lineOf(paid));
  await reports.sandbox.fault("charge", "reset");
  const { order_id } = paid;
  // The gateway's amount may include a fee.
  const body = { payment_type: "gopay", gross_amount: 40_000, order_id };
  const charged = await reports.post("/charge/", body);
  assert.ok(charged.status >= 500, await charged.clone().text());
  const answer = await takeOver(reports, pathOf(result, 2));
  assert.ok(answer.headers.has("retry-after"));
  const { detail } = await assertProblem(answer, 400, "invalid_state");
  assert.match(detail!, /not clear whether the transaction .* Retry when that charge has a result/);
  const [payment, ...others] = await paymentsOf(reports, order_id);
  assert.equal(others.length, 0);
  assert.deepEqual([payment.transaction_id, payment.transaction_status], [null, "pending"]);
});

Deno.test("take-over: gives the transaction to the unanswered charge that created it", async () => {
  await using reports = await openReports();
  const paid = await paidAtGateway(reports);
  const result = await reconcile(reports, HEADER + lineOf(paid));
  await reports.sandbox.fault("charge", "reset");
  const { order_id } = paid;
  await reports.post("/charge/", { payment_type: "gopay", gross_amount: 44_000, order_id });
  const answer = await takeOver(reports, pathOf(result, 2));
  assert.equal(answer.status, 200, await answer.clone().text());
  const [payment, ...others] = await paymentsOf(reports, order_id);
  assert.equal(others.length, 0);
  assert.deepEqual([payment.user_id, payment.is_paid], ["alice", true]);
});

Deno.test("take-over: a payment that a notification adopted meanwhile resolves the difference", async () => {
  await using reports = await openReports();
  const paid = await paidAtGateway(reports);
  const result = await reconcile(reports, HEADER + lineOf(paid));
  await notifyAndRead(reports, await findSentNotification(reports, paid.order_id, "settlement"));
  const [adopted] = await paymentsOf(reports, paid.order_id);
  const answer = await takeOver(reports, pathOf(result, 2));
  assert.equal((await answer.json()).payment_id, adopted.id);
  assert.deepEqual(await reports.events(adopted.id), ["payment_settled"]);
});

Deno.test("take-over: refuses a settlement that was taken over from another file", async () => {
  await using reports = await openReports();
  const paid = await paidAtGateway(reports);
  const result = await reconcile(reports, HEADER + lineOf(paid));
  const second = await reconcile(reports, `${HEADER}${lineOf(paid)}x,y,1\n`);
  assert.equal((await takeOver(reports, pathOf(second, 2))).status, 200);
  const reopen = pathOf(second, 2).replace("take-over", "reopen");
  assert.equal((await takeOver(reports, reopen)).status, 200);
  assert.equal((await takeOver(reports, pathOf(second, 2))).status, 200, "not twice in itself");
  const answer = await takeOver(reports, pathOf(result, 2));
  const { detail } = await assertProblem(answer, 400, "invalid_state");
  assert.match(detail!, /Another line has the same settlement/);
});

Deno.test("take-over: stores a refund that only the gateway knows, of a payment that is known here", async () => {
  await using reports = await openReports();
  const { id, order_id, transaction_id } = await reports.paid("gopay", { gross_amount: 50_000 });
  const refund = { refund_key: randomUUID(), amount: 20_000 };
  await reports.sandbox.post(`/v2/${transaction_id}/refund`, refund);
  const file = "order_id,amount,type,refund_key\n" +
    `${order_id},20000,refund,${refund.refund_key}\n`;
  const result = await reconcile(reports, file);
  const answer = await takeOver(reports, pathOf(result, 2));
  assert.equal(answer.status, 200, await answer.clone().text());
  const { payment_id, refund_id } = await answer.json();
  const payment = await reports.read(id);
  assert.deepEqual([payment_id, refund_id], [id, payment.refunds[0]!.id]);
  assert.equal(payment.refund_amount, "20000.00");
});

Deno.test("take-over: links the payment to the invoice that the gateway names", async () => {
  await using invoices = await openInvoices();
  const reports = invoices as TestReports;
  const invoice = await invoices.create();
  const { order_id, transaction_id } = await invoices.pay(invoice);
  const { gross_amount } = await invoices.sandbox.status(transaction_id);
  const file = HEADER + lineOf({ order_id, transaction_id, gross_amount });
  const result = await reconcile(reports, file);
  const answer = await takeOver(reports, pathOf(result, 2));
  assert.equal(answer.status, 200, await answer.clone().text());
  const [payment] = await paymentsOf(reports, order_id);
  assert.deepEqual([payment.invoice_id, payment.user_id], [invoice.id, "alice"]);
});

Deno.test("take-over: a status line is taken over with the gateway's newer status", async () => {
  await using reports = await openReports();
  const paid = await paidAtGateway(reports);
  const file = "order_id,transaction_id,amount,status\n" +
    `${paid.order_id},${paid.transaction_id},44000,pending\n`;
  const result = await reconcile(reports, file);
  const answer = await takeOver(reports, pathOf(result, 2));
  assert.equal(answer.status, 200, await answer.clone().text());
  const [payment] = await paymentsOf(reports, paid.order_id);
  assert.equal(payment.transaction_status, "settlement");
});

Deno.test("take-over: is for staff and for open differences that are missing here", async () => {
  await using reports = await openReports();
  const { app, post } = reports;
  const known = await reports.paid("gopay", { gross_amount: 50_000 });
  const lost = await paidAtGateway(reports);
  const result = await reconcile(
    reports,
    HEADER + lineOf({ ...known, gross_amount: 49_000 }) + lineOf(lost),
  );
  const all = `/reconciliations/${result.id}/take-over/`;
  const viewer = await app.createKey({ userId: "vera", isViewer: true });
  for (const key of [viewer, reports.key]) {
    for (const path of [all, pathOf(result, 3)]) {
      await assertProblem(await post(path, undefined, {}, key), 403, "forbidden");
    }
  }
  for (const path of [pathOf(result, 99), pathOf({ id: randomUUID() }, 3)]) {
    await assertProblem(await takeOver(reports, path), 404, "not_found");
  }
  const elsewhere = `/reconciliations/${randomUUID()}/take-over/`;
  await assertProblem(await takeOver(reports, elsewhere), 404, "not_found");
  const differs = await takeOver(reports, pathOf(result, 2));
  const { detail } = await assertProblem(differs, 400, "invalid_state");
  assert.match(detail!, /result missing_here .* this one is amount_differs/);

  const resolve = pathOf(result, 3).replace("take-over", "resolve");
  assert.equal((await takeOver(reports, resolve)).status, 200);
  const marked = await assertProblem(
    await takeOver(reports, pathOf(result, 3)),
    400,
    "invalid_state",
  );
  assert.match(marked.detail!, /Open it again/);
  assert.equal((await paymentsOf(reports, lost.order_id)).length, 0);

  const queued = await (await upload(reports, HEADER + lineOf(lost))).json();
  await assertProblem(await takeOver(reports, pathOf(queued, 2)), 404, "not_found");
  const early = await takeOver(reports, `/reconciliations/${queued.id}/take-over/`);
  await assertProblem(early, 400, "invalid_state");
  await runJob(reports, queued.id);
});
