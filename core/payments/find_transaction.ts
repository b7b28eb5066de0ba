/** Brings a payment up to date for an action on it. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { GatewayOutcome } from "../gateway/errors.ts";
import type { PaymentDeps } from "./deps.ts";
import type { Source } from "./gate.ts";
import { notYetKnown, problems } from "./problems.ts";
import { refresh } from "./refresh.ts";

/** The payment with its transaction: one whose charge was not answered has to be found first. */
export async function transactionOf(
  deps: PaymentDeps,
  payment: GatewayPayment,
  source: Source,
): Promise<GatewayPayment> {
  if (payment.transaction_id !== null) return payment;
  const found = await refreshed(deps, payment, source, "refused");
  if (found.transaction_id === null) throw notYetKnown(found);
  return found;
}

/** `outcome`: that of the action, should the gateway not be there to be asked. */
export async function refreshed(
  deps: PaymentDeps,
  payment: GatewayPayment,
  source: Source,
  outcome: GatewayOutcome,
): Promise<GatewayPayment> {
  return await problems.asking(
    payment,
    outcome,
    async () => (await refresh(deps, payment, source)).payment,
  );
}
