/** Sends a subscription that is written, and brings it to one of its ends. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import type { ServiceError } from "../errors.ts";
import type { Answer, Subscription } from "../gateway/answers.ts";
import { GatewayError } from "../gateway/errors.ts";
import type { RecordDeps } from "../records/deps.ts";
import { endUnknown } from "../records/end_unknown.ts";
import { answeredWith, type Asker, failedWith } from "../records/keyed_change.ts";
import { hear, hearRefusal } from "./gate.ts";
import { subscriptionKind } from "./kind.ts";
import { problems } from "./problems.ts";
import { answersCreation } from "./recognize.ts";
import type { SubscriptionInput } from "./subscription_input.ts";
import { subscriptionPayload } from "./subscription_payload.ts";
import { viewSubscription } from "./views.ts";

/** For how long the gateway knows that it was asked before (G§1.4), less what a call may take. */
const WINDOW_MS = 3 * 60_000 - 20_000;

/** Afterwards it would make another one; and it cannot be asked whether there is one. */
export function mayBeSentAgain({ sent_at }: GatewaySubscription, now: number): boolean {
  const since = now - sent_at.getTime();
  return since >= 0 && since < WINDOW_MS;
}

/** `isSentBefore`: an earlier time may have gone through, whatever becomes of this one. */
export async function sendSubscription(
  deps: RecordDeps,
  request: Asker & { input: SubscriptionInput },
  subscription: GatewaySubscription,
  isSentBefore: boolean,
): Promise<GatewaySubscription> {
  let answer: Answer<Subscription>;
  try {
    const payload = subscriptionPayload(request.input, subscription);
    const options = { idempotencyKey: subscription.id };
    answer = await deps.gateway.createSubscription(payload, options);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw await settle(deps, request, subscription, { error, isSentBefore });
  }
  if (!answersCreation(subscription, answer.body)) {
    const problem = problems.unexplained(subscription, answer.statusCode);
    throw await endUnknown(deps, subscriptionKind, request, subscription, problem);
  }
  const heard = await hear(deps, subscription, {
    answer: answer.body,
    source: "create",
    askedAt: subscription.version,
    key: answeredWith(request, viewSubscription, new Date(deps.clock())),
  });
  return heard.subscription;
}

interface Failed {
  error: GatewayError;
  isSentBefore: boolean;
}

/** How one ends that was not answered well; the problem, to be thrown. */
async function settle(
  deps: RecordDeps,
  asker: Asker,
  subscription: GatewaySubscription,
  { error, isSentBefore }: Failed,
): Promise<ServiceError> {
  const isCertain = error.outcome === "refused" && !isSentBefore;
  if (!isCertain) {
    const problem = problems.gatewayProblem(error, subscription, "unknown");
    return await endUnknown(deps, subscriptionKind, asker, subscription, problem);
  }
  const problem = problems.gatewayProblem(error, subscription);
  await hearRefusal(deps, subscription, failedWith(asker, problem, new Date(deps.clock())));
  return problem;
}
