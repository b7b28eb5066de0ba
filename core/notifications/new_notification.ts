/** A notification that is about to be kept. */

import type { GatewayNotification } from "../../db/notifications.ts";
import { newId } from "../ids.ts";
import type { Claim } from "./claim.ts";
import { keepable } from "./keepable.ts";

export function newNotification(
  { orderId, statusCode, grossAmount, told, raw }: Claim,
  now: Date,
): GatewayNotification {
  return {
    id: newId(now),
    payment_id: null,
    order_id: orderId,
    transaction_id: told.transaction_id,
    transaction_status: told.transaction_status ?? "",
    fraud_status: told.fraud_status,
    payment_type: told.payment_type,
    status_code: statusCode,
    gross_amount: grossAmount,
    status: "received",
    error_message: null,
    raw_payload: keepable(raw),
    created_at: now,
  };
}
