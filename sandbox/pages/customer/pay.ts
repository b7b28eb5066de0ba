/** The pages where a customer pays or rejects a payment. */

import type { Context, Hono } from "hono";
import { html } from "hono/html";
import { cardDetails, isWaitingForThreeDs, OTP } from "../../cards/authorization.ts";
import { simulate, SIMULATED_ACTIONS } from "../../charges/simulate.ts";
import { Refusal } from "../../http/refusal.ts";
import type { MethodName, Transaction } from "../../world/transaction.ts";
import type { OpenWorld } from "../../world/world.ts";
import { qrPath } from "../documents/qr_images.ts";
import { displayName, formatRupiah, formatTime, METHOD_NAMES } from "../shared/format.ts";
import { type Markup, readField, render, sameOriginForm } from "../shared/layout.ts";
import { codeField, digits, resultScreen, type Screen, screen } from "./screens.ts";

/** Each app path accepts only transactions of its method; `/pay/` accepts all. */
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
    const isMatch = transaction && (method === null || transaction.method === method);
    if (!isMatch) throw new Refusal(404);
    return transaction;
  };

  for (const [path, method] of PATHS) {
    pages.get(path, (c) => {
      const transaction = find(c, method);
      const token = pendingThreeDsToken(transaction);
      if (token) return c.redirect(`/v2/3ds/redirect/${token}`, 302);
      const isOpen = transaction.status === "pending" && transaction.method !== "credit_card";
      return render(c, {
        title: METHOD_NAMES[transaction.method],
        script: "copy",
        body: isOpen
          ? payScreen(transaction, c.req.query("wrong") !== undefined)
          : resultScreen(transaction),
      });
    });

    pages.post(path, sameOriginForm(world), async (c) => {
      const transaction = find(c, method);
      const choice = await readField(c, "choice");
      const isWrong = choice === "pay" && isPinRequired(transaction) &&
        await readField(c, "pin") !== OTP;
      if (isWrong) return c.redirect(`${c.req.path}?wrong`, 303);
      const issuer = await readField(c, "issuer");
      // The payment may have been paid or may have expired meanwhile; the result page shows it.
      if (transaction.status === "pending" && transaction.method !== "credit_card") {
        const action = choice === "deny" ? "deny" : "pay";
        simulate(world, action, transaction, { issuer: issuer || null });
        await world.committed();
      }
      return c.redirect(c.req.path, 303);
    });
  }
}

/** The redirect token of a card payment that waits for 3-D Secure. */
function pendingThreeDsToken(transaction: Transaction): string | null {
  return isWaitingForThreeDs(transaction) ? cardDetails(transaction).threeDs!.token : null;
}

type ScreenContent = Pick<Screen, "brand" | "facts" | "body">;
type ScreenBuilder = (transaction: Transaction, isWrong: boolean) => ScreenContent;

const SCREENS: Record<MethodName, ScreenBuilder> = {
  bank_transfer: bankScreen,
  permata: bankScreen,
  echannel: billScreen,
  cstore: storeScreen,
  qris: qrScreen,
  gopay: walletScreen,
  shopeepay: walletScreen,
  ovo: walletScreen,
  dana: walletScreen,
  akulaku: walletScreen,
  kredivo: walletScreen,
  // Not shown: card payments use the 3-D Secure page.
  credit_card: walletScreen,
};

/** `isWrong`: the last PIN was incorrect. */
function payScreen(transaction: Transaction, isWrong: boolean): Markup {
  const { orderId, amount, expiresAt } = transaction;
  const { brand, facts, body } = SCREENS[transaction.method](transaction, isWrong);
  return screen({
    brand,
    title: formatRupiah(amount),
    facts: [
      ...facts,
      ["Order", orderId],
      ...expiresAt === null ? [] : [["Pay before", formatTime(expiresAt)] as [string, string]],
    ],
    body,
  });
}

/** Linked wallets require a PIN from a certain amount. */
function isPinRequired({ method, details }: Transaction): boolean {
  return method === "gopay" && details.kind === "verify";
}

function bankScreen({ details, amount }: Transaction): ScreenContent {
  return {
    brand: `${displayName(details.bank)} virtual account`,
    facts: [["Account number", digits("account number", details.number)]],
    body: payForm(`Transfer ${formatRupiah(amount)}`),
  };
}

function billScreen({ details, amount }: Transaction): ScreenContent {
  const [label, value] = details.info as [string, string];
  return {
    brand: "Mandiri bill payment",
    facts: [
      ["Biller code", digits("biller code", "70012")],
      ["Bill key", digits("bill key", details.number)],
      [label, value],
    ],
    body: payForm(`Pay ${formatRupiah(amount)}`),
  };
}

function storeScreen({ details }: Transaction): ScreenContent {
  return {
    brand: displayName(details.store),
    facts: [["Payment code", digits("payment code", details.number)]],
    body: payForm("Pay at the store"),
  };
}

function walletScreen(transaction: Transaction, isWrong: boolean): ScreenContent {
  const { method, details } = transaction;
  const src = qrPath(transaction);
  return {
    brand: METHOD_NAMES[method],
    facts: method === "ovo" ? [["Phone", String(details.phone)]] : [],
    body: html`
      <form method="post">
        ${isPinRequired(transaction) && codeField("pin", "PIN", OTP, isWrong)}
        <button class="primary" name="choice" value="pay">Approve</button>
        ${SIMULATED_ACTIONS.deny.isPossible(transaction) &&
          html`<button name="choice" value="deny" formnovalidate>Reject</button>`}
      </form>
      ${src && qrFigure(src, "Or scan with another phone")}
    `,
  };
}

/** Wallets that can scan a QRIS code; the webhook reports which of them did. */
const ISSUERS = ["gopay", "airpay shopee", "dana", "ovo", "linkaja", "bca", "mandiri", "bri"];

function qrScreen(transaction: Transaction): ScreenContent {
  const acquirer = String(transaction.details.acquirer);
  const issuers = [...new Set([acquirer, ...ISSUERS])];
  return {
    brand: "QRIS",
    facts: [["Acquirer", acquirer]],
    body: html`
      ${qrFigure(qrPath(transaction)!, "Contains the qr_string of the charge.")}
      <form method="post">
        <label for="issuer">Scanned with</label>
        <select id="issuer" class="issuer" name="issuer">
          ${issuers.map((issuer) => html`<option>${issuer}</option>`)}
        </select>
        <button class="primary" name="choice" value="pay">Pay ${formatRupiah(
          transaction.amount,
        )}</button>
        <button name="choice" value="deny">Reject</button>
      </form>
    `,
  };
}

function qrFigure(src: string, caption: string): Markup {
  return html`
    <figure>
      <img class="qr" src="${src}" alt="QR code for this payment" width="264" height="264">
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
