/** Steps for payments other than cards: charges of every type, status, cancel, expire, refunds. */

import type { JsonObject } from "../../core/gateway/json.ts";
import type { Operation } from "./recordings.ts";
import { type Earlier, NotRun, type Step } from "./session.ts";

export const AMOUNT = 20_000;

const SIMULATOR = "https://simulator.sandbox.midtrans.com";

const ITEMS = [{
  id: "sku-1",
  name: "Coffee",
  price: AMOUNT,
  quantity: 1,
  category: "Groceries",
  url: "https://shop.example/coffee",
}];

const CUSTOMER = {
  first_name: "Budi",
  last_name: "Utomo",
  email: "budi@example.com",
  phone: "+628123456789",
  shipping_address: { first_name: "Budi", address: "Jalan Merdeka 17" },
};

const bank = (name: string) => ({ payment_type: "bank_transfer", bank_transfer: { bank: name } });
const store = (name: string) => ({ payment_type: "cstore", cstore: { store: name } });
const ovo = (payer_phone_number: string) => ({ payment_type: "ovo", ovo: { payer_phone_number } });

/** The fields of a charge that select the payment type. */
const TYPES = {
  bca: bank("bca"),
  bni: bank("bni"),
  bri: bank("bri"),
  cimb: bank("cimb"),
  permata: bank("permata"),
  "permata, old form": { payment_type: "permata" },
  "mandiri bill": {
    payment_type: "echannel",
    echannel: { bill_info1: "Payment", bill_info2: "Coffee" },
  },
  indomaret: store("indomaret"),
  alfamart: store("alfamart"),
  gopay: { payment_type: "gopay" },
  qris: { payment_type: "qris" },
  "qris, shopee": { payment_type: "qris", qris: { acquirer: "airpay shopee" } },
  shopeepay: {
    payment_type: "shopeepay",
    shopeepay: { callback_url: "https://shop.example/thanks" },
  },
  // The customer with this number does not respond, so the payment stays pending.
  ovo: ovo("+628215023424"),
  akulaku: { payment_type: "akulaku", item_details: ITEMS, customer_details: CUSTOMER },
  kredivo: { payment_type: "kredivo", item_details: ITEMS, customer_details: CUSTOMER },
};

/** Types that are ended with `expire`; the others are cancelled. */
const EXPIRED = ["bni", "permata", "permata, old form", "alfamart", "gopay", "qris"];

export function charge(name: string, fields: object, options?: object): Step {
  return {
    name: `charge ${name}`,
    operation: "charge",
    args: (earlier) => [payload(earlier, name, fields), ...options ? [options] : []],
  };
}

export function payload(earlier: Earlier, order: string, fields: object): object {
  const transaction_details = { order_id: earlier.id(order), gross_amount: AMOUNT };
  return { transaction_details, ...fields };
}

/** An operation on the transaction of an earlier step. */
export function act(name: string, operation: Operation, from: string, ...more: unknown[]): Step {
  return { name, operation, args: (earlier) => [earlier.take(from, "transaction_id"), ...more] };
}

/** A status query by transaction id, after the operation `after` on the transaction. */
export function statusAfter(after: string): Step {
  return act(`status after ${after}`, "getStatus", after);
}

function life(name: string, fields: object): Step[] {
  const end = EXPIRED.includes(name) ? "expire" : "cancel";
  return [
    charge(name, fields),
    {
      name: `status ${name}`,
      operation: "getStatus",
      args: (earlier) => [earlier.take(`charge ${name}`, "order_id")],
    },
    act(`${end} ${name}`, end, `charge ${name}`),
    statusAfter(`${end} ${name}`),
  ];
}

const DANA = { isSnapApi: true };

const LIVES: Step[] = [
  ...Object.entries(TYPES).flatMap(([name, fields]) => life(name, fields)),
  charge("dana", { payment_type: "dana" }),
  act("status dana", "getStatus", "charge dana", DANA),
  act("cancel dana", "cancel", "charge dana", DANA),
  ...["danamon", "bsi", "seabank", "saqu"].map((name) => charge(name, bank(name))),
];

