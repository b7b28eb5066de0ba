import assert from "node:assert/strict";
import { openSandbox, SERVER_KEY, type TestSandbox } from "../support/gateway/sandbox.ts";

const HEADER =
  "date,type,order_id,transaction_id,payment_type,gross_amount,fee,net_amount,refund_key,time";

/** The rows of a report without the header, each as a list of cells. */
async function readReport(box: TestSandbox, date: string): Promise<string[][]> {
  const response = await fetch(`${box.url}/_sandbox/reports/settlement.csv?date=${date}`);
  assert.equal(response.headers.get("content-type"), "text/csv; charset=utf-8");
  const [header, ...rows] = (await response.text()).trimEnd().split("\r\n");
  assert.equal(header, HEADER);
  return rows.map((row) => row.split(","));
}

Deno.test("settlement report: has the settlements, refunds and chargebacks of the day", async () => {
  await using box = await openSandbox({ serverKey: SERVER_KEY });
  await box.control("clock", { to: "2081-02-01T03:00:00Z" });
  const wallet = await box.paid("gopay", { transaction_details: { order_id: "wallet" } });
  const card = await box.paid("card", { transaction_details: { order_id: "card" } });
  await box.post("/v2/wallet/refund", { refund_key: "torn", amount: 4_000 });
  await box.charge("bca", { transaction_details: { order_id: "unpaid" } });
  await box.control("clock", { to: "2081-02-02T03:00:00Z" });
  await box.control("transactions/card/chargeback", { amount: 10_000 });
  await box.control("transactions/card/chargeback");

  const describe = (rows: string[][]) =>
    rows.map(([date, type, order, id, method, gross, fee, net, key]) =>
      [date, type, order, id, method, gross, fee, net, key].join(" ").trim()
    );
  const [first, second] = ["2081-02-01", "2081-02-02"] as const;
  assert.deepEqual(describe(await readReport(box, first)).toSorted(), [
    `${first} refund wallet ${wallet.transaction_id} gopay -4000.00 0.00 -4000.00 torn`,
    `${first} settlement card ${card.transaction_id} credit_card 44000.00 3276.00 40724.00`,
    `${first} settlement wallet ${wallet.transaction_id} gopay 44000.00 880.00 43120.00`,
  ]);
  assert.deepEqual(describe(await readReport(box, second)), [
    `${second} chargeback card ${card.transaction_id} credit_card -10000.00 0.00 -10000.00`,
    `${second} chargeback card ${card.transaction_id} credit_card -34000.00 0.00 -34000.00`,
  ]);
  assert.deepEqual(await readReport(box, "2081-02-03"), []);
});

Deno.test("settlement report: leaves out a refund that is pending at the bank", async () => {
  await using box = await openSandbox({ serverKey: SERVER_KEY });
  await box.control("clock", { to: "2081-02-01T03:00:00Z" });
  await box.paid("gopay", { transaction_details: { order_id: "wallet" } });
  await box.fault("refund", "bank_pending");
  const refund = await box.post("/v2/wallet/refund", { refund_key: "torn", amount: 4_000 });
  assert.equal(refund.status_code, "201");
  const types = async () => (await readReport(box, "2081-02-01")).map(([, type]) => type);
  assert.deepEqual(await types(), ["settlement"]);
  await box.control("transactions/wallet/confirm_refund");
  assert.deepEqual((await types()).toSorted(), ["refund", "settlement"]);
});

Deno.test("settlement report: rejects a date that is not a day", async () => {
  await using box = await openSandbox({ serverKey: SERVER_KEY });
  for (const date of ["", "today", "2081-13-01"]) {
    const response = await fetch(`${box.url}/_sandbox/reports/settlement.csv?date=${date}`);
    assert.equal(response.status, 400, date);
    await response.body?.cancel();
  }
});
