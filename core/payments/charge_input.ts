/**
 * The body of a charge: the fields that payment types share, one schema for each payment type, and
 * the types inferred from them.
 */

import { z } from "@hono/zod-openapi";
import {
  amount,
  email,
  flag,
  list,
  object,
  omitNulls,
  oneOf,
  openObject,
  optionalIfEmpty,
  optionalList,
  optionalText,
  optionalTextLike,
  orderId,
  text,
  textLike,
  unknownMembers,
  url,
  wholeNumber,
} from "../fields/input.ts";
import { GATEWAY_CHARGE, rejectGatewayFields } from "../fields/gateway_fields.ts";
import { MetadataSchema } from "../fields/metadata.ts";
import { MAX_AMOUNT } from "../money.ts";
import { CHARGE_EXAMPLES } from "./charge_examples.ts";
import { describeUnknownType, PAYMENT_TYPES, type PaymentType } from "./payment_types.ts";

/** The discriminator of the union. */
function paymentType<const T extends PaymentType>(type: T) {
  return z.literal(type).openapi({ description: "Payment method." });
}

const AddressSchema = object({
  first_name: optionalText(255).openapi({ description: "First name.", example: "Budi" }),
  last_name: optionalText(255).openapi({ description: "Last name.", example: "Utomo" }),
  phone: optionalText(255).openapi({ description: "Phone number.", example: "+628123456789" }),
  address: optionalText(255).openapi({
    description: "Street and number.",
    example: "Jalan Merdeka 17",
  }),
  city: optionalText(255).openapi({ description: "City.", example: "Jakarta" }),
  postal_code: optionalTextLike(
    10,
    /^[A-Za-z0-9 -]*$/,
    "must contain only letters, digits, spaces and hyphens",
  ).openapi({ description: "Postal code.", example: "10110" }),
  country_code: optionalTextLike(3, /^(IDN)?$/, "must be IDN; the gateway accepts no other country")
    .openapi({
      description: "Three-letter country code (ISO 3166-1); the gateway accepts `IDN` only.",
      example: "IDN",
    }),
}).openapi("Address", { description: "A billing or shipping address." });

/** Only the fields, so that a payment type can require a field that is optional here. */
const customerFields = {
  first_name: optionalText(255).openapi({ description: "First name.", example: "Budi" }),
  last_name: optionalText(255).openapi({ description: "Last name.", example: "Utomo" }),
  email: optionalIfEmpty(email()).openapi({ description: "Email address." }),
  phone: optionalText(255).openapi({ description: "Phone number.", example: "+628123456789" }),
  billing_address: AddressSchema.optional(),
  shipping_address: AddressSchema.optional(),
};

const CUSTOMER = {
  description: "The customer. Banks display the name; the gateway's fraud detection uses the " +
    "other fields.",
};

export const CustomerSchema = object(customerFields).openapi("CustomerDetails", CUSTOMER);

export type CustomerInput = z.output<typeof CustomerSchema>;

const MAX_ITEMS = 1000;

/** Only the fields, so that a payment type can require a field that is optional here. */
const itemFields = {
  id: optionalText(50).openapi({ description: "Your id for the item.", example: "sku-7" }),
  name: text(50).openapi({ description: "Name.", example: "Coffee beans, 1 kg" }),
  price: wholeNumber(-MAX_AMOUNT, MAX_AMOUNT).openapi({
    description: "Unit price in rupiah; negative for a discount.",
    example: 75000,
  }),
  quantity: wholeNumber(1, 99_999_999).openapi({ description: "Quantity.", example: 2 }),
  brand: optionalText(50).openapi({ description: "Brand." }),
  category: optionalText(50).openapi({ description: "Category.", example: "Groceries" }),
  merchant_name: optionalText(50).openapi({ description: "Name of the seller." }),
  url: optionalText(2000).openapi({
    description: "Product page URL.",
    example: "https://shop.example/coffee",
  }),
};

const ITEM = { description: "An item of the order." };

export const ItemSchema = object(itemFields).openapi("ItemDetails", ITEM);

export type ItemInput = z.output<typeof ItemSchema>;

export function itemList<T extends z.ZodType>(item: T) {
  return list(item, MAX_ITEMS);
}

interface Priced {
  gross_amount: number;
  item_details?: { price: number; quantity: number }[];
}

const MAX_SUBTOTAL = BigInt(MAX_AMOUNT);

