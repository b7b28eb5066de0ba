/** Looks for the transaction of a payment whose charge was never answered. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { Answer, Transaction } from "../gateway/answers.ts";
import { GatewayAPIError, GatewayError } from "../gateway/errors.ts";
import type { PaymentDeps } from "./deps.ts";
import { bearsOurName, isOurs } from "./recognize.ts";

export type Found =
  | { whose: "ours"; answer: Answer<Transaction> }
  /** The gateway knows no such order, or none yet. */
  | { whose: "nobodys" }
  | { whose: "anothers" };

/** Throws a `GatewayError` where nothing can be made of the answer. */
export async function findByOrder(
  { gateway }: PaymentDeps,
  payment: GatewayPayment,
): Promise<Found> {
  try {
    const answer = await gateway.getStatus(payment.order_id);
    if (isOurs(payment, answer.body)) return { whose: "ours", answer };
    if (!bearsOurName(payment, answer.body)) return { whose: "anothers" };
    throw new GatewayAPIError("The gateway has this charge otherwise than it was sent", {
      failure: "answered",
      outcome: "unknown",
      statusCode: answer.statusCode,
    });
  } catch (error) {
    if (error instanceof GatewayError && error.statusCode === "404") return { whose: "nobodys" };
    throw error;
  }
}
