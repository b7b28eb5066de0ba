/**
 * Payments as the API shows them: each field is declared here, once. `views.ts` fills the fields.
 * The types of views and examples derive from these schemas. Every field is always present, except
 * `user_id`; a field without a value is null.
 */

import { z } from "@hono/zod-openapi";
import { REFUND_STATUSES } from "../../db/payments/payments.ts";
import { id, money, nullableText, owner, timestamp } from "../fields/response.ts";
import { PAYMENT_ACTIONS, PAYMENT_STATUSES } from "./states.ts";

export const PaymentStatusSchema = z.enum(PAYMENT_STATUSES).openapi("PaymentStatus", {
  description: [
    "- `pending`: waiting for the customer",
    "- `authorize`: the card amount is authorized, and can be captured",
    "- `capture`: the card is charged; the bank settles it later. With `fraud_status: challenge` " +
    "it is not paid until staff approve it",
    "- `settlement`: paid",
    "- `deny`: declined by the bank",
    "- `failure`: rejected by the gateway, or not created by it",
    "- `cancel`: cancelled before it was paid or, for a card, before settlement",
    "- `expire`: not paid in time",
    "- `partial_refund`, `refund`: refunded in part or in full",
    "- `partial_chargeback`, `chargeback`: reversed in part or in full by the customer's bank " +
    "after a dispute",
  ].join("\n"),
});

