/** What happens to payments, invoices and subscriptions on a day without webhooks. */

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
import type { Day } from "./healing_day.ts";

/** What happens to a record this many minutes after its creation. */
interface Act<T> {
  after: number;
  do(day: Day, subject: T): Promise<void>;
}

export interface PaymentLife {
  kind: ChargeKind;
  card?: string;
  more?: Json;
  /** The response to the charge is lost, or the charge never reached the gateway. */
  fault?: Fault;
  acts: Act<Charged>[];
  /** The final status. */
  ends: string;
}

export interface Charged {
  id: string;
  orderId: string;
  /** Null: the gateway has no transaction. */
  transactionId: string | null;
}

type Fault = "lost" | "unsent";

const happen = (after: number, what: string, body: Json = {}): Act<Charged> => ({
  after,
  do: async ({ sandbox }, { transactionId }) =>
    void await sandbox.control(`transactions/${transactionId}/${what}`, body),
});

/** An action on the gateway's dashboard. */
const elsewhere = (after: number, what: string, body: Json = {}): Act<Charged> => ({
  after,
  async do({ sandbox }, { transactionId }) {
    const { http, text, body: answer } = await sandbox.call(
      "POST",
      what === "capture" ? "/v2/capture" : `/v2/${transactionId}/${what}`,
      what === "capture" ? { transaction_id: transactionId, ...body } : body,
    );
    assert.ok(http < 300 && answer.status_code < 300, text);
  },
});

/** The gateway refunds it, but its response is lost. */
const refundLosing = (after: number, amount: number): Act<Charged> => ({
  after,
  async do(day, { id }) {
    const { outcome } = await meddling(
      day,
      "lost",
      async () => await (await day.post(`/payments/${id}/refund/`, { amount })).json(),
    );
    assert.equal(outcome, "unknown");
  },
});

/** Acts of one minute happen before the schedule runs, because it does not check settled payments again. */
export const PAYMENT_LIVES: Record<string, PaymentLife> = {
  "paid by wallet": { kind: "gopay", acts: [happen(7, "pay")], ends: "settlement" },
  "paid by transfer": { kind: "bca", acts: [happen(3, "pay")], ends: "settlement" },
  "paid at the last minute": { kind: "gopay", acts: [happen(14, "pay")], ends: "settlement" },
  "paid late": { kind: "permata", acts: [happen(900, "pay")], ends: "settlement" },
  "never paid": { kind: "qris", acts: [], ends: "expire" },
  "never paid in two hours": {
    kind: "bca",
    more: { custom_expiry: { expiry_duration: 2, unit: "hour" } },
    acts: [],
    ends: "expire",
  },
  "never paid in a day": { kind: "echannel", acts: [], ends: "expire" },
  "denied": { kind: "shopeepay", acts: [happen(4, "deny")], ends: "deny" },
  "cancelled": { kind: "cstore", acts: [elsewhere(200, "cancel")], ends: "cancel" },
  "refunded": {
    kind: "gopay",
    acts: [happen(6, "pay"), elsewhere(6, "refund", { amount: AMOUNT })],
    ends: "refund",
  },
  "partly refunded": {
    kind: "qris",
    acts: [happen(5, "pay"), elsewhere(5, "refund", { amount: 4_000 })],
    ends: "partial_refund",
  },
  "refunded by us without an answer": {
    kind: "gopay",
    acts: [happen(2, "pay"), refundLosing(120, 4_000)],
    ends: "partial_refund",
  },
  "a card": { kind: "card", acts: [], ends: "settlement" },
  "a card, cancelled": { kind: "card", acts: [elsewhere(30, "cancel")], ends: "cancel" },
  "a card, refused": { kind: "card", card: DENIED_CARD, acts: [], ends: "deny" },
  "a card, charged back": {
    kind: "card",
    acts: [happen(90, "settle"), happen(90, "chargeback")],
    ends: "chargeback",
  },
  "a card, held and captured in part": {
    kind: "card_auth",
    acts: [elsewhere(50, "capture", { gross_amount: 30_000 })],
    ends: "settlement",
  },
  "a card, held and let go": {
    kind: "card_auth",
    acts: [elsewhere(70, "cancel")],
    ends: "cancel",
  },
  "a card, challenged and accepted": {
    kind: "card",
    card: CHALLENGED_CARD,
    acts: [elsewhere(25, "approve")],
    ends: "settlement",
  },
  "a card by 3-D Secure": { kind: "card_3ds", acts: [happen(4, "three_ds")], ends: "settlement" },
  "paid, though the charge had no answer": {
    kind: "bca",
    fault: "lost",
    acts: [happen(10, "pay")],
    ends: "settlement",
  },
  "never made": { kind: "gopay", fault: "unsent", acts: [], ends: "failure" },
};

export async function chargeOf(day: Day, life: PaymentLife, orderId: string): Promise<Charged> {
  const { kind, card = ACCEPTED_CARD, more = {}, fault } = life;
  const body = { ...await chargeRequest(day.sandbox, kind, card), ...more, order_id: orderId };
  const charge = () => day.post("/charge/", body);
  const response = await (fault ? meddling(day, fault, charge) : charge());
  const answer = await response.json();
  if (fault) assert.equal(answer.outcome, "unknown", JSON.stringify(answer));
  const [made] = await day.transactions(orderId);
  return {
    id: answer.payment_id ?? answer.id,
    orderId,
    transactionId: made?.transaction_id ?? null,
  };
}

