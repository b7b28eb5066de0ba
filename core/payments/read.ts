/** Reads and lists payments, without a request to the gateway. */

import { batched } from "../../db/records/batched.ts";
import type { Database, Sql } from "../../db/connection/database.ts";
import {
  hasType,
  isBySettlement,
  listOwnerless,
  listPayments as list,
  listUnanswered,
  LOOKUPS,
  type PaymentConditions,
  type PaymentSummaryRow,
} from "../../db/payments/lists.ts";
import { paymentReads } from "../../db/payments/statements.ts";
import { type Caller, requireReadAll } from "../auth/caller.ts";
import { type FieldError, invalidField, ServiceError } from "../errors.ts";
import { checkCursor, checkRange, idRange, refuseFilters } from "../lists/filters.ts";
import { readFilteredPage, readPage, type WalkCursor } from "../lists/page.ts";
import type { GatewayPayment } from "../../db/payments/payments.ts";
import { ownerFor, ownerOfList, ownerShownTo } from "../records/read.ts";
import type { Service } from "../service.ts";
import { describeUnknownType, LISTED_TYPES } from "./payment_types.ts";
import { isPending } from "./states.ts";
import { type PaymentSummary, type PaymentView, summarizePayment, viewWithFee } from "./views.ts";

/** Throws `not_found` for a payment of another user, as for one that does not exist. */
export async function readPayment(
  { database }: Service,
  caller: Caller,
  id: string,
): Promise<PaymentView> {
  const payment = await batched(database, paymentReads, { id, owner: ownerFor(caller) });
  if (!payment) throw new ServiceError("not_found");
  return { ...viewWithFee(caller, payment), ...ownerShownTo(caller, payment) };
}

/** When the service learned that the payment was paid; null: it was not paid. */
export async function readPaidTime(
  { database }: Service,
  caller: Caller,
  id: string,
): Promise<Date | null> {
  const payment = await batched(database, paymentReads, { id, owner: ownerFor(caller) });
  return payment?.paid_at ?? null;
}

/** For how long a payment has a page after it has ended. */
const PAGE_MS = 30 * 24 * 60 * 60 * 1_000;

/** The payment behind a link to its page; null: the link no longer leads to it. */
export async function readPaymentOfLink(
  { database, clock }: Service,
  id: string,
): Promise<GatewayPayment | null> {
  const payment = await batched(database, paymentReads, { id, owner: null });
  if (!payment) return null;
  const { transaction_status: status, fraud_status: fraud, updated_at } = payment;
  return isPending({ status, fraud }) || clock() < updated_at.getTime() + PAGE_MS ? payment : null;
}

/** A missing member matches any value. */
export interface ListFilter extends PaymentConditions {
  /** The owner of the payments. Only staff and viewers can name another user. */
  user_id?: string;
  /** Inclusive. */
  created_from?: Date;
  /** Exclusive. */
  created_to?: Date;
}

/** A filter by amount needs one of `LOOKUPS`, or a range of creation times up to this length. */
const MAX_AMOUNT_DAYS = 31;

const DAY_MS = 86_400_000;

export interface PaymentPage {
  /** Fewer than the limit, or none, if few payments match; there can still be a next page. */
  payments: PaymentSummary[];
  /** To be passed as `after`; null on the last page. */
  next: WalkCursor | null;
}

export async function listPayments(
  { database, clock }: Service,
  caller: Caller,
  filter: ListFilter & { after: WalkCursor | null; limit: number },
): Promise<PaymentPage> {
  const { user_id, created_from, created_to, limit, ...conditions } = filter;
  const owner = ownerOfList(caller, user_id);
  refuseFilters(checkFilters(filter, clock()));
  await requireKnownTypes(database, filter.payment_type ?? []);
  const isByTime = isBySettlement(filter);
  checkCursor(filter.after, isByTime);
  const ids = idRange(created_from, created_to);
  const { rows, next } = await readFilteredPage(
    limit,
    (limit) =>
      database.query(
        (sql) => list(sql, { ...conditions, ...ids, owner, limit }),
        "list payments",
      ),
    isByTime ? ({ settlement_time }) => settlement_time : undefined,
  );
  return { payments: rows.map((row) => summarizePayment(row, caller)), next };
}