export const PaymentItemSchema = z.object({
  id,
  item_id: nullableText.openapi({ description: "Your id for the item.", example: "sku-7" }),
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
    description: "True if the refund was requested with `direct: true`.",
    example: false,
  }),
  status: z.enum(REFUND_STATUSES).openapi({
    description: "- `pending`: not made by the bank yet, or outcome unknown; the service checks " +
      "it\n- `succeeded`\n" +
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

export const RefundDetailsSchema = z.object({
  ...RefundSchema.shape,
  payment_id: z.uuid().openapi({
    description: "The refunded payment.",
    example: "0197a3c2-5f4e-7d61-9f0b-2c64d1b0a7e5",
  }),
  order_id: z.string().openapi({
    description: "The order id of the refunded payment.",
    example: "order-1893",
  }),
  created_by: nullableText.openapi({
    description: "Who requested it, for staff and viewers: `api_key:<prefix>` or " +
      "`jwt:<subject>`. Null for other callers, and for a refund that was made in the gateway's " +
      "dashboard.",
    example: "api_key:gk_Zr4kQ2mW",
  }),
  created_by_name: nullableText.openapi({
    description: "The name of `created_by`, for staff and viewers: the name of the API key (its " +
      "user if it has no name), or the subject of the JWT.",
    example: "rina",
  }),
  updated_at: timestamp("When the refund last changed."),
}).openapi("RefundDetails", { description: "A refund, with the payment that it belongs to." });

export const PaymentCardSchema = z.object({
  masked_number: nullableText.openapi({
    description: "First and last digits, as the gateway sends them.",
    example: "48111111-1114",
  }),
  brand: nullableText.openapi({
    description: "`visa`, `mastercard`, `jcb`, `amex` or `unionpay`, by the first digits; null " +
      "for other brands.",
    example: "visa",
  }),
  approval_code: nullableText.openapi({
    description: "The bank's code of the authorization; the customer's bank can find the " +
      "payment with it.",
    example: "1709203456789",
  }),
  three_d_secure: nullableText.openapi({
    description: "Result of 3-D Secure: `authenticated`, `attempted` (the card's bank did not " +
      "take part) or `not_authenticated`. Null if it is not known.",
    example: "authenticated",
  }),
  three_d_secure_version: nullableText.openapi({
    description: "Version of 3-D Secure.",
    example: "2",
  }),
  eci: nullableText.openapi({
    description: "The result as the card scheme writes it (electronic commerce indicator).",
    example: "05",
  }),
}).openapi("PaymentCard", { description: "What the gateway says about the card of a payment." });

export const PaymentSchema = z.object({
  id,
  user_id: owner("payment"),
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
      "Payment type of the charge. A payment made on an invoice's payment page can have another " +
      "type that the gateway supports.",
    example: "bank_transfer",
  }),
  bank: nullableText.openapi({
    description: "`bank_transfer`: bank of the virtual account. `credit_card`: acquiring bank.",
    example: "bca",
  }),
  store: nullableText.openapi({
    description: "`cstore`: store chain where the customer pays.",
    example: null,
  }),
  acquirer: nullableText.openapi({
    description: "`qris`: acquirer of the payment.",
    example: null,
  }),
  gross_amount: money("Requested amount; it never changes."),
  captured_amount: money(
    "Amount paid, for every payment type; after a partial capture, the captured part. Null until " +
      "paid, and after a cancellation or reversal.",
  ).nullable().openapi({ example: null }),
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
    description: "The gateway's latest status message, human-readable.",
    example: "Success, Bank Transfer transaction is created",
  }),
  customer_first_name: nullableText.openapi({
    description: "From `customer_details` of the charge.",
    example: "Budi",
  }),
  customer_last_name: nullableText.openapi({
    description: "From `customer_details` of the charge.",
    example: "Utomo",
  }),
  customer_email: nullableText.openapi({
    description: "From `customer_details` of the charge.",
    example: "budi@example.com",
  }),
  customer_phone: nullableText.openapi({
    description: "From `customer_details` of the charge.",
    example: "+628123456789",
  }),
  va_number: nullableText.openapi({
    description: "`bank_transfer`: virtual account number to transfer to.",
    example: "812785002530231",
  }),
  bill_key: nullableText.openapi({
    description: "`echannel`: bill number. The customer enters it after `biller_code`.",
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
    description: "`credit_card` (3-D Secure), `akulaku`, `kredivo`: URL to redirect the customer " +
      "to.",
    example: null,
  }),
  deeplink_url: nullableText.openapi({
    description: "`gopay`, `shopeepay`, `dana`: opens the wallet's app.",
    example: null,
  }),
  qr_string: nullableText.openapi({
    description: "`qris`: content of the QR code, if you render the image yourself.",
    example: null,
  }),
  qr_url: nullableText.openapi({
    description: "`qris`, `gopay`: image of the QR code.",
    example: null,
  }),
  card: z.union([PaymentCardSchema, z.null()]).openapi({
    description: "What the gateway says about the card of a `credit_card` payment; `bank` is the " +
      "acquiring bank. Null for other types, and until the gateway has named the card.",
    example: null,
  }),
  transaction_time: timestamp("When the gateway created the transaction.").nullable(),
  settlement_time: timestamp("When the gateway settled it; null before.").nullable()
    .openapi({ example: null }),
  expiry_time: timestamp("When the payment expires. The customer can pay until then.").nullable()
    .openapi({ example: "2026-03-06T04:12:09.000Z" }),
  refund_amount: money("Total amount refunded.", "0.00"),
  chargeback_amount: money(
    "Amount that the customer's bank took back after a dispute. Null if the gateway has not " +
      "reported the amount of a partial chargeback.",
    "0.00",
  ).nullable(),
  has_unknown_chargeback: z.boolean().openapi({
    description: "True if the amount of a partial chargeback is not known: `chargeback_amount` " +
      "is null, and `net_amount` is too high by that amount. Look it up at the gateway.",
    example: false,
  }),
  net_amount: money(
    "Amount paid minus `refund_amount` and minus `chargeback_amount`, if that is known.",
    "0.00",
  ),
  fee_amount: money(
    "Fee of the gateway, as a settlement report that was compared names it " +
      "(`POST /reconciliations/`). Null before that, for users (only staff and viewers see fees), " +
      "and in responses of actions, events and webhooks.",
    "1050.00",
  ).nullable().openapi({ example: null }),
  payout_amount: money(
    "`net_amount` minus `fee_amount`; null if that is null.",
    "148950.00",
  ).nullable().openapi({ example: null }),
  metadata: z.record(z.string(), z.unknown()).nullable().openapi({
    description: "Your metadata, as sent with the charge.",
    example: { cart: "c-1893" },
  }),
  custom_field1: nullableText.openapi({ description: "First value of `custom_fields`." }),
  custom_field2: nullableText.openapi({ description: "Second value of `custom_fields`." }),
  custom_field3: nullableText.openapi({ description: "Third value of `custom_fields`." }),
  items: z.array(PaymentItemSchema).openapi({ description: "Items of the payment." }),
  refunds: z.array(RefundSchema).openapi({
    description: "Refunds, oldest first, including those made in the gateway's dashboard.",
    example: [],
  }),
  invoice_id: z.uuid().nullable().openapi({
    description: "The invoice that this payment is for.",
    example: null,
  }),
  subscription_id: z.uuid().nullable().openapi({
    description: "The subscription that created this payment.",
    example: null,
  }),
  checkout_id: z.uuid().nullable().openapi({
    description: "The checkout that this payment is an attempt of.",
    example: null,
  }),
  payment_page_url: nullableText.openapi({
    description:
      "The page that shows the customer how to pay this payment, and its result. Null in lists, " +
      "events and webhooks, and if the setting `PUBLIC_URL` is missing. The link is a secret of " +
      "the customer: it shows the order.",
    example: "https://pay.shop.example/pay/AgGZo8JfTn1hnwssZNGwp-VfXn2aQkW0Yx7bVt5Rr0Lk",
  }),
  allowed_actions: z.array(z.enum(PAYMENT_ACTIONS)).openapi({
    description:
      "What you can do with the payment in its current state: `cancel`, `expire`, `capture`, " +
      "`refund` (`POST /payments/{pk}/…/`), and for staff, if it is challenged, `approve` and " +
      "`deny` (`POST /reviews/{pk}/…/`). Empty for viewers. `refund` is included while an amount " +
      "is left and the gateway can refund the payment type; the bank can still decline. In " +
      "events and jobs: what the owner of the payment could do at that moment.",
    example: ["cancel", "expire"],
  }),
  no_refund_reason: nullableText.openapi({
    description: "Why a payment by this method cannot be refunded, and what to do instead. Null " +
      "if the method has refunds.",
    example: "BCA virtual accounts have no refunds; return the money by bank transfer.",
  }),
  is_paid: z.boolean().openapi({
    description: "True once the payment is settled, or captured and not under fraud review; safe " +
      "to ship. False again after a full refund, a full chargeback, a cancellation, or a " +
      "reversal by the bank or store.",
    example: false,
  }),
  is_pending: z.boolean().openapi({
    description: "True while the payment is neither paid nor ended: it is pending, authorized, " +
      "or captured and under fraud review.",
    example: true,
  }),
  is_failed: z.boolean().openapi({
    description: "True if it was declined, rejected or cancelled. After a full chargeback, both " +
      "`is_paid` and `is_failed` are false.",
    example: false,
  }),
  is_expired: z.boolean().openapi({
    description: "True if the customer did not pay in time.",
    example: false,
  }),
  created_at: timestamp("When the payment was created."),
  updated_at: timestamp("When the payment last changed."),
}).openapi("Payment", {
  description: "A payment. It corresponds to one transaction at the gateway. Every field " +
    "except `user_id` is always present; a field without a value is null.",
});

export const PaymentSummarySchema = PaymentSchema.pick({
  id: true,
  user_id: true,
  order_id: true,
  payment_type: true,
  gross_amount: true,
  transaction_status: true,
  fraud_status: true,
  customer_first_name: true,
  customer_email: true,
  settlement_time: true,
  refund_amount: true,
  net_amount: true,
  is_paid: true,
  created_at: true,
}).openapi("PaymentSummary", { description: "A payment in a list." });
