/** What a subscription is asked for with, held to the gateway's rules (G§7). */

import { z } from "@hono/zod-openapi";
import {
  RETRY_UNITS,
  SUBSCRIPTION_PAYMENT_TYPES,
} from "../../core/subscriptions/subscription_input.ts";
import { INTERVAL_UNITS } from "../../db/subscriptions.ts";
import { email, object, omitNulls, oneOf, text, wholeNumber } from "../../core/input_fields.ts";
import { MetadataSchema } from "../../core/metadata.ts";

/** Bytes as JSON; the gateway takes 1,024, of which the service needs some itself. */
const MAX_METADATA = 900;

const RetryScheduleSchema = object({
  interval: wholeNumber(1, 1000).openapi({
    description: "So many units lie between two tries.",
    example: 1,
  }),
  interval_unit: oneOf(RETRY_UNITS).openapi({ description: "Of `interval`.", example: "day" }),
  max_interval: wholeNumber(0, 3).openapi({ description: "How often; 0: never.", example: 3 }),
}).openapi("RetrySchedule", {
  description: "When a charge that failed is tried again; three times, an hour apart, where left " +
    "out. After the last one the gateway ends the subscription.",
});

export const SubscriptionInputSchema = omitNulls(
  object({
    name: text(40).regex(
      /^[A-Za-z0-9_~. -]+$/,
      "must be made of letters, digits, spaces, - _ ~ and .",
    ).openapi({
      description: "The orders of its charges begin with it.",
      example: "coffee-club",
    }),
    amount: wholeNumber(1, 99_999_999_999).openapi({
      description: "Charged in each cycle, in whole rupiah.",
      example: 150000,
    }),
    payment_type: oneOf(SUBSCRIPTION_PAYMENT_TYPES).openapi({
      description: "What is charged: a saved card or a linked account.",
      example: "credit_card",
    }),
    token: text(2000).openapi({
      description: "Of a saved card (`saved_token_id`) or of a linked wallet. It goes to the " +
        "gateway and is kept nowhere.",
      example: "481111xDUgxnnredRMAXuklkvAON1114",
    }),
    gopay_account_id: text(255).optional().openapi({
      description: "`gopay`: the linked account.",
      example: "00000269-7836-49e5-bc65-e592afafec14",
    }),
    interval: wholeNumber(1, 1000).openapi({
      description: "So many units are one cycle.",
      example: 1,
    }),
    interval_unit: oneOf(INTERVAL_UNITS).openapi({
      description: "Of `interval`.",
      example: "month",
    }),
    max_interval: wholeNumber(0, 10_000).optional().openapi({
      description: "Cycles at most; without end where left out.",
      example: 12,
    }),
    start_time: z.iso.datetime({
      offset: true,
      error: "must be a time such as 2026-12-31T09:00:00Z",
    })
      .transform((time) => new Date(time)).optional().openapi({
        type: "string",
        format: "date-time",
        description: "When the first cycle begins; one interval from now where left out.",
        example: "2099-01-01T02:00:00Z",
      }),
    retry_schedule: RetryScheduleSchema.optional(),
    customer_details: object({
      first_name: text(255).optional().openapi({
        description: "Their first name.",
        example: "Budi",
      }),
      last_name: text(255).optional().openapi({
        description: "Their last name.",
        example: "Utomo",
      }),
      email: email().optional().openapi({ description: "Their e-mail address." }),
      phone: text(255).optional().openapi({
        description: "Their phone number.",
        example: "+628123456789",
      }),
    }).openapi("SubscriptionCustomer", { description: "Who is charged." }).optional(),
    metadata: MetadataSchema.refine(
      (metadata) => new TextEncoder().encode(JSON.stringify(metadata)).length <= MAX_METADATA,
      `must have at most ${MAX_METADATA} bytes as JSON`,
    ).optional(),
  }).refine(
    ({ payment_type, gopay_account_id }) => payment_type !== "gopay" || gopay_account_id,
    { path: ["gopay_account_id"], message: "is required" },
  ),
).openapi("SubscriptionRequest", {
  description: "What to charge, how much, and how often.",
});
