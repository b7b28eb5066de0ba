/** The query parameters of the list and the search of payments, and the page that they select. */

import { z } from "@hono/zod-openapi";
import type { Caller } from "../../core/auth/caller.ts";
import { invalidField } from "../../core/errors.ts";
import { oneOf, text, textLike } from "../../core/fields/input.ts";
import { describeUnknownType, LISTED_TYPES } from "../../core/payments/payment_types.ts";
import { listPayments, type PaymentPage } from "../../core/payments/read.ts";
import { MAX_MATCHES, searchPayments, type SearchReport } from "../../core/payments/search.ts";
import { PAYMENT_STATUSES } from "../../core/payments/states.ts";
import { unsentExample } from "../../openapi/components.ts";
import { optionalId } from "../paths.ts";
import type { Service } from "../../core/service.ts";
import {
  amountParameter,
  createdRange,
  emailParameter,
  several,
  severalOf,
  textParameter,
  timeParameter,
  userParameter,
} from "./filters.ts";
import { filteredPaging } from "./page.ts";

/** The maximum number of types in one request. Each type is read from the index separately. */
const MAX_TYPES = 20;

/** The form of all types of the gateway. Which of them exist is checked by `listPayments`. */
const TYPE_FORM = /^[a-z0-9_]{1,50}$/;

function paymentType() {
  return z.string().superRefine((type, context) => {
    if (TYPE_FORM.test(type)) return;
    context.addIssue({ code: "custom", message: describeUnknownType(type, LISTED_TYPES) });
  });
}

const MIN_SEARCH = 3;

/** The export of payments has the same filters, except `q`. */
export const PaymentListQuery = z.object({
  payment_type: several(paymentType(), {
    max: MAX_TYPES,
    items: { type: "string" },
    description:
      "Only payments of this type. A payment of an invoice can have other types than a " +
      "charge.",
    example: ["bank_transfer"],
  }),
  status: severalOf(
    PAYMENT_STATUSES,
    "PaymentStatus",
    "Only payments with this `transaction_status`.",
    ["settlement"],
  ),
  q: text(255).refine(
    (q) => [...q.trim()].length >= MIN_SEARCH,
    `must have at least ${MIN_SEARCH} characters`,
  ).optional().openapi({
    minLength: MIN_SEARCH,
    description:
      "Search box: finds payments by any part of their order id, customer email or customer name, " +
      "in upper or lower case; by a complete id, transaction id, customer phone or virtual account " +
      "number; by the amount, such as `275000` or `Rp 275.000`; or by the last four digits of the " +
      `card. Lists the newest ${MAX_MATCHES} matches; \`Search-Limit\` says ` +
      "that older ones can be missing. Combine it only with `limit`, `cursor` and `user_id`.",
    param: { examples: unsentExample("order-18") },
  }),
  order_id: textParameter(
    "Only payments with this order id. There can be several if earlier ones failed.",
    "order-1017",
  ),
  transaction_id: textParameter(
    "Only the payment with this transaction id of the gateway.",
    "be03df7d-2f97-4c8c-a53c-8959f1b67295",
  ),
  va_number: textLike(
    50,
    /^[0-9 .-]*[0-9][0-9 .-]*$/,
    "must be a virtual account number",
  ).optional().openapi({
    description: "Only payments with this virtual account number.",
    param: { examples: unsentExample("812785002530231") },
  }),
  customer_email: emailParameter("payments"),
  customer_phone: textLike(
    255,
    /^([^0-9]*[0-9]){4}/,
    "must be a phone number with at least 4 digits",
  ).optional().openapi({
    description:
      "Only payments of the customer with this phone number. Only digits are compared, and `0` at " +
      "the beginning equals `+62`.",
    param: { examples: unsentExample("+628123456789") },
  }),
  fraud_status: oneOf(["accept", "challenge", "deny"]).optional().openapi({
    description: "Only payments with this `fraud_status`. `challenge`: waiting for a review, or " +
      "not reviewed in time.",
    param: { examples: unsentExample("challenge") },
  }),
  ...createdRange("payments"),
  settled_from: timeParameter(
    "Only payments with a `settlement_time` at or after this time (RFC 3339). The list is then " +
      "sorted by `settlement_time`, latest first, unless it has a filter by customer, order, " +
      "transaction, virtual account, invoice or subscription.",
    "2026-03-05T00:00:00+07:00",
  ),
  settled_to: timeParameter(
    "Only payments with a `settlement_time` before this time (RFC 3339). The list is sorted as " +
      "with `settled_from`.",
    "2026-03-06T00:00:00+07:00",
  ),
  min_amount: amountParameter(
    "Only payments with a `gross_amount` of at least this. Needs `created_from`, at most 31 days " +
      "before `created_to` (default: now), or a filter by customer, order, transaction, virtual " +
      "account, invoice or subscription.",
  ),
  max_amount: amountParameter(
    "Only payments with a `gross_amount` of at most this. Needs the same filters as `min_amount`.",
  ),
  invoice_id: optionalId("Only payments of this invoice, including unsuccessful ones."),
  subscription_id: optionalId("Only payments created by this subscription."),
  user_id: userParameter("payments"),
  ...filteredPaging,
});

/** What a search can be combined with. */
const SEARCH_PARAMETERS = ["q", "limit", "cursor", "user_id"];

export interface FoundPayments extends PaymentPage {
  /** Null: a list, without `q`. */
  search: SearchReport | null;
}

/** Lists or searches payments. */
export async function findPayments(
  service: Service,
  caller: Caller,
  query: z.output<typeof PaymentListQuery>,
): Promise<FoundPayments> {
  const { q, ...filter } = query;
  if (q === undefined) {
    return { ...await readPaymentPage(service, caller, filter), search: null };
  }
  const other = Object.entries(filter).find(([name, value]) =>
    value !== undefined && !SEARCH_PARAMETERS.includes(name)
  );
  if (other) throw invalidField(other[0], "cannot be combined with q; remove one of them");
  const { limit, user_id, cursor: after = null } = filter;
  return await searchPayments(service, caller, { q, user_id, after, limit });
}

/** Headers that say how a search was done. */
export const SEARCH_HEADERS = {
  "Search-Fields": {
    description:
      "Only with `q`: what the text was compared with. What the text cannot be is left " +
      "out: `gross_amount`, for example, if it is no amount.",
    schema: { type: "string" },
    example: "order_id, transaction_id, customer_email, customer_name",
  },
  "Search-Limit": {
    description:
      "Only with `q`, and only if older payments that match can be missing: how many matches are " +
      "listed at most. More payments match; or the text is in so many payments that not all could " +
      "be compared; or older payments were only compared by the beginning of order id, email and " +
      "name, because the text has no three letters A to Z or digits in a row, or the database has " +
      "no `pg_trgm`. Without the header, the list has all matches.",
    schema: { type: "integer" },
    example: MAX_MATCHES,
  },
} as const;

export function searchHeaders(search: SearchReport | null): Record<string, string> {
  if (search === null) return {};
  return {
    "Search-Fields": search.fields.join(", "),
    ...search.limit !== null ? { "Search-Limit": `${MAX_MATCHES}` } : {},
  };
}

export async function readPaymentPage(
  service: Service,
  caller: Caller,
  { va_number, cursor, ...filter }: Omit<z.output<typeof PaymentListQuery>, "q">,
): Promise<PaymentPage> {
  return await listPayments(service, caller, {
    ...filter,
    va_number: va_number?.replaceAll(/[^0-9]/g, ""),
    after: cursor ?? null,
  });
}
