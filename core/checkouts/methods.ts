/**
 * The payment methods of a checkout: how each is charged, when it can be offered, and how an
 * attempt with it is closed. The limits and times are the gateway's (docs/gateway.md).
 */

import type { CheckoutItem, GatewayCheckout } from "../../db/billing/checkouts.ts";
import type { ChargeInput } from "../payments/charge_input.ts";

/** In the order in which a checkout shows them by default. DANA is not documented for this API. */
export const METHOD_IDS = [
  "qris",
  "gopay",
  "shopeepay",
  "ovo",
  "credit_card",
  "bca_va",
  "bni_va",
  "bri_va",
  "echannel",
  "permata_va",
  "cimb_va",
  "indomaret",
  "alfamart",
  "akulaku",
  "kredivo",
] as const;

export type MethodId = (typeof METHOD_IDS)[number];

/** The methods that this service charges. A card is paid on the gateway's own page. */
export type ChargedMethodId = Exclude<MethodId, "credit_card">;

export interface Method {
  /** The members that tell the gateway which method it is. */
  charge: Pick<ChargeInput, "payment_type"> & { bank?: string; store?: string };
  /** Whole rupiah; null: the gateway names no limit. */
  min: number | null;
  max: number | null;
  /**
   * How the gateway is told that an attempt can no longer be paid. `wait`: it ends by itself within
   * about a minute, and there is no call for it. `page`: it is paid on the gateway's own page,
   * which has calls of its own (`card_page.ts`).
   */
  closing: "cancel" | "expire" | "wait" | "page";
  /** How long an attempt can be paid, in seconds. */
  expiry: {
    /** An attempt cannot be shorter than this; the method is not offered if less is left. */
    least: number;
    /** What the service asks for if the checkout lasts longer. */
    most: number;
    /** Whether the gateway sets the time itself. */
    isFixed?: boolean;
  };
  /** The method needs the number of the customer's phone, which the page asks for. */
  needsPhone?: boolean;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The gateway refuses an expiry of less than 20 s; the rest is time to send the charge. */
const LEAST = 60;

const ACCOUNT = { closing: "expire", expiry: { least: LEAST, most: 180 * DAY } } as const;
const WALLET = { closing: "cancel", expiry: { least: LEAST, most: 15 * MINUTE } } as const;

const BANK = (bank: string) => ({ payment_type: "bank_transfer" as const, bank });
const STORE = (store: string) => ({ payment_type: "cstore" as const, store });

export const METHODS: Record<MethodId, Method> = {
  qris: { ...WALLET, charge: { payment_type: "qris" }, min: null, max: 10_000_000 },
  gopay: { ...WALLET, charge: { payment_type: "gopay" }, min: null, max: 20_000_000 },
  shopeepay: { ...WALLET, charge: { payment_type: "shopeepay" }, min: null, max: 20_000_000 },
  ovo: {
    charge: { payment_type: "ovo" },
    min: null,
    max: 99_999_999,
    closing: "wait",
    expiry: { least: 2 * MINUTE, most: 65, isFixed: true },
    needsPhone: true,
  },
  credit_card: {
    charge: { payment_type: "credit_card" },
    min: null,
    max: null,
    closing: "page",
    // The gateway refuses a page of less than 5 minutes; the rest is time to open it.
    expiry: { least: 6 * MINUTE, most: 30 * MINUTE },
  },
  bca_va: { ...ACCOUNT, charge: BANK("bca"), min: 10_000, max: 20_000_000_000 },
  bni_va: { ...ACCOUNT, charge: BANK("bni"), min: null, max: null },
  bri_va: { ...ACCOUNT, charge: BANK("bri"), min: null, max: 20_000_000_000 },
  echannel: {
    ...ACCOUNT,
    charge: { payment_type: "echannel" },
    min: null,
    max: 50_000_000_000,
  },
  permata_va: { ...ACCOUNT, charge: BANK("permata"), min: null, max: 9_999_999_999 },
  cimb_va: { ...ACCOUNT, charge: BANK("cimb"), min: null, max: 250_000_000 },
  indomaret: { ...ACCOUNT, charge: STORE("indomaret"), min: 10_000, max: 5_000_000 },
  alfamart: { ...ACCOUNT, charge: STORE("alfamart"), min: null, max: 5_000_000 },
  akulaku: {
    charge: { payment_type: "akulaku" },
    min: 5_000,
    max: null,
    closing: "cancel",
    expiry: { least: LEAST, most: 2 * HOUR },
  },
  kredivo: {
    charge: { payment_type: "kredivo" },
    min: null,
    max: null,
    closing: "cancel",
    expiry: { least: LEAST, most: DAY },
  },
};

/** Codes of the gateway for an unknown phone number, and for one that cannot be right. */
const PHONE_REFUSALS = ["404", "400"];

/** Whether the gateway refuses the customer's phone number, and not the method. */
export function refusesPhone(method: MethodId, statusCode: string | null): boolean {
  return METHODS[method].needsPhone === true && PHONE_REFUSALS.includes(statusCode ?? "");
}

export function isMethod(id: string): id is MethodId {
  return Object.hasOwn(METHODS, id);
}

/** The methods that the customer can choose now, in the order in which they are shown. */
export function offeredMethods(checkout: GatewayCheckout, now: number): MethodId[] {
  const wanted = (checkout.enabled_payments ?? METHOD_IDS).filter(isMethod);
  const secondsLeft = (checkout.expires_at.getTime() - now) / 1_000;
  return wanted.filter((id) => {
    const { min, max, expiry } = METHODS[id];
    const { gross_amount, refused_payments } = checkout;
    return !refused_payments.includes(id) && gross_amount >= (min ?? 0) &&
      gross_amount <= (max ?? Infinity) && secondsLeft >= expiry.least &&
      hasDetailsFor(id, checkout);
  });
}

/** Lenders want to know the buyer and the goods; the other methods need nothing. */
function hasDetailsFor(id: MethodId, { customer_details, item_details }: GatewayCheckout): boolean {
  if (id !== "akulaku" && id !== "kredivo") return true;
  const customer = customer_details ?? {};
  const names = ["first_name", "email", "phone", ...id === "kredivo" ? ["shipping_address"] : []];
  const needed = id === "kredivo" ? ["id", "category", "url"] : ["id"];
  return names.every((name) => customer[name] !== undefined) && item_details !== null &&
    item_details.length > 0 && (id !== "akulaku" || haveDifferentIds(item_details)) &&
    item_details.every((item) => needed.every((name) => Object.hasOwn(item, name)));
}

function haveDifferentIds(items: CheckoutItem[]): boolean {
  return new Set(items.map(({ id }) => id)).size === items.length;
}

/** For how long to ask the gateway to accept the payment, in seconds; null: it decides. */
export function expirySeconds(id: MethodId, { expires_at }: GatewayCheckout, now: number) {
  const { expiry } = METHODS[id];
  if (expiry.isFixed) return null;
  const left = Math.floor((expires_at.getTime() - now) / 1_000);
  return Math.max(20, Math.min(left, expiry.most));
}
