/** `cancelCheckout`: closes the customer's attempt, and ends the checkout. */

import type { GatewayCheckout } from "../../db/billing/checkouts.ts";
import type { Caller } from "../auth/caller.ts";
import { findOwn } from "../records/read.ts";
import { actAs } from "../records/record.ts";
import type { Service } from "../service.ts";
import { closeOpenAttempt } from "./attempts.ts";
import { changeCheckout, checkoutKind, problems } from "./checkout_record.ts";
import { decideCancellation, settle } from "./settle.ts";

/** Cancelling a cancelled checkout changes nothing. Can be repeated until the gateway confirms. */
export async function cancelCheckout(
  service: Service,
  caller: Caller,
  id: string,
): Promise<GatewayCheckout> {
  const asCaller = actAs(service, caller);
  const known = await findOwn(asCaller, checkoutKind, caller, id);
  const current = await settle(asCaller, known, "cancel");
  requireCancellable(current);
  const closed = await closeOpenAttempt(asCaller, current);
  const cancelled = await changeCheckout(
    asCaller,
    closed,
    (latest) => decideCancellation(latest, new Date(asCaller.clock())),
  );
  requireCancellable(cancelled);
  if (cancelled.status === "cancelled") return cancelled;
  throw problems.notAtGatewayYet(
    cancelled,
    "The gateway has not confirmed yet that the customer's payment is closed. Retry later.",
  );
}

const ADVICE: Record<string, string> = {
  paid: " Refund its payment instead.",
  processing: " The bank or the fraud review decides about its payment: wait for the result.",
};

function requireCancellable(checkout: GatewayCheckout): void {
  const { status } = checkout;
  if (status === "open" || status === "cancelled") return;
  throw problems.invalidState(
    checkout,
    `A checkout with status ${status} cannot be cancelled.${ADVICE[status] ?? ""}`,
  );
}
