/** Charges of e-wallets, and QRIS, which all of them read. */

import { link, object, oneOf, text } from "../../core/input_fields.ts";
import { common, expiring, paymentType } from "./common.ts";
import { CustomerSchema } from "./customer.ts";
import { EXAMPLES } from "./examples.ts";
import { addUp } from "./items.ts";

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
  example: EXAMPLES.gopay.value,
});

export const ShopeepayCharge = object({
  payment_type: paymentType("shopeepay"),
  ...common,
  ...expiring,
  callback_url,
}).superRefine(addUp).openapi("ShopeepayCharge", {
  description: "ShopeePay: send the customer's phone to `deeplink_url`.",
  example: EXAMPLES.shopeepay.value,
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
  example: EXAMPLES.ovo.value,
});

export const DanaCharge = object({
  payment_type: paymentType("dana"),
  ...common,
  ...expiring,
}).superRefine(addUp).openapi("DanaCharge", {
  description:
    "DANA: send the customer's phone to `deeplink_url`. The gateway's public documents " +
    "do not describe this charge; it is sent as it is, and the gateway may refuse it.",
  example: EXAMPLES.dana.value,
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
  example: EXAMPLES.qris.value,
});
