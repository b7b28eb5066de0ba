import assert from "node:assert/strict";
import type { Database } from "../../db/connection/database.ts";
import { runSql } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import {
  differencesOf,
  insertDifferent,
  openReports,
  queuedChecks,
  reconcile,
  runJob,
  today,
  upload,
} from "../support/reports/reconciliations.ts";

Deno.test("reconciliation: a line with the type Payment and the status of an unpaid transaction is compared by its status", async () => {
  await using reports = await openReports();
  const paid = await reports.paid("gopay", { gross_amount: 50_000 });
  const pending = await reports.charge("gopay", { gross_amount: 60_000 });
  const refunded = await reports.paid("gopay", { gross_amount: 70_000 });
  const refund = await reports.post(`/payments/${refunded.id}/refund/`, { amount: 7_000 });
  assert.equal(refund.status, 200);
  const result = await reconcile(
    reports,
    "Order ID,Gross Amount,Type,Transaction Status\n" +
      `${paid.order_id},50000,Payment,deny\n` +
      `${paid.order_id},50000,Payment,Settlement\n` +
      `${pending.order_id},60000,Payment,Pending\n` +
      `${refunded.order_id},7000,Refund,Pending\n`,
  );
  assert.deepEqual(differencesOf(result), [[2, "status_differs"]]);
  const [{ kind, status, known_status }] = result.differences;
  assert.deepEqual([kind, status, known_status], ["status", "deny", "settlement"]);
});

Deno.test("reconciliation: a line of type payment with a status that differs here is a difference, although the amount agrees", async () => {
  await using reports = await openReports();
  const [paid, other] = [await reports.paid("card"), await reports.paid("gopay")];
  const refunded = await reports.paid("gopay");
  await reports.post(`/payments/${refunded.id}/refund/`, { amount: 7_000 });
  const expired = await reports.charge("bca");
  await reports.sandbox.control(`transactions/${expired.transaction_id}/expire`);
  await reports.refresh(expired.id);
  const result = await reconcile(
    reports,
    "order_id,amount,type,status\n" +
      `${paid.order_id},44000,Payment,Chargeback\n` +
      `${other.order_id},44000,Payment,Failed\n` +
      `${refunded.order_id},7000,Refund,Failure\n` +
      `${refunded.order_id},44000,Payment,Partial Refund\n` +
      `${expired.order_id},44000,Payment,Expired\n`,
  );
  assert.deepEqual(differencesOf(result), [
    [2, "status_differs"],
    [3, "status_differs"],
    [4, "status_differs"],
  ]);
});

Deno.test("reconciliation: a status that is no status of the gateway is refused, also in a line with a type", async () => {
  await using reports = await openReports();
  const response = await upload(reports, "order_id,amount,type,status\nA,44000,Payment,Odd\n");
  const problem = await response.json();
  assert.equal(problem.code, "validation_error");
  const message = 'has an unknown status: "Odd"';
  assert.deepEqual(problem.errors, [{ field: "line 2", message }]);
});

Deno.test("reconciliation: a payment is missing in a report with types that only has its refund, also if it has statuses", async () => {
  await using reports = await openReports();
  const paid = await reports.paid("gopay");
  await reports.post(`/payments/${paid.id}/refund/`, { amount: 7_000 });
  const result = await reconcile(
    reports,
    "order_id,amount,type,status,settlement_time\n" +
      `${paid.order_id},7000,Refund,Partial Refund,${today()}\n`,
  );
  assert.deepEqual(result.differences.map((each: Json) => [each.result, each.order_id]), [
    ["missing_there", paid.order_id],
  ]);
});

Deno.test("reconciliation: the statuses capture and settlement can be in the column of types", async () => {
  await using reports = await openReports();
  const { order_id } = await reports.paid("card");
  const result = await reconcile(
    reports,
    `order_id,amount,type\n${order_id},44000,Capture\n${order_id},44000,Settlement\n`,
  );
  assert.deepEqual(differencesOf(result), []);
});

