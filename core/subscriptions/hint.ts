/** What the gateway tells of subscriptions without signing it: a reason to look, and no more. */

import { validate as isUuid } from "uuid";
import { insertJobs } from "../../db/jobs.ts";
import {
  claimCheck,
  findSubscription,
  findSubscriptionAtGateway,
  type GatewaySubscription,
} from "../../db/subscriptions.ts";
import { id as idField } from "../gateway/fields.ts";
import type { JsonObject } from "../gateway/json.ts";
import type { RecordDeps } from "../records/deps.ts";
import { checkJob } from "./check_job.ts";

/** Anybody can send as many as they like, of which the gateway must not hear. */
const SHORTEST_PAUSE_MS = 60_000;

/** Of one that is known here it makes somebody look, at most once a minute; of others nothing. */
export async function takeHint(deps: RecordDeps, payload: JsonObject): Promise<void> {
  const told = (payload.subscription ?? payload) as JsonObject;
  const gatewayId = idField(told.id);
  if (gatewayId === null) return;
  const known = await findTold(deps, gatewayId, told);
  if (known) await queueLook(deps, known, gatewayId);
}

async function findTold(
  { database }: RecordDeps,
  gatewayId: string,
  { metadata }: JsonObject,
): Promise<GatewaySubscription | null> {
  const found = await database.query(
    (sql) => findSubscriptionAtGateway(sql, gatewayId),
    "find subscription",
  );
  if (found) return found;
  const ref = (metadata as JsonObject | null | undefined)?.subscription_ref;
  if (typeof ref !== "string" || !isUuid(ref)) return null;
  const named = await database.query((sql) => findSubscription(sql, ref), "find subscription");
  // It may be the one whose creation was never answered.
  return named?.status === "pending" ? named : null;
}

export async function queueLook(
  { database, jobQueue, clock }: RecordDeps,
  subscription: GatewaySubscription,
  gatewayId: string | null,
): Promise<void> {
  const now = new Date(clock());
  const since = new Date(now.getTime() - SHORTEST_PAUSE_MS);
  const { isClaimed, checked_at } = await database.query(
    (sql) => claimCheck(sql, subscription.id, now, since),
    "claim look",
  );
  const last = checked_at?.getTime() ?? 0;
  const job = checkJob(subscription, now);
  const look = {
    ...job,
    run_at: isClaimed ? now : new Date(last + SHORTEST_PAUSE_MS),
    payload: { ...job.payload, ...gatewayId && { gateway_subscription_id: gatewayId } },
  };
  const waiting = await database.query((sql) => insertJobs(sql, [look]), "queue look");
  for (const each of waiting) jobQueue.enqueue(each);
}