/** Rejects items that do not sum to the charge's amount. BigInt: a subtotal can exceed 2^53. */
export function checkItemTotal(
  { gross_amount, item_details }: Priced,
  context: z.RefinementCtx,
): void {
  if (!item_details) return;
  let sum = 0n;
  for (const [index, { price, quantity }] of item_details.entries()) {
    const subtotal = BigInt(price) * BigInt(quantity);
    sum += subtotal;
    if (subtotal <= MAX_SUBTOTAL && subtotal >= -MAX_SUBTOTAL) continue;
    const message = `price times quantity must be between -${MAX_AMOUNT} and ${MAX_AMOUNT}`;
    context.addIssue({ code: "custom", path: ["item_details", index], message });
  }
  if (sum === BigInt(gross_amount)) return;
  const message = `must add up to gross_amount: the sum of the items is ${sum}, but gross_amount ` +
    `is ${gross_amount}`;
  context.addIssue({ code: "custom", path: ["item_details"], message });
}

export const commonFields = {
  gross_amount: amount().openapi({
    description: "Amount to charge, in whole rupiah.",
    example: 150000,
  }),
  order_id: orderId(50).optional().openapi({
    description: "Your order id; generated if omitted. Each id can be used for one charge. If " +
      "the gateway rejects the charge, you can use the id again.",
    example: "order-1893",
  }),
  customer_details: CustomerSchema.optional(),
  item_details: optionalList(ItemSchema, MAX_ITEMS).openapi({
    description: "Items of the order. If there are any, the total must equal `gross_amount`.",
  }),
  metadata: MetadataSchema.optional(),
  custom_fields: list(text(255), 3).optional().openapi({
    description: "Up to three values that also appear in the gateway's own reports.",
    example: ["branch 12", "register 3"],
  }),
};

/** Shared by all types except cards and OVO, for which the gateway sets the expiry. */
const expiryFields = {
  custom_expiry: object({
    expiry_duration: wholeNumber(1, 15_552_000).openapi({
      description: "Time in which the customer can pay, in `unit`.",
      example: 2,
    }),
    unit: oneOf(["second", "minute", "hour", "day"]).default("minute").openapi({
      description: "Unit of `expiry_duration`.",
      example: "hour",
    }),
  }).openapi("CustomExpiry", {
    description: "How long the customer can pay, counted from the time of the charge. The " +
      "minimum is 20 seconds, for `dana` 15 minutes. The maximum depends on the payment type: at " +
      "most 180 days, and less for e-wallets and QRIS. The gateway shortens or rejects longer " +
      "times.",
  }).optional(),
};

const CreditCardCharge = openObject({
  payment_type: paymentType("credit_card"),
  ...commonFields,
  token_id: text(255).openapi({
    description: "Card token, created by the gateway's script in the customer's browser, or a " +
      "saved token. Never send a card number.",
    example: "48111111-1114-d8a4b7c9-6c3b-4d4f-8f2e-1c9a7d2b5e60",
  }),
  authentication: flag().default(true).openapi({
    description: "`true`: the cardholder authenticates with 3-D Secure at `redirect_url`. " +
      "`false`: no authentication; the merchant is liable for fraud losses.",
  }),
  authorize: flag().default(false).openapi({
    description: "`true`: only authorize the amount now; then call `capture` within 7 days.",
  }),
  save_token_id: flag().default(false).openapi({
    description: "`true`: request a reusable token for this card. The service does not store the " +
      "token: read it from `gateway_response.saved_token_id` of `GET " +
      "/payments/{pk}/check_status/`.",
  }),
  installment_term: wholeNumber(1, 60).optional().openapi({
    description: "Number of months of an installment plan offered by the card's bank.",
    example: 6,
  }),
}).superRefine(checkItemTotal).openapi("CreditCardCharge", {
  description: "A card charge. With 3-D Secure the payment is `pending`: redirect the customer " +
    "to `redirect_url`. Without 3-D Secure, the response contains the bank's decision.",
  example: CHARGE_EXAMPLES.credit_card.value,
});

const BankTransferCharge = openObject({
  payment_type: paymentType("bank_transfer"),
  ...commonFields,
  ...expiryFields,
  bank: oneOf(["bca", "bni", "bri", "permata", "cimb"]).openapi({
    description: "Bank that issues the virtual account. Customers of any bank can transfer to it.",
    example: "bca",
  }),
  va_number: textLike(18, /^\d+$/, "must contain only digits").optional().openapi({
    description: "Preferred account number. The bank may pad, truncate or replace it: always " +
      "use the `va_number` of the response.",
    example: "111111",
  }),
}).superRefine(checkItemTotal).openapi("BankTransferCharge", {
  description: "A transfer to a virtual account: show the customer `bank` and `va_number`.",
  example: CHARGE_EXAMPLES.bank_transfer.value,
});

