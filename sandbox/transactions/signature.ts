/** The signature of webhooks and status answers (G§9.2). */

import { createHash } from "node:crypto";

export function sign(
  orderId: string,
  statusCode: string,
  grossAmount: string,
  key: string,
): string {
  return createHash("sha512").update(orderId + statusCode + grossAmount + key).digest("hex");
}
