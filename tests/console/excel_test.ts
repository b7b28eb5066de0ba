import assert from "node:assert/strict";
import { updateStats } from "../../core/reports/count_payments.ts";
import type { TestApp } from "../support/app.ts";
import { type Browsing, openStaff, unescape } from "../support/console/browsing.ts";
import { compareReport } from "../support/console/reconciliations.ts";
import { createDatabase } from "../support/database/database.ts";
import { openPayments } from "../support/payments/payments.ts";
import { readWorkbook, type Sheet, shownText } from "../support/reports/workbook.ts";

/** Opens a page, and downloads the Excel file to which it links. */
async function download(
  { app }: { app: TestApp },
  staff: Browsing,
  page: string,
): Promise<{ sheet: Sheet; name: string }> {
  const { html } = await staff.open(page);
  const [, link] = html.match(/href="([^"]+)"[^>]*>Excel</)!;
  const cookie = [...staff.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const address = new URL(unescape(link!), "http://console.example");
  const response = await app.fetchUnchecked(new Request(address, { headers: { cookie } }));
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type")!, /spreadsheetml\.sheet$/);
  const sheets = await readWorkbook(new Uint8Array(await response.arrayBuffer()));
  assert.equal(sheets.length, 1);
  return { sheet: sheets[0]!, name: response.headers.get("content-disposition")! };
}

Deno.test("console: exports payments, refunds, invoices and totals as Excel, in both languages", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const { app } = payments;
  const bca = await payments.charge("bca", {
    gross_amount: 44_000,
    customer_details: { first_name: "=1+1", phone: "+6281234567890" },
  });
  const paid = await payments.paid("gopay", { gross_amount: 275_000 });
  await payments.post(`/payments/${paid.id}/refund/`, { amount: 75_000, reason: "Broken" });
  await payments.sandbox.fault("refund", "bank_refuses");
  await payments.post(`/payments/${paid.id}/refund/`, { amount: 1_000 });
  const { refunds: [, refused] } = await payments.read(paid.id);
  const refusal = refused!.status_message!;
  await updateStats(app.service);
  const staff = await openStaff(payments);
  const columns = ["amount", "status", "order", "name", "phone", "method", "code", "created"];
  const view = `/console/payments/?${columns.map((column) => `column=${column}`).join("&")}`;

  const { sheet, name } = await download(payments, staff, view);
  assert.equal(name, 'attachment; filename="payments.xlsx"');
  assert.equal(sheet.name, "Payments");
  const [header, second, first] = shownText(sheet);
  assert.deepEqual(header, [
    ...["Amount", "Status", "Order", "Name", "Phone", "Method", "VA number or code"],
    "Created (WIB)",
  ]);
  const wib = new Date(Date.parse(bca.created_at) + 7 * 3_600_000).toISOString();
  assert.deepEqual(first, [
    ...["44,000", "Pending", bca.order_id, "=1+1", "+6281234567890", "BCA virtual account"],
    ...[bca.va_number, `${wib.slice(0, 10)} ${wib.slice(11, 19)}`],
  ]);
  assert.deepEqual(sheet.rows[2]!.map((cell) => cell!.t), ["n", ..."ssssss", "n"]);
  assert.deepEqual(second!.slice(0, 3), ["275,000", "Partly refunded", paid.order_id]);
  assert.match(staff.page.html, /Excel ends at 1,048,576 rows; a longer list continues/);
  assert.ok(staff.page.html.includes(`<td>${bca.va_number}</td>`), "the page has the column, too");

  const refunds = shownText((await download(payments, staff, "/console/refunds/")).sheet);
  assert.deepEqual(refunds[0], [
    "Created (WIB)",
    "Order",
    "Amount",
    "Reason",
    "Requested by",
    "Status",
    "Message of the gateway",
  ]);
  const [, failed, made] = refunds;
  assert.deepEqual(failed!.slice(2), ["1,000", null, "alice", "Declined by the bank", refusal]);
  assert.deepEqual(made!.slice(1), [
    ...[paid.order_id, "75,000", "Broken", "alice", "Succeeded"],
  ]);
  const totals = await download(payments, staff, "/console/reports/?group=payment_type");
  assert.match(totals.name, /filename="totals_[\d-]+_[\d-]+\.xlsx"/);
  const [names, ...rows] = shownText(totals.sheet);
  assert.deepEqual(names!.slice(0, 6), [
    ...["From (WIB)", "Method", "Payments", "Paid", "Success rate (%)", "Paid amount"],
  ]);
  const gopay = rows.find(([, method]) => method === "GoPay");
  assert.deepEqual(gopay, [
    ...[wib.slice(0, 10), "GoPay", "1", "1", "100", "275,000", "75,000", "0", "200,000"],
    ...["0", "200,000"],
  ]);

  await staff.post("/console/preferences/", { language: "id", path: "/" });
  const invoices = await download(payments, staff, "/console/invoices/");
  assert.deepEqual(shownText(invoices.sheet), [
    ["Jumlah", "Status", "Nomor invoice", "Pelanggan", "Jatuh tempo", "Dibuat (WIB)"],
  ]);
  const inIndonesian = await download(payments, staff, view);
  assert.match(staff.page.html, /Excel hanya memuat 1\.048\.576 baris/);
  assert.deepEqual(shownText(inIndonesian.sheet)[0]!.slice(0, 3), ["Jumlah", "Status", "Pesanan"]);
  assert.deepEqual(shownText(inIndonesian.sheet)[2]!.slice(0, 2), ["44,000", "Menunggu"]);
});

