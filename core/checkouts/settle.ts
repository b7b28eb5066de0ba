/** `settle`: brings a checkout to the state that its payments and the time demand. */

import type { GatewayCheckout } from "../../db/billing/checkouts.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import type { Change } from "../records/record.ts";
import type { Service } from "../service.ts";
import { changeCheckout, readCheckoutPayments, settleLaterJob } from "./checkout_record.ts";
import { eventsOf, isRunning, openAttempt, outcomeOf } from "./states.ts";

/** `source`: what caused it, for the history. */
export async function settle(
  service: Service,
  known: GatewayCheckout,
  source: string,
): Promise<GatewayCheckout> {
  const payments = await readCheckoutPayments(service, known);
  return await changeCheckout(
    service,
    known,
    (current) => decide(current, payments, new Date(service.clock()), source),
  );
}

/** Ends a checkout that the merchant cancels; null: it has ended, or an attempt may be payable. */
export function decideCancellation(
  checkout: GatewayCheckout,
  now: Date,
): Change<GatewayCheckout> | null {
  if (!isRunning(checkout) || openAttempt(checkout)) return null;
  return {
    set: { ended_at: now, check_at: null },
    transition: {
      to: { status: "cancelled", fraud: null },
      events: eventsOf("cancelled"),
      source: "cancel",
    },
  };
}

/** Null: cards are refused already. */
function withCardsRefused({ refused_payments }: GatewayCheckout): string[] | null {
  return refused_payments.includes("credit_card") ? null : [...refused_payments, "credit_card"];
}

function decide(
  checkout: GatewayCheckout,
  payments: readonly GatewayPayment[],
  now: Date,
  source: string,
): Change<GatewayCheckout> | null {
  const { status, paid, extra, ended, isOpen, areCardsRefused } = outcomeOf(
    checkout,
    payments,
    now,
  );
  const isNew = status !== checkout.status;
  const isExtraNew = extra !== null && checkout.extra_payment_id === null;
  const refused = areCardsRefused && isRunning(checkout) ? withCardsRefused(checkout) : null;
  if (!isNew && !isExtraNew && ended.length === 0 && !refused) return null;
  const isOver = status === "paid" || status === "expired";
  return {
    attempts: ended,
    set: {
      ...refused && { refused_payments: refused },
      ...isNew && isOver && { ended_at: now },
      ...isNew && status === "paid" && {
        payment_id: paid!.id,
        is_late: !isRunning(checkout) || paid!.paid_at! > checkout.expires_at,
      },
      ...isExtraNew && { extra_payment_id: extra.id },
      ...isOver && { check_at: null },
    },
    // The open attempt must not stay payable after a payment; after too many denied cards, the
    // page for cards is closed.
    jobs: (isOver || refused) && isOpen ? [{ ...settleLaterJob(checkout, now), run_at: now }] : [],
    ...isNew && { transition: { to: { status, fraud: null }, events: eventsOf(status), source } },
  };
}
