/** What the controls take, checked. */

import { z } from "zod";
import { ENDPOINTS } from "../api/endpoints.ts";
import { count, flag, object, oneOf, rupiah, text } from "../http/validate.ts";
import { INVOICE_METHODS } from "../invoices/payment.ts";
import { CAUSES } from "../webhooks/cause.ts";
import { ANSWER_FAULTS, WEBHOOK_FAULTS } from "../world/faults.ts";

export const Particulars = object({
  fee: rupiah(0).nullish(),
  issuer: text(50).nullish(),
  result: oneOf(["success", "failure"]).nullish(),
  amount: rupiah().nullish(),
});

/** What a fault can befall: a call, or what a webhook tells of. */
const OPERATIONS = [
  ...new Set(["*", ...ENDPOINTS.map(({ operation }) => operation), ...CAUSES]),
];

export const NewFault = object({
  operation: oneOf(OPERATIONS),
  fault: oneOf([...ANSWER_FAULTS, ...WEBHOOK_FAULTS]),
  count: count(1, 1_000_000).default(1),
  rate: z.number("must be a number").gt(0, "must be above 0").max(1, "must be at most 1").default(
    1,
  ),
  delay_ms: count(0, 600_000).default(1000),
  retry_after: count(0, 86_400).nullish().transform((seconds) => seconds ?? null),
});

export const ClockMove = object({
  advance_seconds: count(0, 400_000_000).nullish(),
  to: text(40).nullish(),
});

const address = text(2000).refine(
  (url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ""),
  "must be an http address",
).nullable();

export const NewSettings = object({
  notification_url: address,
  recurring_notification_url: address,
  pay_account_notification_url: address,
  reuse_order_id_after_deny: flag(),
}).partial();

export const InvoicePayment = object({
  payment_type: oneOf(INVOICE_METHODS as [string, ...string[]]).default("bank_transfer"),
  /** Only opens the payment page's transaction, which can then be paid, or not. */
  only_start: flag().default(false),
});
