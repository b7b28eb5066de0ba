/** Events as those who read and those who listen see them. */

import type { GatewayEvent } from "../../db/events.ts";
import type { InvoiceEventName } from "../invoices/states.ts";
import type { InvoiceView } from "../invoices/views.ts";
import type { PaymentEventName } from "../payments/states.ts";
import type { PaymentView } from "../payments/views.ts";
import type { EventName } from "./names.ts";
import type { WebhookEventName } from "../webhooks/event_names.ts";
import type { EndpointView } from "../webhooks/views.ts";
import type { SubscriptionView } from "../subscriptions/views.ts";

/** By its name it is known what an event is about. */
export type EventView<Name extends EventName = EventName> = Name extends EventName ? {
    id: string;
    name: Name;
    created_at: string;
    /** The resource as it was after the change, and the notification that caused it. */
    data: DataOf<Name> & { notification_id: string | null };
  }
  : never;

type DataOf<Name extends EventName> = Name extends PaymentEventName ? PaymentView
  : Name extends InvoiceEventName ? InvoiceView
  : Name extends WebhookEventName ? EndpointView
  // And the payment by which it was charged.
  : Name extends "subscription_charged" ? SubscriptionView & { payment_id: string }
  : SubscriptionView;

export function viewEvent({ id, name, created_at, data }: GatewayEvent): EventView {
  return { id, name, created_at: created_at.toISOString(), data } as EventView;
}
