/** Methods that are paid with a number: virtual accounts, Mandiri bills, convenience stores. */

import { z } from "zod";
import { first } from "../../engine/store.ts";
import { DAY, formatWib } from "../../engine/time.ts";
import { Refusal } from "../../http/refusal.ts";
import { list, object, oneOf, text } from "../../http/validate.ts";
import { formatMoney } from "../../world/transaction.ts";
import type { World } from "../../world/world.ts";
import { Common, defineMethod, pending } from "./method.ts";

/** The merchant's company code at the bank, and the number of digits after it. */
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
    // The gateway offers these banks in its other APIs only.
    if (!(bank in BANKS)) throw new Refusal(402);
    const { prefix, digits } = BANKS[bank as keyof typeof BANKS];
    return pending("Success, Bank Transfer transaction is created", {
      bank,
      number: choosePayNumber(world, prefix, digits, va_number),
    });
  },
  fields({ details, settledAt, amount }, view) {
    if (details.bank === "permata") return { permata_va_number: details.number };
    return {
      va_numbers: [{ bank: details.bank, va_number: details.number }],
      // Only BNI fills this list.
      ...view !== "operation" && {
        payment_amounts: details.bank === "bni" && settledAt !== null
          ? [{ paid_at: formatWib(settledAt), amount: formatMoney(amount) }]
          : [],
      },
    };
  },
  expiry: () => ({ standard: DAY, max: 180 * DAY }),
  refunds: null,
});

/** `payment_type: "permata"`: the older form of a Permata virtual account. */
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
    number: choosePayNumber(world, "8778", 12, wanted),
  });
}

const info = text(255).nullish();

export const echannel = defineMethod({
  name: "echannel",
  paymentType: "echannel",
  schema: Common.extend({
    echannel: object({
      bill_info1: text(255),
      bill_info2: text(255),
      bill_info3: info,
      bill_info4: info,
      bill_info5: info,
      bill_info6: info,
      bill_info7: info,
      bill_info8: info,
      bill_key: text(255).regex(/^\d+$/, "must be numeric digits").nullish(),
    }),
  }),
  start: ({ echannel: { bill_info1, bill_info2, bill_key } }, world) =>
    pending("OK, Mandiri Bill transaction is successful", {
      number: choosePayNumber(world, "", 12, bill_key),
      // Maximum lengths on the bank's screen.
      info: [bill_info1.slice(0, 10), bill_info2.slice(0, 30)],
    }),
  fields: ({ details }) => ({ bill_key: details.number, biller_code: "70012" }),
  expiry: () => ({ standard: DAY, max: 180 * DAY }),
  refunds: null,
});

export const cstore = defineMethod({
  name: "cstore",
  paymentType: "cstore",
  schema: Common.extend({
    cstore: object({
      store: text(20).toLowerCase().pipe(
        z.enum(["indomaret", "alfamart"], "must be indomaret or alfamart"),
      ),
      message: text(20, 0).nullish(),
      alfamart_free_text_1: text(40, 0).nullish(),
      alfamart_free_text_2: text(40, 0).nullish(),
      alfamart_free_text_3: text(40, 0).nullish(),
    }),
  }).superRefine(({ cstore, item_details }, context) => {
    if (cstore.store !== "alfamart") return;
    for (const [index, { name }] of (item_details ?? []).entries()) {
      if (!name.includes("|")) continue;
      const path = ["item_details", index, "name"];
      context.addIssue({ code: "custom", path, message: "must not contain |" });
    }
  }),
  start({ cstore: { store } }, world) {
    const number = choosePayNumber(world, "", store === "alfamart" ? 16 : 14);
    const start = pending("Success, cstore transaction is successful", { store, number });
    return store === "indomaret" ? { ...start, fraud: null } : start;
  },
  fields: ({ details, status, id }, view) => ({
    payment_code: details.number,
    store: details.store,
    ...view !== "operation" && details.store === "indomaret" && status === "settlement" &&
      { approval_code: id.replaceAll(/\D/g, "").slice(0, 16) },
  }),
  expiry: () => ({ standard: DAY, max: 180 * DAY }),
  refunds: null,
});

/**
 * Returns the number that the merchant asked for, if it is free, or a random number. No two payable
 * transactions have the same number.
 */
export function choosePayNumber(
  world: World,
  prefix: string,
  digits: number,
  wanted?: string | null,
) {
  if (wanted) {
    // The gateway pads short numbers with zeros on the left and cuts long ones at the end.
    const number = prefix + wanted.padStart(digits, "0").slice(0, digits);
    if (!isPayable(world, number)) return number;
  }
  // Adds a digit after every 16 failed tries, so that the search ends even if most numbers are in
  // use.
  for (let tries = 0;; tries++) {
    const number = prefix + world.random.digits(digits + (tries >> 4));
    if (!isPayable(world, number)) return number;
  }
}

function isPayable(world: World, number: string): boolean {
  return first(world.transactions.find(`number:${number}`)) !== undefined;
}
