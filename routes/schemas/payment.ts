/** Payments as they are answered with. */

import { z } from "@hono/zod-openapi";
import { PAYMENT_STATUSES } from "../../core/payments/states.ts";
import { REFUND_STATUSES } from "../../db/refunds.ts";
import { id, money, nullableText, timestamp } from "./common.ts";

const payment_type = z.string().openapi({
  description: "As in the charge; what was paid by a link can be of other types of the gateway.",
  example: "bank_transfer",
});

export const PaymentStatusSchema = z.enum(PAYMENT_STATUSES).openapi("PaymentStatus", {
  description: [
    "- `pending`: waits for the customer",
    "- `authorize`: a card's amount is held, to be captured",
    "- `capture`: a card was charged; settled by the bank later. With `fraud_status: challenge` " +
    "somebody has to look at it first",
    "- `settlement`: paid",
    "- `deny`, `failure`: refused, by the bank or the gateway",
    "- `cancel`: taken back, before it was paid or, a card's, before it was settled",
    "- `expire`: not paid in time",
    "- `partial_refund`, `refund`: paid back, in part or whole",
    "- `partial_chargeback`, `chargeback`: taken back by the customer's bank, in part or whole",
  ].join("\n"),
});

export const PaymentItemSchema = z.object({
  id,
  item_id: nullableText.openapi({ description: "Your `id` of it.", example: "sku-7" }),
  name: z.string().openapi({
    description: "What it is.",
    example: "Coffee beans, 1 kg",
  }),
  price: money("Of one; below 0 for a discount.", "75000.00"),
  quantity: z.int().openapi({
    description: "How many of it.",
    example: 2,
  }),
  brand: nullableText.openapi({ description: "Of whom it is." }),
  category: nullableText.openapi({
    description: "What kind of thing it is.",
    example: "Groceries",
  }),
  merchant_name: nullableText.openapi({ description: "Who sells it." }),
  url: nullableText.openapi({ description: "Where it is shown." }),
  subtotal: money("Price times quantity."),
}).openapi("PaymentItem", { description: "One of the things that are paid for." });

export const RefundSchema = z.object({
  id,
  refund_key: z.string().openapi({
    description: "What the gateway knows the refund by.",
    example: "0197a3c4-8d2a-7b13-8c5e-6a1f0e9d7c42",
  }),
  amount: money("What is paid back.", "50000.00"),
  reason: nullableText.openapi({
    description: "As it was given.",
    example: "Out of stock",
  }),
  is_direct: z.boolean().openapi({
    description: "Asked of the customer's bank or wallet itself, which answers at once.",
    example: false,
  }),
  status: z.enum(REFUND_STATUSES).openapi({
    description: "- `pending`: nobody knows yet; the service finds out\n- `succeeded`\n" +
      "- `denied`: the bank refused\n- `failed`: the gateway refused",
    example: "succeeded",
  }),
  status_code: nullableText.openapi({ description: "The gateway's.", example: "200" }),
  status_message: nullableText.openapi({
    description: "The gateway's.",
    example: "Success, refund request is approved",
  }),
  created_at: timestamp("When it was made."),
}).openapi("Refund", { description: "One refund of a payment; there may be several." });

