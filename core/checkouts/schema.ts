/** The request and response schemas of checkouts. */

import { z } from "@hono/zod-openapi";
import { GATEWAY_CHECKOUT, rejectGatewayFields } from "../fields/gateway_fields.ts";
import { list, object, omitNulls, oneOf, orderId, time, url } from "../fields/input.ts";
import { id, money, nullableText, timestamp } from "../fields/response.ts";
import { checkItemTotal, commonFields } from "../payments/charge_input.ts";
import { PaymentSchema } from "../payments/schema.ts";
import { METHOD_IDS } from "./methods.ts";
import { CHECKOUT_STATUSES } from "./states.ts";

/** The longest order id of a checkout: attempts add a tilde and their number, at most `~10`. */
const MAX_ORDER_ID = 46;

export const MAX_ATTEMPTS = 10;

export const CheckoutInputSchema = omitNulls(rejectGatewayFields(
  object({
    ...commonFields,
    order_id: orderId(MAX_ORDER_ID).optional().openapi({
      description: "Your order id; generated if omitted. The checkout reserves it, and the same " +
        "id with `~2` to `~10`: each attempt of the customer has one of them.",
      example: "order-1894",
    }),
    enabled_payments: list(oneOf(METHOD_IDS), METHOD_IDS.length).optional().openapi({
      description: "The methods that the page offers, in this order. By default all that can " +
        "work. A method is left out while it cannot be used: the amount is outside its limits, " +
        "too little time is left, or its lender needs details that the request does not have.",
      example: ["qris", "gopay", "bca_va"],
    }),
    finish_url: url().optional().openapi({
      description: "Where the page sends the customer after the payment; `checkout_id` is added. " +
        "Must begin with https://. A visit proves nothing: wait for `checkout_completed`.",
      example: "https://shop.example/thanks",
    }),
    cancel_url: url().optional().openapi({
      description: "Where the page's link back to the shop leads. Without it, the page has none.",
      example: "https://shop.example/cart",
    }),
    expires_at: time().optional().openapi({
      description: "Until when the customer can pay (RFC 3339); by default for 24 hours. From 2 " +
        "minutes to 30 days ahead.",
      example: "2026-11-20T10:00:00+07:00",
    }),
    language: oneOf(["id", "en"]).optional().openapi({
      description: "The language of the page; by default that of the customer's browser.",
      example: "id",
    }),
  }).superRefine(checkItemTotal),
  GATEWAY_CHECKOUT,
)).openapi("CheckoutRequest", { description: "The order that the customer pays." });

export type CheckoutInput = z.output<typeof CheckoutInputSchema>;

export const CheckoutStatusSchema = z.enum(CHECKOUT_STATUSES).openapi("CheckoutStatus", {
  description: [
    "- `open`: the customer can pay",
    "- `processing`: the customer has acted; the bank or the fraud review decides",
    "- `paid`",
    "- `expired`: not paid in time; becomes `paid` if the customer paid at the last moment",
    "- `cancelled`: cancelled by you; becomes `paid` if the customer paid at the last moment",
  ].join("\n"),
  example: "open",
});

const AttemptSchema = z.object({
  number: z.int().openapi({ description: "1, 2, 3, …", example: 1 }),
  method: z.string().openapi({ description: "The chosen method.", example: "bca_va" }),
  order_id: z.string().openapi({
    description: "The order id of its payment.",
    example: "order-1894",
  }),
  status: z.enum(["open", "closing", "closed", "paid"]).openapi({
    description: "- `open`: the customer can pay it\n- `closing`: the gateway has not confirmed " +
      "yet that it is closed\n- `closed`: it can no longer be paid\n- `paid`",
    example: "open",
  }),
  created_at: timestamp("When the customer chose the method."),
  closed_at: timestamp("When it could no longer be paid; null: it may be payable.").nullable()
    .openapi({ example: null }),
}).openapi("CheckoutAttempt", { description: "A choice of a method by the customer." });

export const CheckoutSchema = z.object({
  id,
  order_id: z.string().openapi({
    description: "Your order id, or a generated one.",
    example: "order-1894",
  }),
  status: CheckoutStatusSchema,
  gross_amount: money("The amount to pay."),
  currency: z.string().openapi({ description: "Currency; always `IDR`.", example: "IDR" }),
  checkout_url: nullableText.openapi({
    description: "The page where the customer pays: send them there. Null in lists, events and " +
      "webhooks. The link is a secret of the customer.",
    example: "https://pay.shop.example/pay/AQGZo8JfTn1hnwssZNGwp-VfXn2aQkW0Yx7bVt5Rr0Lk",
  }),
  enabled_payments: z.array(z.string()).nullable().openapi({
    description: "As in the request; null: every method that can work.",
    example: ["qris", "gopay", "bca_va"],
  }),
  finish_url: nullableText.openapi({
    description: "As in the request.",
    example: "https://shop.example/thanks",
  }),
  cancel_url: nullableText.openapi({ description: "As in the request.", example: null }),
  language: nullableText.openapi({
    description: "As in the request; null: that of the customer's browser.",
    example: null,
  }),
  expires_at: timestamp("Until when the customer can pay."),
  ended_at: timestamp("When it was paid, expired or cancelled; null: it is open.").nullable()
    .openapi({ example: null }),
  attempts: z.array(AttemptSchema).openapi({
    description: "The customer's choices, oldest first.",
    example: [],
  }),
  payment_id: z.uuid().nullable().openapi({
    description: "The payment that paid it.",
    example: null,
  }),
  payment: z.union([PaymentSchema, z.null()]).openapi({
    description: "The payment that paid it. Null in lists, events and webhooks.",
  }),
  extra_payment_id: z.uuid().nullable().openapi({
    description: "Another payment that was paid as well, which should not happen: refund one of " +
      "the two.",
    example: null,
  }),
  is_late: z.boolean().openapi({
    description: "True if it was paid after it had expired or was cancelled.",
    example: false,
  }),
  metadata: z.record(z.string(), z.unknown()).nullable().openapi({
    description: "Your `metadata`, unchanged.",
    example: { cart: "c-1893" },
  }),
  custom_fields: z.array(z.string()).nullable().openapi({
    description: "As in the request.",
    example: null,
  }),
  created_at: timestamp("When it was created."),
  updated_at: timestamp("When it was last updated."),
}).openapi("Checkout", {
  description: "An order that the customer pays on a page of this service. Every field is always " +
    "present; fields without a value are null.",
});
