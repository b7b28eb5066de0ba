/** `readPayment` and `listPayments`: what is stored here; the gateway is not asked. */

import { type GatewayPayment, type ListOptions, listPayments as list } from "../../db/payments.ts";
import type { Caller } from "../auth/caller.ts";
import { readPage } from "../page.ts";
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

export type ListFilter = Omit<ListOptions, "owner">;

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
  const { rows, next } = await readPage(
    limit,
    (limit) => database.query((sql) => list(sql, { owner, ...filter, limit }), "list payments"),
  );
  return { payments: rows.map(summarizePayment), next };
}