const WRONG_REQUESTS: Step[] = [
  { name: "status, unknown order", operation: "getStatus", args: ({ id }) => [id("none")] },
  {
    name: "status, wrong server key",
    operation: "getStatus",
    args: ({ id }) => [id("none")],
    hasWrongKey: true,
  },
  ...(["cancel", "expire", "approve", "deny"] as const).map((operation): Step => ({
    name: `${operation}, unknown order`,
    operation,
    args: ({ id }) => [id("none")],
  })),
  {
    name: "refund, unknown order",
    operation: "refund",
    args: ({ id }) => [id("none"), id("refund"), AMOUNT],
  },
  {
    name: "capture, unknown transaction",
    operation: "capture",
    args: ({ id }) => [id("none"), AMOUNT],
  },
  charge("without a bank", { payment_type: "bank_transfer", bank_transfer: {} }),
  charge("of an unknown type", { payment_type: "verify_gateway" }),
  charge("with a wrong sum of items", {
    ...TYPES.bca,
    item_details: [{ ...ITEMS[0], price: AMOUNT - 1 }],
  }),
  charge("with an object for a text", { ...TYPES.bca, custom_field1: { a: 1 } }),
  charge("with an expiry below the minimum", {
    ...TYPES.bca,
    custom_expiry: { expiry_duration: 10, unit: "second" },
  }),
  charge("ovo, unknown phone number", ovo("+628249134000")),
];

const FIELDS: Step[] = [
  charge("with an expiry of 30 minutes", {
    ...TYPES.bca,
    custom_expiry: { expiry_duration: 30, unit: "minute" },
  }),
  charge("with metadata", {
    ...TYPES.bri,
    custom_field1: "first",
    metadata: { payment_ref: "verify" },
  }),
  act("status with metadata", "getStatus", "charge with metadata"),
  charge("with numbers as text", {
    ...TYPES.bca,
    item_details: [{ ...ITEMS[0], price: String(AMOUNT), quantity: "1" }],
  }),
  {
    name: "charge with a number as order id",
    operation: "charge",
    args: ({ id }) => [{
      ...TYPES.bca,
      transaction_details: { order_id: orderNumber(id("number")), gross_amount: AMOUNT },
    }],
  },
  {
    name: "charge with spaces and signs in the order id",
    operation: "charge",
    args: ({ id }) => [{
      ...TYPES.bca,
      transaction_details: { order_id: id("signs") + " a:b+c", gross_amount: AMOUNT },
    }],
  },
  {
    name: "status, encoded order id",
    operation: "getStatus",
    args: ({ take }) => [take("charge with spaces and signs in the order id", "order_id")],
  },
  charge("bca, chosen number", {
    ...TYPES.bca,
    bank_transfer: { bank: "bca", va_number: "12345" },
  }),
  {
    name: "status of all payments to a virtual account",
    operation: "getStatusB2b",
    args: ({ take }) => [take("charge bca, chosen number", "order_id")],
  },
];

/** Twelve digits made of the id of the run. A longer number could look like that of a card. */
function orderNumber(id: string): number {
  return Number([...id].map((each) => each.charCodeAt(0) % 10).join("").slice(0, 12));
}

const ORDER_IDS: Step[] = [
  charge("an order", TYPES.bca),
  again("charge with an order id in use", "charge an order", TYPES.bca),
  act("cancel an order", "cancel", "charge an order"),
  act("cancel an order again", "cancel", "charge an order"),
  act("expire a cancelled order", "expire", "charge an order"),
  act("refund a cancelled order", "refund", "charge an order", "verify-refund", AMOUNT),
  again("charge with the order id of a cancelled order", "cancel an order", TYPES.bca),
  {
    name: "status of the latest transaction of an order",
    operation: "getStatus",
    args: ({ take }) => [take("charge with the order id of a cancelled order", "order_id")],
  },
  act("expire an order", "expire", "charge with the order id of a cancelled order"),
  again("charge with the order id of an expired order", "expire an order", TYPES.bca),
  act("refund a pending payment", "refund", "charge with metadata", "verify-refund", AMOUNT),
  act(
    "refund a pending payment directly",
    "directRefund",
    "charge with metadata",
    "verify-refund",
    AMOUNT,
  ),
  act("refund a pending permata payment", "refund", "charge permata", "verify-refund", AMOUNT),
  act("approve a payment without a review", "approve", "charge with metadata"),
];

/** A charge with the order id of an earlier response. */
export function again(name: string, from: string, fields: object): Step {
  return {
    name,
    operation: "charge",
    args: ({ take }) => [{
      ...fields,
      transaction_details: { order_id: take(from, "order_id"), gross_amount: AMOUNT },
    }],
  };
}

function withKey(step: Step, key: string): Step {
  return {
    ...step,
    args: (earlier) => [...step.args(earlier), { idempotencyKey: earlier.id(key) }],
  };
}

