/** Asks the gateway how a subscription stands, and takes over what it says and what it charged. */

import { listUntold } from "../../db/subscription_charges.ts";
import type { GatewaySubscription } from "../../db/subscriptions.ts";
import type { Subscription } from "../gateway/answers.ts";
import { GatewayAPIError, meansNoSuch } from "../gateway/errors.ts";
import { canBeTakenOver, takeOver } from "../payments/take_over.ts";
import type { RecordDeps } from "../records/deps.ts";
import { hear, hearCharged, type Source } from "./gate.ts";
import { linkTo } from "./link.ts";
import { isAbout } from "./recognize.ts";

/** An answer that others overtook is asked for again, but not for ever. */
const MAX_LOOKS = 3;

/** Throws a `GatewayError` where there is no answer that says anything. */
export async function refreshSubscription(
  deps: RecordDeps,
  known: GatewaySubscription,
  source: Source,
  notificationId: string | null = null,
): Promise<GatewaySubscription> {
  // There is no way to ask for one that the gateway has not given an id.
  if (known.gateway_subscription_id === null) return known;
  for (let looks = 1, current = known;; looks++) {
    const answer = await ask(deps, current);
    const { subscription, isOvertaken } = await hear(deps, current, {
      answer,
      source,
      askedAt: current.version,
      notificationId,
    });
    if (!isOvertaken || looks >= MAX_LOOKS) {
      return await takeCharges(deps, subscription, answer, notificationId);
    }
    current = subscription;
  }
}

async function ask(
  { gateway, log }: RecordDeps,
  subscription: GatewaySubscription,
): Promise<Subscription> {
  const alert = (event: string, error: Error) =>
    log.error(event, error, { subscription_id: subscription.id });
  try {
    const { body, statusCode } = await gateway.getSubscription(
      subscription.gateway_subscription_id!,
    );
    if (isAbout(subscription, body)) return body;
    const error = new GatewayAPIError("The gateway's answer is not about this subscription", {
      failure: "answered",
      outcome: "unknown",
      statusCode,
    });
    alert("other_subscription", error);
    throw error;
  } catch (error) {
    // A wrong key, or a sandbox that began anew: no reason to take it for gone.
    if (meansNoSuch(error)) alert("subscription_unknown_to_gateway", error);
    throw error;
  }
}

/** Every charge that nobody was told of yet becomes a payment, and is told of; the oldest first. */
async function takeCharges(
  deps: RecordDeps,
  known: GatewaySubscription,
  { transaction_ids }: Subscription,
  notificationId: string | null,
): Promise<GatewaySubscription> {
  let subscription = known;
  if (transaction_ids.length === 0) return subscription;
  const untold = await deps.database.query(
    (sql) => listUntold(sql, transaction_ids),
    "list charges of subscription",
  );
  for (const transactionId of untold) {
    const { body: answer } = await deps.gateway.getStatus(transactionId);
    if (answer.transaction_id !== transactionId || !canBeTakenOver(answer)) {
      throw new GatewayAPIError("The gateway's answer is not about this charge", {
        failure: "answered",
        outcome: "unknown",
      });
    }
    const hearing = { answer, source: "check_subscription_status" } as const;
    const { payment } = await takeOver(deps, hearing, linkTo(subscription));
    // One that belongs to somebody else for good is no charge of this one.
    if (payment.subscription_id !== subscription.id || payment.paid_at === null) continue;
    subscription = await hearCharged(deps, subscription, payment, notificationId);
  }
  return subscription;
}
