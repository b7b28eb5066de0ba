/** The list itself: a row for each transaction, with the buttons its state allows. */

import { html } from "hono/html";
import type { Transaction } from "../../transactions/transaction.ts";
import type { Webhook } from "../../webhooks/webhook.ts";
import { wib } from "../../world/time.ts";
import type { Markup } from "../layout.ts";
import { METHOD_NAMES, methodDetail, rupiah } from "../words.ts";
import type { Row } from "./find_rows.ts";
import { actionsOf } from "./row_actions.ts";

export function table(rows: Row[]): Markup {
  return html`
    <table class="transactions">
      <thead>
        <tr>
          <th scope="col">Order</th>
          <th scope="col">Method</th>
          <th scope="col" class="number">Amount</th>
          <th scope="col">Status</th>
          <th scope="col">Webhook</th>
          <th scope="col">What happens</th>
        </tr>
      </thead>
      ${rows.map(group)}
    </table>
  `;
}

/** Each in a body of its own, which has room for the details below the row. */
function group({ transaction, webhook }: Row): Markup {
  const { id, orderId, method, amount, status, fraud, createdAt } = transaction;
  return html`
    <tbody id="t-${id}">
      <tr>
        <td>
          <a href="/transactions/${id}" data-open="${id}"
            data-key="open ${id}">${orderId}</a>
          <small>${wib(createdAt)} WIB</small>
        </td>
        <td>${METHOD_NAMES[method]}<small>${methodDetail(transaction)}</small></td>
        <td class="number">${rupiah(amount)}</td>
        <td>
          <span class="badge ${status}">${status}</span>
          ${fraud === "challenge" && html`<small>challenge</small>`}
        </td>
        <td>${webhook ? lastWebhook(webhook) : html`<span class="hint">none</span>`}</td>
        <td>
          <div class="actions">${buttons(transaction)}</div>
        </td>
      </tr>
    </tbody>
  `;
}

function lastWebhook({ state, event, attempts }: Webhook): Markup {
  const answer = attempts.length > 0 && ` · ${attempts.at(-1)!.status ?? "no answer"}`;
  return html`
    <span class="state ${state}">${state}${answer}</span>
    <small>${event}</small>
  `;
}

function buttons(transaction: Transaction): Markup {
  const { id, orderId, method } = transaction;
  const screen = method === "credit_card" ? "3-D Secure page" : "Payment screen";
  return html`
    ${actionsOf(transaction).map(({ label, happening, body }) =>
      html`
        <button
          data-post="/_sandbox/transactions/${id}/${happening}"
          data-body="${JSON.stringify(body ?? {})}"
          data-key="${label} ${id}"
          aria-label="${label} ${orderId}"
        >${label}</button>
      `
    )}
    ${transaction.status === "pending" &&
      html`
        <a href="/pay/${id}" data-key="screen ${id}"
          aria-label="${screen} of ${orderId}">${screen}</a>
      `}
  `;
}
