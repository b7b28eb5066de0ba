/** The bodies of the requests that create or change a subscription, and their types. */

import { z } from "@hono/zod-openapi";
import { INTERVAL_UNITS } from "../../db/billing/subscriptions.ts";
import {
  email,
  object,
  omitNulls,
  oneOf,
  optionalIfEmpty,
  optionalText,
  text,
  textLike,
  time,
  wholeNumber,
} from "../fields/input.ts";
import {
  GATEWAY_SUBSCRIPTION,
  GATEWAY_SUBSCRIPTION_UPDATE,
  rejectGatewayFields,
} from "../fields/gateway_fields.ts";
import { MetadataSchema } from "../fields/metadata.ts";
import { describeUnknownType } from "../payments/payment_types.ts";

/** In bytes of JSON. The gateway accepts 1,024, and the service adds `subscription_ref`. */
const MAX_METADATA = 900;

const RetryScheduleSchema = object({
  interval: wholeNumber(1, 1000).openapi({
    description: "Time between two retries, in `interval_unit`.",
    example: 1,
  }),
  interval_unit: oneOf(["minute", "hour", "day"]).openapi({
    description: "Unit of `interval`.",
    example: "day",
  }),
  max_interval: wholeNumber(0, 3).openapi({
    description: "Maximum number of retries; 0 disables them.",
    example: 3,
  }),
}).openapi("RetrySchedule", {
  description: "When to retry a failed charge; defaults to three retries, one hour apart. After " +
    "the last retry the gateway ends the subscription.",
});

const commonFields = {
  name: textLike(
    40,
    /^[A-Za-z0-9_~. -]+$/,
    "must contain only letters, digits, spaces, - _ ~ and ., because the gateway begins the order " +
      "ids of its charges with it",
  ).openapi({
    description: "Name of the subscription: at most 40 letters, digits, spaces, `-`, `_`, `~` " +
      "and `.`, because the gateway begins the order ids of its charges with it.",
    example: "coffee-club",
  }),
  amount: wholeNumber(1, 99_999_999_999).openapi({
    description: "Amount to charge each cycle, in whole rupiah.",
    example: 150000,
  }),
  token: text(2000).openapi({
    description: "Token of a saved card (`saved_token_id`) or a linked GoPay account. It is sent " +
      "to the gateway and never stored.",
    example: "481111xDUgxnnredRMAXuklkvAON1114",
  }),
  interval: wholeNumber(1, 1000).openapi({
    description: "Length of a cycle, in `interval_unit`.",
    example: 1,
  }),
  interval_unit: oneOf(INTERVAL_UNITS).openapi({
    description: "Unit of `interval`.",
    example: "month",
  }),
  max_interval: wholeNumber(0, 10_000).optional().openapi({
    description: "Maximum number of cycles; unlimited if omitted.",
    example: 12,
  }),
  start_time: time().optional().openapi({
    description: "When the first cycle starts; defaults to one interval from now.",
    example: "2099-01-01T02:00:00Z",
  }),
  retry_schedule: RetryScheduleSchema.optional(),
  customer_details: object({
    first_name: optionalText(255).openapi({
      description: "First name.",
      example: "Budi",
    }),
    last_name: optionalText(255).openapi({
      description: "Last name.",
      example: "Utomo",
    }),
    email: optionalIfEmpty(email()).openapi({ description: "Email address." }),
    phone: optionalText(255).openapi({
      description: "Phone number.",
      example: "+628123456789",
    }),
  }).openapi("SubscriptionCustomer", { description: "The customer who is charged." }).optional(),
  metadata: MetadataSchema.refine(
    (metadata) => new TextEncoder().encode(JSON.stringify(metadata)).length <= MAX_METADATA,
    `must be at most ${MAX_METADATA} bytes as JSON`,
  ).optional(),
};

const accountId = text(255).openapi({
  description: "Id of the linked GoPay account.",
  example: "00000269-7836-49e5-bc65-e592afafec14",
});

export const SUBSCRIPTION_TYPES = ["credit_card", "gopay"] as const;

function paymentType<const T extends string>(type: T) {
  return z.literal(type).openapi({
    description: "Payment method: a saved card or a linked GoPay account.",
  });
}

const CardSubscription = object({
  payment_type: paymentType("credit_card"),
  ...commonFields,
  gopay_account_id: accountId.optional(),
}).openapi("CardSubscriptionRequest", { description: "Charges a saved card." });

const GopaySubscription = object({
  payment_type: paymentType("gopay"),
  ...commonFields,
  gopay_account_id: accountId,
}).openapi("GopaySubscriptionRequest", { description: "Charges a linked GoPay account." });

export const SubscriptionInputSchema = omitNulls(
  rejectGatewayFields(
    z.discriminatedUnion("payment_type", [CardSubscription, GopaySubscription], {
      error({ code, input }) {
        if (code !== "invalid_union") return "must be an object";
        const { payment_type } = input as { payment_type?: unknown };
        if (payment_type === undefined) return "is required";
        return describeUnknownType(payment_type, SUBSCRIPTION_TYPES);
      },
    }),
    GATEWAY_SUBSCRIPTION,
  ),
).openapi("SubscriptionRequest", {
  description: "The subscription to create; `payment_type` determines which fields it has.",
});

export type SubscriptionInput = z.output<typeof SubscriptionInputSchema>;

export type RetrySchedule = z.output<typeof RetryScheduleSchema>;

export const SubscriptionUpdateSchema = omitNulls(rejectGatewayFields(
  object({
    token: commonFields.token.openapi({
      description: "Token of a saved card (`saved_token_id`) or a linked GoPay account: the " +
        "current one, or a new one that replaces it. The gateway requires it with every change. It " +
        "is never stored.",
    }),
    name: commonFields.name.optional(),
    amount: commonFields.amount.optional(),
    interval: commonFields.interval.optional().openapi({
      description:
        "New length of a cycle, in `interval_unit` (the unit cannot be changed). The next cycle " +
        "still starts at `next_execution_at`, and is the first one with the new length.",
    }),
    retry_schedule: RetryScheduleSchema.optional(),
    gopay_account_id: accountId.optional(),
  }),
  GATEWAY_SUBSCRIPTION_UPDATE,
)).openapi("SubscriptionUpdate", {
  description: "The fields to change; omitted fields stay as they are. `token` is always required.",
});

export type SubscriptionUpdate = z.output<typeof SubscriptionUpdateSchema>;

export { INTERVAL_UNITS };
