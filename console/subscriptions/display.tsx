/** How subscriptions are shown: their status, their customer and their next charge. */

import { Label, type Tone } from "../shared/elements.tsx";
import type { FC } from "hono/jsx";
import type { SubscriptionStatus } from "../../core/subscriptions/states.ts";
import type { SubscriptionView } from "../../core/subscriptions/views.ts";
import type { View } from "../shared/session.ts";

export function customerName(subscription: SubscriptionView): string | null {
  const { customer_first_name, customer_last_name } = subscription;
  return [customer_first_name, customer_last_name].filter(Boolean).join(" ") || null;
}

/** Only an active subscription is charged. */
export function nextCharge({ status, next_execution_at }: SubscriptionView): string | null {
  return status === "active" ? next_execution_at : null;
}

const TONES: Record<SubscriptionStatus, Tone> = {
  pending: "wait",
  active: "good",
  inactive: "plain",
  disabled: "wait",
  cancelled: "plain",
  failed: "bad",
};

/** The state as a coloured label. */
export const SubscriptionStatusLabel: FC<{ view: View; status: SubscriptionStatus }> = (
  { view, status },
) => <Label tone={TONES[status]}>{view.words.subscriptionsPage.statuses[status]}</Label>;
