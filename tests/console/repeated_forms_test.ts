import assert from "node:assert/strict";
import { type Database, DatabaseUnavailable } from "../../db/connection/database.ts";
import { formsOf, openStaff, openTab } from "../support/console/browsing.ts";
import { openRelayed } from "../support/gateway/relay.ts";

const CHANGED = /has changed since the page was opened. Nothing was done/;

function refuse(statusCode: string): () => Response {
  return () => Response.json({ status_code: statusCode, status_message: "No" });
}

Deno.test("console refund: after a temporary refusal, neither the old nor the new form refunds what a colleague has refunded", async () => {
  await using payments = await openRelayed();
  const payment = await payments.paid("gopay");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${payment.id}/refund/`);
  const [oldForm] = formsOf(staff.page.html).filter(({ action }) => action.endsWith("/refund/"));
  const { intercept } = payments.relay;
  payments.relay.intercept = refuse("429");
  const refused = await staff.submit(/refund/, { amount: "10000" });
  assert.equal(refused.status, 400);
  payments.relay.intercept = intercept;
  await payments.post(`/payments/${payment.id}/refund/`, { amount: 10_000 });

  const fields = { ...oldForm!.fields, amount: "10000" };
  const old = await openTab(payments.app, staff).post(oldForm!.action, fields);
  assert.match(old.html, CHANGED);
  assert.match((await staff.submit(/refund/, { amount: "10000" })).html, CHANGED);
  assert.equal((await payments.read(payment.id)).refund_amount, "10000.00");
  // The page shows the new state now, so this is another decision.
  assert.match((await staff.submit(/refund/, { amount: "10000" })).html, /refund was requested/);
  assert.equal((await payments.read(payment.id)).refund_amount, "20000.00");
});

Deno.test("console cancel: after a temporary refusal, the form does not cancel a payment that was captured meanwhile", async () => {
  await using payments = await openRelayed();
  const { id } = await payments.charge("card_auth");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${id}/cancel/`);
  const { intercept } = payments.relay;
  payments.relay.intercept = refuse("429");
  assert.equal((await staff.submit(/cancel/)).status, 400);
  payments.relay.intercept = intercept;
  await payments.post(`/payments/${id}/capture/`, {});
  assert.match((await staff.submit(/cancel/)).html, CHANGED);
  assert.equal((await payments.read(id)).transaction_status, "capture");
});

Deno.test("console refund: after a final refusal, the same form can be corrected and sent again", async () => {
  await using payments = await openRelayed();
  const { id } = await payments.paid("gopay");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${id}/refund/`);
  assert.match(
    (await staff.submit(/refund/, { amount: "50000" })).html,
    /must be at most Rp 44\.000/,
  );
  const { intercept } = payments.relay;
  payments.relay.intercept = refuse("400");
  assert.equal((await staff.submit(/refund/, { amount: "44000" })).status, 400);
  payments.relay.intercept = intercept;
  assert.match((await staff.submit(/refund/, { amount: "44000" })).html, /refund was requested/);
  assert.equal((await payments.read(id)).refund_amount, "44000.00");
});

Deno.test("console refund: after an unknown outcome, the form stays the same request, and other forms name the open refund", async () => {
  await using payments = await openRelayed();
  const { id } = await payments.paid("gopay");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${id}/refund/`);
  const { intercept } = payments.relay;
  payments.relay.intercept = () => new Response("", { status: 502 });
  await staff.submit(/refund/, { amount: "10000" });
  payments.relay.intercept = intercept;
  const notice = /class="notice">The gateway has not confirmed a refund of Rp 10\.000/;
  assert.match(staff.page.html, notice);
  const other = await openTab(payments.app, staff).open(`/console/payments/${id}/refund/`);
  assert.match(other.html, notice);
  // An invalid amount does not turn the form into another request.
  await staff.submit(/refund/, { amount: "x" });
  assert.match(
    (await staff.submit(/refund/, { amount: "20000" })).html,
    /already sent with other values/,
  );
  assert.match((await staff.submit(/refund/, { amount: "10000" })).html, /refund was requested/);
  assert.equal((await payments.read(id)).refund_amount, "10000.00");
});

Deno.test("console refund: says that the outcome is unknown even if the payment cannot be read then", async () => {
  let isAway = false;
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query: async (work, name) => {
      if (isAway && name === "find payment") throw new DatabaseUnavailable("away");
      return await database.query(work, name);
    },
  });
  await using payments = await openRelayed({ wrapDatabase });
  const { id } = await payments.paid("gopay");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${id}/refund/`);
  payments.relay.intercept = () => {
    isAway = true;
    return new Response("", { status: 502 });
  };
  const { status, html } = await staff.submit(/refund/, { amount: "10000" });
  isAway = false;
  assert.equal(status, 503);
  assert.match(html, /did not confirm the result. The service checks it automatically/);
});
