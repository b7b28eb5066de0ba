/** Calls every operation of a client successfully, with a service that has the sandbox. */

import { randomUUID } from "node:crypto";
import { sign } from "../gateway/notifications.ts";
import { call as callSandbox, type Json } from "../gateway/sandbox.ts";
import { until } from "../until.ts";
import type { CallOperation } from "./language_client.ts";

const CARD = "4811111111111114";
const CHALLENGED_CARD = "4511111111111117";

const CARD_PARAMETERS = "card_exp_month=12&card_exp_year=2035&card_cvv=123";

export interface Surroundings {
  /** The URL of the sandbox. */
  sandbox: string;
  /** A URL that accepts webhooks. */
  receiver: string;
}

/** The key of the client must be a staff key. */
export async function callEveryOperation(
  call: CallOperation,
  { sandbox, receiver }: Surroundings,
): Promise<void> {
  const { id: endpoint } = await call("createWebhookEndpoint", { body: { url: receiver } });
  await chargeAndRefund(call, sandbox);
  await payByCard(call, sandbox);
  await sendCheckout(call);
  await sendInvoice(call);
  await subscribe(call, sandbox);
  await receiveNotifications(call);
  await reconcile(call, { sandbox, receiver });
  await receiveEvents(call, endpoint);
  await readReports(call);
  await changeKeys(call);
  for (const name of ["getLiveness", "getReadiness", "getStatus", "getMetrics", "getCaller"]) {
    await call(name);
  }
  await call("listAudit", { limit: 5 });
}

async function chargeAndRefund(call: CallOperation, sandbox: string): Promise<void> {
  const metadata = { basket: "B-1", lines: [1, { gift: true }] };
  const gopay = { payment_type: "gopay", gross_amount: 44_000, metadata };
  const key = { "Idempotency-Key": randomUUID() };
  const { id: pk, order_id } = await call("createCharge", { ...key, body: gopay });
  await call("getPayment", { pk });
  await call("listPayments", { order_id, limit: 1 });
  await post(`${sandbox}/_sandbox/transactions/${order_id}/pay`);
  await call("checkPaymentStatus", { pk });
  const { refund } = await call("refundPayment", { pk, body: { amount: 4_000, reason: "Late" } });
  await call("getRefund", { pk: refund.id });
  await call("listRefunds", { payment_id: pk });
  await post(`${sandbox}/_sandbox/faults`, { operation: "refund", fault: "bank_pending" });
  const { refund: waiting } = await call("refundPayment", { pk, body: { amount: 2_000 } });
  await call("markRefundDenied", { pk: waiting.id });
  await runAsync(call, "refundPayment", { pk, body: { amount: 1_000 } }, "succeeded");
  await call("getPaymentTimeline", { pk });
  for (const action of ["cancelPayment", "expirePayment"]) {
    const { id } = await call("createCharge", { body: gopay });
    await call(action, { pk: id });
  }
  await runAsync(call, "createCharge", { body: gopay }, "succeeded");
  await post(`${sandbox}/_sandbox/faults`, { operation: "refund", fault: "bank_refuses" });
  const job = await runAsync(call, "refundPayment", { pk, body: { amount: 500 } }, "failed");
  await call("retryJob", { pk: job.id });
  await call("listJobs", { status: "succeeded" });
}

/** Calls the asynchronous form of the operation, and waits until the job has this status. */
async function runAsync(
  call: CallOperation,
  operationId: string,
  args: Json,
  status: string,
): Promise<Json> {
  let job = await call(`${operationId}AsJob`, { Prefer: "respond-async", ...args });
  await until(`the job has the status ${status}`, async () => {
    job = await call("getJob", { pk: job.id });
    return job.status === status;
  });
  return job;
}

async function payByCard(call: CallOperation, sandbox: string): Promise<void> {
  const charge = async (card: string, more: Json) => {
    const query = `client_key=SB-Mid-client-sandbox&card_number=${card}&${CARD_PARAMETERS}`;
    const { token_id } = await (await fetch(`${sandbox}/v2/token?${query}`)).json();
    const body = { payment_type: "credit_card", gross_amount: 44_000, token_id, ...more };
    return await call("createCharge", { body });
  };
  const held = await charge(CARD, { authentication: false, authorize: true });
  await call("capturePayment", { pk: held.id, body: { amount: 30_000 } });
  for (const decision of ["approvePayment", "denyPayment"]) {
    const { id } = await charge(CHALLENGED_CARD, { authentication: false });
    await call(decision, { pk: id });
  }
}

async function sendCheckout(call: CallOperation): Promise<void> {
  const { id: pk } = await call("createCheckout", {
    body: { gross_amount: 150_000, enabled_payments: ["qris", "bca_va"] },
  });
  await call("getCheckout", { pk });
  await call("listCheckouts", { status: ["open"] });
  await call("cancelCheckout", { pk });
  await call("getCheckoutTimeline", { pk });
}

