/** Scenarios of payments, invoices and subscriptions for a simulated day. */

import assert from "node:assert/strict";
import {
  ACCEPTED_CARD,
  AMOUNT,
  CHALLENGED_CARD,
  type Json,
  savedCard,
} from "../gateway/sandbox.ts";
import { type ChargeKind, chargeRequest } from "../payments/payments.ts";
import { dayOf, type Invoice, invoiceDue, parseInvoice } from "../records/invoices.ts";
import { DENIED_CARD, type Subscription } from "../records/subscriptions.ts";
import type { Fault } from "./plan.ts";
import type { SimulatedDay } from "./simulated_day.ts";

/** An action on a record, this many minutes after its creation. */
interface Action<T> {
  afterMinutes: number;
  run(day: SimulatedDay, record: T): Promise<void>;
}

export interface PaymentScenario {
  kind: ChargeKind;
  card?: string;
  /** Further fields of the charge request. */
  extraFields?: Json;
  /** The request or the response of the charge is lost. */
  fault?: Fault;
  actions: Action<ChargedPayment>[];
  finalStatus: string;
}

export interface ChargedPayment {
  id: string;
  orderId: string;
  /** Null: the gateway has no transaction. */
  transactionId: string | null;
}

/** An action of the customer or the bank. */
const external = (
  afterMinutes: number,
  action: string,
  body: Json = {},
): Action<ChargedPayment> => ({
  afterMinutes,
  run: async ({ sandbox }, { transactionId }) =>
    void await sandbox.control(`transactions/${transactionId}/${action}`, body),
});

/** An action of the merchant on the gateway's dashboard. */
const dashboard = (
  afterMinutes: number,
  action: string,
  body: Json = {},
): Action<ChargedPayment> => ({
  afterMinutes,
  async run({ sandbox }, { transactionId }) {
    const { http, text, body: answer } = await sandbox.call(
      "POST",
      action === "capture" ? "/v2/capture" : `/v2/${transactionId}/${action}`,
      action === "capture" ? { transaction_id: transactionId, ...body } : body,
    );
    assert.ok(http < 300 && answer.status_code < 300, text);
  },
});

/** The gateway refunds the payment, but its response is lost. */
const refundWithLostResponse = (afterMinutes: number, amount: number): Action<ChargedPayment> => ({
  afterMinutes,
  async run(day, { id }) {
    const { outcome } = await withFault(
      day,
      "response_lost",
      async () => await (await day.post(`/payments/${id}/refund/`, { amount })).json(),
    );
    assert.equal(outcome, "unknown");
  },
});

export const PAYMENT_SCENARIOS: Record<string, PaymentScenario> = {
  "paid by wallet": { kind: "gopay", actions: [external(7, "pay")], finalStatus: "settlement" },
  "paid by transfer": { kind: "bca", actions: [external(3, "pay")], finalStatus: "settlement" },
  "paid at the last minute": {
    kind: "gopay",
    actions: [external(14, "pay")],
    finalStatus: "settlement",
  },
  "paid after 15 hours": {
    kind: "permata",
    actions: [external(900, "pay")],
    finalStatus: "settlement",
  },
  "never paid": { kind: "qris", actions: [], finalStatus: "expire" },
  "not paid within two hours": {
    kind: "bca",
    extraFields: { custom_expiry: { expiry_duration: 2, unit: "hour" } },
    actions: [],
    finalStatus: "expire",
  },
  "not paid within a day": { kind: "echannel", actions: [], finalStatus: "expire" },
  "denied": { kind: "shopeepay", actions: [external(4, "deny")], finalStatus: "deny" },
  "cancelled": { kind: "cstore", actions: [dashboard(200, "cancel")], finalStatus: "cancel" },
  "refunded": {
    kind: "gopay",
    actions: [external(6, "pay"), dashboard(6, "refund", { amount: AMOUNT })],
    finalStatus: "refund",
  },
  "partly refunded": {
    kind: "qris",
    actions: [external(5, "pay"), dashboard(5, "refund", { amount: 4_000 })],
    finalStatus: "partial_refund",
  },
  "refunded by the service, response lost": {
    kind: "gopay",
    actions: [external(2, "pay"), refundWithLostResponse(120, 4_000)],
    finalStatus: "partial_refund",
  },
  "reversed by the bank": {
    kind: "permata",
    actions: [external(1, "pay"), external(14, "reverse")],
    finalStatus: "deny",
  },
  "refunded half a day later": {
    kind: "gopay",
    actions: [external(7, "pay"), dashboard(720, "refund", { amount: AMOUNT })],
    finalStatus: "refund",
  },
  "a card, charged back later": {
    kind: "card",
    actions: [external(90, "settle"), external(600, "chargeback")],
    finalStatus: "chargeback",
  },
  "a card": { kind: "card", actions: [], finalStatus: "settlement" },
  "a card, cancelled": { kind: "card", actions: [dashboard(30, "cancel")], finalStatus: "cancel" },
  "a card, declined": { kind: "card", card: DENIED_CARD, actions: [], finalStatus: "deny" },
  "a card, charged back": {
    kind: "card",
    actions: [external(90, "settle"), external(90, "chargeback")],
    finalStatus: "chargeback",
  },
  "a card, authorized and captured in part": {
    kind: "card_auth",
    actions: [dashboard(50, "capture", { gross_amount: 30_000 })],
    finalStatus: "settlement",
  },
  "a card, authorized and cancelled": {
    kind: "card_auth",
    actions: [dashboard(70, "cancel")],
    finalStatus: "cancel",
  },
  "a card, challenged and approved": {
    kind: "card",
    card: CHALLENGED_CARD,
    actions: [dashboard(25, "approve")],
    finalStatus: "settlement",
  },
  "a card with 3-D Secure": {
    kind: "card_3ds",
    actions: [external(4, "three_ds")],
    finalStatus: "settlement",
  },
  "paid, response to the charge lost": {
    kind: "bca",
    fault: "response_lost",
    actions: [external(10, "pay")],
    finalStatus: "settlement",
  },
  "charge never reached the gateway": {
    kind: "gopay",
    fault: "request_lost",
    actions: [],
    finalStatus: "failure",
  },
};

