/** The signature of webhooks and status responses. */

import { createHash } from "node:crypto";

export function sign(
  orderId: string,
  statusCode: string,
  grossAmount: string,
  key: string,
): string {
  return createHash("sha512").update(orderId + statusCode + grossAmount + key).digest("hex");
}
