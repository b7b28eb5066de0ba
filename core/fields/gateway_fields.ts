/**
 * The fields of the gateway's own requests, and what this service calls them. A caller who moves
 * from the gateway's API to this service sends them first.
 */

import type { z } from "@hono/zod-openapi";
import { describeUnknown, MAX_UNKNOWN } from "./input.ts";

/** The name here, or null if the field is not needed. An object lists the members of an object. */
interface GatewayFields {
  readonly [name: string]: string | null | GatewayFields;
}

export const GATEWAY_CHARGE = {
  transaction_details: { order_id: "order_id", gross_amount: "gross_amount", currency: null },
  credit_card: {
    token_id: "token_id",
    authentication: "authentication",
    secure: "authentication",
    type: "authorize (true or false)",
    save_token_id: "save_token_id",
    save_card: "save_token_id",
    installment_term: "installment_term",
  },
  bank_transfer: { bank: "bank", va_number: "va_number" },
  permata: { va_number: "va_number" },
  echannel: { bill_info1: "bill_info1", bill_info2: "bill_info2" },
  gopay: { callback_url: "callback_url", enable_callback: null },
  shopeepay: { callback_url: "callback_url" },
  ovo: { payer_phone_number: "customer_details.phone" },
  qris: { acquirer: "acquirer" },
  cstore: { store: "store" },
  dana: {},
  akulaku: {},
  kredivo: {},
  custom_field1: "custom_fields (the first value)",
  custom_field2: "custom_fields (the second value)",
  custom_field3: "custom_fields (the third value)",
} satisfies GatewayFields;

/** As the gateway's own payment page, Snap, is called. */
export const GATEWAY_CHECKOUT = {
  transaction_details: GATEWAY_CHARGE.transaction_details,
  credit_card: {},
  callbacks: { finish: "finish_url", error: "cancel_url" },
  expiry: { duration: "expires_at (a time)", unit: "expires_at (a time)", start_time: null },
  page_expiry: { duration: "expires_at (a time)", unit: "expires_at (a time)" },
  custom_field1: GATEWAY_CHARGE.custom_field1,
  custom_field2: GATEWAY_CHARGE.custom_field2,
  custom_field3: GATEWAY_CHARGE.custom_field3,
} satisfies GatewayFields;

export const GATEWAY_INVOICE = {
  customer_details: {
    name: "customer_name",
    email: "customer_email",
    phone: "customer_phone",
    id: "customer_id",
  },
  item_details: "items",
  amount: {
    discount: "an item with a negative price",
    shipping: "an item",
    vat: "an item",
  },
  invoice_date: null,
  payment_type: null,
  payment_link: { is_custom_expiry: null, enabled_payments: null },
  virtual_accounts: null,
  reference: "metadata",
} satisfies GatewayFields;

export const GATEWAY_SUBSCRIPTION = {
  schedule: {
    interval: "interval",
    interval_unit: "interval_unit",
    max_interval: "max_interval",
    start_time: "start_time",
  },
  gopay: { account_id: "gopay_account_id" },
  currency: null,
} satisfies GatewayFields;

export const GATEWAY_SUBSCRIPTION_UPDATE = {
  schedule: { interval: "interval" },
  gopay: GATEWAY_SUBSCRIPTION.gopay,
  currency: null,
} satisfies GatewayFields;

export const GATEWAY_CAPTURE = {
  gross_amount: "amount",
  transaction_id: null,
} satisfies GatewayFields;

export const GATEWAY_REFUND = {
  refund_amount: "amount",
  refund_key: "the header Idempotency-Key",
} satisfies GatewayFields;

/** Makes the schema of a body report each field of the gateway with the name that it has here. */
export function rejectGatewayFields<T extends z.ZodType>(schema: T, fields: GatewayFields): T {
  const { run } = schema._zod;
  // Changes the schema instead of wrapping it, so that it keeps its name in the OpenAPI document.
  schema._zod.run = (payload, context) => {
    const body = payload.value;
    if (!isObject(body)) return run(payload, context);
    const names = Object.keys(body).filter((name) => Object.hasOwn(fields, name));
    if (names.length === 0) return run(payload, context);
    const found = names.flatMap((name) => explainField([name], body[name], fields[name]!));
    for (const { path, message } of found.slice(0, MAX_UNKNOWN)) {
      const [key, parents] = [path.at(-1)!, path.slice(0, -1)];
      payload.issues.push({
        ...{ code: "unrecognized_keys", keys: [key], path: parents, message },
        ...{ input: body, continue: true },
      });
    }
    const rest = Object.entries(body).filter(([name]) => !names.includes(name));
    return run({ ...payload, value: Object.fromEntries(rest) }, context);
  };
  return schema;
}

interface FoundField {
  path: string[];
  message: string;
}

function explainField(
  path: string[],
  value: unknown,
  field: string | null | GatewayFields,
): FoundField[] {
  if (field === null) return [{ path, message: "is a field of the gateway; remove it" }];
  if (typeof field === "string") {
    return [{ path, message: `is a field of the gateway; send it as ${field}` }];
  }
  const members = isObject(value) ? Object.keys(value).slice(0, MAX_UNKNOWN) : [];
  if (members.length === 0) return [{ path, message: "is a field of the gateway; remove it" }];
  return members.flatMap((name) =>
    Object.hasOwn(field, name)
      ? explainField([...path, name], null, field[name]!)
      : [{ path: [...path, name], message: describeUnknown(name, []) }]
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
