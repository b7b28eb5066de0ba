/** Virtual accounts at BCA, BNI, BRI, CIMB and Permata. */

import { z } from "zod";
import { Refusal } from "../http/refusal.ts";
import { list, object, oneOf, text } from "../http/validate.ts";
import { money } from "../transactions/transaction.ts";
import { DAY, wib } from "../world/time.ts";
import type { World } from "../world/world.ts";
import { Common, defineMethod, pending } from "./method.ts";
import { payNumber } from "./pay_number.ts";

/** The merchant's company code at the bank, and the digits that follow it. */
const BANKS = {
  bca: { prefix: "812785002", digits: 6 },
  bni: { prefix: "9888", digits: 12 },
  bri: { prefix: "12345", digits: 13 },
  cimb: { prefix: "2810", digits: 12 },
} as const;

const NEW_BANKS = ["danamon", "bsi", "seabank", "saqu"] as const;

const number = text(255).regex(/^\d+$/, "must be numeric digits").nullish();
const Sentences = list(object({ id: text(50), en: text(50) }), 10).nullish();

const VirtualAccount = object({
  va_number: number,
  free_text: object({ inquiry: Sentences, payment: Sentences }).nullish(),
  bca: object({ sub_company_code: text(5).nullish() }).nullish(),
  permata: object({ recipient_name: text(20).nullish() }).nullish(),
});

export const bankTransfer = defineMethod({
  name: "bank_transfer",
  paymentType: "bank_transfer",
  schema: Common.extend({
    bank_transfer: VirtualAccount.extend({
      bank: oneOf(["bca", "bni", "bri", "cimb", "permata", ...NEW_BANKS]),
    }),
  }).superRefine(({ bank_transfer, customer_details }, context) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: "custom", path: ["customer_details", field], message });
    const phone = customer_details?.phone;
    if (bank_transfer.bank === "bni" && phone && !/^(\+62|0).{0,28}$/.test(phone)) {
      refuse("phone", "must start with +62 or 0");
    }
    for (const name of ["first_name", "last_name"] as const) {
      const isTooLong = (customer_details?.[name]?.length ?? 0) > 30;
      if (bank_transfer.bank === "bca" && isTooLong) {
        refuse(name, "must not be longer than 30 characters");
      }
    }
  }),
  start({ bank_transfer: { bank, va_number } }, world) {
    if (bank === "permata") return startPermata(world, va_number);
    // These are to be had through other interfaces of the gateway only.
    if (!(bank in BANKS)) throw new Refusal(402);
    const { prefix, digits } = BANKS[bank as keyof typeof BANKS];
    return pending("Success, Bank Transfer transaction is created", {
      bank,
      number: payNumber(world, prefix, digits, va_number),
    });
  },
  fields({ details, settledAt, amount }, view) {
    if (details.bank === "permata") return { permata_va_number: details.number };
    return {
      va_numbers: [{ bank: details.bank, va_number: details.number }],
      // BNI alone fills it.
      ...view !== "operation" && {
        payment_amounts: details.bank === "bni" && settledAt !== null
          ? [{ paid_at: wib(settledAt), amount: money(amount) }]
          : [],
      },
    };
  },
  expiry: () => ({ usual: DAY, most: 180 * DAY }),
  refunds: null,
});

/** `payment_type: "permata"`, the older way to ask for the same. */
export const permata = defineMethod({
  ...bankTransfer,
  name: "permata",
  schema: Common.extend({
    bank_transfer: VirtualAccount.extend({ bank: z.literal("permata").nullish() }).nullish(),
  }),
  start: ({ bank_transfer }, world) => startPermata(world, bank_transfer?.va_number),
});

function startPermata(world: World, wanted?: string | null) {
  return pending("Success, PERMATA VA transaction is successful", {
    bank: "permata",
    number: payNumber(world, "8778", 12, wanted),
  });
}
