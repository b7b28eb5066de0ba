/** Whose the charges of a subscription are. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import type { Link } from "../payments/gate.ts";

export function linkTo({ id, user_id }: GatewaySubscription): Link {
  return { user_id, invoice_id: null, subscription_id: id };
}
