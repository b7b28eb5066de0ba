/** The states of a subscription, and which may follow which (contract 5). */

import {
  SUBSCRIPTION_ACTIONS,
  type SubscriptionAction,
  type SubscriptionStatus,
} from "../../db/subscriptions.ts";
import type { SubscriptionEventName } from "../events/names.ts";

export { SUBSCRIPTION_ACTIONS, SUBSCRIPTION_STATUSES } from "../../db/subscriptions.ts";
export type { SubscriptionAction, SubscriptionStatus } from "../../db/subscriptions.ts";

/** From which states each action is allowed, and where it leads. */
const ACTIONS: Record<SubscriptionAction, { from: SubscriptionStatus[]; to: SubscriptionStatus }> =
  {
    disable: { from: ["active"], to: "disabled" },
    enable: { from: ["disabled"], to: "active" },
    // Of one that the gateway refused there is nothing to be cancelled.
    cancel: { from: ["pending", "active", "inactive", "disabled"], to: "cancelled" },
  };

export function allows(status: SubscriptionStatus, action: SubscriptionAction): boolean {
  return ACTIONS[action].from.includes(status);
}

export function stateAfter(action: SubscriptionAction): SubscriptionStatus {
  return ACTIONS[action].to;
}

/** What brings a subscription to where it is; null: nothing that we could ask for. */
export function actionTo(status: SubscriptionStatus): SubscriptionAction | null {
  return SUBSCRIPTION_ACTIONS.find((action) => stateAfter(action) === status) ?? null;
}

/**
 * What the gateway's word makes of a subscription. It says `inactive` for every end, so that it is no
 * news of one that we ended; and cancelled is for good.
 */
export function heardAs(
  status: SubscriptionStatus,
  said: "active" | "inactive",
): SubscriptionStatus {
  if (status === "cancelled" || status === "failed") return status;
  if (said === "active") return "active";
  return status === "disabled" ? "disabled" : "inactive";
}

export function eventsOf(
  from: SubscriptionStatus,
  to: SubscriptionStatus,
): SubscriptionEventName[] {
  return [
    ...from === "pending" && to !== "failed" ? ["subscription_created" as const] : [],
    ...to === "disabled" ? ["subscription_disabled" as const] : [],
    ...to === "cancelled" ? ["subscription_cancelled" as const] : [],
  ];
}
