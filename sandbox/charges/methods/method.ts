/** The interface of a payment method, and the request schema that all methods share. */

import { z } from "zod";
import { freeObject, integer, list, object, oneOf, rupiah, text } from "../../http/validate.ts";
import type {
  Details,
  InitialTransaction,
  MethodName,
  Transaction,
} from "../../world/transaction.ts";
import type { Identity, World } from "../../world/world.ts";

/** Where the fields appear: response to a call, response to a status request, or webhook. */
export type View = "operation" | "status" | "notification";

export interface Method {
  name: MethodName;
  /** `payment_type` in responses. */
  paymentType: string;
  /** Schema of the whole request, including the method's own object. */
  schema: z.ZodType<ChargeRequest>;
  /** Returns the fields of a new transaction, or throws a Refusal. */
  start(request: ChargeRequest, world: World): InitialTransaction;
  /** The method's own fields in responses and webhooks. */
  fields(transaction: Transaction, view: View, world: Identity): Record<string, unknown>;
  /** Time until expiry in ms; `max` is null if the merchant cannot choose the expiry. */
  expiry(details: Details): { standard: number; max: number | null };
  /** The shortest expiry in ms that the merchant can choose; 20 seconds if it is absent. */
  minExpiry?: number;
  refunds: RefundRules | null;
}

export interface RefundRules {
  isDirect: boolean;
  isPartial: boolean;
  /** Days after settlement in which a refund is possible. */
  days(details: Details): number;
}

export type ChargeRequest = z.output<typeof Common>;

/** Checks the type of `start` against the method's own schema, and returns the general type. */
export function defineMethod<S extends z.ZodType<ChargeRequest>>(
  method: Omit<Method, "schema" | "start"> & {
    schema: S;
    start(request: z.output<S>, world: World): InitialTransaction;
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
  quantity: integer(1, 99_999_999),
  name: text(50),
  brand: text(50).nullish(),
  category: text(50).nullish(),
  merchant_name: text(50).nullish(),
  url: text(2000).nullish(),
});

/** Limits the time that the validation of a request takes. */
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
    expiry_duration: integer(1, 1_000_000_000),
    unit: oneOf(["second", "minute", "hour", "day"]).nullish(),
  }).nullish(),
  custom_field1: text(255, 0).nullish(),
  custom_field2: text(255, 0).nullish(),
  custom_field3: text(255, 0).nullish(),
  metadata: freeObject(16_000).nullish(),
});

/** A transaction that waits for the customer. */
export function pending(statusMessage: string, details: Details): InitialTransaction {
  return { status: "pending", fraud: "accept", statusMessage, details };
}