async function sendInvoice(call: CallOperation): Promise<void> {
  const { id: pk } = await call("createInvoice", {
    body: {
      customer_name: "Budi Utomo",
      customer_email: "budi@example.com",
      due_date: "2099-12-31",
      items: [{ description: "Coffee beans", price: 150_000, quantity: 2 }],
    },
  });
  await call("getInvoice", { pk });
  await call("checkInvoiceStatus", { pk });
  await call("listInvoices", { status: ["sent"] });
  await call("voidInvoice", { pk, body: { reason: "Wrong amount" } });
  await call("getInvoiceTimeline", { pk });
}

async function subscribe(call: CallOperation, sandbox: string): Promise<void> {
  const query = `client_key=SB-Mid-client-sandbox&card_number=${CARD}&${CARD_PARAMETERS}`;
  const registered = await fetch(`${sandbox}/v2/card/register?${query}`);
  const { saved_token_id } = await registered.json();
  const { id: pk } = await call("createSubscription", {
    body: {
      name: "coffee-club",
      payment_type: "credit_card",
      token: saved_token_id,
      amount: 150_000,
      interval: 1,
      interval_unit: "month",
    },
  });
  await call("getSubscription", { pk });
  await call("checkSubscriptionStatus", { pk });
  await call("listSubscriptions", { status: ["active"] });
  await call("updateSubscription", { pk, body: { token: saved_token_id, amount: 175_000 } });
  for (const action_name of ["disable", "enable", "cancel"]) {
    await call("changeSubscription", { pk, action_name });
  }
  await call("getSubscriptionTimeline", { pk });
}

/** A notification about a transaction that the service does not know. */
async function receiveNotifications(call: CallOperation): Promise<void> {
  const order_id = randomUUID();
  await call("receiveNotification", {
    body: sign({
      order_id,
      transaction_id: randomUUID(),
      transaction_status: "settlement",
      payment_type: "qris",
      status_code: "200",
      gross_amount: "10000.00",
    }),
  });
  const [notification] = await call("listNotifications", { order_id });
  await call("getNotification", { pk: notification.id });
  await call("replayNotification", { pk: notification.id });
}

async function reconcile(
  call: CallOperation,
  { sandbox, receiver }: Surroundings,
): Promise<void> {
  // The service gets no notification about this transaction, so that it is missing there.
  const transaction_details = { order_id: randomUUID(), gross_amount: 150_000 };
  const charge = { payment_type: "gopay", transaction_details };
  const elsewhere = { "X-Override-Notification": receiver };
  const { body } = await callSandbox(sandbox, "POST", "/v2/charge", charge, elsewhere);
  const { order_id, transaction_id } = body;
  await post(`${sandbox}/_sandbox/transactions/${transaction_id}/pay`);
  const line = `${order_id},${transaction_id},150000.00,2026-03-05 10:12:09`;
  const { id: pk } = await call("createReconciliation", {
    body: `order_id,transaction_id,gross_amount,settlement_time\r\n${line}\r\n`,
  });
  await until("the report is compared", async () => {
    return (await call("getReconciliation", { pk })).status === "succeeded";
  });
  await call("listReconciliations");
  const [{ id }] = await call("listReconciliationDifferences", { pk, resolved: "false" });
  await call("resolveReconciliationDifference", { pk, difference_id: id });
  await call("reopenReconciliationDifference", { pk, difference_id: id });
  await call("takeOverReconciliationDifference", { pk, difference_id: id });
  await call("takeOverReconciliation", { pk });
}

async function receiveEvents(call: CallOperation, pk: string): Promise<void> {
  await until("events of each kind are listed", async () => {
    const names: string[] = (await call("listEvents")).map(({ name }: Json) => name);
    return ["payment_", "checkout_", "invoice_", "subscription_"]
      .every((kind) => names.some((name) => name.startsWith(kind)));
  });
  let deliveries: Json[] = [];
  await until("a webhook is delivered", async () => {
    deliveries = await call("listWebhookDeliveries", { pk, status: "delivered" });
    return deliveries.length > 0;
  });
  await call("resendWebhookDelivery", { pk, delivery_id: deliveries[0].id });
  await call("testWebhookEndpoint", { pk });
  await call("rotateWebhookSecret", { pk });
  await call("getWebhookEndpoint", { pk });
  await call("listWebhookEndpoints");
  await call("updateWebhookEndpoint", { pk, body: { description: "The shop", enabled: false } });
  await call("deleteWebhookEndpoint", { pk });
}

async function readReports(call: CallOperation): Promise<void> {
  for (const name of ["exportPayments", "exportRefunds", "exportInvoices"]) await call(name);
  await call("getPaymentStats", { interval: "month", group_by: ["payment_type", "bank"] });
  await call("getCheckoutStats", { interval: "month", time_zone: "UTC" });
}

async function changeKeys(call: CallOperation): Promise<void> {
  const { prefix } = await call("createKey", { body: { user_id: "shop", name: "a client" } });
  await call("listKeys");
  await call("deleteKey", { prefix });
}

async function post(url: string, body: object = {}): Promise<void> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  await response.body?.cancel();
}
