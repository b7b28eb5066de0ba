/** Charges of lenders, who want to know who buys what. */

import { email, object, text } from "../../core/input_fields.ts";
import { common, expiring, paymentType } from "./common.ts";
import { AddressSchema, CustomerSchema } from "./customer.ts";
import { EXAMPLES } from "./examples.ts";
import { addUp, items, ItemSchema } from "./items.ts";

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
  example: EXAMPLES.akulaku.value,
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
  example: EXAMPLES.kredivo.value,
});
