/** `readSubscription` and `listSubscriptions`: what is stored here; the gateway is not asked. */

import { listSubscriptions as list } from "../../db/subscriptions.ts";
import type { Caller } from "../auth/caller.ts";
import { readPage } from "../page.ts";
import type { RecordDeps } from "../records/deps.ts";
import { findOwn, ownerFor } from "../records/read.ts";
import { subscriptionKind } from "./kind.ts";
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
  /** The last subscription of the page before. */
  before: string | null;
}

export interface SubscriptionPage {
  subscriptions: SubscriptionView[];
  /** Where the next page begins, to be given as `before`; null on the last one. */
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