Deno.test("reconciliation: the sums of a day take off the net amount of a refund, and leave out unpaid lines", async () => {
  await using reports = await openReports();
  const result = await reconcile(
    reports,
    "order_id,amount,fee,net,type,settlement_time\n" +
      "A,50000,880,49120,settlement,2026-03-05\n" +
      "A,4000,0,4000,refund,2026-03-05\n" +
      "B,60000,880,59120,expire,2026-03-05\n",
  );
  const [{ gross_amount, fee, net_amount, lines }] = result.days;
  assert.deepEqual([gross_amount, fee, net_amount, lines], ["46000.00", "880.00", "45120.00", 3]);
});

Deno.test("reconciliation: a file whose days are years apart is refused, because one of them must be wrong", async () => {
  await using reports = await openReports();
  const response = await upload(
    reports,
    "order_id,amount,time\nA,44000,2026-03-05\nB,44000,1970-01-01 07:00:00\n",
  );
  const problem = await response.json();
  assert.equal(problem.code, "validation_error");
  assert.match(JSON.stringify(problem.errors), /from 1970-01-01 to 2026-03-05/);
});

Deno.test("reconciliation: a number that begins with 0 has no groups of thousands", async () => {
  await using reports = await openReports();
  const response = await upload(reports, "order_id,amount,fee\nA,44000,0.700\n");
  assert.match(JSON.stringify((await response.json()).errors), /has an invalid fee/);
});

Deno.test("reconciliation: the status of an unpaid transaction can be in the column of types", async () => {
  await using reports = await openReports();
  const pending = await reports.charge("gopay", { gross_amount: 60_000 });
  const paid = await reports.paid("gopay", { gross_amount: 50_000 });
  const result = await reconcile(
    reports,
    `order_id,amount,type\n${pending.order_id},60000,Pending\n${paid.order_id},50000,Pending\n`,
  );
  assert.deepEqual(differencesOf(result), [[3, "status_differs"]]);
  assert.equal(result.differences[0].status, "pending");
});

Deno.test("reconciliation: a report with transaction times only is not searched for missing payments", async () => {
  await using reports = await openReports();
  const paid = await reports.paid("gopay", { gross_amount: 50_000 });
  await reports.paid("gopay", { gross_amount: 60_000 });
  const line = `${paid.order_id},50000,${today()} 10:00:00\n`;
  const result = await reconcile(reports, `order_id,amount,Transaction Time\n${line}`);
  assert.deepEqual(result.results, {
    matched: 1,
    amount_differs: 0,
    status_differs: 0,
    listed_twice: 0,
    missing_here: 0,
    missing_there: null,
  });
  assert.deepEqual([result.first_day, result.days[0].date], [today(), today()]);
  assert.deepEqual(
    [result.differences, result.open_differences, result.queued_checks],
    [[], 0, 0],
  );
  const [listed] = await (await reports.get("/reconciliations/", reports.staff)).json();
  assert.equal(listed.results.missing_there, null);
  const named = encodeURIComponent('{"time":"Transaction Date"}');
  const byName = await reconcile(
    reports,
    `order_id,amount,Transaction Date\n${line}`,
    `?columns=${named}`,
  );
  assert.equal(byName.results.missing_there, null);
  for (const header of ["Settlement Time", "Settlement Date", "Time"]) {
    const settled = await reconcile(reports, `order_id,amount,${header}\n${line}`);
    assert.equal(settled.results.missing_there, 1, header);
  }
});

Deno.test("reconciliation: uses the settlement date of a report that has a transaction time, too", async () => {
  await using reports = await openReports();
  const { days, results } = await reconcile(
    reports,
    "order_id,amount,Transaction Time,Settlement Date\nA,1000,2026-03-05 23:50:00,2026-03-06\n",
  );
  assert.equal(days[0].date, "2026-03-06");
  assert.equal(results.missing_there, 0);
});

