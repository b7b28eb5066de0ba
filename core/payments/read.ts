/** `readPayment` and `listPayments`: stored payments, without a request to the gateway. */

import { listPayments as list, type PaymentFilter } from "../../db/payment_statements.ts";
import type { Caller } from "../auth/caller.ts";
import { readPage } from "../page.ts";
import { findOwn, ownerFor } from "../records/read.ts";
import { type PaymentDeps, paymentKind } from "./payment_record.ts";
import { type PaymentSummary, type PaymentView, summarizePayment, viewPayment } from "./views.ts";

export async function readPayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
): Promise<PaymentView> {
  return viewPayment(await findOwn(deps, paymentKind, caller, id));
}

export type ListFilter = Omit<PaymentFilter, "owner">;

export interface PaymentPage {
  payments: PaymentSummary[];
  /** The last id of this page, to be passed as `before`; null on the last page. */
  next: string | null;
}

export async function listPayments(
  { database }: PaymentDeps,
  caller: Caller,
  { limit, ...filter }: ListFilter,
): Promise<PaymentPage> {
  const owner = ownerFor(caller);
  const { rows, next } = await readPage(
    limit,
    (limit) => database.query((sql) => list(sql, { owner, ...filter, limit }), "list payments"),
  );
  return { payments: rows.map(summarizePayment), next };
}
