/** The states of a subscription, and which state can follow which. */

import {
  SUBSCRIPTION_ACTIONS,
  type SubscriptionAction,
  type SubscriptionStatus,
} from "../../db/billing/subscriptions.ts";
import type { SubscriptionEventName } from "../events/names.ts";

export { SUBSCRIPTION_ACTIONS, SUBSCRIPTION_STATUSES } from "../../db/billing/subscriptions.ts";
export type { SubscriptionAction, SubscriptionStatus } from "../../db/billing/subscriptions.ts";

/** The states in which each action is allowed, and the state that it leads to. */
const ACTIONS: Record<SubscriptionAction, { from: SubscriptionStatus[]; to: SubscriptionStatus }> =
  {
    disable: { from: ["active"], to: "disabled" },
    enable: { from: ["disabled"], to: "active" },
    // Not from `failed`: such a subscription does not exist at the gateway.
    cancel: { from: ["pending", "active", "inactive", "disabled"], to: "cancelled" },
  };

export function allows(status: SubscriptionStatus, action: SubscriptionAction): boolean {
  return ACTIONS[action].from.includes(status);
}

export function stateAfter(action: SubscriptionAction): SubscriptionStatus {
  return ACTIONS[action].to;
}

/** The action that leads to a state; null: no action does. */
export function actionTo(status: SubscriptionStatus): SubscriptionAction | null {
  return SUBSCRIPTION_ACTIONS.find((action) => stateAfter(action) === status) ?? null;
}

/**
 * The status after a report. The gateway reports `inactive` for a disabled subscription as well as
 * for an ended one, so `inactive` does not change a subscription that was disabled here. A
 * cancelled or failed subscription keeps its status.
 */
export function statusAfterReport(
  status: SubscriptionStatus,
  reported: "active" | "inactive",
): SubscriptionStatus {
  if (status === "cancelled" || status === "failed") return status;
  if (reported === "active") return "active";
  return status === "disabled" ? "disabled" : "inactive";
}

/** Whether a subscription in one state can be in the other one later, or stays in it. */
export function canFollow(from: SubscriptionStatus, to: SubscriptionStatus): boolean {
  if (from === to) return true;
  if (from === "cancelled" || from === "failed" || to === "pending") return false;
  return to !== "failed" || from === "pending";
}

/** Whether a caller stopped it. */
export function isStopped(status: SubscriptionStatus): boolean {
  return status === "disabled" || status === "cancelled";
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