Deno.test("reconciliation: a payment is missing in a report that only has its refunds and chargebacks", async () => {
  await using reports = await openReports();
  const refunded = await reports.paid("gopay", { gross_amount: 50_000 });
  const refund = await reports.post(`/payments/${refunded.id}/refund/`, { amount: 4_000 });
  assert.equal(refund.status, 200);
  const denied = await reports.paid("gopay", { gross_amount: 60_000 });
  const result = await reconcile(
    reports,
    "order_id,amount,type,settlement_time\n" +
      `${refunded.order_id},4000,refund,${today()}\n` +
      `${refunded.order_id},5000,refund,${today()}\n` +
      `${refunded.order_id},6000,chargeback,${today()}\n` +
      `${denied.order_id},60000,deny,${today()}\n`,
  );
  assert.deepEqual(differencesOf(result), [
    [null, "missing_there"],
    [3, "missing_here"],
    [4, "status_differs"],
    [5, "status_differs"],
  ]);
  assert.equal(result.differences[0].payment_id, refunded.id);
});

Deno.test("reconciliation: a refunded payment is not missing in a report with one line per transaction", async () => {
  await using reports = await openReports();
  const refunded = await reports.paid("gopay", { gross_amount: 50_000 });
  const refund = await reports.post(`/payments/${refunded.id}/refund/`, {});
  assert.equal(refund.status, 200);
  const result = await reconcile(
    reports,
    "order_id,amount,transaction_status,settlement_time\n" +
      `${refunded.order_id},50000,Refund,${today()}\n`,
  );
  assert.deepEqual(differencesOf(result), []);
});

Deno.test("reconciliation: the same file with confirm_checks queues the other checks, each once", async () => {
  await using reports = await openReports();
  const file = await insertDifferent(reports, 1_200);
  const { id, queued_checks } = await reconcile(reports, file);
  assert.equal(queued_checks, 1_000);
  const before = await queuedChecks(reports);
  await reports.app.database.query((sql) =>
    sql`
      delete from gateway.jobs where task = 'reconcile'
        or subject_id = ${before[0]!.subject_id} and task = 'check_payment_status'`
  );
  const jobs = async () =>
    await reports.app.database.query((sql) =>
      sql`select subject_id from gateway.jobs where task = 'reconcile'`
    );
  assert.equal((await upload(reports, file)).status, 200);
  assert.equal((await jobs()).length, 0, "not confirmed");
  const confirmed = await upload(reports, file, "?confirm_checks=true");
  assert.equal(confirmed.status, 200);
  assert.equal((await confirmed.json()).id, id);
  assert.deepEqual((await jobs()).map(({ subject_id }) => subject_id), [id]);
  for (let runs = 0; runs < 2; runs++) {
    await runJob(reports, id);
    const checks = await queuedChecks(reports);
    assert.equal(checks.length, 1_199, "a payment that was checked is not checked again");
    const ended = await (await reports.get(`/reconciliations/${id}/`, reports.staff)).json();
    assert.deepEqual([ended.status, ended.queued_checks], ["succeeded", 1_200]);
  }
  await reports.app.database.query((sql) => sql`delete from gateway.jobs where task = 'reconcile'`);
  await upload(reports, file, "?confirm_checks=true");
  assert.equal((await jobs()).length, 0, "confirmed before");
});

