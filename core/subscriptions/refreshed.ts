/** Brings a subscription up to date for a caller. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import type { GatewayOutcome } from "../gateway/errors.ts";
import type { RecordDeps } from "../records/deps.ts";
import type { Source } from "./gate.ts";
import { problems } from "./problems.ts";
import { refreshSubscription } from "./refresh.ts";

/** `outcome` is that of what the caller asked for, should the look fail. */
export async function refreshed(
  deps: RecordDeps,
  subscription: GatewaySubscription,
  source: Source,
  outcome: GatewayOutcome,
): Promise<GatewaySubscription> {
  return await problems.asking(
    subscription,
    outcome,
    async () => (await refreshSubscription(deps, subscription, source)).subscription,
  );
}
