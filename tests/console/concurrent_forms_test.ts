import assert from "node:assert/strict";
import { checkInvoiceStatus } from "../../core/invoices/check_invoice_status.ts";
import type { Database } from "../../db/connection/database.ts";
import { type Browsing, formsOf, openStaff } from "../support/console/browsing.ts";
import { openRelayed } from "../support/gateway/relay.ts";
import { DAY, openInvoices } from "../support/records/invoices.ts";
import { openSubscriptions } from "../support/records/subscriptions.ts";

const CHANGED = /has changed since the page was opened. Nothing was done/;

interface Claims {
  /**
   * Runs before the next claim of a key: the form was compared with the record, but has not acted.
   */
  before: (() => Promise<unknown>) | null;
  wrapDatabase(database: Database): Database;
}

function interceptClaims(): Claims {
  const claims: Claims = {
    before: null,
    wrapDatabase: (database) => ({
      ...database,
      query: async (work, name) => {
        const { before } = claims;
        if (name === "claim key" && before) await before();
        return await database.query(work, name);
      },
    }),
  };
  return claims;
}

/** Sends the form; `meanwhile` runs after the form was compared with the record. */
async function submitDuring(
  claims: Claims,
  staff: Browsing,
  action: RegExp,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  claims.before = async () => {
    claims.before = null;
    await meanwhile();
  };
  const { status, html } = await staff.submit(action);
  assert.equal(claims.before, null, "the form was compared with the record");
  assert.equal(status, 400);
  assert.match(html, CHANGED);
}

Deno.test("console refund: if two forms are sent at the same moment, one refunds, and the other says that the payment has changed", async () => {
  const claims = interceptClaims();
  await using payments = await openRelayed(claims);
  const { id } = await payments.paid("gopay");
  const tabs = [await openStaff(payments, "ops"), await openStaff(payments, "finance")];
  for (const tab of tabs) await tab.open(`/console/payments/${id}/refund/`);

  const { promise: bothArrived, resolve } = Promise.withResolvers<void>();
  let arrived = 0;
  claims.before = async () => {
    if (++arrived === 2) resolve();
    await bothArrived;
  };
  const pages = await Promise.all(tabs.map((tab) => tab.submit(/refund/, { amount: "10000" })));
  claims.before = null;

  assert.deepEqual(pages.map(({ status }) => status).sort(), [200, 400]);
  const refused = tabs.find(({ page }) => page.status === 400)!;
  assert.match(refused.page.html, CHANGED);
  assert.match(refused.page.html, /At most Rp 34\.000/);
  const { refund_amount, refunds } = await payments.read(id);
  assert.deepEqual([refund_amount, refunds.length], ["10000.00", 1]);
  assert.equal(payments.relay.times("POST /v2/:id/refund"), 1);

  // A page that shows the other refund is a new decision.
  await refused.open(`/console/payments/${id}/refund/`);
  assert.match((await refused.submit(/refund/, { amount: "10000" })).html, /refund was requested/);
  assert.equal((await payments.read(id)).refund_amount, "20000.00");
});

Deno.test("console refund: a form that was refused because the payment changed during the request stays refused if it is sent again", async () => {
  const claims = interceptClaims();
  await using payments = await openRelayed(claims);
  const { id } = await payments.paid("gopay");
  const staff = await openStaff(payments);
  const { html } = await staff.open(`/console/payments/${id}/refund/`);
  const form = formsOf(html).find(({ action }) => action.endsWith("/refund/"))!;
  const refundInApi = () => payments.post(`/payments/${id}/refund/`, { amount: 10_000 });
  await submitDuring(claims, staff, /refund/, refundInApi);
  assert.match((await staff.post(form.action, form.fields)).html, CHANGED);
  assert.equal((await payments.read(id)).refund_amount, "10000.00");
});

Deno.test("console cancel: does not cancel a payment that is captured during the request", async () => {
  const claims = interceptClaims();
  await using payments = await openRelayed(claims);
  const { id } = await payments.charge("card_auth");
  const staff = await openStaff(payments);
  await staff.open(`/console/payments/${id}/cancel/`);
  await submitDuring(claims, staff, /cancel/, () => payments.post(`/payments/${id}/capture/`, {}));
  assert.equal((await payments.read(id)).transaction_status, "capture");
  assert.equal(payments.relay.times("POST /v2/:id/cancel"), 0);
});

Deno.test("console void: does not void an invoice that becomes overdue during the request", async () => {
  const claims = interceptClaims();
  await using invoices = await openInvoices(claims);
  const { id } = await invoices.create();
  const staff = await openStaff(invoices);
  await staff.open(`/console/invoices/${id}/void/`);
  await submitDuring(claims, staff, /void/, async () => {
    await invoices.advance(4 * DAY);
    await checkInvoiceStatus(invoices.app.service, id);
  });
  assert.equal((await invoices.find(id)).status, "overdue");
});

Deno.test("console subscription: does not cancel a subscription that is disabled during the request", async () => {
  const claims = interceptClaims();
  await using subscriptions = await openSubscriptions(claims);
  const subscription = await subscriptions.create();
  const { id } = subscription;
  const staff = await openStaff(subscriptions);
  await staff.open(`/console/subscriptions/${id}/cancel/`);
  await submitDuring(claims, staff, /cancel/, () => subscriptions.actAndParse(id, "disable"));
  assert.deepEqual(subscriptions.sentActions(subscription), ["disable"]);
});
