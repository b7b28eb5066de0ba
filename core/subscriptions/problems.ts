/** What went wrong with a subscription, in words for the caller. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import { createProblems } from "../records/problems.ts";

export const problems = createProblems<GatewaySubscription>(
  ({ id }) => ({ subscription_id: id }),
  ({ status }) => ({ subscription_status: status }),
);