export const PaymentSchema = z.object({
  id,
  order_id: z.string().openapi({
    description: "Your number of the order, or the one that was made up.",
    example: "order-1893",
  }),
  transaction_id: nullableText.openapi({
    description: "The gateway's; null until it has answered.",
    example: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  }),
  payment_type,
  bank: nullableText.openapi({
    description: "`bank_transfer`, `credit_card`: whose account it is, or who takes the card in.",
    example: "bca",
  }),
  store: nullableText.openapi({
    description: "`cstore`: where to pay.",
    example: null,
  }),
  acquirer: nullableText.openapi({
    description: "`qris`: who takes the money in.",
    example: null,
  }),
  gross_amount: money("What was asked for; it never changes."),
  captured_amount: money("What was taken of it; null while nothing is.").nullable()
    .openapi({ example: null }),
  currency: z.string().openapi({
    description: "Always rupiah.",
    example: "IDR",
  }),
  transaction_status: PaymentStatusSchema,
  fraud_status: nullableText.openapi({
    description: "What the gateway's fraud detection says: `accept`, `challenge` or `deny`.",
    example: "accept",
  }),
  status_code: nullableText.openapi({ description: "The gateway's latest.", example: "201" }),
  status_message: nullableText.openapi({
    description: "The gateway's latest, for people.",
    example: "Success, Bank Transfer transaction is created",
  }),
  customer_first_name: nullableText.openapi({
    description: "As in `customer_details` of the charge.",
    example: "Budi",
  }),
  customer_last_name: nullableText.openapi({
    description: "As in `customer_details` of the charge.",
    example: "Utomo",
  }),
  customer_email: nullableText.openapi({
    description: "The customer's, as in the charge.",
    example: "budi@example.com",
  }),
  customer_phone: nullableText.openapi({
    description: "The customer's, as in the charge.",
    example: "+628123456789",
  }),
  va_number: nullableText.openapi({
    description: "`bank_transfer`: the account to transfer to.",
    example: "812785002530231",
  }),
  bill_key: nullableText.openapi({
    description: "`echannel`: the bill, to be typed in after `biller_code`.",
    example: null,
  }),
  biller_code: nullableText.openapi({
    description: "`echannel`: whom the bill is of.",
    example: null,
  }),
  payment_code: nullableText.openapi({
    description: "`cstore`: to be shown at the till.",
    example: null,
  }),
  redirect_url: nullableText.openapi({
    description: "`credit_card` (3-D Secure), `akulaku`, `kredivo`: where to send the customer.",
    example: null,
  }),
  deeplink_url: nullableText.openapi({
    description: "`gopay`, `shopeepay`, `dana`: opens the wallet's app.",
    example: null,
  }),
  qr_string: nullableText.openapi({
    description: "`qris`: what the code says, to draw it yourself.",
    example: null,
  }),
  qr_url: nullableText.openapi({
    description: "`qris`, `gopay`: an image of the code.",
    example: null,
  }),
  transaction_time: timestamp("When the gateway took it in.").nullable(),
  settlement_time: timestamp("When it was paid.").nullable().openapi({ example: null }),
  expiry_time: timestamp("Until when it can be paid.").nullable()
    .openapi({ example: "2026-03-06T04:12:09.000Z" }),
  refund_amount: money("The sum of all refunds that were made.", "0.00"),
  net_amount: money("What was captured less what was refunded.", "0.00"),
  metadata: z.record(z.string(), z.unknown()).nullable().openapi({
    description: "Yours, as it was sent.",
    example: { cart: "c-1893" },
  }),
  custom_field1: nullableText.openapi({ description: "The first of `custom_fields`." }),
  custom_field2: nullableText.openapi({ description: "The second of `custom_fields`." }),
  custom_field3: nullableText.openapi({ description: "The third of `custom_fields`." }),
  items: z.array(PaymentItemSchema).openapi({ description: "What is paid for." }),
  refunds: z.array(RefundSchema).openapi({
    description: "What was asked to be paid back, the oldest first.",
    example: [],
  }),
  invoice_id: z.uuid().nullable().openapi({
    description: "The invoice that was paid by it.",
    example: null,
  }),
  subscription_id: z.uuid().nullable().openapi({
    description: "The subscription that it is a charge of.",
    example: null,
  }),
  is_paid: z.boolean().openapi({
    description: "You have the money, or will: deliver.",
    example: false,
  }),
  is_pending: z.boolean().openapi({ description: "Not decided yet.", example: true }),
  is_failed: z.boolean().openapi({
    description: "Refused, or cancelled: it will not be paid.",
    example: false,
  }),
  is_expired: z.boolean().openapi({
    description: "The customer did not pay in time.",
    example: false,
  }),
  created_at: timestamp("When it was made."),
  updated_at: timestamp("When it last changed."),
}).openapi("Payment", {
  description: "One payment, which is one transaction at the gateway. Every member is always " +
    "there; what is absent is null.",
});

export const PaymentSummarySchema = z.object({
  id,
  order_id: z.string().openapi({
    description: "Your number of the order, or the one that was made up.",
    example: "order-1893",
  }),
  payment_type,
  gross_amount: money("What was asked for."),
  transaction_status: PaymentStatusSchema,
  customer_email: nullableText.openapi({
    description: "The customer's, as in the charge.",
    example: "budi@example.com",
  }),
  is_paid: z.boolean().openapi({
    description: "You have the money, or will.",
    example: false,
  }),
  created_at: timestamp("When it was made."),
}).openapi("PaymentSummary", { description: "A payment in a list." });
