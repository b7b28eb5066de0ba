/** How paying looks, by method: a bank's app, a till, a wallet, a code to scan. */

import { html } from "hono/html";
import { OTP } from "../../cards/three_ds.ts";
import type { MethodName, Transaction } from "../../transactions/transaction.ts";
import type { Markup } from "../layout.ts";
import { qrPath } from "../qr/qr_images.ts";
import { METHOD_NAMES, properName, rupiah, time } from "../words.ts";
import { codeField, digits, type Screen, screen } from "./screen.ts";

type Own = Pick<Screen, "brand" | "facts" | "body">;
type Draw = (transaction: Transaction, isWrong: boolean) => Own;

const SCREENS: Record<MethodName, Draw> = {
  bank_transfer: bank,
  permata: bank,
  echannel: bill,
  cstore: store,
  qris: code,
  gopay: wallet,
  shopeepay: wallet,
  ovo: wallet,
  dana: wallet,
  akulaku: wallet,
  kredivo: wallet,
  // Never shown: cards have the 3-D Secure page.
  credit_card: wallet,
};

/** `isWrong`: after a PIN that was not right. */
export function payScreen(transaction: Transaction, isWrong: boolean): Markup {
  const { orderId, amount, expiresAt } = transaction;
  const { brand, facts, body } = SCREENS[transaction.method](transaction, isWrong);
  return screen({
    brand,
    title: rupiah(amount),
    facts: [
      ...facts,
      ["Order", orderId],
      ...expiresAt === null ? [] : [["Pay before", time(expiresAt)] as [string, string]],
    ],
    body,
  });
}

/** A linked wallet that wants to see its owner, from some amount on. */
export function asksPin({ method, details }: Transaction): boolean {
  return method === "gopay" && details.kind === "verify";
}

function bank({ details, amount }: Transaction): Own {
  return {
    brand: `${properName(details.bank)} virtual account`,
    facts: [["Account number", digits(details.number)]],
    body: payForm(`Transfer ${rupiah(amount)}`),
  };
}

function bill({ details, amount }: Transaction): Own {
  const [label, value] = details.info as [string, string];
  return {
    brand: "Mandiri bill payment",
    facts: [
      ["Biller code", digits("70012")],
      ["Bill key", digits(details.number)],
      [label, value],
    ],
    body: payForm(`Pay ${rupiah(amount)}`),
  };
}

function store({ details }: Transaction): Own {
  return {
    brand: properName(details.store),
    facts: [["Payment code", digits(details.number)]],
    body: payForm("Pay at the till"),
  };
}

function wallet(transaction: Transaction, isWrong: boolean): Own {
  const { method, details } = transaction;
  const src = qrPath(transaction);
  return {
    brand: METHOD_NAMES[method],
    facts: method === "ovo" ? [["Phone", String(details.phone)]] : [],
    body: html`
      <form method="post">
        ${asksPin(transaction) && codeField("pin", "PIN", OTP, isWrong)}
        <button class="primary" name="choice" value="pay">Approve</button>
        <button name="choice" value="deny" formnovalidate>Reject</button>
      </form>
      ${src && picture(src, "or scan it with another phone")}
    `,
  };
}

/** Any wallet of the country can scan a QRIS code; the webhook tells which one did. */
const ISSUERS = ["gopay", "airpay shopee", "dana", "ovo", "linkaja", "bca", "mandiri", "bri"];

function code(transaction: Transaction): Own {
  const acquirer = String(transaction.details.acquirer);
  const issuers = [...new Set([acquirer, ...ISSUERS])];
  return {
    brand: "QRIS",
    facts: [["Acquirer", acquirer]],
    body: html`
      ${picture(qrPath(transaction)!, "The string inside is the charge’s qr_string.")}
      <form method="post">
        <label for="issuer">Scanned with</label>
        <select id="issuer" class="issuer" name="issuer">
          ${issuers.map((issuer) => html`<option>${issuer}</option>`)}
        </select>
        <button class="primary" name="choice" value="pay">Pay ${rupiah(transaction.amount)}</button>
        <button name="choice" value="deny">Refuse</button>
      </form>
    `,
  };
}

function picture(src: string, caption: string): Markup {
  return html`
    <figure>
      <img class="qr" src="${src}" alt="QR code of this payment" width="264" height="264">
      <figcaption>${caption}</figcaption>
    </figure>
  `;
}

function payForm(label: string): Markup {
  return html`
    <form method="post">
      <button class="primary" name="choice" value="pay">${label}</button>
    </form>
  `;
}
