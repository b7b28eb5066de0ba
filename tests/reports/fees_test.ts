import assert from "node:assert/strict";
import { parse } from "csv-parse/sync";
import { rebuildStats, updateStats } from "../../core/reports/count_payments.ts";
import { deleteReconciliation } from "../../core/reports/reconciliations.ts";
import { openStaff } from "../support/console/browsing.ts";
import { createDatabase } from "../support/database/database.ts";
import type { Json } from "../support/gateway/sandbox.ts";
import { openReports, reconcile, type TestReports } from "../support/reports/reconciliations.ts";

const HEADER = "order_id,transaction_id,amount,type,status,fee,net,date\n";

async function feesOf({ get, staff }: TestReports, id: string): Promise<(string | null)[]> {
  const { fee_amount, payout_amount } = await (await get(`/payments/${id}/`, staff)).json();
  return [fee_amount, payout_amount];
}

/** The sums of fees and payouts in the statistics. */
async function sumsOf({ get, staff }: TestReports): Promise<Json[]> {
  const { rows } = await (await get("/stats/payments/?group_by=payment_type", staff)).json();
  return rows.map(({ payment_type, fee_amount, payout_amount }: Json) => [
    payment_type,
    fee_amount,
    payout_amount,
  ]);
}

Deno.test("fees: a payment, the export and the statistics have those of compared reports, each counted once", async () => {
  await using reports = await openReports({ databaseUrl: await createDatabase({ isNew: true }) });
  const { app, get, staff } = reports;
  const gopay = await reports.paid("gopay", { gross_amount: 50_000 });
  const qris = await reports.paid("qris", { gross_amount: 80_000 });
  await reports.post(`/payments/${gopay.id}/refund/`, { amount: 10_000 });
  await updateStats(app.service);
  assert.deepEqual(await feesOf(reports, gopay.id), [null, null]);
  assert.deepEqual(await sumsOf(reports), [
    ["gopay", "0.00", "40000.00"],
    ["qris", "0.00", "80000.00"],
  ]);

  const line = (payment: Json, amount: number, type: string, fee: string, net = "") =>
    `${payment.order_id},${payment.transaction_id},${amount},${type},,${fee},${net},2026-03-05\n`;
  const settled = line(gopay, 50_000, "settlement", "1000.50");
  const first = await reconcile(
    reports,
    HEADER + settled + line(qris, 80_000, "payment", "-560.5"),
  );
  assert.deepEqual(first.differences, []);
  assert.deepEqual(await feesOf(reports, gopay.id), ["1000.50", "38999.50"]);
  assert.deepEqual(await feesOf(reports, qris.id), ["560.50", "79439.50"], "a negative deduction");

  // Repeated in the same and in another file, with another fee, and after the file was deleted.
  const refunded = line(gopay, -10_000, "refund", "-200", "-9800");
  await reconcile(reports, HEADER + refunded + settled + refunded);
  const other = line(gopay, 50_000, "settlement", "9999");
  await reconcile(reports, HEADER + other);
  await deleteReconciliation(app.service.database, first.id);
  await reconcile(reports, `${HEADER}${settled}\n`);
  assert.deepEqual(await feesOf(reports, gopay.id), ["800.50", "39199.50"]);
  const sums = [["gopay", "800.50", "39199.50"], ["qris", "560.50", "79439.50"]];
  assert.deepEqual(await sumsOf(reports), sums);
  await updateStats(app.service);
  await rebuildStats(app.service);
  assert.deepEqual(await sumsOf(reports), sums, "a new count has the same sums");

  const read = async (path: string, key?: string) => (await get(path, key)).text();
  const rows: Json[] = parse(await read("/exports/payments/", staff), { columns: true });
  assert.deepEqual(
    rows.map(({ fee_amount, payout_amount }) => [fee_amount, payout_amount]),
    [["560.50", "79439.50"], ["800.50", "39199.50"]],
  );
  const own: Json[] = parse(await read("/exports/payments/"), { columns: true });
  assert.deepEqual(own.map(({ fee_amount }) => fee_amount), ["", ""], "not for users");
  const { fee_amount } = await (await get(`/payments/${gopay.id}/`)).json();
  assert.equal(fee_amount, null);
  const ofUser = await (await get("/stats/payments/")).json();
  assert.equal(ofUser.rows[0].fee_amount, null);
});

Deno.test("fees: of a difference, a chargeback, an unpaid line and a line without a fee", async () => {
  await using reports = await openReports({ databaseUrl: await createDatabase() });
  const differs = await reports.paid("gopay", { gross_amount: 50_000 });
  const pending = await reports.charge("gopay", { gross_amount: 60_000 });
  const without = await reports.paid("gopay", { gross_amount: 70_000 });
  const card = await reports.paid("card", { gross_amount: 20_000 });
  await reports.sandbox.control(`transactions/${card.transaction_id}/chargeback`);
  await reports.refresh(card.id);
  const line = ({ order_id, transaction_id }: Json, rest: string, net = "") =>
    `${order_id},${transaction_id},${rest},${net},2026-03-05\n`;
  const file = HEADER + line(differs, "49000,settlement,,350") +
    line(pending, "60000,payment,pending,400") + line(without, "70000,settlement,,") +
    line(card, "20000,payment,capture,0") + line(card, "20000,payment,settlement,580") +
    line(card, "20000,chargeback,,100000", "-120000");
  const { id } = await reconcile(reports, file);
  // The same chargeback in another file, also after the first one was deleted.
  const again = HEADER + line(card, "20000,chargeback,,-100000", "120000");
  await reconcile(reports, again);
  await deleteReconciliation(reports.app.service.database, id);
  await reconcile(reports, `${again}\n`);
  assert.deepEqual(await feesOf(reports, differs.id), ["350.00", "49650.00"]);
  assert.deepEqual(await feesOf(reports, pending.id), [null, null]);
  assert.deepEqual(await feesOf(reports, without.id), [null, null]);
  assert.deepEqual(await feesOf(reports, card.id), ["100580.00", "-100580.00"]);
});

