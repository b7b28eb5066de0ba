/**
 * A program that calls operations by their ids in the OpenAPI document. A test compares each result
 * with the response. Reads a call per line, and prints its result per line.
 */

import { createPaymentGateway, type Pager } from "payment-gateway-client";

declare const process: {
  env: Record<string, string | undefined>;
  stdin: AsyncIterable<Uint8Array>;
};

// deno-lint-ignore no-explicit-any -- any JSON
type Json = any;

/** Set by the test. */
const { url, key } = JSON.parse(process.env.CLIENT_SETTINGS ?? "") as { url: string; key: string };

const gateway = createPaymentGateway({ baseUrl: url, apiKey: key });

/** Each operation, with its parameters by their names in the document. */
const CALLS: Record<string, (parameters: Json, body: Json) => Promise<unknown>> = {
  getCaller: () => gateway.me(),
  getStatus: () => gateway.status(),

  createCharge: ({ idempotency_key: idempotencyKey }, body) =>
    gateway.charges.create(body, { idempotencyKey }),
  createChargeAsJob: (_, body) => gateway.charges.createAsync(body),

  createCheckout: (_, body) => gateway.checkouts.create(body),
  listCheckouts: (query) => firstPage(gateway.checkouts.list(query)),
  getCheckout: ({ pk }) => gateway.checkouts.get(pk),
  cancelCheckout: ({ pk }) => gateway.checkouts.cancel(pk),

  listPayments: (query) => firstPage(gateway.payments.list(query)),
  getPayment: ({ pk }) => gateway.payments.get(pk),
  checkPaymentStatus: ({ pk }) => gateway.payments.checkStatus(pk),
  cancelPayment: ({ pk }) => gateway.payments.cancel(pk),
  expirePayment: ({ pk }) => gateway.payments.expire(pk),
  capturePayment: ({ pk }, body) => gateway.payments.capture(pk, body),
  refundPayment: ({ pk }, body) => gateway.payments.refund(pk, body),
  refundPaymentAsJob: ({ pk }, body) => gateway.payments.refundAsync(pk, body),

  listRefunds: (query) => firstPage(gateway.refunds.list(query)),
  getRefund: ({ pk }) => gateway.refunds.get(pk),
  markRefundDenied: ({ pk }) => gateway.refunds.markDenied(pk),

  approvePayment: ({ pk }) => gateway.reviews.approve(pk),
  denyPayment: ({ pk }) => gateway.reviews.deny(pk),

  createInvoice: (_, body) => gateway.invoices.create(body),
  listInvoices: (query) => firstPage(gateway.invoices.list(query)),
  getInvoice: ({ pk }) => gateway.invoices.get(pk),
  checkInvoiceStatus: ({ pk }) => gateway.invoices.checkStatus(pk),
  voidInvoice: ({ pk }, body) => gateway.invoices.void(pk, body),

  createSubscription: (_, body) => gateway.subscriptions.create(body),
  listSubscriptions: (query) => firstPage(gateway.subscriptions.list(query)),
  getSubscription: ({ pk }) => gateway.subscriptions.get(pk),
  checkSubscriptionStatus: ({ pk }) => gateway.subscriptions.checkStatus(pk),
  updateSubscription: ({ pk }, body) => gateway.subscriptions.update(pk, body),
  changeSubscription: ({ pk, action_name }) => {
    if (action_name === "disable") return gateway.subscriptions.disable(pk);
    if (action_name === "enable") return gateway.subscriptions.enable(pk);
    return gateway.subscriptions.cancel(pk);
  },

  getPaymentTimeline: ({ pk }) => gateway.timelines.payment(pk),
  getCheckoutTimeline: ({ pk }) => gateway.timelines.checkout(pk),
  getInvoiceTimeline: ({ pk }) => gateway.timelines.invoice(pk),
  getSubscriptionTimeline: ({ pk }) => gateway.timelines.subscription(pk),

  listEvents: (query) => firstPage(gateway.events.list(query)),

  exportPayments: (query) => textOf(gateway.reports.exportPayments(query)),
  exportRefunds: (query) => textOf(gateway.reports.exportRefunds(query)),
  exportInvoices: (query) => textOf(gateway.reports.exportInvoices(query)),
  getPaymentStats: (query) => gateway.reports.paymentStats(query),
  getCheckoutStats: (query) => gateway.reports.checkoutStats(query),
  createReconciliation: (query, body) => gateway.reports.reconcile(body, query),
  listReconciliations: (query) => firstPage(gateway.reports.reconciliations(query)),
  getReconciliation: ({ pk }) => gateway.reports.reconciliation(pk),
  listReconciliationDifferences: ({ pk, ...query }) =>
    firstPage(gateway.reports.differences(pk, query)),
  resolveReconciliationDifference: ({ pk, difference_id }) =>
    gateway.reports.resolveDifference(pk, difference_id),
  reopenReconciliationDifference: ({ pk, difference_id }) =>
    gateway.reports.reopenDifference(pk, difference_id),
  takeOverReconciliationDifference: ({ pk, difference_id }) =>
    gateway.reports.takeOverDifference(pk, difference_id),
  takeOverReconciliation: ({ pk }) => gateway.reports.takeOverAll(pk),

  listJobs: (query) => firstPage(gateway.jobs.list(query)),
  getJob: ({ pk }) => gateway.jobs.get(pk),
  retryJob: ({ pk }) => gateway.jobs.retry(pk),

  createWebhookEndpoint: (_, body) => gateway.webhookEndpoints.create(body),
  listWebhookEndpoints: (query) => firstPage(gateway.webhookEndpoints.list(query)),
  getWebhookEndpoint: ({ pk }) => gateway.webhookEndpoints.get(pk),
  updateWebhookEndpoint: ({ pk }, body) => gateway.webhookEndpoints.update(pk, body),
  deleteWebhookEndpoint: ({ pk }) => gateway.webhookEndpoints.delete(pk),
  testWebhookEndpoint: ({ pk }) => gateway.webhookEndpoints.test(pk),
  rotateWebhookSecret: ({ pk }) => gateway.webhookEndpoints.rotateSecret(pk),
  listWebhookDeliveries: ({ pk, ...query }) =>
    firstPage(gateway.webhookEndpoints.deliveries(pk, query)),
  resendWebhookDelivery: ({ pk, delivery_id }) => gateway.webhookEndpoints.resend(pk, delivery_id),

  createKey: (_, body) => gateway.keys.create(body),
  listKeys: (query) => firstPage(gateway.keys.list(query)),
  deleteKey: ({ prefix }) => gateway.keys.revoke(prefix),

  listAudit: (query) => firstPage(gateway.audit.list(query)),

  listNotifications: (query) => firstPage(gateway.notifications.list(query)),
  getNotification: ({ pk }) => gateway.notifications.get(pk),
  replayNotification: ({ pk }) => gateway.notifications.replay(pk),
};

for await (const line of linesOf(process.stdin)) {
  console.log(JSON.stringify(await outcomeOf(JSON.parse(line))));
}

async function outcomeOf({ method, args, bodyName }: Json): Promise<object> {
  try {
    const { [bodyName]: body, ...parameters } = args;
    const call = CALLS[method];
    if (!call) throw new Error("The client has no call for this operation");
    return { result: await call(parameters, body) };
  } catch (error) {
    return { error: String(error) };
  }
}

async function firstPage<T>(list: Pager<T>): Promise<T[]> {
  return (await list.page()).items;
}

async function textOf(file: Promise<ReadableStream<Uint8Array>>): Promise<string> {
  return await new Response(await file as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}

async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of input) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
