/** `disableSubscription`, `enableSubscription`, `cancelSubscription`. */

import type { GatewaySubscription } from "../../db/subscriptions.ts";
import type { Caller } from "../auth/caller.ts";
import type { GatewayClient } from "../gateway/client.ts";
import type { GatewayResponse, Message } from "../gateway/responses.ts";
import type { KeyedAttempt, Outcome } from "../idempotency/attempt.ts";
import * as records from "../records/act.ts";
import { changeRecord } from "../records/change.ts";
import type { RecordDeps } from "../records/deps.ts";
import { hearDone } from "./gate.ts";
import { subscriptionKind } from "./kind.ts";
import { problems } from "./problems.ts";
import { refreshed } from "./refreshed.ts";
import { allows, stateAfter, type SubscriptionAction } from "./states.ts";
import type { SubscriptionView } from "./views.ts";

type Act = (
  deps: RecordDeps,
  caller: Caller,
  id: string,
  attempt: KeyedAttempt | null,
) => Promise<Outcome<SubscriptionView>>;

export const disableSubscription: Act = (...asked) => act("disable", ...asked);
export const enableSubscription: Act = (...asked) => act("enable", ...asked);
export const cancelSubscription: Act = (...asked) => act("cancel", ...asked);

/** The call itself; asked for twice, it is done once. */
export async function callFor(
  gateway: GatewayClient,
  action: SubscriptionAction,
  { gateway_subscription_id }: GatewaySubscription,
): Promise<GatewayResponse<Message>> {
  const operations = {
    disable: gateway.disableSubscription,
    enable: gateway.enableSubscription,
    cancel: gateway.cancelSubscription,
  };
  return await operations[action](gateway_subscription_id!);
}

/** Whether the gateway says that it was done (G§7): not every answer does. */
export function isDone({ statusCode, body }: GatewayResponse<Message>): boolean {
  return statusCode === "200" && body.status_message !== null;
}

/** What was asked for is written before the call, and asked for again until it is answered. */
async function act(
  action: SubscriptionAction,
  ...[deps, caller, id, attempt]: Parameters<Act>
): Promise<Outcome<SubscriptionView>> {
  const { invalidState, notYetKnown } = problems;
  const drawUp = (): records.Action<GatewaySubscription, Message> => ({
    check(subscription) {
      const { intent } = subscription;
      // Cancelled is for good, be it answered or not.
      const isOver = intent === "cancel" && action !== "cancel";
      // What was asked for and not answered may be done already.
      const states = [subscription.status, ...intent ? [stateAfter(intent)] : []];
      if (!isOver && states.some((status) => allows(status, action))) return;
      const status = isOver ? "being cancelled" : subscription.status;
      throw invalidState(subscription, `One that is ${status} cannot be ${PAST[action]}.`);
    },
    ready(subscription) {
      if (subscription.gateway_subscription_id !== null) return Promise.resolve(subscription);
      const detail = "The gateway does not know of this subscription yet; try again later.";
      throw notYetKnown(subscription, detail);
    },
    mark: () => ({ intent: action }),
    call: (subscription) => callFor(deps.gateway, action, subscription),
    take: async (subscription, answer, key) =>
      isDone(answer) ? await hearDone(deps, subscription, action, key) : null,
    unmark: (subscription) => giveUpIntent(deps, subscription, action),
    // It says the same of whatever it does not like.
    isStateRefusal: ({ statusCode }) => statusCode === "400",
    refresh: (subscription, outcome) => refreshed(deps, subscription, action, outcome),
    isIn: ({ status }) => status === stateAfter(action),
  });
  return await records.act(deps, subscriptionKind, caller, id, attempt, drawUp);
}

const PAST: Record<SubscriptionAction, string> = {
  disable: "disabled",
  enable: "enabled",
  cancel: "cancelled",
};

/** The gateway said no. */
export async function giveUpIntent(
  deps: RecordDeps,
  known: GatewaySubscription,
  action: SubscriptionAction,
): Promise<GatewaySubscription> {
  return await changeRecord(
    deps,
    subscriptionKind,
    known,
    ({ intent }) => intent === action ? { set: { intent: null } } : null,
  );
}
