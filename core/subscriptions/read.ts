/** `readSubscription` and `listSubscriptions`: stored subscriptions, without a gateway request. */

import { listSubscriptions as list } from "../../db/subscriptions.ts";
import type { Caller } from "../auth/caller.ts";
import { readPage } from "../page.ts";
import { findOwn, ownerFor } from "../records/read.ts";
import type { RecordDeps } from "../records/record.ts";
import { subscriptionKind } from "./subscription_record.ts";
import { type SubscriptionView, viewSubscription } from "./views.ts";

export async function readSubscription(
  deps: RecordDeps,
  caller: Caller,
  id: string,
): Promise<SubscriptionView> {
  return viewSubscription(await findOwn(deps, subscriptionKind, caller, id));
}

export interface SubscriptionFilter {
  status: string | null;
  limit: number;
  /** The last subscription of the previous page. */
  before: string | null;
}

export interface SubscriptionPage {
  subscriptions: SubscriptionView[];
  /** The last id of this page, to be passed as `before`; null on the last page. */
  next: string | null;
}

export async function listSubscriptions(
  { database }: RecordDeps,
  caller: Caller,
  { limit, ...filter }: SubscriptionFilter,
): Promise<SubscriptionPage> {
  const owner = ownerFor(caller);
  const { rows, next } = await readPage(
    limit,
    (limit) =>
      database.query((sql) => list(sql, { owner, ...filter, limit }), "list subscriptions"),
  );
  return { subscriptions: rows.map(viewSubscription), next };
}