const EchannelCharge = openObject({
  payment_type: paymentType("echannel"),
  ...commonFields,
  ...expiryFields,
  bill_info1: optionalText(255).openapi({
    description: "Label shown on the bill (the bank displays 10 characters); defaults to " +
      "`Payment`.",
    example: "Payment",
  }),
  bill_info2: optionalText(255).openapi({
    description: "Value shown on the bill (the bank displays 30 characters); defaults to " +
      "`order_id`.",
    example: "Order 1893",
  }),
}).superRefine(checkItemTotal).openapi("EchannelCharge", {
  description: "A Mandiri bill payment: show the customer `biller_code` and `bill_key`.",
  example: CHARGE_EXAMPLES.echannel.value,
});

const CstoreCharge = openObject({
  payment_type: paymentType("cstore"),
  ...commonFields,
  ...expiryFields,
  store: oneOf(["indomaret", "alfamart"]).openapi({
    description: "Convenience store where the customer pays.",
    example: "indomaret",
  }),
}).superRefine(checkItemTotal).openapi("CstoreCharge", {
  description: "A cash payment at a convenience store: show the customer `payment_code`.",
  example: CHARGE_EXAMPLES.cstore.value,
});

const callback_url = url().optional().openapi({
  description: "URL that the wallet's app opens after the payment. A visit to this URL does not " +
    "prove that the customer paid: read the payment.",
  example: "https://shop.example/thanks",
});

const GopayCharge = openObject({
  payment_type: paymentType("gopay"),
  ...commonFields,
  ...expiryFields,
  callback_url,
}).superRefine(checkItemTotal).openapi("GopayCharge", {
  description: "A GoPay charge: open `deeplink_url` on the customer's phone, or show the QR code " +
    "at `qr_url`.",
  example: CHARGE_EXAMPLES.gopay.value,
});

const ShopeepayCharge = openObject({
  payment_type: paymentType("shopeepay"),
  ...commonFields,
  ...expiryFields,
  callback_url,
}).superRefine(checkItemTotal).openapi("ShopeepayCharge", {
  description: "A ShopeePay charge: open `deeplink_url` on the customer's phone.",
  example: CHARGE_EXAMPLES.shopeepay.value,
});

const OvoCharge = openObject({
  payment_type: paymentType("ovo"),
  ...commonFields,
  customer_details: object({
    ...customerFields,
    phone: textLike(20, /^\+?\d{8,15}$/, "must be a phone number such as +628123456789").openapi({
      description: "Phone number of the customer's OVO account.",
      example: "+628123456789",
    }),
  }).openapi("OvoCustomerDetails", CUSTOMER),
}).superRefine(checkItemTotal).openapi("OvoCharge", {
  description: "An OVO charge: the OVO app on the customer's phone asks for the PIN immediately. " +
    "The customer has less than a minute to enter it.",
  example: CHARGE_EXAMPLES.ovo.value,
});

const DanaCharge = openObject({
  payment_type: paymentType("dana"),
  ...commonFields,
  ...expiryFields,
}).superRefine(checkItemTotal).openapi("DanaCharge", {
  description: "A DANA charge: open `deeplink_url` on the customer's phone. The gateway's public " +
    "documentation does not describe this payment type. The service sends the charge to the " +
    "gateway, which may reject it.",
  example: CHARGE_EXAMPLES.dana.value,
});

const QrisCharge = openObject({
  payment_type: paymentType("qris"),
  ...commonFields,
  ...expiryFields,
  acquirer: oneOf(["gopay", "airpay shopee"]).optional().openapi({
    description: "Acquirer that processes the payment; defaults to `gopay`.",
  }),
}).superRefine(checkItemTotal).openapi("QrisCharge", {
  description: "A QRIS charge: a QR code that the customer can pay with any Indonesian e-wallet. " +
    "Show the image at `qr_url`, or render `qr_string`.",
  example: CHARGE_EXAMPLES.qris.value,
});

/** Lenders assess the buyer and the goods, so they require more details. */
const payLaterFields = {
  ...customerFields,
  first_name: text(255).openapi({ description: "First name.", example: "Budi" }),
  email: email().openapi({ description: "Email address." }),
  phone: text(255).openapi({ description: "Phone number.", example: "+628123456789" }),
};

