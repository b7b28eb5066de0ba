/** Builds a payment for a transaction that was created outside of the service. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { Transaction } from "../gateway/responses.ts";
import type { PaymentType } from "./charge_input.ts";
import { newPayment } from "./new_payment.ts";
import { amountOf } from "./transaction.ts";

/** The response must have an order id, a transaction id and an amount. */
export function adoptedPayment(answer: Transaction, now: Date): GatewayPayment {
  const input = {
    order_id: answer.order_id!,
    gross_amount: amountOf(answer)!,
    // The gateway has more types than this service can charge.
    payment_type: (answer.payment_type ?? "unknown") as PaymentType,
    authorize: answer.transaction_status === "authorize",
    metadata: answer.metadata ?? undefined,
  };
  return {
    ...newPayment(input, null, now),
    currency: answer.currency ?? "IDR",
    custom_field1: answer.custom_field1,
    custom_field2: answer.custom_field2,
    custom_field3: answer.custom_field3,
  };
}
