import assert from "node:assert/strict";
import { deleteReconciliation } from "../../core/reports/reconciliations.ts";
import { PostponeJob } from "../../core/jobs/task.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import {
  differencesOf,
  openReports,
  queuedChecks,
  reconcile,
  runJob,
  today,
  upload,
} from "../support/reports/reconciliations.ts";

Deno.test("reconciliation: a settlement that is listed twice is a difference, also with another amount", async () => {
  await using reports = await openReports();
  const paid = await reports.paid("gopay", { gross_amount: 50_000 });
  const other = await reports.paid("gopay", { gross_amount: 60_000 });
  const unpaid = await reports.charge("bca", { gross_amount: 70_000 });
  const result = await reconcile(
    reports,
    "order_id,transaction_id,amount,type,settlement_time\n" +
      `${paid.order_id},${paid.transaction_id},50000,settlement,${today()}\n` +
      `${paid.order_id},,50000,,${today()}\n` +
      `${other.order_id},,59999,,${today()}\n` +
      `${other.order_id},,60000,,${today()}\n` +
      `,${paid.transaction_id},1000,payment,${today()}\n` +
      `${unpaid.order_id},,70000,,${today()}\n` +
      `${unpaid.order_id},,70000,,${today()}\n`,
  );
  assert.deepEqual(result.results, {
    matched: 1,
    amount_differs: 1,
    status_differs: 1,
    listed_twice: 4,
    missing_here: 0,
    missing_there: 0,
  });
  assert.deepEqual(differencesOf(result), [
    [3, "listed_twice"],
    [4, "amount_differs"],
    [5, "listed_twice"],
    [6, "listed_twice"],
    [7, "status_differs"],
    [8, "listed_twice"],
  ]);
  const [repeated] = result.differences;
  assert.deepEqual(
    [repeated.payment_id, repeated.amount, repeated.known_amount, repeated.known_status],
    [paid.id, "50000.00", "50000.00", "settlement"],
  );
  assert.equal(result.open_differences, 6);
  assert.equal(result.days[0].gross_amount, "360999.00", "the sums are those of the file");
  const checked = (await queuedChecks(reports)).map(({ subject_id }) => subject_id).sort();
  assert.deepEqual(checked, [paid.id, other.id, unpaid.id].sort());
  const path = `/reconciliations/${result.id}/differences/?result=listed_twice`;
  const filtered = await (await reports.get(path, reports.staff)).json();
  assert.deepEqual(filtered.map(({ line }: Json) => line), [3, 5, 6, 8]);
  const [listed] = await (await reports.get("/reconciliations/", reports.staff)).json();
  assert.equal(listed.results.listed_twice, 4);
});

Deno.test("reconciliation: if a report is pasted to itself, each line of its copy is listed twice", async () => {
  await using reports = await openReports();
  const wallet = await reports.paid("gopay", { gross_amount: 50_000 });
  for (const amount of [4_000, 4_000, 500]) {
    const refund = await reports.post(`/payments/${wallet.id}/refund/`, { amount });
    assert.equal(refund.status, 200);
  }
  const card = await reports.paid("card", { gross_amount: 20_000 });
  await reports.sandbox.control(`transactions/${card.transaction_id}/chargeback`);
  await reports.refresh(card.id);
  const report = await reports.sandbox.settlementReport(today());
  const [header, ...lines] = report.trimEnd().split("\r\n");
  assert.equal(lines.length, 6);
  const file = [header, ...lines, ...lines].join("\r\n");
  const result = await reconcile(reports, file);
  assert.deepEqual([result.results.matched, result.results.listed_twice], [6, 6]);
  assert.deepEqual(
    differencesOf(result),
    lines.map((_, index) => [index + 8, "listed_twice"]),
  );
  const refunds = result.differences.filter(({ kind }: Json) => kind === "refund");
  assert.equal(new Set(refunds.map(({ refund_id }: Json) => refund_id)).size, 3);
});

Deno.test("reconciliation: as many equal refund lines agree as the payment has such refunds", async () => {
  await using reports = await openReports();
  const paid = await reports.paid("gopay", { gross_amount: 50_000 });
  for (const amount of [4_000, 4_000, 7_000]) {
    const refund = await reports.post(`/payments/${paid.id}/refund/`, { amount });
    assert.equal(refund.status, 200);
  }
  const line = (amount: number, key = "") => `${paid.order_id},${amount},refund,${key}\n`;
  const header = "order_id,amount,type,refund_key\n";
  const byAmount = await reconcile(
    reports,
    header + line(4_000) + line(4_000) + line(4_000) + line(7_000) + line(8_000),
  );
  assert.deepEqual(differencesOf(byAmount), [[4, "listed_twice"], [6, "missing_here"]]);
  // Otherwise the second file would list the same refunds again.
  await deleteReconciliation(reports.app.database, byAmount.id);
  const { refunds } = await reports.read(paid.id);
  const [first, second] = refunds!.filter(({ amount }) => amount === "4000.00");
  const byKey = await reconcile(
    reports,
    header + line(4_000, first!.refund_key) + line(4_000, second!.refund_key) +
      line(4_000, first!.refund_key) + line(4_000, "other"),
  );
  assert.deepEqual(differencesOf(byKey), [[4, "listed_twice"], [5, "missing_here"]]);
  assert.equal(byKey.differences[0].refund_id, first!.id);
});

