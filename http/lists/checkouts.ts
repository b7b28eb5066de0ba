/** The query parameters of the list of checkouts, and the page that they select. */

import { z } from "@hono/zod-openapi";
import type { Caller } from "../../core/auth/caller.ts";
import { type CheckoutPage, listCheckouts } from "../../core/checkouts/read.ts";
import { CHECKOUT_STATUSES } from "../../core/checkouts/states.ts";
import type { Service } from "../../core/service.ts";
import { createdRange, severalOf, textParameter, userParameter } from "./filters.ts";
import { filteredPaging } from "./page.ts";

export const CheckoutListQuery = z.object({
  status: severalOf(
    CHECKOUT_STATUSES,
    "CheckoutStatus",
    "Only checkouts with this `status`.",
    ["open"],
  ),
  order_id: textParameter("Only checkouts with this order id.", "order-1894"),
  user_id: userParameter("checkouts"),
  ...createdRange("checkouts"),
  ...filteredPaging,
});

export async function readCheckoutPage(
  service: Service,
  caller: Caller,
  { cursor, ...filter }: z.output<typeof CheckoutListQuery>,
): Promise<CheckoutPage> {
  return await listCheckouts(service, caller, { ...filter, after: cursor ?? null });
}
