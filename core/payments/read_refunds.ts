/** `readRefund` and `listRefunds`: stored refunds, without a request to the gateway. */

import { findRefund, listRefunds as list, type RefundFilter } from "../../db/payments/refunds.ts";
import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { firstIdAt } from "../ids.ts";
import { readPage } from "../lists/page.ts";
import { ownerFor } from "../records/read.ts";
import type { Service } from "../service.ts";
import { type RefundDetailsView, viewRefundDetails } from "./views.ts";

export { REFUND_STATUSES } from "../../db/payments/payments.ts";

export async function readRefund(
  { database }: Service,
  caller: Caller,
  id: string,
): Promise<RefundDetailsView> {
  const refund = await database.query(
    (sql) => findRefund(sql, id, ownerFor(caller)),
    "find refund",
  );
  if (!refund) throw new ServiceError("not_found");
  return viewRefundDetails(caller, refund);
}

export interface RefundPage {
  refunds: RefundDetailsView[];
  /** The last id of this page, to be passed as `before`; null on the last page. */
  next: string | null;
}

export async function listRefunds(
  { database }: Service,
  caller: Caller,
  { limit, ...filter }: Omit<RefundFilter, "owner" | "firstId">,
): Promise<RefundPage> {
  const owner = ownerFor(caller);
  const firstId = filter.createdFrom && firstIdAt(withMargin(filter.createdFrom));
  const { rows, next } = await readPage(
    limit,
    (limit) =>
      database.query((sql) => list(sql, { ...filter, owner, firstId, limit }), "list refunds"),
  );
  return { refunds: rows.map((refund) => viewRefundDetails(caller, refund)), next };
}

/** The time in a refund's id may be before `created_at`, and the clocks of instances may differ. */
const ID_MARGIN_MS = 10 * 60_000;

function withMargin(time: Date): Date {
  return new Date(Math.max(0, time.getTime() - ID_MARGIN_MS));
}
