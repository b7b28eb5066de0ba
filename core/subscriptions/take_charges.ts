/** Takes over what the gateway charged for a subscription. */

import { type GatewaySubscription, listUnrecordedCharges } from "../../db/subscriptions.ts";
import type { Subscription } from "../gateway/answers.ts";
import { GatewayAPIError, GatewayError, meansUnknown } from "../gateway/errors.ts";
import { canBeTakenOver, takeOver } from "../payments/take_over.ts";
import type { RecordDeps } from "../records/deps.ts";
import { hearCharged } from "./gate.ts";
import { linkTo } from "./link.ts";

/**
 * Every charge that nobody was told of yet becomes a payment, and is told of; the oldest first. One
 * that cannot be had keeps none of the others from it; then a `GatewayError` is thrown at the end.
 */
export async function takeCharges(
  deps: RecordDeps,
  known: GatewaySubscription,
  { transaction_ids }: Subscription,
  notificationId: string | null,
): Promise<GatewaySubscription> {
  if (transaction_ids.length === 0) return known;
  const untold = await deps.database.query(
    (sql) => listUnrecordedCharges(sql, transaction_ids),
    "list charges of subscription",
  );
  const failures: GatewayError[] = [];
  let subscription = known;
  for (const transactionId of untold) {
    try {
      subscription = await takeCharge(deps, subscription, transactionId, notificationId);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      // A gateway that is down answers none of them.
      if (error.failure !== "answered") throw error;
      if (meansUnknown(error)) tellUnknown(deps, subscription, error);
      else failures.push(error);
    }
  }
  if (failures[0]) throw failures[0];
  return subscription;
}

async function takeCharge(
  deps: RecordDeps,
  subscription: GatewaySubscription,
  transactionId: string,
  notificationId: string | null,
): Promise<GatewaySubscription> {
  const { body: answer, statusCode } = await deps.gateway.getStatus(transactionId);
  if (answer.transaction_id !== transactionId || !canBeTakenOver(answer)) {
    throw new GatewayAPIError("The gateway's answer is not about this charge", {
      failure: "answered",
      outcome: "unknown",
      statusCode,
    });
  }
  const hearing = { answer, source: "check_subscription_status" } as const;
  const { payment } = await takeOver(deps, hearing, linkTo(subscription));
  // What belongs to somebody else is no charge of this one.
  const isItsOwn = payment.subscription_id === subscription.id;
  if (!isItsOwn || payment.paid_at === null) return subscription;
  return await hearCharged(deps, subscription, payment, notificationId);
}

/** It lists the charge, and knows nothing of it: no reason to ask for ever. */
function tellUnknown({ log }: RecordDeps, { id }: GatewaySubscription, error: GatewayError): void {
  log.error("charge_unknown_to_gateway", error, { subscription_id: id });
}
