/** The body of a charge: one schema for each payment type, and the types inferred from them. */

import { z } from "@hono/zod-openapi";
import {
  email,
  flag,
  link,
  nullIsLeftOut,
  object,
  oneOf,
  text,
  wholeNumber,
} from "../input_fields.ts";
import { CHARGE_EXAMPLES } from "./charge_examples.ts";
import {
  AddressSchema,
  addUp,
  common,
  CustomerSchema,
  expiring,
  items,
  ItemSchema,
} from "./charge_parts.ts";

export const PAYMENT_TYPES = [
  "credit_card",
  "bank_transfer",
  "echannel",
  "gopay",
  "shopeepay",
  "ovo",
  "dana",
  "qris",
  "cstore",
  "akulaku",
  "kredivo",
] as const;

export type PaymentType = (typeof PAYMENT_TYPES)[number];

/** What tells the kinds of charges apart. */
export function paymentType<const T extends PaymentType>(type: T) {
  return z.literal(type).openapi({ description: "How it is to be paid." });
}

export const CreditCardCharge = object({
  payment_type: paymentType("credit_card"),
  ...common,
  token_id: text(255).openapi({
    description:
      "Stands for the card: from the gateway's script in the customer's browser, or a saved one. " +
      "The number of a card never comes here.",
    example: "48111111-1114-d8a4b7c9-6c3b-4d4f-8f2e-1c9a7d2b5e60",
  }),
  authentication: flag().default(true).openapi({
    description: "3-D Secure: the customer proves to be the holder at `redirect_url`. Without it " +
      "the merchant bears the loss of a fraud.",
  }),
  authorize: flag().default(false).openapi({
    description: "Only holds the amount now; `capture` takes it, within 7 days.",
  }),
  save_token_id: flag().default(false).openapi({
    description: "Asks for a token that can be charged again. It is not kept here: read it in " +
      "`gateway_response` of `check_status`.",
  }),
  installment_term: wholeNumber(1, 60).optional().openapi({
    description: "Months of an instalment plan that the card's bank offers.",
    example: 6,
  }),
}).superRefine(addUp).openapi("CreditCardCharge", {
  description: "A card. With 3-D Secure the payment is `pending` and `redirect_url` is where to " +
    "send the customer; without it the answer says at once how it ended.",
  example: CHARGE_EXAMPLES.credit_card.value,
});

export const BankTransferCharge = object({
  payment_type: paymentType("bank_transfer"),
  ...common,
  ...expiring,
  bank: oneOf(["bca", "bni", "bri", "permata", "cimb"]).openapi({
    description: "Whose virtual account it is to be; customers of any bank can transfer to it.",
    example: "bca",
  }),
  va_number: text(18).regex(/^\d+$/, "must be made of digits").optional().openapi({
    description: "The number you would like; the bank pads, cuts or replaces it where it cannot " +
      "be had. The answer's `va_number` is the one that counts.",
    example: "111111",
  }),
}).superRefine(addUp).openapi("BankTransferCharge", {
  description: "A transfer to a virtual account: show the customer `bank` and `va_number`.",
  example: CHARGE_EXAMPLES.bank_transfer.value,
});

export const EchannelCharge = object({
  payment_type: paymentType("echannel"),
  ...common,
  ...expiring,
  bill_info1: text(255).optional().openapi({
    description: "Label on the bank's screen, which shows 10 characters; `Payment` if left out.",
    example: "Payment",
  }),
  bill_info2: text(255).optional().openapi({
    description: "What stands behind it, 30 characters; the order id if left out.",
    example: "Order 1893",
  }),
}).superRefine(addUp).openapi("EchannelCharge", {
  description: "A Mandiri bill: show the customer `biller_code` and `bill_key`.",
  example: CHARGE_EXAMPLES.echannel.value,
});

export const CstoreCharge = object({
  payment_type: paymentType("cstore"),
  ...common,
  ...expiring,
  store: oneOf(["indomaret", "alfamart"]).openapi({
    description: "Where the customer is to pay.",
    example: "indomaret",
  }),
}).superRefine(addUp).openapi("CstoreCharge", {
  description: "Cash at the till of a convenience store: show the customer `payment_code`.",
  example: CHARGE_EXAMPLES.cstore.value,
});

const callback_url = link().optional().openapi({
  description: "Where the wallet's app sends the customer back to. That somebody arrives there " +
    "proves nothing: read the payment.",
  example: "https://shop.example/thanks",
});

export const GopayCharge = object({
  payment_type: paymentType("gopay"),
  ...common,
  ...expiring,
  callback_url,
}).superRefine(addUp).openapi("GopayCharge", {
  description: "GoPay: send the customer's phone to `deeplink_url`, or show the code at `qr_url`.",
  example: CHARGE_EXAMPLES.gopay.value,
});

