/** What the page of a checkout or of a payment shows, from the stored records. */

import { createHash } from "node:crypto";
import type { CheckoutAttempt, GatewayCheckout } from "../db/billing/checkouts.ts";
import type { GatewayPayment } from "../db/payments/payments.ts";
import { cardDeadline, cardPageUrl } from "../core/checkouts/card_page.ts";
import {
  type ChargedMethodId,
  isMethod,
  type MethodId,
  METHODS,
  offeredMethods,
  refusesPhone,
} from "../core/checkouts/methods.ts";
import { MAX_ATTEMPTS } from "../core/checkouts/schema.ts";
import {
  isDeniedCard,
  isInProcess,
  isPayable,
  openAttempt,
  paymentsOf,
  wasPaid,
} from "../core/checkouts/states.ts";
import type { Service } from "../core/service.ts";
import type { PageModel, Screen, ShownPayment } from "./model.ts";

/** What a page shows in addition to its records. */
export interface PageContext {
  service: Service;
  /** The path of the page as the customer's browser sees it. */
  path: string;
  language: PageModel["language"];
}

/** A shop without a name is called by its address. */
function merchantOf({ service, path }: PageContext): PageModel["merchant"] {
  const { merchant, links, logo } = service;
  const host = new URL(links.publicUrl()!).hostname;
  const logoPath = logo && `${path.slice(0, path.lastIndexOf("/"))}/logo`;
  return { name: merchant.name ?? host, color: merchant.color, logoPath };
}

export function presentCheckoutPage(
  context: PageContext,
  checkout: GatewayCheckout,
  payments: readonly GatewayPayment[],
): PageModel {
  const { service, path, language } = context;
  const { order_id, gross_amount, customer_details, item_details } = checkout;
  const now = new Date(service.clock());
  const screen = screenOf(context, checkout, payments, now);
  return {
    language,
    path,
    merchant: merchantOf(context),
    order: {
      order_id,
      gross_amount,
      items: item_details ?? [],
      customer_name: nameOf(customer_details?.first_name, customer_details?.last_name),
    },
    expiresAt: checkout.expires_at,
    now,
    cancelUrl: checkout.cancel_url,
    stateKey: stateKeyOf(screen),
    screen,
  };
}

/** The rest of a page does not change. */
function stateKeyOf(screen: Screen): string {
  return createHash("sha256").update(JSON.stringify(screen)).digest("base64url").slice(0, 16);
}

function nameOf(...names: unknown[]): string | null {
  return names.filter((name) => typeof name === "string").join(" ") || null;
}

function screenOf(
  context: PageContext,
  checkout: GatewayCheckout,
  payments: readonly GatewayPayment[],
  now: Date,
): Screen {
  const { status, payment_id } = checkout;
  if (status === "paid") {
    const payment = payments.find(({ id }) => id === payment_id)!;
    const attempt = checkout.attempts.find(({ order_id }) => order_id === payment.order_id);
    return paidScreen(payment, attempt?.method ?? payment.payment_type, checkout);
  }
  if (status === "expired" || status === "cancelled") return { type: status };
  const attempt = openAttempt(checkout);
  const method = attempt && isMethod(attempt.method) ? attempt.method : null;
  if (status === "processing") return { type: "processing", method };
  if (!attempt || !method) return chooseScreen(checkout, payments, now);
  if (attempt.is_closing) return { type: "waiting", reason: "closing", method, repeat: null };
  const own = paymentsOf(attempt, payments);
  // The payment arrived after the checkout was read.
  if (own.some(wasPaid)) return { type: "processing", method };
  const isLast = checkout.attempts.length === MAX_ATTEMPTS;
  return method === "credit_card"
    ? cardScreen(context, attempt, own, isLast)
    : attemptScreen(method, own, context.path, isLast);
}

function cardScreen(
  { service }: PageContext,
  attempt: CheckoutAttempt,
  payments: GatewayPayment[],
  isLast: boolean,
): Screen {
  const url = cardPageUrl(service, attempt);
  if (url === null) return startingScreen("credit_card", null);
  const state = payments.some(isPayable) ? "in_process" : payments.length > 0 ? "failed" : "ready";
  const change = isLast ? "never" : "now";
  return { type: "card", url, endsAt: cardDeadline(attempt), state, change };
}

function attemptScreen(
  method: ChargedMethodId,
  payments: GatewayPayment[],
  path: string,
  isLast: boolean,
): Screen {
  const payment = payments.find((each) => isPayable(each) && each.transaction_id !== null);
  if (!payment) return startingScreen(method, payments.at(-1)?.customer_phone ?? null);
  const change = isLast ? "never" : METHODS[method].closing === "wait" ? "later" : "now";
  return { type: "instructions", method, payment: shownPayment(payment, path), change };
}

function startingScreen(method: MethodId, phone: string | null): Screen {
  return { type: "waiting", reason: "starting", method, repeat: { phone } };
}

function chooseScreen(
  checkout: GatewayCheckout,
  payments: readonly GatewayPayment[],
  now: Date,
): Screen {
  const methods = checkout.attempts.length < MAX_ATTEMPTS
    ? offeredMethods(checkout, now.getTime())
    : [];
  if (methods.length === 0) return { type: "failed" };
  const last = checkout.attempts.at(-1) ?? null;
  const phone = checkout.customer_details?.phone;
  return {
    type: "choose",
    methods: methods.map((id) => {
      const { min, max } = METHODS[id];
      return { id, min, max };
    }),
    notice: last && noticeOf(checkout, last, payments),
    noticeMethod: last && isMethod(last.method) ? last.method : null,
    phone: typeof phone === "string" ? phone : null,
  };
}

