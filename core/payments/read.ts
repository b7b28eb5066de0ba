/** `readPayment` and `listPayments`: what is stored here; the gateway is not asked. */

import { listPayments as list, type PaymentFilter } from "../../db/payment_statements.ts";
import type { GatewayPayment } from "../../db/payments.ts";
import type { Caller } from "../auth/caller.ts";
import * as records from "../records/read.ts";
import type { PaymentDeps } from "./deps.ts";
import { paymentKind } from "./kind.ts";
import { type PaymentSummary, type PaymentView, summarizePayment, viewPayment } from "./views.ts";

export async function readPayment(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
): Promise<PaymentView> {
  return viewPayment(await findOwn(deps, caller, id));
}

/** The payment, if it is the caller's to see; to everybody else it does not exist. */
export async function findOwn(
  deps: PaymentDeps,
  caller: Caller,
  id: string,
): Promise<GatewayPayment> {
  return await records.findOwn(deps, paymentKind, caller, id);
}

export type ListFilter = Omit<PaymentFilter, "owner">;

export interface PaymentPage {
  payments: PaymentSummary[];
  /** Where the next page begins, to be given as `before`; null on the last one. */
  next: string | null;
}

export async function listPayments(
  { database }: PaymentDeps,
  caller: Caller,
  { limit, ...filter }: ListFilter,
): Promise<PaymentPage> {
  const owner = records.ownerFor(caller);
  const { rows, next } = await records.readPage(
    limit,
    (limit) => database.query((sql) => list(sql, { owner, ...filter, limit }), "list payments"),
  );
  return { payments: rows.map(summarizePayment), next };
}
