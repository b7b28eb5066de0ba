/** Checkouts as responses and events show them; `schema.ts` declares the fields. */

import type { z } from "@hono/zod-openapi";
import type { CheckoutAttempt, GatewayCheckout } from "../../db/billing/checkouts.ts";
import { formatMoney } from "../money.ts";
import type { CheckoutSchema } from "./schema.ts";

export type CheckoutView = z.output<typeof CheckoutSchema>;

/** Without the link and the payment, which only direct answers have. */
export function viewCheckout(checkout: GatewayCheckout): CheckoutView {
  return {
    id: checkout.id,
    order_id: checkout.order_id,
    status: checkout.status,
    gross_amount: formatMoney(checkout.gross_amount),
    currency: checkout.currency,
    checkout_url: null,
    enabled_payments: checkout.enabled_payments,
    finish_url: checkout.finish_url,
    cancel_url: checkout.cancel_url,
    language: checkout.language,
    expires_at: checkout.expires_at.toISOString(),
    ended_at: checkout.ended_at?.toISOString() ?? null,
    attempts: checkout.attempts.map(viewAttempt),
    payment_id: checkout.payment_id,
    payment: null,
    extra_payment_id: checkout.extra_payment_id,
    is_late: checkout.is_late,
    metadata: checkout.metadata,
    custom_fields: checkout.custom_fields,
    created_at: checkout.created_at.toISOString(),
    updated_at: checkout.updated_at.toISOString(),
  };
}

/**
 * The values of a checkout that a form of the console shows. Its action is refused if they have
 * changed.
 */
export function shownOf({ status, attempts }: CheckoutView): string {
  return `${status} ${attempts.length}`;
}

function viewAttempt(attempt: CheckoutAttempt): CheckoutView["attempts"][number] {
  const { number, method, order_id, created_at, closed_at } = attempt;
  return {
    number,
    method,
    order_id,
    status: statusOf(attempt),
    created_at: created_at.toISOString(),
    closed_at: closed_at?.toISOString() ?? null,
  };
}

function statusOf({ closed_at, is_closing, result }: CheckoutAttempt) {
  if (result === "paid") return "paid";
  if (closed_at !== null) return "closed";
  return is_closing ? "closing" : "open";
}