/** A payment that was adopted can have a type that the service does not know. */
async function requireKnownTypes(database: Database, types: readonly string[]): Promise<void> {
  for (const type of types.filter((each) => !LISTED_TYPES.includes(each))) {
    const isStored = await database.query((sql) => hasType(sql, type), "find payment type");
    if (!isStored) throw invalidField("payment_type", describeUnknownType(type, LISTED_TYPES));
  }
}

function checkFilters(filter: ListFilter, now: number): FieldError[] {
  const { created_from, created_to, settled_from, settled_to, min_amount, max_amount } = filter;
  return [
    ...checkRange(["created_from", created_from], ["created_to", created_to]),
    ...checkRange(["settled_from", settled_from], ["settled_to", settled_to]),
    ...checkRange(["min_amount", min_amount], ["max_amount", max_amount], { isToInclusive: true }),
    ...checkAmounts(filter, now),
  ];
}

/** Amounts have no index, so the other filters must leave a limited number of payments. */
function checkAmounts(filter: ListFilter, now: number): FieldError[] {
  const field = (["min_amount", "max_amount"] as const).find((name) => filter[name] !== undefined);
  if (!field || LOOKUPS.some((name) => filter[name] !== undefined)) return [];
  const start = filter.created_from?.getTime() ?? -Infinity;
  const end = filter.created_to?.getTime() ?? now;
  if (end - start <= MAX_AMOUNT_DAYS * DAY_MS) return [];
  return [{
    field,
    message:
      `needs created_from, at most ${MAX_AMOUNT_DAYS} days before created_to (default: now), or a ` +
      "filter by customer, order, transaction, virtual account, invoice or subscription",
  }];
}

/** Younger payments do not count as unanswered: their charge may still be running. */
const UNANSWERED_MS = 60_000;

/** A payment without a response has an unknown outcome if it was created before this time. */
export function unansweredSince(now: number): Date {
  return new Date(now - UNANSWERED_MS);
}

/** Payments without an owner that were paid earlier are not shown: staff have seen them by then. */
const OWNERLESS_DAYS = 30;

/** A paid payment without an owner needs attention if it was paid since this time. */
export function ownerlessSince(now: number): Date {
  return new Date(now - OWNERLESS_DAYS * DAY_MS);
}

/** A list for staff and viewers, newest first. */
export interface AttentionList {
  after: WalkCursor | null;
  limit: number;
}

/** Pending payments that have had no response of the gateway for a minute or more. */
export async function listUnansweredPayments(
  service: Service,
  caller: Caller,
  list: AttentionList,
): Promise<PaymentPage> {
  const createdBefore = unansweredSince(service.clock());
  return await readAttentionList(
    service,
    caller,
    list,
    (sql, before, limit) => listUnanswered(sql, { createdBefore, before, limit }),
  );
}

/** Paid payments that belong to no user, and that no invoice or subscription explains. */
export async function listOwnerlessPayments(
  service: Service,
  caller: Caller,
  list: AttentionList,
): Promise<PaymentPage> {
  const paidSince = ownerlessSince(service.clock());
  return await readAttentionList(
    service,
    caller,
    list,
    (sql, before, limit) => listOwnerless(sql, { paidSince, before, limit }),
  );
}

async function readAttentionList(
  { database }: Service,
  caller: Caller,
  { after, limit }: AttentionList,
  read: (sql: Sql, before: string | null, limit: number) => Promise<PaymentSummaryRow[]>,
): Promise<PaymentPage> {
  requireReadAll(caller);
  const before = after?.id ?? null;
  const { rows, next } = await readPage(
    limit,
    (limit) => database.query((sql) => read(sql, before, limit), "list payments for attention"),
  );
  return {
    payments: rows.map((row) => summarizePayment(row, caller)),
    next: next === null ? null : { id: next, at: null },
  };
}