export async function createCharge(
  day: SimulatedDay,
  scenario: PaymentScenario,
  orderId: string,
): Promise<ChargedPayment> {
  const { kind, card = ACCEPTED_CARD, extraFields = {}, fault } = scenario;
  const body = {
    ...await chargeRequest(day.sandbox, kind, card),
    ...extraFields,
    order_id: orderId,
  };
  const charge = () => day.post("/charge/", body);
  const response = await (fault ? withFault(day, fault, charge) : charge());
  const answer = await response.json();
  if (fault) assert.equal(answer.outcome, "unknown", JSON.stringify(answer));
  const [transaction] = await day.transactions(orderId);
  return {
    id: answer.payment_id ?? answer.id,
    orderId,
    transactionId: transaction?.transaction_id ?? null,
  };
}

/** While `work` runs, every request to the gateway other than GET fails. */
async function withFault<T>(
  { relay }: SimulatedDay,
  fault: Fault,
  work: () => Promise<T>,
): Promise<T> {
  const { intercept } = relay;
  relay.intercept = async (request, pass) => {
    if (request.method === "GET") return await pass();
    if (fault === "response_lost") await (await pass()).body?.cancel();
    return new Response("<h1>Bad Gateway</h1>", { status: 502 });
  };
  try {
    return await work();
  } finally {
    relay.intercept = intercept;
  }
}

export interface InvoiceScenario {
  isDueToday?: true;
  actions: Action<Invoice>[];
  finalStatus: string;
  eventNames: string[];
}

const pay = (afterMinutes: number, request: Json = {}): Action<Invoice> => ({
  afterMinutes,
  run: async ({ sandbox }, { gateway_invoice_id }) =>
    void await sandbox.control(`invoices/${gateway_invoice_id}/pay`, request),
});

/** The customer completes a transaction that was started before. */
const completePayment = (afterMinutes: number): Action<Invoice> => ({
  afterMinutes,
  async run({ sandbox, transactions }, { order_id }) {
    const [started] = await transactions(order_id);
    await sandbox.control(`transactions/${started!.transaction_id}/pay`);
  },
});

const voidInvoice = (afterMinutes: number, fault?: Fault): Action<Invoice> => ({
  afterMinutes,
  async run(day, { id }) {
    const send = () => day.post(`/invoices/${id}/void/`, { reason: "not needed" });
    const { status } = await (fault ? withFault(day, fault, send) : send());
    assert.equal(status, fault ? 400 : 200);
  },
});

const voidOnDashboard = (afterMinutes: number): Action<Invoice> => ({
  afterMinutes,
  async run({ sandbox }, { gateway_invoice_id }) {
    const path = `/v1/invoices/${gateway_invoice_id}/void`;
    const { http } = await sandbox.call("PATCH", path, { void_reason: "dashboard" });
    assert.equal(http, 200);
  },
});