Deno.test("fees: equal chargebacks each have a fee, and a repeated one with another day has none", async () => {
  await using reports = await openReports({ databaseUrl: await createDatabase() });
  const card = await reports.paid("card", { gross_amount: 20_000 });
  await reports.sandbox.control(`transactions/${card.transaction_id}/chargeback`);
  await reports.refresh(card.id);
  const header = "order_id,amount,type,fee,net,date\n";
  const chargeback = (day: string) => `${card.order_id},10000,chargeback,500,-10500,${day}\n`;
  const first = await reconcile(reports, header + chargeback("2026-03-05"));
  await reconcile(reports, header + chargeback("2026-03-05") + chargeback("2026-03-06"));
  assert.equal((await feesOf(reports, card.id))[0], "1000.00");
  const { differences } = await reconcile(reports, `${header}${chargeback("2026-03-07")}\n`);
  assert.deepEqual(differences.map(({ result }: Json) => result), ["listed_twice"]);
  await deleteReconciliation(reports.app.service.database, first.id);
  await reconcile(reports, header + chargeback("2026-03-08"));
  assert.equal((await feesOf(reports, card.id))[0], "1000.00");
});

Deno.test("fees: a later report can name the fee that an earlier one did not", async () => {
  await using reports = await openReports({ databaseUrl: await createDatabase() });
  const { order_id, id } = await reports.paid("gopay", { gross_amount: 50_000 });
  await reconcile(reports, `order_id,amount\n${order_id},50000\n`);
  assert.deepEqual(await feesOf(reports, id), [null, null]);
  const { differences } = await reconcile(reports, `order_id,amount,fee\n${order_id},50000,700\n`);
  assert.deepEqual(differences.map(({ result }: Json) => result), ["listed_twice"]);
  assert.deepEqual(await feesOf(reports, id), ["700.00", "49300.00"]);
});

Deno.test("fees: the net amount decides whether the gateway takes or returns the fee of a refund", async () => {
  await using reports = await openReports({ databaseUrl: await createDatabase() });
  const cases = [
    { fee: "1000", net: "-11000", expected: "1500.00" },
    { fee: "-1000", net: "-11000", expected: "1500.00" },
    { fee: "1000", net: "-9000", expected: "-500.00" },
    { fee: "-1000", net: "9000", expected: "-500.00" },
    // Not certain: without the net amount, or if it does not fit.
    { fee: "-1000", net: "", expected: "500.00" },
    { fee: "1000", net: "-10000", expected: "500.00" },
  ];
  for (const { fee, net, expected } of cases) {
    const { order_id, id } = await reports.paid("gopay", { gross_amount: 50_000 });
    await reports.post(`/payments/${id}/refund/`, { amount: 10_000 });
    const header = "order_id,amount,type,fee,net\n";
    const settled = `${order_id},50000,settlement,-500,49500\n`;
    await reconcile(reports, `${header}${settled}${order_id},-10000,refund,${fee},${net}\n`);
    assert.equal((await feesOf(reports, id))[0], expected, `${fee} ${net}`);
  }
});

Deno.test("console: the page of a payment, its list and the reports show fees, in both languages", async () => {
  await using reports = await openReports({ databaseUrl: await createDatabase({ isNew: true }) });
  const paid = await reports.paid("gopay", { gross_amount: 50_000 });
  await reconcile(reports, `order_id,amount,fee\n${paid.order_id},50000,1000.50\n`);
  await updateStats(reports.app.service);
  const console = await openStaff(reports);
  const page = await console.open(`/console/payments/${paid.id}/`);
  assert.match(
    page.html,
    /Gateway fee<\/dt><dd>Rp 1\.000,50<.*Net after fee<\/dt><dd>Rp 48\.999,50</,
  );
  const list = await console.open("/console/payments/?column=order&column=fee&column=payout");
  assert.match(list.html, /<td class="amount">Rp 1\.000,50<\/td><td class="amount">Rp 48\.999,50</);
  const totals = await console.open("/console/reports/");
  assert.match(totals.html, /<span>Gateway fees<\/span><strong>Rp 1\.000,50<\/strong>/);
  assert.match(
    totals.html,
    /<td class="amount">Rp 1\.000,50<\/td><td class="amount">Rp 48\.999,50</,
  );
  const csv = await console.open("/console/reports/totals.csv");
  assert.match(csv.html, /,fee_amount,payout_amount\r\n.*,1000\.5,48999\.5\r\n/);
  await console.post("/console/preferences/", { language: "id", path: "/" });
  assert.match((await console.open(`/console/payments/${paid.id}/`)).html, /Neto setelah biaya/);
});