/** Makes the next POST to the gateway fail. */
async function meddling<T>({ relay }: Day, fault: Fault, work: () => Promise<T>): Promise<T> {
  const { intercept } = relay;
  relay.intercept = async (request, pass) => {
    if (request.method === "GET") return await pass();
    if (fault === "lost") await (await pass()).body?.cancel();
    return new Response("<h1>Bad Gateway</h1>", { status: 502 });
  };
  try {
    return await work();
  } finally {
    relay.intercept = intercept;
  }
}

export interface InvoiceLife {
  /** It is due today. */
  isDueToday?: true;
  acts: Act<Invoice>[];
  ends: string;
  eventNames: string[];
}

const pays = (after: number, request: Json = {}): Act<Invoice> => ({
  after,
  do: async ({ sandbox }, { gateway_invoice_id }) =>
    void await sandbox.control(`invoices/${gateway_invoice_id}/pay`, request),
});

/** The customer chooses a payment type and pays. */
const paysAfterAll = (after: number): Act<Invoice> => ({
  after,
  async do({ sandbox, transactions }, { order_id }) {
    const [begun] = await transactions(order_id);
    await sandbox.control(`transactions/${begun!.transaction_id}/pay`);
  },
});

const voids = (after: number, fault?: Fault): Act<Invoice> => ({
  after,
  async do(day, { id }) {
    const ask = () => day.post(`/invoices/${id}/void/`, { reason: "no more" });
    const { status } = await (fault ? meddling(day, fault, ask) : ask());
    assert.equal(status, fault ? 400 : 200);
  },
});

const voidsElsewhere = (after: number): Act<Invoice> => ({
  after,
  async do({ sandbox }, { gateway_invoice_id }) {
    const path = `/v1/invoices/${gateway_invoice_id}/void`;
    const { http } = await sandbox.call("PATCH", path, { void_reason: "dashboard" });
    assert.equal(http, 200);
  },
});

const [CREATED, PAID, VOIDED] = ["invoice_created", "invoice_paid", "invoice_voided"] as const;

export const INVOICE_LIVES: Record<string, InvoiceLife> = {
  "paid": { acts: [pays(40)], ends: "paid", eventNames: [CREATED, PAID] },
  "overdue": { isDueToday: true, acts: [], ends: "overdue", eventNames: [CREATED] },
  "overdue and paid": {
    isDueToday: true,
    acts: [pays(1_000, { payment_type: "qris" })],
    ends: "paid",
    eventNames: [CREATED, PAID],
  },
  "voided": { acts: [voids(15)], ends: "void", eventNames: [CREATED, VOIDED] },
  "voided without an answer": {
    acts: [voids(35, "lost")],
    ends: "void",
    eventNames: [CREATED, VOIDED],
  },
  "voided elsewhere": { acts: [voidsElsewhere(55)], ends: "void", eventNames: [CREATED, VOIDED] },
  "voided and paid": {
    acts: [pays(20, { only_start: true }), voids(25), paysAfterAll(300)],
    ends: "paid",
    eventNames: [CREATED, VOIDED, PAID],
  },
};

export async function invoiceOf(day: Day, { isDueToday }: InvoiceLife): Promise<Invoice> {
  const now = day.app.deps.clock();
  const due = isDueToday ? { due_date: dayOf(now) } : {};
  return await parseInvoice(await day.post("/invoices/", { ...invoiceDue(now), ...due }));
}

export interface SubscriptionLife {
  card?: string;
  acts: Act<Subscription>[];
  ends: string;
  eventNames: string[];
}

const acts = (after: number, action: string, fault?: Fault): Act<Subscription> => ({
  after,
  async do(day, { id }) {
    const ask = () => day.act(id, action);
    const { status } = await (fault ? meddling(day, fault, ask) : ask());
    assert.equal(status, fault ? 400 : 200);
  },
});

const cancelsElsewhere = (after: number): Act<Subscription> => ({
  after,
  async do({ sandbox }, { gateway_subscription_id }) {
    const path = `/v1/subscriptions/${gateway_subscription_id}/cancel`;
    assert.equal((await sandbox.call("POST", path)).http, 200);
  },
});

const MADE = "subscription_created";
const CHARGED = "subscription_charged";

/** Two daily charges, the first in twenty minutes. */
export const SUBSCRIPTION_LIVES: Record<string, SubscriptionLife> = {
  "charged twice": { acts: [], ends: "inactive", eventNames: [MADE, CHARGED, CHARGED] },
  "declined": { card: DENIED_CARD, acts: [], ends: "inactive", eventNames: [MADE] },
  "cancelled": {
    acts: [acts(100, "cancel")],
    ends: "cancelled",
    eventNames: [MADE, CHARGED, "subscription_cancelled"],
  },
  "cancelled without an answer": {
    acts: [acts(100, "cancel", "lost")],
    ends: "cancelled",
    eventNames: [MADE, CHARGED, "subscription_cancelled"],
  },
  "disabled, but the request to the gateway was lost": {
    acts: [acts(100, "disable", "unsent")],
    ends: "disabled",
    eventNames: [MADE, CHARGED, "subscription_disabled"],
  },
  "cancelled elsewhere": {
    acts: [cancelsElsewhere(100)],
    ends: "inactive",
    eventNames: [MADE, CHARGED],
  },
};

export async function subscriptionOf(
  day: Day,
  { card = ACCEPTED_CARD }: SubscriptionLife,
): Promise<Subscription> {
  const token = await savedCard(day.sandbox, card);
  const start_time = new Date(day.app.deps.clock() + 20 * 60_000).toISOString();
  const cycles = { interval: 1, interval_unit: "day", max_interval: 2, start_time };
  return await day.create({ token, ...cycles });
}
