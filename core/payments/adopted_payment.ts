/** A payment that was made outside of the service, before anything of its state is taken over. */

import type { GatewayPayment } from "../../db/payments.ts";
import type { Transaction } from "../gateway/answers.ts";
import { amountOf } from "./gateway_word.ts";
import { newPayment } from "./new_payment.ts";

/** Its answer has an order, a transaction and an amount. */
export function adoptedPayment(answer: Transaction, now: Date): GatewayPayment {
  const input = {
    order_id: answer.order_id!,
    gross_amount: amountOf(answer)!,
    payment_type: answer.payment_type ?? "unknown",
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