Deno.test("reconciliation: a confirmation that arrives while the file is compared queues all checks", async () => {
  await using reports = await openReports();
  const file = await insertDifferent(reports, 1_200);
  const { id } = await (await upload(reports, file)).json();
  let checks = 0;
  const { database } = reports.app.service;
  const confirmBefore = async (name?: string) => {
    if (name !== "queue checks" || ++checks !== 2) return;
    const confirmed = await upload(reports, file, "?confirm_checks=true");
    assert.equal(confirmed.status, 200);
  };
  const confirming: Database = {
    ...database,
    query: async (work, name) => (await confirmBefore(name), await database.query(work, name)),
    transaction: async (work, name) => (
      await confirmBefore(name), await database.transaction(work, name)
    ),
  };
  const service = { ...reports.app.service, database: confirming };
  await runJob({ ...reports, app: { ...reports.app, service } }, id);
  assert.ok(checks >= 2);
  assert.equal((await queuedChecks(reports)).length, 1_200);
  const ended = await (await reports.get(`/reconciliations/${id}/`, reports.staff)).json();
  assert.equal(ended.queued_checks, 1_200);
});

Deno.test("reconciliation: a line of a payment with a negative amount takes money back, and does not agree with the payment", async () => {
  await using reports = await openReports();
  const paid = await reports.paid("gopay", { gross_amount: 50_000 });
  const refunded = await reports.paid("gopay", { gross_amount: 60_000 });
  const refund = await reports.post(`/payments/${refunded.id}/refund/`, { amount: 6_000 });
  assert.equal(refund.status, 200);
  const result = await reconcile(
    reports,
    "order_id,amount,type\n" +
      `${paid.order_id},-50000,settlement\n` +
      `${refunded.order_id},60000,payment\n` +
      `${refunded.order_id},-6000,payment\n`,
  );
  assert.deepEqual(differencesOf(result), [[2, "missing_here"]]);
  assert.deepEqual([result.differences[0].kind, result.results.matched], ["refund", 2]);
  assert.equal(result.days[0].gross_amount, "4000.00");
});

Deno.test("reconciliation: a line is not about a refused payment with the same order id", async () => {
  await using reports = await openReports();
  await reports.sandbox.fault("charge", "reset");
  const body = { payment_type: "gopay", gross_amount: 50_000, order_id: "order-twice" };
  const { payment_id } = await (await reports.post("/charge/", body)).json();
  await runSql(
    reports.databaseUrl,
    `update gateway.payments set transaction_status = 'failure' where id = '${payment_id}'`,
  );
  await reports.sandbox.fault("charge", "rate_limit");
  assert.equal((await reports.post("/charge/", body)).status, 400);
  for (const transactionId of ["from-first-charge", ""]) {
    const line = `order-twice,${transactionId},50000\n`;
    const result = await reconcile(reports, `order_id,transaction_id,amount\n${line}`);
    assert.deepEqual(differencesOf(result), [[2, "status_differs"]]);
    assert.equal(result.differences[0].payment_id, payment_id, transactionId);
  }
});

Deno.test("reconciliation: a line of type payment with a negative amount and the status chargeback is a chargeback", async () => {
  await using reports = await openReports();
  const card = await reports.paid("card", { gross_amount: 20_000 });
  await reports.sandbox.control(`transactions/${card.transaction_id}/chargeback`);
  await reports.refresh(card.id);
  const result = await reconcile(
    reports,
    `order_id,amount,type,status\n${card.order_id},-20000,Payment,Chargeback\n`,
  );
  assert.deepEqual([result.results.matched, differencesOf(result)], [1, []]);
});

Deno.test("reconciliation: finds a payment whose transaction id is not known here by its order id", async () => {
  await using reports = await openReports();
  await reports.sandbox.fault("charge", "answer_lost");
  const body = { payment_type: "gopay", gross_amount: 50_000, order_id: "order-lost" };
  const { payment_id } = await (await reports.post("/charge/", body)).json();
  const [{ transaction_id }] = await reports.transactions("order-lost");
  await reports.sandbox.control(`transactions/${transaction_id}/pay`);
  const line = `order-lost,${transaction_id},50000\n`;
  const result = await reconcile(reports, `order_id,transaction_id,amount\n${line}`);
  assert.deepEqual(differencesOf(result), [[2, "status_differs"]]);
  assert.equal(result.differences[0].payment_id, payment_id);
  assert.equal(result.queued_checks, 1);
});
