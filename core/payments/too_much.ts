/** The problem of an amount that is more than there is. */

import type { GatewayPayment } from "../../db/payments.ts";
import { ServiceError } from "../errors.ts";

export function tooMuch({ id, order_id }: GatewayPayment, most: number): ServiceError {
  const message = `must be at most ${most}`;
  return new ServiceError("validation_error", {
    detail: `amount: ${message}`,
    members: {
      errors: [{ field: "amount", message }],
      payment_id: id,
      order_id,
      outcome: "refused",
    },
  });
}
