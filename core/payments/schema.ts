/**
 * Payments as the API shows them: each field is declared here, once. `views.ts` fills them, and the
 * types of views and examples derive from it. Every field is always present; absent values are null.
 */

import { z } from "@hono/zod-openapi";
import { REFUND_STATUSES } from "../../db/payments.ts";
import { id, money, nullableText, timestamp } from "../response_fields.ts";
import { PAYMENT_STATUSES } from "./states.ts";

export const PaymentStatusSchema = z.enum(PAYMENT_STATUSES).openapi("PaymentStatus", {
  description: [
    "- `pending`: waiting for the customer",
    "- `authorize`: the card amount is authorized, and can be captured",
    "- `capture`: the card is charged; the bank settles it later. With `fraud_status: challenge` " +
    "it has to be approved or denied first",
    "- `settlement`: paid",
    "- `deny`, `failure`: declined by the bank, or rejected by the gateway",
    "- `cancel`: cancelled before it was paid, or a card payment before it was settled",
    "- `expire`: not paid in time",
    "- `partial_refund`, `refund`: refunded in part or in full",
    "- `partial_chargeback`, `chargeback`: taken back by the customer's bank, in part or in full",
  ].join("\n"),
});

export const PaymentItemSchema = z.object({
  id,
  item_id: nullableText.openapi({ description: "Your id of the item.", example: "sku-7" }),
  name: z.string().openapi({ description: "Name of the item.", example: "Coffee beans, 1 kg" }),
  price: money("Unit price; negative for a discount.", "75000.00"),
  quantity: z.int().openapi({ description: "Quantity.", example: 2 }),
  brand: nullableText.openapi({ description: "Brand." }),
  category: nullableText.openapi({ description: "Category.", example: "Groceries" }),
  merchant_name: nullableText.openapi({ description: "Name of the seller." }),
  url: nullableText.openapi({ description: "Product page URL." }),
  subtotal: money("Price times quantity."),
}).openapi("PaymentItem", { description: "An item of a payment." });

export const RefundSchema = z.object({
  id,
  refund_key: z.string().openapi({
    description: "Identifies the refund at the gateway.",
    example: "0197a3c4-8d2a-7b13-8c5e-6a1f0e9d7c42",
  }),
  amount: money("Refunded amount.", "50000.00"),
  reason: nullableText.openapi({ description: "The reason you gave.", example: "Out of stock" }),
  is_direct: z.boolean().openapi({
    description: "True: refunded through the customer's bank or wallet synchronously.",
    example: false,
  }),
  status: z.enum(REFUND_STATUSES).openapi({
    description: "- `pending`: outcome not known yet; the service checks it\n- `succeeded`\n" +
      "- `denied`: declined by the bank\n- `failed`: rejected by the gateway",
    example: "succeeded",
  }),
  status_code: nullableText.openapi({ description: "The gateway's status code.", example: "200" }),
  status_message: nullableText.openapi({
    description: "The gateway's status message.",
    example: "Success, refund request is approved",
  }),
  created_at: timestamp("When the refund was created."),
}).openapi("Refund", { description: "A refund of a payment. A payment can have several." });

