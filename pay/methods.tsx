/** The names, groups and icons of the payment methods. The icons are drawn for this page. */

import type { Child } from "hono/jsx";
import { METHOD_IDS, type MethodId } from "../core/checkouts/methods.ts";
import type { Words } from "./words.ts";

export type Group = "qr" | "card" | "bank" | "store" | "later";

type Drawing = "qr" | "wallet" | "bag" | "phone" | "card" | "bank" | "store" | "calendar";

interface Method {
  /** Null: it differs between the languages. */
  name: string | null;
  group: Group;
  drawing: Drawing;
}

export const METHODS: Record<MethodId, Method> = {
  qris: { name: "QRIS", group: "qr", drawing: "qr" },
  gopay: { name: "GoPay", group: "qr", drawing: "wallet" },
  shopeepay: { name: "ShopeePay", group: "qr", drawing: "bag" },
  ovo: { name: "OVO", group: "qr", drawing: "phone" },
  credit_card: { name: null, group: "card", drawing: "card" },
  bca_va: { name: "BCA", group: "bank", drawing: "bank" },
  bni_va: { name: "BNI", group: "bank", drawing: "bank" },
  bri_va: { name: "BRI", group: "bank", drawing: "bank" },
  cimb_va: { name: "CIMB Niaga", group: "bank", drawing: "bank" },
  permata_va: { name: "Permata", group: "bank", drawing: "bank" },
  echannel: { name: "Mandiri", group: "bank", drawing: "bank" },
  indomaret: { name: "Indomaret", group: "store", drawing: "store" },
  alfamart: { name: "Alfamart", group: "store", drawing: "store" },
  akulaku: { name: "Akulaku", group: "later", drawing: "calendar" },
  kredivo: { name: "Kredivo", group: "later", drawing: "calendar" },
};

export function isMethodId(text: string): text is MethodId {
  return (METHOD_IDS as readonly string[]).includes(text);
}

/** Also of methods that a checkout does not offer, such as those of older payments. */
export function methodName({ card }: Words, method: string): string {
  return isMethodId(method) ? METHODS[method].name ?? card.name : method.replaceAll("_", " ");
}

/** Each with a colour of its own, which `pay.css` gives to the class. */
export function MethodIcon({ method }: { method: MethodId }) {
  return (
    <span class={`icon icon-${method}`} aria-hidden="true">
      <Line>{DRAWINGS[METHODS[method].drawing]}</Line>
    </span>
  );
}

/** A drawing of lines in the colour of the text. */
export function Line({ children }: { children?: Child }) {
  return (
    <svg
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

const DRAWINGS: Record<Drawing, Child> = {
  qr: (
    <path d="M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM20 14v2M14 20h2M18.5 18.5H20V20" />
  ),
  wallet: (
    <path d="M17 7V5a1 1 0 0 0-1.3-1L5 7.2M4 8a1 1 0 0 1 1-1h14a1 1 0 0 1 1 1v11a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1zM20 11.5h-4a2 2 0 0 0 0 4h4" />
  ),
  bag: <path d="M5 8h14l1 12H4zM8.5 11V7a3.5 3.5 0 0 1 7 0v4" />,
  phone: (
    <path d="M8 3h8a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM10 11.5l1.5 1.5 3-3M11 18h2" />
  ),
  card: (
    <path d="M4 6h16a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1zM3 10h18M7 14.5h4" />
  ),
  bank: <path d="M12 3.5 20 8v1.5H4V8zM6 13v4M10 13v4M14 13v4M18 13v4M4 20.5h16" />,
  store: (
    <path d="M5 4h14l2 5a3 3 0 0 1-6 0 3 3 0 0 1-6 0 3 3 0 0 1-6 0zM5 12.5V20h14v-7.5M10 20v-4h4v4" />
  ),
  calendar: (
    <path d="M5 6h14a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1zM4 10.5h16M8 3.5V7M16 3.5V7M9 15.5l2 2 4-4" />
  ),
};
