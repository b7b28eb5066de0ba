/** `readPayment` and `listPayments`: stored payments, without a request to the gateway. */

import { batched } from "../../db/batched.ts";
import {
  listPayments as list,
  type PaymentFilter,
  paymentReads,
} from "../../db/payment_statements.ts";
import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { readPage } from "../page.ts";
import { ownerFor } from "../records/read.ts";
import type { PaymentDeps } from "./payment_record.ts";
import { type PaymentSummary, type PaymentView, summarizePayment, viewPayment } from "./views.ts";

/** Throws `not_found` for a payment of another user, as for one that does not exist. */
export async function readPayment(
  { database }: PaymentDeps,
  caller: Caller,
  id: string,
): Promise<PaymentView> {
  const payment = await batched(database, paymentReads, { id, owner: ownerFor(caller) });
  if (!payment) throw new ServiceError("not_found");
  return viewPayment(payment);
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