export const PaymentSchema = z.object({
  id,
  order_id: z.string().openapi({
    description: "Your order id, or a generated one.",
    example: "order-1893",
  }),
  transaction_id: nullableText.openapi({
    description: "The gateway's transaction id; null until the gateway has responded.",
    example: "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  }),
  payment_type: z.string().openapi({
    description:
      "As in the charge. Payments of a payment link can have other types of the gateway.",
    example: "bank_transfer",
  }),
  bank: nullableText.openapi({
    description:
      "`bank_transfer`: bank of the virtual account. `credit_card`: bank that acquires the payment.",
    example: "bca",
  }),
  store: nullableText.openapi({
    description: "`cstore`: store chain at which to pay.",
    example: null,
  }),
  acquirer: nullableText.openapi({
    description: "`qris`: acquirer of the payment.",
    example: null,
  }),
  gross_amount: money("Requested amount; it never changes."),
  captured_amount: money("Captured amount; null until something is captured.").nullable()
    .openapi({ example: null }),
  currency: z.string().openapi({ description: "Currency; always IDR.", example: "IDR" }),
  transaction_status: PaymentStatusSchema,
  fraud_status: nullableText.openapi({
    description: "Result of the gateway's fraud detection: `accept`, `challenge` or `deny`.",
    example: "accept",
  }),
  status_code: nullableText.openapi({
    description: "The gateway's latest status code.",
    example: "201",
  }),
  status_message: nullableText.openapi({
    description: "The gateway's latest status message, for people to read.",
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
    description: "As in `customer_details` of the charge.",
    example: "budi@example.com",
  }),
  customer_phone: nullableText.openapi({
    description: "As in `customer_details` of the charge.",
    example: "+628123456789",
  }),
  va_number: nullableText.openapi({
    description: "`bank_transfer`: virtual account number to transfer to.",
    example: "812785002530231",
  }),
  bill_key: nullableText.openapi({
    description: "`echannel`: bill number, which the customer enters after `biller_code`.",
    example: null,
  }),
  biller_code: nullableText.openapi({
    description: "`echannel`: company code of the biller.",
    example: null,
  }),
  payment_code: nullableText.openapi({
    description: "`cstore`: code to show at the cash register.",
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
    description: "`qris`: content of the QR code, to draw it yourself.",
    example: null,
  }),
  qr_url: nullableText.openapi({
    description: "`qris`, `gopay`: image of the QR code.",
    example: null,
  }),
  transaction_time: timestamp("When the gateway created the transaction.").nullable(),
  settlement_time: timestamp("When it was paid.").nullable().openapi({ example: null }),
  expiry_time: timestamp("Until when it can be paid.").nullable()
    .openapi({ example: "2026-03-06T04:12:09.000Z" }),
  refund_amount: money("Sum of all successful refunds.", "0.00"),
  net_amount: money("Captured amount less refunds.", "0.00"),
  metadata: z.record(z.string(), z.unknown()).nullable().openapi({
    description: "Your metadata, as sent with the charge.",
    example: { cart: "c-1893" },
  }),
  custom_field1: nullableText.openapi({ description: "The first of `custom_fields`." }),
  custom_field2: nullableText.openapi({ description: "The second of `custom_fields`." }),
  custom_field3: nullableText.openapi({ description: "The third of `custom_fields`." }),
  items: z.array(PaymentItemSchema).openapi({ description: "Items of the payment." }),
  refunds: z.array(RefundSchema).openapi({
    description: "Requested refunds, oldest first.",
    example: [],
  }),
  invoice_id: z.uuid().nullable().openapi({
    description: "The invoice that this payment is for.",
    example: null,
  }),
  subscription_id: z.uuid().nullable().openapi({
    description: "The subscription that this payment is a charge of.",
    example: null,
  }),
  is_paid: z.boolean().openapi({
    description: "True once the payment is captured or settled; safe to ship.",
    example: false,
  }),
  is_pending: z.boolean().openapi({
    description: "True while the result is not final.",
    example: true,
  }),
  is_failed: z.boolean().openapi({
    description: "True if it was declined, rejected or cancelled.",
    example: false,
  }),
  is_expired: z.boolean().openapi({
    description: "True if the customer did not pay in time.",
    example: false,
  }),
  created_at: timestamp("When the payment was created."),
  updated_at: timestamp("When the payment last changed."),
}).openapi("Payment", {
  description: "A payment, which is one transaction at the gateway. Every field is always " +
    "present; absent values are null.",
});

export const PaymentSummarySchema = PaymentSchema.pick({
  id: true,
  order_id: true,
  payment_type: true,
  gross_amount: true,
  transaction_status: true,
  customer_email: true,
  is_paid: true,
  created_at: true,
}).openapi("PaymentSummary", { description: "A payment in a list." });