Deno.test("reconciliation: chargeback lines agree as long as their sum is not above the chargeback", async () => {
  await using reports = await openReports();
  const card = await reports.paid("card", { gross_amount: 20_000 });
  await reports.sandbox.control(`transactions/${card.transaction_id}/chargeback`);
  await reports.refresh(card.id);
  const line = (amount: number) => `${card.order_id},${amount},chargeback\n`;
  const result = await reconcile(
    reports,
    `order_id,amount,type\n${line(10_000)}${line(10_000)}${line(10_000)}${line(1)}`,
  );
  assert.deepEqual(differencesOf(result), [[4, "listed_twice"], [5, "amount_differs"]]);
});

Deno.test("reconciliation: a status of an unpaid transaction that is listed twice is a difference, another status is compared", async () => {
  await using reports = await openReports();
  const payment = await reports.charge("gopay", { gross_amount: 60_000 });
  const line = (status: string) => `${payment.order_id},60000,${status}\n`;
  const result = await reconcile(
    reports,
    `order_id,amount,status\n${line("authorize")}${line("pending")}${line("pending")}`,
  );
  assert.deepEqual(differencesOf(result), [[2, "status_differs"], [4, "listed_twice"]]);
});

Deno.test("reconciliation: a card payment that is listed as captured and as settled agrees with both lines", async () => {
  await using reports = await openReports();
  const { order_id } = await reports.paid("card", { gross_amount: 20_000 });
  const line = (status: string) => `${order_id},20000,${status}\n`;
  const result = await reconcile(
    reports,
    "order_id,amount,transaction_status\n" + line("capture") + line("settlement") + line("capture"),
  );
  assert.equal(result.results.matched, 2);
  assert.deepEqual(differencesOf(result), [[4, "listed_twice"]]);
});

Deno.test("reconciliation: two transactions of an order are not a repetition if the payment's transaction is unknown", async () => {
  await using reports = await openReports();
  await reports.sandbox.fault("charge", "answer_lost");
  const body = { payment_type: "gopay", gross_amount: 50_000, order_id: "order-lost" };
  assert.equal((await reports.post("/charge/", body)).status, 502);
  const result = await reconcile(
    reports,
    "order_id,transaction_id,amount\norder-lost,first,50000\norder-lost,second,50000\n",
  );
  assert.deepEqual(differencesOf(result), [[2, "status_differs"], [3, "missing_here"]]);
});

Deno.test("reconciliation: after 200 lines about a payment, further ones are listed twice", async () => {
  await using reports = await openReports();
  const { order_id } = await reports.paid("card", { gross_amount: 20_000 });
  const lines = Array.from({ length: 202 }, (_, n) => `${order_id},${n + 1},chargeback\n`);
  const result = await reconcile(reports, `order_id,amount,type\n${lines.join("")}`);
  assert.deepEqual([result.results.status_differs, result.results.listed_twice], [200, 2]);
});

Deno.test("reconciliation: a line that is repeated far below is found, also by another run of the job", async () => {
  await using reports = await openReports();
  const paid = await reports.paid("gopay", { gross_amount: 50_000 });
  const refund = await reports.post(`/payments/${paid.id}/refund/`, { amount: 4_000 });
  assert.equal(refund.status, 200);
  const lines = `${paid.order_id},50000,settlement\n${paid.order_id},4000,refund\n`;
  const file = `order_id,amount,type\n${lines.repeat(700)}`;
  const { id } = await (await upload(reports, file)).json();
  let batches = 0;
  const stopping = {
    get aborted() {
      return ++batches > 1;
    },
  } as AbortSignal;
  await assert.rejects(runJob(reports, id, stopping), PostponeJob);
  await runJob(reports, id);
  const { results, open_differences } = await (
    await reports.get(`/reconciliations/${id}/`, reports.staff)
  ).json();
  assert.deepEqual([results.matched, results.listed_twice, open_differences], [2, 1_398, 1_398]);
});

Deno.test("reconciliation: names the columns of the file, so that an absent fee is not taken for zero", async () => {
  await using reports = await openReports();
  const columnsOf = async (header: string, cells: string, query = "") => {
    const { columns, days } = await reconcile(reports, `${header}\n${cells}\n`, query);
    return { columns, days: days.map(({ fee, net_amount }: Json) => [fee, net_amount]) };
  };
  assert.deepEqual(await columnsOf("order_id,amount", "A,1000"), {
    columns: ["order_id", "amount"],
    days: [["0.00", "0.00"]],
  });
  assert.deepEqual(await columnsOf("Order ID,Amount,MDR,Date", "A,1000,0,2026-03-05"), {
    columns: ["order_id", "amount", "fee", "time"],
    days: [["0.00", "0.00"]],
  });
  const named = encodeURIComponent('{"net":"Diterima"}');
  assert.deepEqual(
    await columnsOf("order_id,amount,Diterima", "A,1000,990.5", `?columns=${named}`),
    {
      columns: ["order_id", "amount", "net"],
      days: [["0.00", "990.50"]],
    },
  );
  const empty = await reconcile(reports, "order_id,amount\n");
  assert.deepEqual([empty.lines, empty.columns, empty.days], [0, null, []]);
});
