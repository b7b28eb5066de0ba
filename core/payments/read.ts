/** `readPayment` and `listPayments`: what is stored here; the gateway is not asked. */

import {
  findPayment,
  type GatewayPayment,
  listPayments as list,
  type Owner,
} from "../../db/payments.ts";
import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { PaymentDeps } from "./deps.ts";
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
  { database }: PaymentDeps,
  caller: Caller,
  id: string,
): Promise<GatewayPayment> {
  const payment = await database.query(
    (sql) => findPayment(sql, id, ownerFor(caller)),
    "find payment",
  );
  if (!payment) throw new ServiceError("not_found");
  return payment;
}

export interface ListFilter {
  paymentType: string | null;
  status: string | null;
  limit: number;
  /** The last payment of the page before. */
  before: string | null;
}

export interface PaymentPage {
  payments: PaymentSummary[];
  /** Where the next page begins, to be given as `before`; null on the last one. */
  next: string | null;
}

export async function listPayments(
  { database }: PaymentDeps,
  caller: Caller,
  { paymentType, status, limit, before }: ListFilter,
): Promise<PaymentPage> {
  // One more than asked for tells whether there is another page.
  const rows = await database.query(
    (sql) => list(sql, { owner: ownerFor(caller), paymentType, status, before, limit: limit + 1 }),
    "list payments",
  );
  const page = rows.slice(0, limit);
  return {
    payments: page.map(summarizePayment),
    next: rows.length > limit ? page.at(-1)!.id : null,
  };
}

function ownerFor({ isStaff, userId }: Caller): Owner {
  return isStaff ? null : userId;
}
