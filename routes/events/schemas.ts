/** Events as they are answered with. */

import { z } from "@hono/zod-openapi";
import { PAYMENT_EVENT_NAMES } from "../../core/payments/states.ts";
import { PaymentSchema } from "../payments/schemas.ts";
import { id, timestamp } from "../representations.ts";

export const EventNameSchema = z.enum(PAYMENT_EVENT_NAMES).openapi("EventName", {
  description: [
    "- `payment_received`: the gateway has taken it in; it waits for the customer, or for somebody " +
    "to look at it",
    "- `payment_settled`: paid, told once a payment",
    "- `payment_denied`, `payment_failed`: refused, by the bank or the gateway",
    "- `payment_cancelled`, `payment_expired`: ended before it was paid",
    "- `payment_refunded`: money went back; each time that it was more",
  ].join("\n"),
  example: "payment_settled",
});

export const EventSchema = z.object({
  id,
  name: EventNameSchema,
  created_at: timestamp(),
  data: PaymentSchema.extend({
    notification_id: id.nullable().openapi({
      description: "The notification that caused it; null where a call or a task did.",
    }),
  }).openapi("PaymentEventData", { description: "The payment as it was right after the change." }),
}).openapi("Event", { description: "One change of a payment, whoever caused it." });
