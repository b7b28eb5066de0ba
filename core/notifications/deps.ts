/** What the verbs of notifications work with. */

import type { GatewayClient } from "../gateway/client.ts";
import type { PaymentDeps } from "../payments/deps.ts";

export interface NotificationDeps extends PaymentDeps {
  /** The same gateway with places of its own, so that a flood of notifications starves no caller. */
  background: GatewayClient;
  /** `paid`: that a payment is paid is not believed before the gateway was asked. */
  confirm: "fit" | "paid";
}