Deno.test("console: the table and the Excel file of payments show cards, banks, 3-D Secure and approval codes, in both languages", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase({ isNew: true }) });
  const { order_id, card } = await payments.charge("card");
  const other = await payments.charge("bca");
  const staff = await openStaff(payments);
  const view = "/console/payments/?column=order&column=card&column=approval";
  const { sheet } = await download(payments, staff, view);
  const number = "Visa 48111111-1114";
  assert.deepEqual(shownText(sheet), [
    ["Order", "Card", "Bank of the card payment", "3-D Secure", "Approval code"],
    [other.order_id],
    [order_id, number, "BNI", "Not authenticated", card!.approval_code],
  ]);
  const cells = (html: string) => [...html.matchAll(/<td>([^<]*)<\/td>/g)].map(([, text]) => text);
  assert.deepEqual(cells(staff.page.html), ["–", "–", number, card!.approval_code]);

  await staff.post("/console/preferences/", { language: "id", path: "/" });
  const inIndonesian = await download(payments, staff, view);
  assert.deepEqual(shownText(inIndonesian.sheet)[0], [
    ...["Pesanan", "Kartu", "Bank pembayaran kartu", "3-D Secure", "Kode persetujuan"],
  ]);
});

Deno.test("console: exports differences and days of a reconciliation as Excel", async () => {
  await using payments = await openPayments({ databaseUrl: await createDatabase() });
  const { app } = payments;
  const staffKey = await app.createKey({ userId: "fina", isStaff: true });
  const paid = await payments.paid("gopay", { gross_amount: 50_000 });
  const uploaded = await app.as(staffKey, "/reconciliations/", {
    method: "POST",
    body: "order_id,amount,fee,date\n" +
      `${paid.order_id},49000,350.50,2026-03-05\n=1+1,3000,0,2026-03-06\n`,
    headers: { "Content-Type": "text/csv" },
  });
  const { id } = await uploaded.json();
  await compareReport(app, id);
  const staff = await openStaff(payments);
  const path = `/console/reconciliations/${id}/`;
  const { sheet, name } = await download(payments, staff, path);
  assert.match(name, /reconciliation_[\w-]+_differences\.xlsx/);
  const [header, other, missing] = shownText(sheet);
  assert.deepEqual(header, [
    ...["Line", "Result", "Order id", "Transaction id", "Kind", "Day", "Amount (In the report)"],
    ...["Status (In the report)", "Amount (Here)", "Status (Here)", "Done by", "Done at (WIB)"],
  ]);
  assert.deepEqual(other!.slice(0, 10), [
    ...["2", "Other amount", paid.order_id, null, "Settlement", "2026-03-05", "49,000", null],
    ...["50,000", "Paid"],
  ]);
  assert.deepEqual(missing!.slice(0, 3), ["3", "Missing here", "=1+1"]);
  const { html } = staff.page;
  assert.match(html, /columns of this page, times in WIB\..*columns of this page\. /s);
  const days = await app.fetchUnchecked(
    new Request(`http://console.example${path}days.xlsx`, {
      headers: { cookie: [...staff.cookies].map((cookie) => cookie.join("=")).join("; ") },
    }),
  );
  const [byDay] = await readWorkbook(new Uint8Array(await days.arrayBuffer()));
  assert.equal(byDay!.name, "Fees and net by day");
  assert.deepEqual(shownText(byDay!), [
    ["Day", "Lines", "Gross", "Fees"],
    ["2026-03-05", "1", "49,000", "350.50"],
    ["2026-03-06", "1", "3,000", "0"],
  ]);
});
