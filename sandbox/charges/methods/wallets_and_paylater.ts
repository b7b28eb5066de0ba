/**
 * Wallets other than GoPay (ShopeePay, DANA: link into the app; OVO: push to the phone) and
 * pay-later providers.
 */

import { z } from "zod";
import { DAY, HOUR, MINUTE, SECOND } from "../../engine/time.ts";
import { Refusal } from "../../http/refusal.ts";
import { list, object, text } from "../../http/validate.ts";
import { Common, Customer, defineMethod, Item, MAX_ITEMS, pending } from "./method.ts";

const Callback = object({ callback_url: text(2000).nullish() }).nullish();

export const shopeepay = defineMethod({
  name: "shopeepay",
  paymentType: "shopeepay",
  schema: Common.extend({ shopeepay: Callback }),
  start: ({ shopeepay }) =>
    pending("ShopeePay transaction is created", { callbackUrl: shopeepay?.callback_url ?? null }),
  fields: ({ id, settledAt }, view, world) =>
    view === "operation"
      ? {
        channel_response_code: "0",
        channel_response_message: "success",
        actions: [{
          name: "deeplink-redirect",
          method: "GET",
          url: `${world.publicUrl()}/shopeepay/app/${id}`,
        }],
      }
      : settledAt === null
      ? {}
      : { shopeepay_reference_number: id.replaceAll(/\D/g, "").slice(0, 6), reference_id: id },
  expiry: () => ({ standard: 15 * MINUTE, max: 5 * DAY }),
  refunds: { isDirect: true, isPartial: true, days: () => 365 },
});

/** The gateway does not document DANA charges. The fields follow its documented status response. */
export const dana = defineMethod({
  name: "dana",
  paymentType: "dana",
  schema: Common.extend({ dana: Callback }),
  start: ({ dana }) =>
    pending("DANA transaction is created", { callbackUrl: dana?.callback_url ?? null }),
  fields: ({ id, status }, view, world) =>
    view !== "notification" && status === "pending"
      ? {
        actions: [{
          name: "deeplink-redirect",
          method: "GET",
          url: `${world.publicUrl()}/dana/app/${id}`,
        }],
      }
      : {},
  expiry: () => ({ standard: 15 * MINUTE, max: DAY }),
  minExpiry: 15 * MINUTE,
  refunds: { isDirect: false, isPartial: true, days: () => 45 },
});

/** Test phone numbers: one is not registered, the others decline the payment after a delay. */
const NOT_REGISTERED = "628249134000";
const REFUSES_AFTER: Record<string, number> = {
  "628271939753": 10 * SECOND,
  "628242014881": 2 * SECOND,
  "628237435829": 2 * SECOND,
};

export const ovo = defineMethod({
  name: "ovo",
  paymentType: "ovo",
  schema: Common.extend({
    ovo: object({
      payer_phone_number: text(20).regex(/^\+?\d{8,15}$/, "format is invalid"),
    }),
  }),
  start({ ovo: { payer_phone_number } }, world) {
    const phone = payer_phone_number.replace(/^\+/, "").replace(/^0/, "62");
    if (phone === NOT_REGISTERED) {
      throw new Refusal(404, "User with requested phone number doesn't exist");
    }
    const refusesAfter = REFUSES_AFTER[phone];
    return {
      ...pending("Ovo transaction is created", { phone: payer_phone_number }),
      decidesAt: refusesAfter ? world.clock.now() + refusesAfter : null,
    };
  },
  fields: ({ details, id }, view) => ({
    payer_phone_number: details.phone,
    ...view !== "operation" && { merchant_invoice: id },
  }),
  expiry: () => ({ standard: 65 * SECOND, max: null }),
  refunds: { isDirect: false, isPartial: false, days: () => 7 },
});

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
  expiry: () => ({ standard: 2 * HOUR, max: 180 * DAY }),
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
  expiry: () => ({ standard: DAY, max: 180 * DAY }),
  refunds: { isDirect: true, isPartial: true, days: () => 14 },
});
