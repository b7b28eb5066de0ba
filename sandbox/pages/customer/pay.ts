/** The screens where a customer pays or refuses, whichever link of the charge led there. */

import type { Context, Hono } from "hono";
import { html } from "hono/html";
import { cardDetails, isWaitingForThreeDs, OTP } from "../../cards/authorization.ts";
import { letHappen } from "../../charges/simulate.ts";
import { Refusal } from "../../http/refusal.ts";
import type { MethodName, Transaction } from "../../world/transaction.ts";
import type { OpenWorld } from "../../world/world.ts";
import { qrPath } from "../documents/qr_images.ts";
import { METHOD_NAMES, properName, rupiah, time } from "../shared/format.ts";
import { type Markup, ownForm, readField, render } from "../shared/layout.ts";
import { codeField, digits, resultScreen, type Screen, screen } from "./screens.ts";

/** Each app has its own address and opens its own transactions; one address opens them all. */
const PATHS: [path: string, method: MethodName | null][] = [
  ["/pay/:id", null],
  ["/gopay/app/:id", "gopay"],
  ["/shopeepay/app/:id", "shopeepay"],
  ["/dana/app/:id", "dana"],
  ["/v2/akulaku/redirect/:id", "akulaku"],
  ["/v2/oms/redirect/:id", "kredivo"],
];

export function addPay(pages: Hono, world: OpenWorld): void {
  const find = (c: Context, method: MethodName | null): Transaction => {
    const transaction = world.transactions.get(c.req.param("id") ?? "");
    const isHere = transaction && (method === null || transaction.method === method);
    if (!isHere) throw new Refusal(404);
    return transaction;
  };

  for (const [path, method] of PATHS) {
    pages.get(path, (c) => {
      const transaction = find(c, method);
      const token = openThreeDs(transaction);
      if (token) return c.redirect(`/v2/3ds/redirect/${token}`, 302);
      const isOpen = transaction.status === "pending" && transaction.method !== "credit_card";
      return render(c, {
        title: METHOD_NAMES[transaction.method],
        body: isOpen
          ? payScreen(transaction, c.req.query("wrong") !== undefined)
          : resultScreen(transaction),
      });
    });

    pages.post(path, ownForm(world), async (c) => {
      const transaction = find(c, method);
      const choice = await readField(c, "choice");
      const isWrong = choice === "pay" && asksPin(transaction) && await readField(c, "pin") !== OTP;
      if (isWrong) return c.redirect(`${c.req.path}?wrong`, 303);
      const issuer = await readField(c, "issuer");
      // Meanwhile it may have been paid or have expired: the page it returns to says so.
      if (transaction.status === "pending" && transaction.method !== "credit_card") {
        const happening = choice === "deny" ? "deny" : "pay";
        letHappen(world, happening, transaction, { issuer: issuer || null });
        await world.committed();
      }
      return c.redirect(c.req.path, 303);
    });
  }
}

/** Cards have a page of their own, as long as the customer has not been there. */
function openThreeDs(transaction: Transaction): string | null {
  return isWaitingForThreeDs(transaction) ? cardDetails(transaction).threeDs!.token : null;
}

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
