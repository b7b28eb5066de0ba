/** Charges paid at a bank or a till: virtual accounts, Mandiri bills, convenience stores. */

import { object, oneOf, text } from "../../core/input_fields.ts";
import { common, expiring, paymentType } from "./common.ts";
import { EXAMPLES } from "./examples.ts";
import { addUp } from "./items.ts";

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
  example: EXAMPLES.bank_transfer.value,
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
  example: EXAMPLES.echannel.value,
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
  example: EXAMPLES.cstore.value,
});
