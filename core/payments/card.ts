/** What the gateway says about the card of a payment: how it is read, merged and shown. */

import type { z } from "@hono/zod-openapi";
import type { CardDetails } from "../../db/payments/payments.ts";
import type { Transaction } from "../gateway/responses.ts";
import type { PaymentCardSchema } from "./schema.ts";

export type CardView = z.output<typeof PaymentCardSchema>;

/** At most the first eight and the last four digits, such as `48111111-1114`. */
const MASKED = /^\d{4,8}[-*xX]{1,12}\d{4}$/;

/** Null: the transaction is not by card, or the gateway says nothing about the card. */
export function cardOf(answer: Transaction): CardDetails | null {
  if (answer.payment_type !== "credit_card" && answer.masked_card === null) return null;
  const card = {
    masked_number: matching(answer.masked_card, MASKED),
    approval_code: matching(answer.approval_code, /^[\w-]{1,40}$/),
    eci: matching(answer.eci, /^\d{1,2}$/),
    three_ds_version: matching(answer.three_ds_version, /^[\d.]{1,8}$/),
  };
  return Object.values(card).every((value) => value === null) ? null : card;
}

function matching(text: string | null, pattern: RegExp): string | null {
  return text !== null && pattern.test(text) ? text : null;
}

/**
 * The known details with those of a report. `known` itself if the report has nothing new, so that
 * the update of the payment does not write it.
 */
export function mergeCard(
  known: CardDetails | null,
  reported: CardDetails | null,
  isUnconfirmed: boolean,
): CardDetails | null {
  if (known === null || reported === null) return known ?? reported;
  // The signature of a notification does not cover them, so it only adds what is missing.
  const [first, second] = isUnconfirmed ? [known, reported] : [reported, known];
  const merged = {
    masked_number: first.masked_number ?? second.masked_number,
    approval_code: first.approval_code ?? second.approval_code,
    eci: first.eci ?? second.eci,
    three_ds_version: first.three_ds_version ?? second.three_ds_version,
  };
  const isNew = Object.entries(merged).some(([name, value]) =>
    value !== known[name as keyof CardDetails]
  );
  return isNew ? merged : known;
}

export function viewCard(card: CardDetails): CardView {
  return {
    masked_number: card.masked_number,
    brand: card.masked_number && brandOf(card.masked_number),
    approval_code: card.approval_code,
    three_d_secure: card.eci && (RESULTS[card.eci.padStart(2, "0")] ?? null),
    three_d_secure_version: card.three_ds_version,
    eci: card.eci,
  };
}

/** The ranges of first digits that the card schemes publish. */
const BRANDS: [RegExp, string][] = [
  [/^4/, "visa"],
  [/^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, "mastercard"],
  [/^35(2[89]|[3-8])/, "jcb"],
  [/^3[47]/, "amex"],
  [/^62/, "unionpay"],
];

function brandOf(number: string): string | null {
  return BRANDS.find(([pattern]) => pattern.test(number))?.[1] ?? null;
}

/** Mastercard has the codes 00 to 02, the other brands 05 to 07. */
const RESULTS: Record<string, string> = {
  "02": "authenticated",
  "05": "authenticated",
  "01": "attempted",
  "06": "attempted",
  "00": "not_authenticated",
  "07": "not_authenticated",
};
