/** What can happen. */

import type { InvoiceEventName } from "../invoices/states.ts";
import type { PaymentEventName } from "../payments/states.ts";
import type { SubscriptionEventName } from "../subscriptions/states.ts";
import type { WebhookEventName } from "../webhooks/event_names.ts";

export type EventName =
  | PaymentEventName
  | InvoiceEventName
  | SubscriptionEventName
  | WebhookEventName;
