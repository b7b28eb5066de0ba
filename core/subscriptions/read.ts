/** `readSubscription` and `listSubscriptions`: stored subscriptions, without a gateway request. */

import {
  listSubscriptions as list,
  type SubscriptionConditions,
} from "../../db/billing/subscriptions.ts";
import type { Caller } from "../auth/caller.ts";
import { checkCursor } from "../lists/filters.ts";
import { readFilteredPage, type WalkCursor } from "../lists/page.ts";
import { findOwn, ownerOfList, ownerShownTo } from "../records/read.ts";
import type { Service } from "../service.ts";
import { subscriptionKind } from "./subscription_record.ts";
import { type SubscriptionView, viewSubscription } from "./views.ts";

export async function readSubscription(
  service: Service,
  caller: Caller,
  id: string,
): Promise<ReadSubscription> {
  const subscription = await findOwn(service, subscriptionKind, caller, id);
  return { ...viewSubscription(subscription), ...ownerShownTo(caller, subscription) };
}

/** With `user_id` for staff and viewers. */
export type ReadSubscription = SubscriptionView & { user_id?: string | null };

/** A missing member matches any value. */
export interface SubscriptionFilter extends SubscriptionConditions {
  /** The owner of the subscriptions. Only staff and viewers can name another user. */
  user_id?: string;
}

export interface SubscriptionPage {
  /** Fewer than the limit, or none, if few match; there can still be a next page. */
  subscriptions: ReadSubscription[];
  /** To be passed as `after`; null on the last page. */
  next: WalkCursor | null;
}

export async function listSubscriptions(
  { database }: Service,
  caller: Caller,
  input: SubscriptionFilter & { after: WalkCursor | null; limit: number },
): Promise<SubscriptionPage> {
  const { user_id, limit, ...conditions } = input;
  const filter = { ...conditions, owner: ownerOfList(caller, user_id) };
  checkCursor(input.after, false);
  const { rows, next } = await readFilteredPage(
    limit,
    (limit) => database.query((sql) => list(sql, { ...filter, limit }), "list subscriptions"),
  );
  const subscriptions = rows.map((row) => ({
    ...viewSubscription(row),
    ...ownerShownTo(caller, row),
  }));
  return { subscriptions, next };
}