export const ShopeepayCharge = object({
  payment_type: paymentType("shopeepay"),
  ...common,
  ...expiring,
  callback_url,
}).superRefine(addUp).openapi("ShopeepayCharge", {
  description: "ShopeePay: send the customer's phone to `deeplink_url`.",
  example: CHARGE_EXAMPLES.shopeepay.value,
});

export const OvoCharge = object({
  payment_type: paymentType("ovo"),
  ...common,
  customer_details: CustomerSchema.extend({
    phone: text(20).regex(/^\+?\d{8,15}$/, "must be a phone number such as +628123456789").openapi({
      description: "Of the customer's OVO account.",
      example: "+628123456789",
    }),
  }).openapi("OvoCustomerDetails"),
}).superRefine(addUp).openapi("OvoCharge", {
  description: "OVO: the customer's phone asks for a PIN at once, and for less than a minute.",
  example: CHARGE_EXAMPLES.ovo.value,
});

export const DanaCharge = object({
  payment_type: paymentType("dana"),
  ...common,
  ...expiring,
}).superRefine(addUp).openapi("DanaCharge", {
  description:
    "DANA: send the customer's phone to `deeplink_url`. The gateway's public documents " +
    "do not describe this charge; it is sent as it is, and the gateway may refuse it.",
  example: CHARGE_EXAMPLES.dana.value,
});

export const QrisCharge = object({
  payment_type: paymentType("qris"),
  ...common,
  ...expiring,
  acquirer: oneOf(["gopay", "airpay shopee"]).optional().openapi({
    description: "Who takes the money in; `gopay` if left out.",
  }),
}).superRefine(addUp).openapi("QrisCharge", {
  description: "One code for every Indonesian wallet: show the image at `qr_url`, or draw " +
    "`qr_string` yourself.",
  example: CHARGE_EXAMPLES.qris.value,
});

const Borrower = CustomerSchema.extend({
  first_name: text(255).openapi({ description: "Their first name.", example: "Budi" }),
  email: email().openapi({ description: "Their e-mail address." }),
  phone: text(255).openapi({ description: "Their phone number.", example: "+628123456789" }),
}).openapi("PayLaterCustomerDetails");

const AkulakuItem = ItemSchema.extend({
  id: text(50).openapi({ description: "Your id of it, each once.", example: "sku-7" }),
}).openapi("AkulakuItemDetails", { description: "One of the things that are paid for." });

export const AkulakuCharge = object({
  payment_type: paymentType("akulaku"),
  ...common,
  ...expiring,
  customer_details: Borrower,
  item_details: items(AkulakuItem).superRefine((items, context) => {
    const ids = items.map(({ id }) => id);
    const again = ids.findIndex((id, index) => ids.indexOf(id) !== index);
    if (again === -1) return;
    context.addIssue({ code: "custom", path: [again, "id"], message: "must not come twice" });
  }).openapi({ description: "Has to add up to `gross_amount`; each `id` once." }),
}).superRefine(addUp).openapi("AkulakuCharge", {
  description: "Akulaku: send the customer to `redirect_url`.",
  example: CHARGE_EXAMPLES.akulaku.value,
});

const KredivoItem = ItemSchema.extend({
  id: text(50).openapi({ description: "Your id of it.", example: "sku-7" }),
  category: text(50).openapi({ description: "What kind of thing it is.", example: "Groceries" }),
  url: text(2000).openapi({
    description: "Where it is shown.",
    example: "https://shop.example/coffee",
  }),
}).openapi("KredivoItemDetails", { description: "One of the things that are paid for." });

export const KredivoCharge = object({
  payment_type: paymentType("kredivo"),
  ...common,
  ...expiring,
  customer_details: Borrower.extend({ shipping_address: AddressSchema })
    .openapi("KredivoCustomerDetails"),
  item_details: items(KredivoItem).openapi({ description: "Has to add up to `gross_amount`." }),
}).superRefine(addUp).openapi("KredivoCharge", {
  description: "Kredivo: send the customer to `redirect_url`.",
  example: CHARGE_EXAMPLES.kredivo.value,
});

export const ChargeSchema = nullIsLeftOut(z.discriminatedUnion("payment_type", [
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
], {
  error: ({ code }) =>
    code === "invalid_union" ? `must be one of ${PAYMENT_TYPES.join(", ")}` : "must be an object",
})).openapi("ChargeRequest", {
  description: "What to charge, and how; `payment_type` decides which members there are.",
});

export type ChargeInput = z.output<typeof ChargeSchema>;

export type CreditCardInput = z.output<typeof CreditCardCharge>;
