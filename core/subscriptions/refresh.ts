/** Asks the gateway how a subscription stands, and takes its answer over. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import { GatewayAPIError, isResourceNotFound } from "../gateway/errors.ts";
import type { Subscription } from "../gateway/responses.ts";
import type { RecordDeps } from "../records/deps.ts";
import { look } from "../records/look.ts";
import { hear, type Source } from "./gate.ts";
import { isAbout } from "./recognize.ts";

export interface Refreshed {
  subscription: GatewaySubscription;
  /** Null: there was no way to ask. */
  answer: Subscription | null;
}

/** Throws a `GatewayError` where there is no answer that says anything. */
export async function refreshSubscription(
  deps: RecordDeps,
  known: GatewaySubscription,
  source: Source,
): Promise<Refreshed> {
  // There is no way to ask for one that the gateway has not given an id.
  if (known.gateway_subscription_id === null) return { subscription: known, answer: null };
  const { record, answer } = await look(
    known,
    (subscription) => ask(deps, subscription),
    (subscription, answer) =>
      hear(deps, subscription, { answer, source, askedAt: subscription.version }),
  );
  return { subscription: record, answer };
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
    if (isResourceNotFound(error)) alert("subscription_unknown_to_gateway", error);
    throw error;
  }
}