const AkulakuItem = object({
  ...itemFields,
  id: text(50).openapi({
    description: "Your id for the item; unique within the charge.",
    example: "sku-7",
  }),
}).openapi("AkulakuItemDetails", ITEM);

const AkulakuCharge = openObject({
  payment_type: paymentType("akulaku"),
  ...commonFields,
  ...expiryFields,
  customer_details: object(payLaterFields).openapi("PayLaterCustomerDetails", CUSTOMER),
  item_details: itemList(AkulakuItem).superRefine((items, context) => {
    const ids = new Set<string>();
    const repeated = items.findIndex(({ id }) => ids.size === ids.add(id).size);
    if (repeated === -1) return;
    context.addIssue({
      code: "custom",
      path: [repeated, "id"],
      message: "must be unique within the charge",
    });
  }).openapi({ description: "Items of the order; the total must equal `gross_amount`." }),
}).superRefine(checkItemTotal).openapi("AkulakuCharge", {
  description: "An Akulaku charge: redirect the customer to `redirect_url`.",
  example: CHARGE_EXAMPLES.akulaku.value,
});

const KredivoItem = object({
  ...itemFields,
  id: text(50).openapi({ description: "Your id for the item.", example: "sku-7" }),
  category: text(50).openapi({ description: "Category.", example: "Groceries" }),
  url: text(2000).openapi({
    description: "Product page URL.",
    example: "https://shop.example/coffee",
  }),
}).openapi("KredivoItemDetails", ITEM);

const KredivoCharge = openObject({
  payment_type: paymentType("kredivo"),
  ...commonFields,
  ...expiryFields,
  customer_details: object({ ...payLaterFields, shipping_address: AddressSchema })
    .openapi("KredivoCustomerDetails", CUSTOMER),
  item_details: itemList(KredivoItem).openapi({
    description: "Items of the order; the total must equal `gross_amount`.",
  }),
}).superRefine(checkItemTotal).openapi("KredivoCharge", {
  description: "A Kredivo charge: redirect the customer to `redirect_url`.",
  example: CHARGE_EXAMPLES.kredivo.value,
});

const CHARGES = [
  BankTransferCharge,
  CreditCardCharge,
  EchannelCharge,
  GopayCharge,
  ShopeepayCharge,
  OvoCharge,
  DanaCharge,
  QrisCharge,
  CstoreCharge,
  AkulakuCharge,
  KredivoCharge,
] as const;

const AnyCharge = z.discriminatedUnion("payment_type", CHARGES, {
  error({ code, input }) {
    if (code !== "invalid_union") return "must be an object";
    return describeUnknownType((input as { payment_type?: unknown }).payment_type, PAYMENT_TYPES);
  },
});

/** The fields of all payment types. */
const FIELDS = [...new Set(CHARGES.flatMap(({ shape }) => Object.keys(shape)))];

const TYPES_WITHOUT_EXPIRY = new Set<unknown>(["credit_card", "ovo"]);

/**
 * Makes the schema reject fields that no payment type has, and `custom_expiry` for types whose
 * expiry the gateway sets. Other fields that belong to another payment type are ignored, so that
 * one form can serve all payment types.
 */
function rejectUnusable<T extends z.ZodType>(schema: T): T {
  const { run } = schema._zod;
  schema._zod.run = (payload, context) => {
    const input = payload.value;
    if (typeof input !== "object" || input === null || Array.isArray(input)) {
      return run(payload, context);
    }
    const body = input as Record<string, unknown>;
    const keys = Object.keys(body).filter((name) => !FIELDS.includes(name));
    if (keys.length > 0) {
      const message = unknownMembers(keys, FIELDS);
      payload.issues.push({ code: "unrecognized_keys", keys, input, message, continue: true });
    }
    if (TYPES_WITHOUT_EXPIRY.has(body.payment_type) && body.custom_expiry !== undefined) {
      const message = `must be omitted for ${body.payment_type}: the gateway sets the expiry`;
      payload.issues.push({
        code: "custom",
        path: ["custom_expiry"],
        input,
        message,
        continue: true,
      });
    }
    return run(payload, context);
  };
  return schema;
}

export const ChargeSchema = omitNulls(
  rejectGatewayFields(rejectUnusable(AnyCharge), GATEWAY_CHARGE),
).openapi("ChargeRequest", {
  description: "The charge to create; `payment_type` determines which fields it has.",
});

export type ChargeInput = z.output<typeof ChargeSchema>;

export type CreditCardInput = z.output<typeof CreditCardCharge>;
