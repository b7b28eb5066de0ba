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

function decide(
  checkout: GatewayCheckout,
  payments: readonly GatewayPayment[],
  now: Date,
  source: string,
): Change<GatewayCheckout> | null {
  const { status, paid, extra, ended, isOpen } = outcomeOf(checkout, payments, now);
  const isNew = status !== checkout.status;
  const isExtraNew = extra !== null && checkout.extra_payment_id === null;
  if (!isNew && !isExtraNew && ended.length === 0) return null;
  const isOver = status === "paid" || status === "expired";
  return {
    attempts: ended,
    set: {
      ...isNew && isOver && { ended_at: now },
      ...isNew && status === "paid" && {
        payment_id: paid!.id,
        is_late: !isRunning(checkout) || paid!.paid_at! > checkout.expires_at,
      },
      ...isExtraNew && { extra_payment_id: extra.id },
      ...isOver && { check_at: null },
    },
    // Another attempt of a paid checkout must not stay payable.
    jobs: isOver && isOpen ? [{ ...settleLaterJob(checkout, now), run_at: now }] : [],
    ...isNew && { transition: { to: { status, fraud: null }, events: eventsOf(status), source } },
  };
}