const [CREATED, PAID, VOIDED] = ["invoice_created", "invoice_paid", "invoice_voided"] as const;

export const INVOICE_SCENARIOS: Record<string, InvoiceScenario> = {
  "paid": { actions: [pay(40)], finalStatus: "paid", eventNames: [CREATED, PAID] },
  "overdue": { isDueToday: true, actions: [], finalStatus: "overdue", eventNames: [CREATED] },
  "overdue, then paid": {
    isDueToday: true,
    actions: [pay(1_000, { payment_type: "qris" })],
    finalStatus: "paid",
    eventNames: [CREATED, PAID],
  },
  "voided": { actions: [voidInvoice(15)], finalStatus: "void", eventNames: [CREATED, VOIDED] },
  "voided, response lost": {
    actions: [voidInvoice(35, "response_lost")],
    finalStatus: "void",
    eventNames: [CREATED, VOIDED],
  },
  "voided on the dashboard": {
    actions: [voidOnDashboard(55)],
    finalStatus: "void",
    eventNames: [CREATED, VOIDED],
  },
  "voided, then paid": {
    actions: [pay(20, { only_start: true }), voidInvoice(25), completePayment(300)],
    finalStatus: "paid",
    eventNames: [CREATED, VOIDED, PAID],
  },
};

export async function createInvoice(
  day: SimulatedDay,
  { isDueToday }: InvoiceScenario,
): Promise<Invoice> {
  const now = day.app.service.clock();
  const due = isDueToday ? { due_date: dayOf(now) } : {};
  return await parseInvoice(await day.post("/invoices/", { ...invoiceDue(now), ...due }));
}

export interface SubscriptionScenario {
  card?: string;
  actions: Action<Subscription>[];
  finalStatus: string;
  eventNames: string[];
}

const requestAction = (
  afterMinutes: number,
  action: string,
  fault?: Fault,
): Action<Subscription> => ({
  afterMinutes,
  async run(day, { id }) {
    const send = () => day.act(id, action);
    const { status } = await (fault ? withFault(day, fault, send) : send());
    assert.equal(status, fault ? 400 : 200);
  },
});

const cancelOnDashboard = (afterMinutes: number): Action<Subscription> => ({
  afterMinutes,
  async run({ sandbox }, { gateway_subscription_id }) {
    const path = `/v1/subscriptions/${gateway_subscription_id}/cancel`;
    assert.equal((await sandbox.call("POST", path)).http, 200);
  },
});

const SUBSCRIPTION_CREATED = "subscription_created";
const SUBSCRIPTION_CHARGED = "subscription_charged";

/** Each subscription has two scheduled charges: 20 minutes after its creation, and a day later. */
export const SUBSCRIPTION_SCENARIOS: Record<string, SubscriptionScenario> = {
  "charged twice": {
    actions: [],
    finalStatus: "inactive",
    eventNames: [SUBSCRIPTION_CREATED, SUBSCRIPTION_CHARGED, SUBSCRIPTION_CHARGED],
  },
  "declined": {
    card: DENIED_CARD,
    actions: [],
    finalStatus: "inactive",
    eventNames: [SUBSCRIPTION_CREATED],
  },
  "cancelled": {
    actions: [requestAction(100, "cancel")],
    finalStatus: "cancelled",
    eventNames: [SUBSCRIPTION_CREATED, SUBSCRIPTION_CHARGED, "subscription_cancelled"],
  },
  "cancelled, response lost": {
    actions: [requestAction(100, "cancel", "response_lost")],
    finalStatus: "cancelled",
    eventNames: [SUBSCRIPTION_CREATED, SUBSCRIPTION_CHARGED, "subscription_cancelled"],
  },
  "disabled, request to the gateway lost": {
    actions: [requestAction(100, "disable", "request_lost")],
    finalStatus: "disabled",
    eventNames: [SUBSCRIPTION_CREATED, SUBSCRIPTION_CHARGED, "subscription_disabled"],
  },
  "cancelled on the dashboard": {
    actions: [cancelOnDashboard(100)],
    finalStatus: "inactive",
    eventNames: [SUBSCRIPTION_CREATED, SUBSCRIPTION_CHARGED],
  },
};

export async function createSubscription(
  day: SimulatedDay,
  { card = ACCEPTED_CARD }: SubscriptionScenario,
): Promise<Subscription> {
  const token = await savedCard(day.sandbox, card);
  const start_time = new Date(day.app.service.clock() + 20 * 60_000).toISOString();
  const cycles = { interval: 1, interval_unit: "day", max_interval: 2, start_time };
  return await day.create({ token, ...cycles });
}
