/** The frame of a customer's screen: who asks for how much, what to know, what to do. */

import { html } from "hono/html";
import { type Markup, safeUrl } from "../shared/layout.ts";
import type { Status, Transaction } from "../../world/transaction.ts";
import { METHOD_NAMES, methodDetail, rupiah, time } from "../shared/format.ts";

export interface Screen {
  /** Whose screen it is: the bank, the store, the wallet. */
  brand: string;
  title: string;
  facts: [label: string, value: Markup | string][];
  body: Markup;
}

export function screen({ brand, title, facts, body }: Screen): Markup {
  return html`
    <section class="card screen">
      <p class="brand">${brand}</p>
      <h1>${title}</h1>
      <dl>
        ${facts.map(([label, value]) =>
          html`
            <div>
              <dt>${label}</dt>
              <dd>${value}</dd>
            </div>
          `
        )}
      </dl>
      ${body}
    </section>
  `;
}

/** Digits a customer copies by eye, long ones in groups of four. */
export function digits(number: unknown): Markup {
  const text = String(number);
  const groups = text.length > 6 ? text.match(/.{1,4}/g)! : [text];
  return html`<span class="digits">${groups.map((group) => html`<span>${group}</span>`)}</span>`;
}

/** A secret of six digits, which a sandbox tells. */
export function codeField(name: string, label: string, code: string, isWrong: boolean): Markup {
  const described = isWrong ? `${name}-hint ${name}-wrong` : `${name}-hint`;
  return html`
    <label for="${name}">${label}</label>
    <input
      id="${name}"
      name="${name}"
      class="code"
      inputmode="numeric"
      autocomplete="one-time-code"
      maxlength="6"
      required
      autofocus
      aria-describedby="${described}"
      aria-invalid="${isWrong ? "true" : "false"}"
    >
    ${isWrong &&
      html`<p id="${name}-wrong" class="wrong" role="alert">That was not it. Try again.</p>`}
    <p id="${name}-hint" class="hint">In the sandbox it is always <strong>${code}</strong>.</p>
  `;
}

const SAYS: Record<Status, string> = {
  pending: "The bank is still thinking",
  authorize: "The amount is held",
  capture: "Paid",
  settlement: "Paid",
  deny: "Denied",
  cancel: "Cancelled by the shop",
  expire: "Expired: it was not paid in time",
  failure: "Failed",
  refund: "Paid, and refunded",
  partial_refund: "Paid, and refunded in part",
  chargeback: "Paid, and charged back",
  partial_chargeback: "Paid, and charged back in part",
};

const FAILURES: Status[] = ["deny", "cancel", "expire", "failure"];

export function resultScreen(transaction: Transaction): Markup {
  const { status, method, orderId, amount, settledAt, message, invoiceId } = transaction;
  const detail = methodDetail(transaction);
  const back = shopUrl(transaction);
  return screen({
    brand: detail ? `${METHOD_NAMES[method]} · ${detail}` : METHOD_NAMES[method],
    title: SAYS[status],
    facts: [
      ["Amount", rupiah(amount)],
      ["Order", orderId],
      ["Status", html`<span class="badge ${status}">${status}</span>`],
      ...settledAt === null ? [] : [["Paid at", time(settledAt)] as [string, string]],
      ...message === null ? [] : [["Reason", message] as [string, string]],
    ],
    body: html`
      <div class="ways">
        ${back && html`<a class="button primary" href="${back}">Back to the shop</a>`}
        ${invoiceId && html`<a class="button" href="/payment-links/${invoiceId}">The invoice</a>`}
        <a class="button" href="/">All transactions</a>
      </div>
    `,
  });
}

/** The shop's page for returning customers, told as the wallets tell it (G§3.7). */
function shopUrl({ details, orderId, status }: Transaction): string | null {
  const url = status === "pending" ? null : safeUrl(details.callbackUrl);
  if (!url) return null;
  url.searchParams.set("order_id", orderId);
  url.searchParams.set("result", FAILURES.includes(status) ? "failure" : "success");
  return url.href;
}
