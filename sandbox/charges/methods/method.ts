/** What each payment method tells of itself, and the part of a charge that all have in common. */

import { z } from "zod";
import { count, freeObject, list, object, oneOf, rupiah, text } from "../../http/validate.ts";
import type { Details, MethodName, Start, Transaction } from "../../world/transaction.ts";
import type { Identity, World } from "../../world/world.ts";

/** Who is told: the caller of an operation, one who asks for the status, or the webhook's receiver. */
export type View = "operation" | "status" | "notification";

export interface Method {
  name: MethodName;
  /** As answers call it. */
  paymentType: string;
  /** The whole request, the method's own object included. */
  schema: z.ZodType<ChargeRequest>;
  /** Makes what is new of a transaction, or throws a refusal. */
  start(request: ChargeRequest, world: World): Start;
  /** Members of its own in answers and webhooks. */
  fields(transaction: Transaction, view: View, world: Identity): Record<string, unknown>;
  /** How long a customer has; `most` null: the merchant cannot choose. */
  expiry(details: Details): { usual: number; most: number | null };
  refunds: RefundRules | null;
}

export interface RefundRules {
  isDirect: boolean;
  isPartial: boolean;
  /** For so long after it was settled. */
  days(details: Details): number;
}

export type ChargeRequest = z.output<typeof Common>;

/** Types a method by its own schema, and forgets the type again for the common list. */
export function defineMethod<S extends z.ZodType<ChargeRequest>>(
  method: Omit<Method, "schema" | "start"> & {
    schema: S;
    start(request: z.output<S>, world: World): Start;
  },
): Method {
  return method as unknown as Method;
}

const Address = object({
  first_name: text(255).nullish(),
  last_name: text(255, 0).nullish(),
  phone: text(255).nullish(),
  address: text(255).nullish(),
  city: text(255).nullish(),
  postal_code: text(10).regex(/^[A-Za-z0-9 -]*$/, "format is invalid").nullish(),
  country_code: oneOf(["IDN"]).nullish(),
});

export const Customer = object({
  first_name: text(255).nullish(),
  last_name: text(255, 0).nullish(),
  email: text(255).regex(/^[^\s@]+@[^\s@]+$/, "format is invalid").nullish(),
  phone: text(255).nullish(),
  billing_address: Address.nullish(),
  shipping_address: Address.nullish(),
});

export const Item = object({
  id: text(50).nullish(),
  price: rupiah(-9_999_999_999_999),
  quantity: count(1, 99_999_999),
  name: text(50),
  brand: text(50).nullish(),
  category: text(50).nullish(),
  merchant_name: text(50).nullish(),
  url: text(2000).nullish(),
});

/** More than any cart holds, and few enough to check in no time. */
export const MAX_ITEMS = 1000;

export const Common = object({
  payment_type: text(50),
  transaction_details: object({
    order_id: text(50),
    gross_amount: rupiah(),
    currency: oneOf(["IDR"]).nullish(),
  }),
  item_details: list(Item, MAX_ITEMS).nullish(),
  customer_details: Customer.nullish(),
  custom_expiry: object({
    order_time: text(30).nullish(),
    expiry_duration: count(1, 1_000_000_000),
    unit: oneOf(["second", "minute", "hour", "day"]).nullish(),
  }).nullish(),
  custom_field1: text(255, 0).nullish(),
  custom_field2: text(255, 0).nullish(),
  custom_field3: text(255, 0).nullish(),
  metadata: freeObject(16_000).nullish(),
});

/** A transaction that waits for the customer. */
export function pending(says: string, details: Details): Start {
  return { status: "pending", fraud: "accept", says, details };
}
