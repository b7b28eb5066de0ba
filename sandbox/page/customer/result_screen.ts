/** What became of a payment, and the way back to the shop. */

import { html } from "hono/html";
import type { Status, Transaction } from "../../transactions/transaction.ts";
import type { Markup } from "../layout.ts";
import { safeUrl } from "../safe_link.ts";
import { METHOD_NAMES, methodDetail, rupiah, time } from "../words.ts";
import { screen } from "./screen.ts";

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
