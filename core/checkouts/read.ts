/** `readCheckout`, `listCheckouts`, and a checkout as direct answers show it: with its link. */

import {
  type CheckoutAlert,
  type CheckoutConditions,
  findCheckout,
  type GatewayCheckout,
  listCheckouts as list,
  listCheckoutsWithAlert as listWithAlert,
} from "../../db/billing/checkouts.ts";
import { findPayment } from "../../db/payments/statements.ts";
import { type Caller, requireReadAll } from "../auth/caller.ts";
import { checkRange, idRange, refuseFilters } from "../lists/filters.ts";
import { readFilteredPage, readPage, type WalkCursor } from "../lists/page.ts";
import { ownerlessSince } from "../payments/read.ts";
import { forCaller, viewPayment } from "../payments/views.ts";
import { findOwn, ownerOfList } from "../records/read.ts";
import type { Service } from "../service.ts";
import { checkoutKind } from "./checkout_record.ts";
import { isRunning } from "./states.ts";
import { type CheckoutView, viewCheckout } from "./views.ts";

export { CHECKOUT_ALERTS } from "../../db/billing/checkouts.ts";

/** For how long the page shows the result after the end. */
const LINK_MS = 30 * 24 * 60 * 60 * 1_000;

export async function readCheckout(
  service: Service,
  caller: Caller,
  id: string,
): Promise<CheckoutView> {
  const checkout = await findOwn(service, checkoutKind, caller, id);
  return await presentCheckout(service, caller, checkout);
}

/** With the payment and the link, which viewers do not get: it allows more than reading. */
export async function presentCheckout(
  service: Service,
  caller: Caller,
  checkout: GatewayCheckout,
): Promise<CheckoutView> {
  const { payment_id } = checkout;
  const payment = payment_id === null
    ? null
    : await service.database.query((sql) => findPayment(sql, payment_id), "find payment");
  const hasLink = !caller.isViewer && hasPage(checkout, service.clock());
  return {
    ...viewCheckout(checkout),
    checkout_url: hasLink ? checkoutUrl(service, checkout.id) : null,
    payment: payment && forCaller(service, caller, viewPayment(payment)),
  };
}

export function checkoutUrl({ links }: Service, id: string): string | null {
  return links.url({ kind: "checkout", id });
}

/** Whether the link still leads to the page. */
export function hasPage(checkout: GatewayCheckout, now: number): boolean {
  return isRunning(checkout) || now < checkout.ended_at!.getTime() + LINK_MS;
}

/** The checkout behind a link to its page; null: the link no longer leads to it. */
export async function findCheckoutOfLink(
  { database, clock }: Service,
  id: string,
): Promise<GatewayCheckout | null> {
  const checkout = await database.query((sql) => findCheckout(sql, id), "find checkout");
  return checkout && hasPage(checkout, clock()) ? checkout : null;
}

/** A missing member matches any value. */
export interface CheckoutFilter extends CheckoutConditions {
  /** For staff and viewers. */
  user_id?: string;
  /** Inclusive. */
  created_from?: Date;
  /** Exclusive. */
  created_to?: Date;
}

export interface CheckoutPage {
  /** Fewer than the limit, or none, if few match; there can still be a next page. */
  checkouts: CheckoutView[];
  /** To be passed as `after`; null on the last page. */
  next: WalkCursor | null;
}

export async function listCheckouts(
  { database }: Service,
  caller: Caller,
  input: CheckoutFilter & { after: WalkCursor | null; limit: number },
): Promise<CheckoutPage> {
  const { user_id, created_from, created_to, limit, ...conditions } = input;
  refuseFilters(checkRange(["created_from", created_from], ["created_to", created_to]));
  const filter = {
    ...conditions,
    ...idRange(created_from, created_to),
    owner: ownerOfList(caller, user_id),
  };
  const { rows, next } = await readFilteredPage(
    limit,
    (limit) => database.query((sql) => list(sql, { ...filter, limit }), "list checkouts"),
  );
  return { checkouts: rows.map(viewCheckout), next };
}

/** Alerts of checkouts that were paid earlier are not shown, like those of payments. */
export const alertsSince = ownerlessSince;

/** Checkouts of all users that were paid twice or late, until money was refunded. */
export async function listCheckoutsWithAlert(
  { database, clock }: Service,
  caller: Caller,
  alert: CheckoutAlert,
  { after, limit }: { after: WalkCursor | null; limit: number },
): Promise<CheckoutPage> {
  requireReadAll(caller);
  const page = { paidSince: alertsSince(clock()), before: after?.id ?? null };
  const { rows, next } = await readPage(
    limit,
    (limit) =>
      database.query(
        (sql) => listWithAlert(sql, alert, { ...page, limit }),
        "list checkouts with an alert",
      ),
  );
  return { checkouts: rows.map(viewCheckout), next: next === null ? null : { id: next, at: null } };
}
