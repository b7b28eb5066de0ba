/** Akulaku and Kredivo: the customer leaves for the lender's own pages. */

import { z } from "zod";
import { list, object, text } from "../http/validate.ts";
import { DAY, HOUR } from "../world/time.ts";
import { Common, Customer, defineMethod, Item, MAX_ITEMS, pending } from "./method.ts";

const Items = list(Item, MAX_ITEMS).min(1, "must not be empty");
const Person = Customer.extend({ first_name: text(255), email: text(255), phone: text(255) });

export const akulaku = defineMethod({
  name: "akulaku",
  paymentType: "akulaku",
  schema: Common.extend({
    item_details: list(Item.extend({ id: text(50) }), MAX_ITEMS).min(1, "must not be empty")
      .refine(
        (items) => new Set(items.map(({ id }) => id)).size === items.length,
        "must have unique ids",
      ),
    customer_details: Person,
  }),
  start: () => pending("Success, Akulaku transaction is created", {}),
  fields: ({ id }, view, world) =>
    view === "operation" ? { redirect_url: `${world.publicUrl()}/v2/akulaku/redirect/${id}` } : {},
  expiry: () => ({ usual: 2 * HOUR, most: 180 * DAY }),
  refunds: { isDirect: true, isPartial: true, days: () => 180 },
});

export const kredivo = defineMethod({
  name: "kredivo",
  paymentType: "kredivo",
  schema: Common.extend({
    item_details: Items.refine(
      (items) => items.every(({ id, category, url }) => id && category && url),
      "must each have id, category and url",
    ),
    customer_details: Person.extend({
      shipping_address: object({ first_name: text(255).nullish(), address: text(255).nullish() }),
    }),
    seller_details: list(z.record(z.string(), z.unknown()), MAX_ITEMS).nullish(),
  }),
  start: () => pending("Kredivo transaction is created", {}),
  fields: ({ id }, view, world) =>
    view === "operation"
      ? {
        redirect_url: `${world.publicUrl()}/v2/oms/redirect/${id}`,
        channel_response_code: "OK",
        channel_response_message: "Message from kredivo if exists",
      }
      : {},
  expiry: () => ({ usual: DAY, most: 180 * DAY }),
  refunds: { isDirect: true, isPartial: true, days: () => 14 },
});
