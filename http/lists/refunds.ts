/** The query parameters of the list of refunds, and the page that they select. */

import { z } from "@hono/zod-openapi";
import type { Caller } from "../../core/auth/caller.ts";
import { listRefunds, REFUND_STATUSES, type RefundPage } from "../../core/payments/read_refunds.ts";
import { optionalId } from "../paths.ts";
import type { Service } from "../../core/service.ts";
import { amountParameter, createdRange, severalOf } from "./filters.ts";
import { paging } from "./page.ts";

/** The export of refunds has the same filters. */
export const RefundListQuery = z.object({
  status: severalOf(REFUND_STATUSES, null, "Only refunds with this `status`.", ["pending"]),
  payment_id: optionalId("Only refunds of this payment."),
  ...createdRange("refunds"),
  min_amount: amountParameter("Only refunds of at least this amount."),
  max_amount: amountParameter("Only refunds of at most this amount."),
  ...paging,
});

export async function readRefundPage(
  service: Service,
  caller: Caller,
  query: z.output<typeof RefundListQuery>,
): Promise<RefundPage> {
  return await listRefunds(service, caller, {
    statuses: query.status ?? null,
    paymentId: query.payment_id ?? null,
    createdFrom: query.created_from ?? null,
    createdTo: query.created_to ?? null,
    minAmount: query.min_amount ?? null,
    maxAmount: query.max_amount ?? null,
    limit: query.limit,
    before: query.cursor ?? null,
  });
}