/** Why the customer has to choose again. */
function noticeOf(
  { refused_payments }: GatewayCheckout,
  attempt: CheckoutAttempt,
  payments: readonly GatewayPayment[],
) {
  const { method, result, is_closing } = attempt;
  const own = paymentsOf(attempt, payments);
  if (own.some(isDeniedCard)) {
    return refused_payments.includes(method) ? "cards_denied" as const : "method_failed" as const;
  }
  if (refused_payments.includes(method)) return "method_refused" as const;
  const isPhoneRefused = own.some(({ is_refused, status_code }) =>
    is_refused && isMethod(method) && refusesPhone(method, status_code)
  );
  if (isPhoneRefused) return "phone_unknown" as const;
  const isClosed = result === null || result === "cancel" || result === "expire";
  if (!isClosed) return "method_failed" as const;
  // Some methods are closed by an expiry: the time has not run out then.
  const isOver = result === "expire" && (!is_closing || own.length === 0);
  return isOver ? "attempt_expired" as const : "closed" as const;
}

function paidScreen(
  payment: GatewayPayment,
  method: string,
  checkout: Pick<GatewayCheckout, "id" | "finish_url" | "is_late"> | null,
): Screen {
  return {
    type: "paid",
    method,
    amount: payment.captured_amount ?? payment.gross_amount,
    // The settlement of a card is its payout, about a day later.
    paidAt: (isCard(payment) ? null : payment.settlement_time) ?? payment.paid_at!,
    isLate: checkout?.is_late ?? false,
    paymentId: payment.id,
    finishUrl: checkout && finishUrl(checkout),
  };
}

/** The shop's address with the checkout's id, so that the shop can look it up. */
function finishUrl({ id, finish_url }: Pick<GatewayCheckout, "id" | "finish_url">): string | null {
  if (finish_url === null) return null;
  const url = new URL(finish_url);
  url.searchParams.set("checkout_id", id);
  return url.href;
}

function shownPayment(payment: GatewayPayment, path: string): ShownPayment {
  const { va_number, bill_key, biller_code, payment_code, qr_string, qr_url } = payment;
  const { deeplink_url, redirect_url, expiry_time } = payment;
  return {
    va_number,
    bill_key,
    biller_code,
    payment_code,
    qr_string,
    qrPath: qr_string === null && qr_url !== null ? `${path}/qr` : null,
    deeplink_url,
    redirect_url,
    expiry_time,
  };
}

/** The page of a single charge, which has no other methods. */
export function presentPaymentPage(context: PageContext, payment: GatewayPayment): PageModel {
  const { service, path, language } = context;
  const { order_id, gross_amount, items } = payment;
  const screen = paymentScreen(payment, path);
  return {
    language,
    path,
    merchant: merchantOf(context),
    order: {
      order_id,
      gross_amount,
      items: items.map(({ name, price, quantity }) => ({ name, price, quantity })),
      customer_name: nameOf(payment.customer_first_name, payment.customer_last_name),
    },
    expiresAt: payment.expiry_time,
    now: new Date(service.clock()),
    cancelUrl: null,
    stateKey: stateKeyOf(screen),
    screen,
  };
}

function paymentScreen(payment: GatewayPayment, path: string): Screen {
  const method = methodOf(payment);
  if (wasPaid(payment)) return paidScreen(payment, method ?? payment.payment_type, null);
  if (isInProcess(payment)) return { type: "processing", method };
  if (isPayable(payment)) {
    const confirm = confirmScreen(payment);
    if (confirm) return confirm;
    if (!method || method === "credit_card") return { type: "processing", method: null };
    if (payment.transaction_id === null) {
      return { type: "waiting", reason: "starting", method, repeat: null };
    }
    return {
      type: "instructions",
      method,
      payment: shownPayment(payment, path),
      change: "never",
    };
  }
  if (payment.transaction_status === "expire") return { type: "expired" };
  return { type: payment.transaction_status === "cancel" ? "cancelled" : "failed" };
}

/** Null: the payment is not confirmed on a page of the bank or of DANA. */
function confirmScreen(payment: GatewayPayment): Screen | null {
  const { redirect_url, deeplink_url, expiry_time } = payment;
  const url = isCard(payment) ? redirect_url : deeplink_url ?? redirect_url;
  const by = isCard(payment) ? "bank" : payment.payment_type === "dana" ? "dana" : null;
  return by === null || url === null ? null : { type: "confirm", by, url, endsAt: expiry_time };
}

function isCard({ payment_type }: GatewayPayment): boolean {
  return payment_type === "credit_card";
}

/** Null: a method that the page does not know, such as a card. */
function methodOf({ payment_type, bank, store }: GatewayPayment): MethodId | null {
  return (Object.keys(METHODS) as MethodId[]).find((id) => {
    const { charge } = METHODS[id];
    return charge.payment_type === payment_type && (charge.bank ?? bank) === bank &&
      (charge.store ?? store) === store;
  }) ?? null;
}