const IDEMPOTENCY: Step[] = [
  withKey(charge("with a key", TYPES.gopay), "key"),
  withKey({ ...charge("with a key", TYPES.gopay), name: "charge with the same key again" }, "key"),
  withKey(act("cancel with the key of a charge", "cancel", "charge with a key"), "key"),
  withKey(charge("permata with a key", TYPES.permata), "permata-key"),
  withKey(
    { ...charge("permata with a key", TYPES.permata), name: "charge permata with the key again" },
    "permata-key",
  ),
];

/** A charge, and its status after a person has paid it. */
export function paid(name: string, fields: object, ask: (body: JsonObject) => string): Step[] {
  const charged = `charge ${name} to be paid`;
  return [
    charge(`${name} to be paid`, fields),
    {
      ...act(`status ${name}, paid`, "getStatus", charged),
      person: ({ body, take }) => ({
        text: ask(body(charged)),
        controlPath: `transactions/${take(charged, "transaction_id")}/pay`,
      }),
    },
  ];
}

/** The URL of an action in a response. */
export function actionUrl({ actions }: JsonObject, name: string): string {
  const found = (Array.isArray(actions) ? actions : []).find((each) =>
    (each as JsonObject | null)?.name === name
  );
  const url = (found as JsonObject | undefined)?.url;
  if (typeof url === "string") return url;
  throw new NotRun(`the response has no action ${name}`);
}

const payNumber = (name: string) => ({ va_numbers, permata_va_number, ...body }: JsonObject) => {
  const [account] = Array.isArray(va_numbers) ? va_numbers as JsonObject[] : [];
  const number = account?.va_number ?? permata_va_number ?? body.bill_key ?? body.payment_code;
  return `Open ${SIMULATOR}, choose ${name}, and pay the number ${number}` +
    (body.biller_code ? ` (company code ${body.biller_code}).` : ".");
};

const scan = (name: string) => (body: JsonObject) =>
  `Open ${SIMULATOR}, choose ${name}, and pay with the address of this QR image:\n` +
  actionUrl(body, "generate-qr-code");

const open = ({ redirect_url }: JsonObject) => `Open this page and pay:\n${redirect_url}`;

const PAID: Step[] = [
  ...paid("gopay", TYPES.gopay, scan("GoPay")),
  refund("refund a part", "refund", "status gopay, paid", "part", 5_000),
  refund("refund with the same refund key", "refund", "status gopay, paid", "part", 5_000),
  refund("refund more than is left", "refund", "status gopay, paid", "more", AMOUNT),
  refund("refund the rest directly", "directRefund", "status gopay, paid", "rest", AMOUNT - 5_000),
  statusAfter("refund the rest directly"),
  ...paid("qris", TYPES.qris, scan("QRIS")),
  refund("refund qris directly", "directRefund", "status qris, paid", "qris", AMOUNT),
  ...paid(
    "shopeepay",
    TYPES.shopeepay,
    (body) => `Open this page and pay:\n${actionUrl(body, "deeplink-redirect")}`,
  ),
  refund("refund shopeepay", "refund", "status shopeepay, paid", "shopeepay", AMOUNT),
  ...paid("bca", TYPES.bca, payNumber("BCA virtual account")),
  refund("refund a virtual account", "refund", "status bca, paid", "bca", AMOUNT),
  again("charge with the order id of a paid order", "status bca, paid", TYPES.bca),
  act("cancel a paid order", "cancel", "status bca, paid"),
  ...paid("bni", TYPES.bni, payNumber("BNI virtual account")),
  ...paid("permata", TYPES.permata, payNumber("Permata virtual account")),
  ...paid("mandiri bill", TYPES["mandiri bill"], payNumber("Mandiri bill payment")),
  ...paid("indomaret", TYPES.indomaret, payNumber("Indomaret")),
  ...paid("akulaku", TYPES.akulaku, open),
  ...paid("kredivo", TYPES.kredivo, open),
];

export function refund(
  name: string,
  operation: "refund" | "directRefund",
  from: string,
  key: string,
  amount: number,
): Step {
  return {
    name,
    operation,
    args: ({ take, id }) => [take(from, "transaction_id"), id(`refund ${key}`), amount],
  };
}

/** The first step shows whether the gateway responds and accepts the key. */
export const PAYMENT_STEPS: Step[] = [
  ...WRONG_REQUESTS,
  ...LIVES,
  ...FIELDS,
  ...ORDER_IDS,
  ...IDEMPOTENCY,
  ...PAID,
];
