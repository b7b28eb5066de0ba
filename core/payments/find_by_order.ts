/** Looks for the transaction of a payment whose charge was never answered. */

import type { GatewayPayment } from "../../db/payments.ts";
import { GatewayAPIError, isTransactionNotFound } from "../gateway/errors.ts";
import type { GatewayResponse, Transaction } from "../gateway/responses.ts";
import type { PaymentDeps } from "./deps.ts";
import { bearsOurName, isOurs } from "./recognize.ts";

export type Found =
  | { whose: "ours"; answer: GatewayResponse<Transaction> }
  /** The gateway knows no such order, or none yet. */
  | { whose: "nobodys" }
  | { whose: "anothers"; answer: GatewayResponse<Transaction> };

/** Throws a `GatewayError` where nothing can be made of the answer. */
export async function findByOrder(
  { gateway, log }: PaymentDeps,
  payment: GatewayPayment,
): Promise<Found> {
  try {
    const answer = await gateway.getStatus(payment.order_id);
    if (isOurs(payment, answer.body)) return { whose: "ours", answer };
    if (!bearsOurName(payment, answer.body)) return { whose: "anothers", answer };
    const error = new GatewayAPIError("The gateway has this charge otherwise than it was sent", {
      failure: "answered",
      outcome: "unknown",
      statusCode: answer.statusCode,
    });
    log.error("charge_differs", error, { payment_id: payment.id });
    throw error;
  } catch (error) {
    if (isTransactionNotFound(error)) return { whose: "nobodys" };
    throw error;
  }
}
