/** Whose charge it may be, where the gateway did not pass our id on to it. */

import type { GatewayPayment } from "../../db/payments.ts";
import { listSubscriptionsOfName } from "../../db/subscriptions.ts";
import type { RecordDeps } from "../records/deps.ts";
import { queueLook } from "./hint.ts";

/** Several can have one name; each look is a question to the gateway. */
const MOST_LOOKS = 10;

/**
 * The orders of a subscription's charges are its name and 32 digits (G§7). Whose it really is, is told
 * by what the gateway lists as a subscription's charges.
 */
export async function lookAtNamesakes(
  deps: RecordDeps,
  { user_id, order_id }: GatewayPayment,
): Promise<void> {
  const [, name] = order_id.match(/^(.{1,40})\d{32}$/s) ?? [];
  if (user_id !== null || name === undefined) return;
  const namesakes = await deps.database.query(
    (sql) => listSubscriptionsOfName(sql, name, MOST_LOOKS),
    "list subscriptions of name",
  );
  for (const subscription of namesakes) await queueLook(deps, subscription, null);
}
