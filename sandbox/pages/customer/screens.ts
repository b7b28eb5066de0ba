/** The layout of a customer's screen, and the screen with the result of a payment. */

import { html } from "hono/html";
import { snapResultPath } from "../../snap/pages.ts";
import type { Status, Transaction } from "../../world/transaction.ts";
import { copyButton } from "../shared/copy.ts";
import { formatRupiah, formatTime, METHOD_NAMES, methodDetail } from "../shared/format.ts";
import { type Markup, safeUrl } from "../shared/layout.ts";

export interface Screen {
  /** Name of the bank, store or wallet. */
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

/** A number to copy; long numbers are grouped by four. */
export function digits(name: string, number: unknown): Markup {
  const text = String(number);
  const groups = text.length > 6 ? text.match(/.{1,4}/g)! : [text];
  return html`
    <span class="copyable">
      <span class="digits">${groups.map((group) => html`<span>${group}</span>`)}</span>
      ${copyButton(name, text)}
    </span>
  `;
}

/** A field for a six-digit code. A hint shows the correct code. */
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
      html`<p id="${name}-wrong" class="wrong" role="alert">Incorrect code. Try again.</p>`}
    <p id="${name}-hint" class="hint">Sandbox code: <strong>${code}</strong></p>
  `;
}

const TITLES: Record<Status, string> = {
  pending: "Waiting for the bank's decision",
  authorize: "Authorized: the amount is on hold",
  capture: "Paid",
  settlement: "Paid",
  deny: "Denied",
  cancel: "Cancelled by the merchant",
  expire: "Expired: not paid in time",
  failure: "Failed",
  refund: "Paid, then refunded",
  partial_refund: "Paid, then partially refunded",
  chargeback: "Paid, then charged back",
  partial_chargeback: "Paid, then partially charged back",
};

const FAILURES: Status[] = ["deny", "cancel", "expire", "failure"];

export function resultScreen(transaction: Transaction): Markup {
  const { status, method, orderId, amount, settledAt, message, invoiceId, snapToken } = transaction;
  const detail = methodDetail(transaction);
  const back = returnUrl(transaction);
  return screen({
    brand: detail ? `${METHOD_NAMES[method]} · ${detail}` : METHOD_NAMES[method],
    title: TITLES[status],
    facts: [
      ["Amount", formatRupiah(amount)],
      ["Order", orderId],
      ["Status", html`<span class="badge ${status}">${status}</span>`],
      ...settledAt === null ? [] : [["Paid at", formatTime(settledAt)] as [string, string]],
      ...message === null ? [] : [["Reason", message] as [string, string]],
    ],
    body: html`
      <div class="ways">
        ${back && html`<a class="button primary" href="${back}">Back to the merchant</a>`}
        ${invoiceId && html`<a class="button" href="/payment-links/${invoiceId}">View invoice</a>`}
        ${snapToken &&
          html`<a class="button primary" href="${snapResultPath(snapToken)}">Continue</a>`}
        <a class="button" href="/">All transactions</a>
      </div>
    `,
  });
}

/** The merchant's callback URL with the parameters that wallets add. */
function returnUrl({ details, orderId, status }: Transaction): string | null {
  const url = status === "pending" ? null : safeUrl(details.callbackUrl);
  if (!url) return null;
  url.searchParams.set("order_id", orderId);
  url.searchParams.set("result", FAILURES.includes(status) ? "failure" : "success");
  return url.href;
}
