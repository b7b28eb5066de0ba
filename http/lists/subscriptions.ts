/** The query parameters of the list of subscriptions. */

import { z } from "@hono/zod-openapi";
import { oneOf } from "../../core/fields/input.ts";
import { SUBSCRIPTION_STATUSES } from "../../core/subscriptions/states.ts";
import { SUBSCRIPTION_TYPES } from "../../core/subscriptions/subscription_input.ts";
import { unsentExample } from "../../openapi/components.ts";
import { severalOf, textParameter, userParameter } from "./filters.ts";
import { filteredPaging } from "./page.ts";

/** The console's list has the same filters. */
export const SubscriptionListQuery = z.object({
  status: severalOf(
    SUBSCRIPTION_STATUSES,
    "SubscriptionStatus",
    "Only subscriptions with this `status`.",
    ["active"],
  ),
  name: textParameter("Only subscriptions with this name.", "coffee-club"),
  payment_type: oneOf(SUBSCRIPTION_TYPES).optional().openapi({
    description: "Only subscriptions of this payment type.",
    param: { examples: unsentExample("gopay") },
  }),
  user_id: userParameter("subscriptions"),
  ...filteredPaging,
});
