import assert from "node:assert/strict";
import { MAX_AMOUNT, parseRupiah } from "../../core/money.ts";
import { openStaff, orderIdsIn } from "../support/console/browsing.ts";
import { openPayments } from "../support/payments/payments.ts";

Deno.test("amounts: are read as people in Indonesia write them", () => {
  const amounts: [string, number][] = [
    ["275000", 275_000],
    ["275.000", 275_000],
    ["Rp 275.000", 275_000],
    ["Rp275.000", 275_000],
    ["rp. 275.000,-", 275_000],
    ["Rp\u00a0275.000,00", 275_000],
    ["IDR 275000", 275_000],
    ["  1.250.000 ", 1_250_000],
    ["9.999.999.999.999", MAX_AMOUNT],
    ["0", 0],
  ];
  for (const [text, amount] of amounts) assert.equal(parseRupiah(text), amount, text);
  const others = ["", "Rp", "275,000", "275.00", "2.75.000", "275.0000", ".000", "1.000,50", "-5"];
  for (const text of [...others, "275 000", "275rb", "1e5", "٢٧٥", "10.000.000.000.000.000"]) {
    assert.equal(parseRupiah(text), null, text);
  }
});

Deno.test("console forms and filters: accept amounts as people in Indonesia write them", async () => {
  await using payments = await openPayments();
  const other = await payments.charge("qris", { gross_amount: 90_000 });
  const payment = await payments.paid("gopay", { gross_amount: 275_000 });
  const card = await payments.charge("card_auth", { gross_amount: 275_000 });
  const staff = await openStaff(payments);

  const find = async (query: Record<string, string>) => {
    const { status, html } = await staff.open(`/console/payments/?${new URLSearchParams(query)}`);
    assert.equal(status, 200, html);
    return orderIdsIn(html);
  };
  const from = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  for (const [written, text] of [["275.000", "275.000"], ["Rp 275.000", "Rp 275.000"]] as const) {
    assert.deepEqual(await find({ from, min_amount: written }), [card.order_id, payment.order_id]);
    assert.match(staff.page.html, /Amount from \(Rp\): Rp 275\.000 /);
    assert.ok(staff.page.html.includes(`value="${text}"`), "the form keeps what was entered");
  }
  assert.deepEqual(await find({ from, max_amount: "Rp 90.000,00" }), [other.order_id]);
  const { status, html } = await staff.open(`/console/payments/?from=${from}&min_amount=275,000`);
  assert.equal(status, 400);
  assert.match(
    html,
    /Amount from \(Rp\): must be an amount from Rp 1 to Rp 9\.999\.999\.999\.999, such as 75\.000/,
  );

  const rule = /must be an amount from Rp 1 to Rp 9\.999\.999\.999\.999, such as 75\.000/;
  await staff.open("/console/checkouts/new/");
  await staff.submit(/new/, { gross_amount: "275,000", step: "review" });
  assert.match(staff.page.html, rule);
  await staff.submit(/new/, { gross_amount: "10.000.000.000.000", step: "review" });
  assert.match(staff.page.html, /must be at most Rp 9\.999\.999\.999\.999</);
  await staff.submit(/new/, { gross_amount: "9999999999999", step: "review" });
  assert.doesNotMatch(staff.page.html, rule);
  for (const amount of ["Rp 0", "75,000"]) {
    await staff.open(`/console/payments/${payment.id}/refund/`);
    await staff.submit(/refund/, { amount });
    assert.match(staff.page.html, rule, amount);
  }
  await staff.open(`/console/payments/${payment.id}/refund/`);
  await staff.submit(/refund/, { amount: "Rp 75.000" });
  assert.equal((await payments.read(payment.id)).refund_amount, "75000.00");
  await staff.open(`/console/payments/${card.id}/capture/`);
  await staff.submit(/capture/, { amount: "200.000" });
  assert.equal((await payments.read(card.id)).captured_amount, "200000.00");

  await staff.open("/console/checkouts/new/");
  await staff.submit(/new/, { gross_amount: "Rp 75.000", step: "review" });
  assert.match(staff.page.html, /name="amount" value="75000"/);
  await staff.open("/console/invoices/new/");
  await staff.submit(/new/, {
    customer_name: "Budi",
    "items.0.description": "Coffee",
    "items.0.price": "Rp75.000",
    "items.0.quantity": "2",
    step: "review",
  });
  assert.match(staff.page.html, /invoice of Rp 150\.000/);
});
