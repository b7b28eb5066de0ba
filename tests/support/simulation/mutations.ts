/** Forgeries: changes that an attacker could make to a signed notification. */

import { PAYMENT_STATUSES } from "../../../db/payments/payments.ts";
import type { Json } from "../gateway/sandbox.ts";

export interface Mutation {
  name: string;
  /** Whether the change makes the signature invalid, so that the notification must be rejected. */
  isRefused: boolean;
  change(body: Json, otherPayment: OtherPayment): Json;
}

/**
 * A payment that no simulated plan (`plan.ts`) uses. Forged notifications refer to it, but must not
 * change it.
 */
export interface OtherPayment {
  id: string;
  order_id: string;
  transaction_id: string;
}

const FRAUDS = ["accept", "challenge", "deny"];

/** Each changes one signed field, or up to three unsigned ones. */
export const MUTATIONS: readonly Mutation[] = [
  ...PAYMENT_STATUSES.map((transaction_status) => unsigned({ transaction_status })),
  ...FRAUDS.map((fraud_status) => unsigned({ fraud_status })),
  ...["capture", "settlement", "authorize", "deny"].flatMap((transaction_status) =>
    FRAUDS.map((fraud_status) => unsigned({ transaction_status, fraud_status }))
  ),
  unsigned({ transaction_status: "SETTLEMENT" }),
  unsigned({ transaction_status: "paid" }),
  unsigned({ transaction_id: "8c0bd2f4-6a3c-4f43-9a55-0d9d5c4a8b11" }),
  unsigned({ payment_type: "cash" }),
  unsigned({ currency: "USD" }),
  unsigned({ settlement_time: "2031-01-01 00:00:00", transaction_time: "0001-01-01 00:00:00" }),
  unsigned({ metadata: null }),
  unsigned({ metadata: { extra_info: { gross_amount_info: { original_amount: 1 } } } }),
  unsigned({ refund_amount: "44000.00", refunds: [refund("forged", "44000.00")] }),
  unsigned({
    transaction_status: "refund",
    refund_amount: "99999999.00",
    refunds: [refund("forged", "99999999.00")],
  }),
  ...["fraud_status", "transaction_id", "currency", "payment_type", "transaction_time"].map(
    without,
  ),
  {
    name: "transaction of another payment",
    isRefused: false,
    change: (body, { transaction_id }) => ({ ...body, transaction_id }),
  },
  {
    name: "payment_ref of another payment",
    isRefused: false,
    change: (body, { id }) => ({ ...body, metadata: { payment_ref: id } }),
  },
  {
    name: "order of another payment",
    isRefused: true,
    change: (body, { order_id }) => ({ ...body, order_id }),
  },
  signed("status_code", (text) => text === "200" ? "201" : "200"),
  signed("gross_amount", (text) => `1${text}`),
  signed("gross_amount", (text) => text.replace(".00", "")),
  signed("signature_key", (text) => text.slice(0, -1) + (text.endsWith("0") ? "1" : "0")),
  signed("signature_key", () => ""),
];

export function findMutation(prefix: string): Mutation {
  const found = MUTATIONS.find(({ name }) => name.startsWith(prefix));
  if (!found) throw new Error(`There is no mutation whose name starts with ${prefix}`);
  return found;
}

function unsigned(change: Json): Mutation {
  const name = Object.keys(change).join("+");
  const value = Object.values(change).map((each) => JSON.stringify(each)).join("+");
  return {
    name: `${name}: ${value}`,
    isRefused: false,
    change: (body) => ({ ...body, ...change }),
  };
}

function without(name: string): Mutation {
  return {
    name: `without ${name}`,
    isRefused: false,
    change: ({ [name]: _, ...rest }) => rest,
  };
}

function signed(name: string, change: (text: string) => string): Mutation {
  return {
    name: `${name} changed`,
    isRefused: true,
    change: (body) => ({ ...body, [name]: change(body[name]) }),
  };
}

function refund(refund_key: string, refund_amount: string): Json {
  return { refund_chargeback_id: 1, refund_amount, refund_key, reason: "forged" };
}
